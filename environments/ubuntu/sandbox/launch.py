"""Starting the outer sandbox from the trial's process, so that nothing survives that process."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from crab.errors import EnvironmentFailure, ProviderUnavailable
from environments.ubuntu.sandbox.bubblewrap import (
    OWN_ETC,
    OWN_PLACES,
    SEARCH_PATH,
    USER,
    WORK,
    Bind,
    Limits,
    outer_arguments,
)

KEEPER = Path(__file__).with_name("keeper.py")
_STAGE = Path("/tmp")  # noqa: S108 - inside the keeper's private mount namespace
_TAIL = 4096
_ALWAYS_BOUND = Path("/usr")

# systemd's table of user ids leaves this range to nobody; a number per process keeps sandboxes apart from each other.
_FREE_UIDS = 1_900_000_000
_FALLBACK_UIDS = 61_184


@dataclass
class OuterSandbox:
    """A running outer sandbox. Closing is idempotent; it also works as a context manager.

    Attributes:
        pid: Process id of the keeper: while it lives the sandbox may, and killing it ends the sandbox.
        isolation: How the environment is walled off.
    """

    pid: int
    isolation: Literal["bubblewrap", "process"]
    _keeper: subprocess.Popen[bytes]
    _errors: IO[bytes]
    _tail: str = ""

    def alive(self) -> bool:
        """Whether the program in the sandbox still runs."""
        return self._keeper.poll() is None

    def stderr_tail(self) -> str:
        """The last 4 KB that the program and the sandbox wrote to standard error; also after ``close``."""
        if not self._errors.closed:
            size = os.fstat(self._errors.fileno()).st_size
            self._tail = os.pread(self._errors.fileno(), _TAIL, max(0, size - _TAIL)).decode(errors="replace").strip()
        return self._tail

    def close(self) -> None:
        """Kill everything in the sandbox; returns when it is gone.

        Raises:
            EnvironmentFailure: Something in the sandbox could not be killed within 10 seconds.
        """
        if self._keeper.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._keeper.stdin.close()
        try:
            self._keeper.wait(10)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            raise EnvironmentFailure(
                f"the sandbox kept by process {self.pid} did not end within 10 s; look for processes stuck in the"
                " kernel (state D) before starting another"
            ) from None
        self.stderr_tail()
        self._errors.close()

    def __enter__(self) -> OuterSandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def launch_outer(
    argv: Sequence[str],
    *,
    socket_directory: Path,
    isolation: Literal["bubblewrap", "process"] = "bubblewrap",
    readable: Sequence[Path] = (),
    environment: Mapping[str, str] | None = None,
    limits: Limits | None = None,
) -> OuterSandbox:
    """Start ``argv`` in an outer sandbox; returns at once, the program announces itself in ``socket_directory``.

    The running interpreter, its packages and every directory on ``sys.path`` are shown read-only at their own paths, so
    ``argv`` is usually ``[sys.executable, "-m", ...]``. Started by root, all of it is staged through a private mount
    namespace and an unprivileged user id takes over; it then works from a clone and an interpreter that only root can
    reach, and ``socket_directory`` is handed to that user id.

    Args:
        argv: The program and its arguments; absolute path of the program.
        socket_directory: Existing directory, mode 0700, shown writable at the same path.
        isolation: ``"process"`` gives up every wall and must be asked for by name: a private HOME, an X cookie and a
            tree of processes that is killed as a whole.
        readable: Further files and directories to show read-only.
        environment: Environment variables of the program, added to a minimal set.
        limits: Sizes of the sandbox's file systems.

    Returns:
        The running sandbox. That the program came up is for the caller to see, in ``socket_directory``.

    Raises:
        ProviderUnavailable: bubblewrap is not installed.
    """
    if isolation == "bubblewrap" and shutil.which("bwrap") is None:
        raise ProviderUnavailable(
            "bubblewrap (bwrap) is not installed, so the desktop cannot be isolated",
            fix="apt install bubblewrap, or choose isolation 'process' by name on a machine you can lose",
        )
    socket_directory = Path(socket_directory).absolute()
    order: dict[str, object] = {"uid": None, "stage": [], "writable": [], "info_fd": None, "input_fd": None}
    variables = {**_program_environment(isolation), **(environment or {})}
    if isolation == "process":
        order |= {"argv": list(argv), "environment": variables}
    else:
        order |= _sandbox_order(argv, socket_directory, readable, variables, limits or Limits())
    errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the sandbox
    keeper = subprocess.Popen(
        [sys.executable, "-I", "-S", str(KEEPER)],
        stdin=subprocess.PIPE,
        stdout=errors,
        stderr=errors,
        start_new_session=True,
        cwd="/",
    )
    if keeper.stdin is not None:
        with contextlib.suppress(BrokenPipeError):
            keeper.stdin.write(json.dumps(order).encode() + b"\n")
            keeper.stdin.flush()
    return OuterSandbox(keeper.pid, isolation, keeper, errors)


def wait_for(sandbox: OuterSandbox, path: Path, seconds: float) -> None:
    """Wait until the program in ``sandbox`` has created ``path``.

    Raises:
        EnvironmentFailure: It ended, or ``seconds`` passed first; the message carries its last words.
    """
    deadline = time.monotonic() + seconds
    while not path.exists():
        if not sandbox.alive() or time.monotonic() > deadline:
            what = f"did not create {path} within {seconds:g} s" if sandbox.alive() else "ended at once"
            raise EnvironmentFailure(f"the program in the sandbox {what}: {sandbox.stderr_tail() or '(no output)'}")
        time.sleep(0.005)


def _sandbox_order(
    argv: Sequence[str], socket_directory: Path, readable: Sequence[Path], variables: Mapping[str, str], limits: Limits
) -> dict[str, object]:
    """What the keeper needs to know to stage paths, drop root and start bubblewrap."""
    info_fd = 100  # clear of the descriptors the keeper itself gets
    shown = _covering([*interpreter_paths(), OWN_ETC, *(Path(path).absolute() for path in readable)])
    binds = [*(Bind(path) for path in shown), Bind(socket_directory, writable=True)]
    order: dict[str, object] = {"environment": {"PATH": SEARCH_PATH}, "info_fd": info_fd}
    if os.geteuid() != 0:
        return order | {
            "argv": outer_arguments(argv, binds=binds, environment=variables, limits=limits, info_fd=info_fd)
        }
    staged = [bind.path for bind in binds]

    def source(path: Path) -> Path:
        # From the last: what is bound later lies deeper.
        for index in reversed(range(len(staged))):
            if path.is_relative_to(staged[index]):
                return _STAGE / str(index) / path.relative_to(staged[index])
        return path

    uid = _unprivileged_uid()
    os.chown(socket_directory, uid, uid)
    arguments = outer_arguments(argv, binds=binds, environment=variables, limits=limits, info_fd=info_fd, source=source)
    return order | {
        "uid": uid,
        "stage": [str(path) for path in staged],
        "writable": [str(socket_directory)],
        "argv": arguments,
    }


def _program_environment(isolation: str) -> dict[str, str]:
    """The minimal environment of the program, with this process's import path."""
    outside_prefix = [
        entry
        for entry in sys.path
        if entry and os.path.isdir(entry) and not Path(entry).is_relative_to(Path(sys.base_prefix))
    ]
    return {
        "PATH": SEARCH_PATH,
        "HOME": str(WORK) if isolation == "bubblewrap" else os.environ.get("HOME", "/"),
        "USER": USER,
        "LOGNAME": USER,
        "SHELL": "/bin/bash",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONPATH": os.pathsep.join(os.path.abspath(entry) for entry in outside_prefix),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "CRAB_ISOLATION": isolation,
    }


