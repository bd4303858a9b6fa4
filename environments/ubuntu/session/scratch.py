"""The session's directory of temporary files, and clearing away those whose owner was killed."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

_PREFIX = "desktop-session-"
_DISPLAY = "display"


def make_scratch() -> Path:
    """Make a private directory, named after this process, and remove those of processes that are gone.

    Returns:
        The new directory, mode 0700.
    """
    sweep()
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))


def note_display(scratch: Path, display: str) -> None:
    """Write down which X display belongs to ``scratch``, so that a sweep finds its files too."""
    (scratch / _DISPLAY).write_text(display, encoding="ascii")


def sweep() -> None:
    """Remove the directories and X lock files of sessions whose process no longer exists; others' are left alone."""
    for path in sorted(Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*")):
        owner = path.name.removeprefix(_PREFIX).partition("-")[0]
        if not owner.isdigit() or Path("/proc", owner).exists():
            continue
        with contextlib.suppress(OSError):
            if path.stat().st_uid == os.geteuid():
                _forget_display(path)
                shutil.rmtree(path, ignore_errors=True)


def _forget_display(scratch: Path) -> None:
    """Remove lock and socket of an X server that was killed, unless a living one has taken the number since."""
    note = scratch / _DISPLAY
    if not note.is_file():
        return
    number = note.read_text(encoding="ascii").strip().removeprefix(":")
    lock = Path(f"/tmp/.X{number}-lock")  # noqa: S108 - the X protocol's fixed place
    if number.isdigit() and lock.is_file() and not Path("/proc", lock.read_text().strip()).exists():
        lock.unlink()
        Path(f"/tmp/.X11-unix/X{number}").unlink(missing_ok=True)  # noqa: S108
