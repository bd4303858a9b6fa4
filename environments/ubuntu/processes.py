"""The programs that run in the agent's world."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_MOST_PROCESSES = 2000
_MOST_ARGUMENT_BYTES = 8192
_PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """One running program.

    Attributes:
        pid: Its number as the agent's own tools show it.
        name: The kernel's short name of it, at most 15 bytes, such as ``mousepad``.
        argv: What it was started with, the first 8192 bytes of it.
        elapsed: Seconds since it was started.
    """

    pid: int
    name: str
    argv: tuple[str, ...]
    elapsed: float


@dataclass(frozen=True)
class _Stat:
    pid: int
    parent: int
    name: str
    state: str
    started: float


def processes_below(root_pid: int) -> tuple[Process, ...]:
    """Returns every running descendant of a process, zombies left out, in the order of their start.

    Args:
        root_pid: Process id as this process sees it.
    """
    running, now = _running_below(root_pid), _uptime()
    return tuple(
        Process(_inner_pid(found.pid), found.name, _argv(found.pid), round(max(0.0, now - found.started), 2))
        for found in running
    )


def numbers_below(root_pid: int) -> tuple[int, ...]:
    """Returns the process ids, as this process sees them, of what `processes_below` returns, in the same order."""
    return tuple(found.pid for found in _running_below(root_pid))


def _running_below(root_pid: int) -> list[_Stat]:
    known = {found.pid: found for found in _all_stats()}
    children: dict[int, list[int]] = {}
    for found in known.values():
        children.setdefault(found.parent, []).append(found.pid)
    below = list[_Stat]()
    pending = list(children.get(root_pid, ()))
    while pending and len(below) < _MOST_PROCESSES:
        pid = pending.pop()
        below.append(known[pid])
        pending.extend(children.get(pid, ()))
    running = [found for found in below if found.state not in ("Z", "X")]
    running.sort(key=lambda found: (found.started, found.pid))
    return running


def _all_stats() -> Iterable[_Stat]:
    ticks = os.sysconf("SC_CLK_TCK")
    for entry in os.listdir(_PROC):
        if not entry.isdecimal():
            continue
        text = _read(f"{entry}/stat", 4096)
        # The name stands in parentheses and may hold any character, parentheses included.
        head, closed, tail = text.rpartition(")")
        fields = tail.split()
        if not closed or len(fields) < 20:
            continue
        name = head.partition("(")[2]
        yield _Stat(int(entry), int(fields[1]), name, fields[0], int(fields[19]) / ticks)


def _inner_pid(pid: int) -> int:
    """Returns the number a process has in the innermost namespace it is in."""
    for line in _read(f"{pid}/status", 4096).splitlines():
        if line.startswith("NSpid:"):
            return int(line.split()[-1])
    return pid


def _argv(pid: int) -> tuple[str, ...]:
    text = _read(f"{pid}/cmdline", _MOST_ARGUMENT_BYTES)
    return tuple(text.removesuffix("\0").split("\0")) if text else ()


def _uptime() -> float:
    return float(_read("uptime", 100).split()[0])


def _read(name: str, limit: int) -> str:
    """Returns the beginning of a file of /proc, empty when the process has just gone."""
    try:
        with (_PROC / name).open("rb") as opened:
            return opened.read(limit).decode("utf-8", "replace")
    except OSError:
        return ""
