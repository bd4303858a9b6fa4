"""What the host looks like from outside: whether an attack left a trace on it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def descendants() -> dict[int, str]:
    """This process's living descendants: process id and command line."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    found: dict[int, str] = {}
    pending = [os.getpid()]
    while pending:
        for child in children.get(pending.pop(), ()):
            found[child] = command_line(child)
            pending.append(child)
    return found


def command_line(pid: int) -> str:
    """A process's command line, empty when it is gone."""
    try:
        return Path("/proc", str(pid), "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def running(word: str) -> list[int]:
    """Processes of the host that carry a word on their command line, zombies left out."""
    return [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and word in command_line(int(entry.name))
    ]


def mounts() -> list[str]:
    """The host's table of mounts, line by line."""
    return Path("/proc/self/mountinfo").read_text().splitlines()


def memory_of(pids: Iterable[int]) -> int:
    """Bytes of memory that processes use together, what they share counted once."""
    total = 0
    for pid in pids:
        try:
            lines = Path("/proc", str(pid), "smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
    return total
