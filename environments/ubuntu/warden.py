"""Keeping an agent's programs from taking what the device itself needs: the X server's answers, memory, file numbers.

What a machine of its own would do by running out, this does by ending programs: always the agent's, never the device.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from environments.ubuntu.processes import numbers_below
from environments.ubuntu.x11.watch import Watch

MEMORY = 4 << 30
"""Bytes that all programs of the agent's world together may use, unless asked otherwise."""

FILES = 200_000
"""Files that the world's writable file systems may hold: each takes a kilobyte that no other limit counts."""

PATIENCE = 5.0
"""Seconds after which a call to the X server counts as held up; no call takes more than two on purpose."""

_INTERVAL = 0.25
_PAUSE = 0.1
_MOST_ENDED = 10
_MOST_HELD = 2
_PLACES = ("home/user", "tmp", "run", "run/session", "var", "dev/shm")
_PAGE = os.sysconf("SC_PAGE_SIZE")

_log = logging.getLogger(__name__)


class Warden:
    """Watches over one world from a thread of its own, until closed.

    Args:
        root_pid: The world's top process, as this process sees it.
        watch: Times the calls to the X server.
        memory: Bytes for all the world's programs together.
        walled: Whether the world has file systems of its own, whose files are counted.
    """

    def __init__(self, root_pid: int, watch: Watch, memory: int = MEMORY, *, walled: bool = True) -> None:
        self._root_pid = root_pid
        self._watch = watch
        self._memory = memory
        self._places = [Path(f"/proc/{root_pid}/root", place) for place in _PLACES] if walled else []
        self._files = 0
        self._held = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="warden", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stops watching; may be called twice."""
        self._stop.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._stop.wait(_INTERVAL):
            if self._watch.longest() > PATIENCE:
                self._free_display()
            self._keep_memory()
            self._keep_files()

    def _free_display(self) -> None:
        """Ends the programs that were started last, one by one, until the X server answers again."""
        self._held += 1
        victims = list(reversed(numbers_below(self._root_pid)))
        # What holds the display again and again is not the program started last.
        for pid in victims[:_MOST_ENDED] if self._held < _MOST_HELD else ():
            self._end(pid, "the X server does not answer")
            if self._answers():
                return
        # Its first process takes all the others along.
        self._end(self._root_pid, "the X server still does not answer")

    def _answers(self) -> bool:
        deadline = time.monotonic() + _PAUSE
        while time.monotonic() < deadline:
            if self._watch.longest() < PATIENCE or self._stop.wait(0.01):
                return True
        return False

    def _keep_memory(self) -> None:
        pids = numbers_below(self._root_pid)
        if sum(map(_resident, pids)) <= self._memory:
            return
        # Only now the slow question, which counts what programs share once.
        sizes = sorted(((_own_share(pid), pid) for pid in pids), reverse=True)
        total = sum(size for size, _ in sizes)
        for size, pid in sizes:
            if total <= self._memory:
                return
            self._end(pid, f"the agent's programs use {total >> 20} MiB")
            total -= size

    def _keep_files(self) -> None:
        before, self._files = self._files, _count_files(self._places)
        if self._files > FILES and self._files > before:
            for pid in list(reversed(numbers_below(self._root_pid)))[:1]:
                self._end(pid, f"there are {self._files} files")

    def _end(self, pid: int, reason: str) -> None:
        _log.warning("program %d of the agent's world was ended: %s", pid, reason)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _resident(pid: int) -> int:
    """Bytes of memory a process uses, with all that it shares with others."""
    try:
        return int(Path("/proc", str(pid), "statm").read_text(encoding="ascii").split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def _own_share(pid: int) -> int:
    """Bytes of memory a process uses, of what is shared only its share."""
    try:
        lines = Path("/proc", str(pid), "smaps_rollup").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return _resident(pid)
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:")), 0)


def _count_files(places: Sequence[Path]) -> int:
    count = 0
    for place in places:
        with suppress(OSError):
            found = os.statvfs(place)
            count += found.f_files - found.f_ffree
    return count
