"""The session's directory of temporary files, and clearing away those whose owner was killed."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from environments.ubuntu.session.display import remove_socket
from environments.ubuntu.session.home import empty

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
    """Write down which X display belongs to ``scratch``, so that a sweep finds its socket too."""
    (scratch / _DISPLAY).write_text(display, encoding="ascii")


def sweep() -> None:
    """Remove the directories and X sockets of sessions whose process no longer exists; others' are left alone."""
    for path in sorted(Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*")):
        owner = path.name.removeprefix(_PREFIX).partition("-")[0]
        if not owner.isdigit() or _runs(owner):
            continue
        with contextlib.suppress(OSError):
            if path.lstat().st_uid != os.geteuid():
                continue
            note = path / _DISPLAY
            # An X server that is still dying keeps its directory until the next sweep.
            if not note.is_file() or remove_socket(note.read_text(encoding="ascii")):
                empty(path)
                path.rmdir()


def _runs(pid: str) -> bool:
    """Whether the process exists and is more than a zombie, which only waits for a slow parent to notice."""
    try:
        status = Path("/proc", pid, "stat").read_text(errors="replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"
