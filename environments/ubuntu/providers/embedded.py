"""The embedded provider: a real desktop on a private display of this machine, behind two sandboxes.

The trial's process starts the outer sandbox, in which `environments.ubuntu.server` serves the desktop on a Unix
socket; the trial's process talks to it like to any other environment server.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from crab.environment import (
    PROBE_SECONDS,
    ActResult,
    Environment,
    EnvironmentDescription,
    Finding,
    ProviderDescription,
)
from crab.errors import EnvironmentFailure, ProviderUnavailable, RemoteError
from crab.observation import Observation, ObservationRequest
from crab.remote.client import RemoteEnvironment
from environments.ubuntu.providers.options import EmbeddedOptions, read_options
from environments.ubuntu.sandbox.launch import OuterSandbox, launch_outer, wait_for
from environments.ubuntu.session import applications
from environments.ubuntu.session.scratch import SERVER, SOCKET, make_scratch

T = TypeVar("T")

SERVER_MODULE = "environments.ubuntu.server"
START_SECONDS = 30.0
"""How long the server in the sandbox may take to answer; it takes well under one second on an idle machine."""

VERSIONED_PACKAGES = (
    "xvfb",
    "openbox",
    "bubblewrap",
    "lxterminal",
    "mousepad",
    "pcmanfm",
    "viewnior",
    "galculator",
    "rofi",
    "tint2",
)
"""Debian packages whose versions belong in the lock: another version may look or behave differently."""


class EmbeddedProvider:
    """Starts desktops on this machine; see the module's text."""

    name = "embedded"

    def check(self, options: Mapping[str, Any]) -> None:
        """Checks options; see `environments.ubuntu.providers.options.EmbeddedOptions`.

        Raises:
            UsageError: An option is unknown or has a wrong value.
        """
        read_options(options)

    def start(self, options: Mapping[str, Any]) -> Environment:
        """Starts one desktop; see `environments.ubuntu.providers.options.EmbeddedOptions`.

        Raises:
            UsageError: An option is unknown or has a wrong value.
            ProviderUnavailable: Something is missing on this machine; the message says how to get it.
        """
        checked = read_options(options)
        directory = make_scratch(SERVER)
        socket = directory / SOCKET
        sandbox: OuterSandbox | None = None
        try:
            sandbox = launch_outer(
                [sys.executable, "-P", "-m", SERVER_MODULE, str(socket), checked.model_dump_json()],
                socket_directory=directory,
                isolation=checked.isolation,
            )
            wait_for(sandbox, socket, START_SECONDS)
            remote = RemoteEnvironment(f"unix:{socket}", kind="ubuntu")
        except EnvironmentFailure as error:
            _clean_up(sandbox, directory)
            raise ProviderUnavailable(
                f"the embedded desktop did not start: {error.message}", fix="`crab doctor` says what is missing"
            ) from error
        except BaseException:
            _clean_up(sandbox, directory)
            raise
        return EmbeddedEnvironment(remote, sandbox, directory, self._describe(checked))

    def diagnose(self) -> tuple[Finding, ...]:
        """Looks at every part of the sandbox and the desktop, one by one."""
        from environments.ubuntu.sandbox.probe import probe

        return tuple(Finding(found.name, found.ok, found.detail, found.fix) for found in probe())

    def describe(self) -> ProviderDescription:
        """Returns what it promises: total reset, real time."""
        return self._describe(EmbeddedOptions())

    def _describe(self, options: EmbeddedOptions) -> ProviderDescription:
        return ProviderDescription(
            name=self.name,
            reset="total",
            time="real",
            applications={role: found.name for role, found in applications.installed().items()},
            versions=dict(_package_versions()),
            isolation=options.isolation,
        )


class EmbeddedEnvironment(Environment):
    """A remote environment together with the sandbox it lives in: closing it ends both."""

    def __init__(
        self, remote: RemoteEnvironment, sandbox: OuterSandbox, directory: Path, provider: ProviderDescription
    ) -> None:
        self._remote = remote
        self._sandbox = sandbox
        self._directory = directory
        self._provider = provider
        self._closed = False

    def describe(self) -> EnvironmentDescription:
        """Returns what the desktop offers and what the provider promises."""
        return replace(self._remote.describe(), provider=self._provider)

    def reset(self, seed: int, start_time: str, extra_actions: Iterable[str] = ()) -> None:
        """Throws the desktop away and builds it anew."""
        self._while_it_lives(lambda: self._remote.reset(seed, start_time, extra_actions))

    def observe(self, request: ObservationRequest | None = None) -> Observation:
        """Looks at the desktop."""
        return self._while_it_lives(lambda: self._remote.observe(request))

    def act(self, name: str, arguments: Mapping[str, Any]) -> ActResult:
        """Acts on the desktop."""
        return self._while_it_lives(lambda: self._remote.act(name, arguments))

    def advance(self, seconds: float) -> None:
        """Waits."""
        self._while_it_lives(lambda: self._remote.advance(seconds))

    def pause(self) -> None:
        """Changes nothing: the desktop's time is real."""
        self._while_it_lives(self._remote.pause)

    def resume(self) -> None:
        """Changes nothing: the desktop's time is real."""
        self._while_it_lives(self._remote.resume)

    def probe(self, name: str, arguments: Mapping[str, Any], seconds: float = PROBE_SECONDS) -> Any:
        """Asks the desktop."""
        return self._while_it_lives(lambda: self._remote.probe(name, arguments, seconds))

    def prepare(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Prepares the desktop."""
        self._while_it_lives(lambda: self._remote.prepare(name, arguments))

    def close(self) -> None:
        """Ends the server, the desktop and the sandbox, and removes the socket's directory."""
        if self._closed:
            return
        self._closed = True
        try:
            self._remote.close()
        finally:
            _clean_up(self._sandbox, self._directory)

    def health(self) -> str | None:
        """Returns None when all is well, else one line that says what died."""
        if self._closed:
            return "closed"
        return self._remote.health() if self._sandbox.alive() else "the sandbox died"

    def _while_it_lives(self, call: Callable[[], T]) -> T:
        if self._closed:
            raise EnvironmentFailure("the desktop is closed", fix="start a new one")
        try:
            return call()
        except RemoteError as error:
            if self._sandbox.alive():
                raise EnvironmentFailure(f"the desktop does not answer: {error.message}") from error
            last_words = self._sandbox.stderr_tail()
            raise EnvironmentFailure(f"the desktop's sandbox died: {last_words or 'without a word'}") from error


def _clean_up(sandbox: OuterSandbox | None, directory: Path) -> None:
    try:
        if sandbox is not None:
            sandbox.close()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@lru_cache(maxsize=1)
def _package_versions() -> tuple[tuple[str, str], ...]:
    """Versions of the installed packages, in the order of `VERSIONED_PACKAGES`; nothing where there is no dpkg."""
    if shutil.which("dpkg-query") is None:
        return ()
    answer = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${Package} ${Version}\\n", *VERSIONED_PACKAGES],  # noqa: S607  looked up above
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    found = dict(line.split(" ", 1) for line in answer.stdout.splitlines() if " " in line)
    return tuple((name, found[name]) for name in VERSIONED_PACKAGES if found.get(name))
