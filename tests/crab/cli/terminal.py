"""A command on a terminal of its own: waits for questions and answers them, as a person would."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

SECONDS = 60.0
"""After this long without the awaited words, the test fails."""


class Terminal:
    """Runs ``crab`` on a pseudo-terminal.

    Args:
        *arguments: Of the command.
        cwd: Where it runs.
    """

    def __init__(self, *arguments: str, cwd: Path) -> None:
        self._ours, theirs = pty.openpty()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "crab.cli.main", *arguments],
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                cwd=cwd,
                env={**os.environ, "TERM": "dumb", "COLUMNS": "200"},
            )
        finally:
            os.close(theirs)
        self._unread = ""

    def answer(self, question: str, text: str) -> None:
        """Waits until a question was asked, and enters an answer."""
        deadline = time.monotonic() + SECONDS
        while question not in self._unread or not self._unread.rstrip(" ").endswith(":"):
            assert self._read(deadline), f"{question!r} was not asked: {self._unread}"
        self._unread = ""
        os.write(self._ours, f"{text}\n".encode())

    def end(self) -> int:
        """Waits for the end, and returns the status."""
        deadline = time.monotonic() + SECONDS
        while self._read(deadline):
            continue
        return self._process.wait(SECONDS)

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._ours], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._ours, 65536)
        except OSError:
            # The other side was closed: that is how a terminal ends.
            return False
        self._unread += data.decode(errors="replace")
        return bool(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._ours)