def interpreter_paths() -> list[Path]:
    """What this interpreter needs to run again elsewhere: its prefixes and its import path, as absolute paths."""
    found = [sys.prefix, sys.base_prefix, os.path.realpath(sys.base_prefix), os.path.realpath(sys.prefix)]
    found += [entry for entry in sys.path if entry and os.path.exists(entry)]
    return [Path(os.path.abspath(entry)) for entry in found]


def _covering(paths: Sequence[Path]) -> list[Path]:
    """The fewest of ``paths`` that contain all of them, parents first.

    Left out is what the sandbox shows anyway, and what would cover the sandbox's own places, such as ``/tmp``, which is
    on the import path of a script that lies there.
    """
    kept: list[Path] = []
    for path in sorted(set(paths), key=lambda path: (len(path.parts), path)):
        covers = any(own.is_relative_to(path) for own in OWN_PLACES)
        if not covers and not any(path.is_relative_to(parent) for parent in [*kept, _ALWAYS_BOUND]):
            kept.append(path)
    return kept


def _unprivileged_uid() -> int:
    """A user id that owns nothing on this machine and, where ids are not scarce, no other sandbox."""
    pid = os.getpid()
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        first, _, count = map(int, line.split())
        if first <= _FREE_UIDS + pid < first + count:
            return _FREE_UIDS + pid
    return _FALLBACK_UIDS + pid % 4096
