"""How a trial's process talks to its driver: events and complaints on descriptors of their own.

Agents and checkers, and the libraries under them, may print whatever they like: it goes to the trial's log. What they
start does not inherit the channel either, so a forgotten child never keeps a driver waiting.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

OUTPUT, ERRORS = 1, 2
"""File descriptors of standard output and standard error."""


class Channel:
    """Takes standard output and standard error of this process over; made once, first of all."""

    def __init__(self) -> None:
        # Duplicates are not inherited by children (PEP 446).
        self._events = os.fdopen(os.dup(OUTPUT), "w", encoding="utf-8")
        self._complaints = os.fdopen(os.dup(ERRORS), "w", encoding="utf-8", errors="backslashreplace")
        # What is printed before the log is there waits here.
        self._early = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the process
        self._redirect(self._early.fileno())

    def event(self, event: dict[str, Any]) -> None:
        """Sends one event as a line of JSON."""
        self._events.write(json.dumps(event, separators=(",", ":")) + "\n")
        self._events.flush()

    def complain(self, text: str) -> None:
        """Sends one line that says why the trial could not be run."""
        self._complaints.write(" ".join(text.split()) + "\n")
        self._complaints.flush()

    def print_to(self, log: Path) -> None:
        """Sends what is printed from now on, and what was printed before, to the end of a file."""
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            self._early.seek(0)
            os.write(descriptor, self._early.read())
            self._redirect(descriptor)
        finally:
            os.close(descriptor)

    def _redirect(self, descriptor: int) -> None:
        os.dup2(descriptor, OUTPUT)
        os.dup2(descriptor, ERRORS)
