"""The agent's world: the processes on the display, walled off or at least kept together, and a way to add more."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from crab.errors import EnvironmentFailure, ProviderUnavailable
from environments.ubuntu.sandbox import seccomp
from environments.ubuntu.sandbox.bubblewrap import SEARCH_PATH, InnerWorld, inner_options, limited
from environments.ubuntu.sandbox.launch import KEEPER

# First program of the world: starts what it is told on standard input, as a count and then that many words, one a
# line, with backslash escapes. The text is fixed and words only ever become arguments. It needs no interpreter beyond
# the system's own sh, and the world ends when its standard input closes.
_STARTER = r"""
while IFS= read -r count; do
  set --
  while [ "$count" -gt 0 ]; do
    IFS= read -r word || exit 0
    case $word in *\\*) word=$(printf '%bx' "$word"); word=${word%x} ;; esac
    set -- "$@" "$word"
    count=$((count - 1))
  done
  setsid -f "$@" </dev/null >/dev/null 2>>"$SESSION_LOG"
done
"""
NOBODY = 65534


class Inner:
    """The running inner world.

    Args:
        isolation: ``"bubblewrap"``, or ``"process"`` for a mere tree of processes.
    """

    def __init__(self, isolation: str) -> None:
        self._isolation = isolation
        self._top: subprocess.Popen[bytes] | None = None
        self._requests: IO[bytes] | None = None
        self._errors = -1
        self.root_pid = 0

    def start(self, world: InnerWorld) -> None:
        """Start the world's first program, which waits for orders.

        Raises:
            ProviderUnavailable: bubblewrap is not installed.
            EnvironmentFailure: The sandbox could not be set up; the message carries bubblewrap's own words.
        """
        # Anybody inside can write to the first process's standard error, so it is a pipe: that takes no room, and one
        # that is full must not hold up who writes.
        self._errors, errors = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        starter = ["sh", "-c", _STARTER]
        try:
            if self._isolation == "bubblewrap":
                self._start_sandbox(starter, world, errors)
            else:
                self._start_tree(starter, world, errors)
        finally:
            os.close(errors)

    def spawn(self, argv: Sequence[str]) -> None:
        """Start a program with the world's user, HOME, display and session bus; no shell sees its words.

        Raises:
            EnvironmentFailure: The world is not running.
            ValueError: ``argv`` is empty or holds a NUL.
        """
        if not argv or any("\0" in word for word in argv):
            raise ValueError(f"argv must be non-empty and free of NUL characters: {list(argv)!r}")
        words = [word.replace("\\", "\\\\").replace("\n", "\\n") for word in argv]
        order = "\n".join([str(len(words)), *words, ""]).encode("utf-8", "surrogateescape")
        if self._requests is None:
            raise EnvironmentFailure(f"cannot start {argv[0]}: no session is running; call start() first")
        try:
            self._requests.write(order)
            self._requests.flush()
        except BrokenPipeError:
            raise EnvironmentFailure(f"cannot start {argv[0]}: the session's first process has died") from None

    def alive(self) -> bool:
        """Whether the world still exists."""
        return self._top is not None and self._top.poll() is None

    def programs(self) -> set[str]:
        """Names of the programs that run in the world (zombies do not count)."""
        return {name for name, state in descendants(self.root_pid).values() if state != "Z"} if self.alive() else set()

    def close(self) -> None:
        """Kill every process of the world and return when none is left; may be called twice."""
        if self._top is not None:
            if self._isolation == "bubblewrap" and self.root_pid:
                # First process of a PID namespace: the kernel kills all the others before its parent hears of it.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.root_pid, signal.SIGKILL)
            for stream in (self._requests, self._top.stdin):
                if stream is not None:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()
            try:
                self._top.wait(10)
            except subprocess.TimeoutExpired:
                self._top.kill()
                self._top.wait()
        if self._errors >= 0:
            os.close(self._errors)
        self._top, self._requests, self._errors, self.root_pid = None, None, -1, 0

    def _start_sandbox(self, starter: Sequence[str], world: InnerWorld, errors: int) -> None:
        reader, writer = os.pipe()
        refused = seccomp.program()
        filters = () if refused is None else (_in_memory("filter", refused),)
        words = [*inner_options(world, info_fd=writer), *_seccomp(filters)]
        options = _in_memory("options", "".join(f"{word}\0" for word in words).encode())
        try:
            self._top = subprocess.Popen(
                ["bwrap", "--args", str(options), "--", *limited(starter, world.limits)],  # noqa: S607 - from PATH
                stdin=subprocess.PIPE,
                stdout=errors,
                stderr=errors,
                pass_fds=(writer, options, *filters),
                # The world's first process is bubblewrap itself, whose environment anybody inside can read.
                env={"PATH": SEARCH_PATH},
                start_new_session=True,
            )
        except FileNotFoundError:
            raise ProviderUnavailable("bubblewrap is not installed", fix="apt install bubblewrap") from None
        finally:
            for number in (writer, options, *filters):
                os.close(number)
        self._requests = self._top.stdin
        try:
            self.root_pid = self._read_root_pid(reader, 10.0)
        finally:
            os.close(reader)

    def _read_root_pid(self, reader: int, seconds: float) -> int:
        text = b""
        deadline = time.monotonic() + seconds
        while not text.rstrip().endswith(b"}"):
            ready, _, _ = select.select([reader], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(reader, 4096) if ready else b""
            if not chunk:
                words = self._last_words()
                self.close()
                raise EnvironmentFailure(f"the agent's sandbox did not start: {words or '(no output)'}")
            text += chunk
        return int(json.loads(text)["child-pid"])

    def _start_tree(self, starter: Sequence[str], world: InnerWorld, errors: int) -> None:
        reader, writer = os.pipe()
        self._requests = os.fdopen(writer, "wb")
        try:
            self._top = subprocess.Popen(
                [sys.executable, "-I", "-S", str(KEEPER)],
                stdin=subprocess.PIPE,
                stdout=errors,
                stderr=errors,
                pass_fds=(reader,),
                cwd=world.home,
                start_new_session=True,
            )
        finally:
            os.close(reader)
        order = {
            "uid": NOBODY if os.geteuid() == 0 else None,
            "stage": [],
            "writable": [],
            "info_fd": None,
            "input_fd": reader,
            "argv": limited(starter, world.limits, count_processes=False),
            "environment": dict(world.environment),
        }
        if self._top.stdin is not None:
            self._top.stdin.write(json.dumps(order).encode() + b"\n")
            self._top.stdin.flush()
        self.root_pid = self._top.pid

    def _last_words(self) -> str:
        try:
            return os.read(self._errors, 2000).decode(errors="replace").strip()
        except BlockingIOError:
            return ""


def _seccomp(filters: Sequence[int]) -> list[str]:
    return [word for number in filters for word in ("--seccomp", str(number))]


def _in_memory(name: str, content: bytes) -> int:
    """A descriptor of a file without a place that holds ``content``, to be read from its beginning."""
    descriptor = os.memfd_create(name)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def descendants(root: int) -> Mapping[int, tuple[str, str]]:
    """Every process under ``root``: its id with its program's name (at most 15 characters) and state letter."""
    tree: dict[int, list[int]] = {}
    seen: dict[int, tuple[str, str]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                head, _, tail = Path("/proc", name, "stat").read_text(errors="replace").rpartition(")")
                fields = tail.split()
                tree.setdefault(int(fields[1]), []).append(int(name))
                seen[int(name)] = (head.partition("(")[2], fields[0])
    found: dict[int, tuple[str, str]] = {}
    pending = [root]
    while pending:
        for child in tree.get(pending.pop(), ()):
            found[child] = seen[child]
            pending.append(child)
    return found
