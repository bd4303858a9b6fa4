"""Keeps the programs of a `PlainSession` as its descendants, so that they can be found and ended together.

Reads one JSON list of arguments a line from standard input and starts that program; at end of file it ends all.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def children() -> list[int]:
    """Returns the process ids of this process's children."""
    me = os.getpid()
    return [int(pid) for pid in Path(f"/proc/{me}/task/{me}/children").read_text(encoding="ascii").split()]


def main() -> None:
    """Serves until standard input ends."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # Whatever ends is reaped by the kernel: nobody here waits for it.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        subprocess.Popen(
            json.loads(line),
            stdin=subprocess.DEVNULL,
            restore_signals=True,
            preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_DFL),  # noqa: PLW1509 (no threads here)
        )
    # Grandchildren come here as orphans when their parents go, so this ends when the whole tree is gone.
    while left := children():
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


if __name__ == "__main__":
    main()
