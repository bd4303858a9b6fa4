"""Directories of temporary files, and clearing away those whose owner was killed."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from environments.ubuntu.session.display import remove_socket
from environments.ubuntu.session.home import empty
from environments.ubuntu.session.readiness import accepts

SESSION = "desktop-session-"
"""Beginning of the name of a session's directory."""

SERVER = "crab-ubuntu-"
"""Beginning of the name of the directory of a server's socket."""

SOCKET = "server.sock"
"""The socket in a server's directory."""

_DISPLAY = "display"


def make_scratch(prefix: str = SESSION) -> Path:
    """Make a private directory, named after this process, and remove those of processes that are gone.

    Args:
        prefix: Beginning of its name.

    Returns:
        The new directory, mode 0700.
    """
    sweep(prefix)
    return Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-"))


def note_display(scratch: Path, display: str) -> None:
    """Write down which X display belongs to ``scratch``, so that a sweep finds its socket too."""
    (scratch / _DISPLAY).write_text(display, encoding="ascii")


def sweep(prefix: str = SESSION) -> None:
    """Remove the directories and X sockets whose process no longer exists; others' are left alone."""
    for path in sorted(Path(tempfile.gettempdir()).glob(f"{prefix}*-*")):
        owner = path.name.removeprefix(prefix).partition("-")[0]
        if not owner.isdigit() or _runs(owner):
            continue
        with contextlib.suppress(OSError):
            # Root gives a server's directory to the user id that its sandbox runs as.
            if path.is_symlink() or os.geteuid() not in (0, path.stat().st_uid):
                continue
            note = path / _DISPLAY
            # A server that is still dying keeps its directory until the next sweep.
            dead = not note.is_file() or remove_socket(note.read_text(encoding="ascii"))
            if dead and not accepts(path / SOCKET):
                empty(path)
                path.rmdir()


def _runs(pid: str) -> bool:
    """Whether the process exists and is more than a zombie, which only waits for a slow parent to notice."""
    try:
        status = Path("/proc", pid, "stat").read_text(errors="replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"
