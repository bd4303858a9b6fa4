"""Stand-alone program that stages what only root can read, gives up root, starts a sandbox and outlives nobody.

It runs as ``python -I -S keeper.py`` with one JSON document on standard input and imports nothing of the project. The
process that launched it holds the other end of standard input for as long as the sandbox should live: when that end
closes, even by ``kill -9``, everything is killed. Should the keeper itself be killed, bubblewrap's own
``--die-with-parent`` does the same. (That flag alone is not enough in the launcher: it fires when the *thread* that
started bubblewrap ends.)

Staging needs no directory on disk: in a private mount namespace an empty file system covers ``/tmp`` and the wanted
paths are bound there, so the kernel undoes everything when the last process is gone.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import stat
import struct
import subprocess
import sys
import time
from typing import Any

STAGE = "/tmp"  # noqa: S108 - covered by a file system of our own in a private mount namespace

_CLONE_NEWNS = 0x00020000
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
# System calls without a wrapper in older C libraries; their numbers are the same on every architecture.
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_AT_FDCWD, _AT_RECURSIVE, _OPEN_TREE_CLONE, _MOVE_MOUNT_F_EMPTY_PATH = -100, 0x8000, 1, 4
_AT_EMPTY_PATH, _MOUNT_ATTR_IDMAP, _CLONE_NEWUSER = 0x1000, 0x100000, 0x10000000
_PR_SET_CHILD_SUBREAPER = 36

_REAP_INTERVAL = 0.5
_KILL_SECONDS = 10.0


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{os.strerror(number)} ({what})")
    return result


def _mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    result = _libc().mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode())
    _checked(result, f"mounting on {target}")


def _detached(path: str) -> int:
    """A descriptor of a copy of the mount tree at ``path``, attached nowhere yet."""
    flags = _OPEN_TREE_CLONE | _AT_RECURSIVE | os.O_CLOEXEC
    return _checked(_libc().syscall(_OPEN_TREE, _AT_FDCWD, path.encode(), flags), f"reading the mounts at {path}")


def _attach(tree: int, target: str) -> None:
    result = _libc().syscall(_MOVE_MOUNT, tree, b"", _AT_FDCWD, target.encode(), _MOVE_MOUNT_F_EMPTY_PATH)
    os.close(tree)
    _checked(result, f"mounting on {target}")


def _place(tree: int, target: str) -> None:
    """Attach ``tree`` at ``target``, which does not exist yet."""
    if stat.S_ISDIR(os.fstat(tree).st_mode):
        os.mkdir(target, 0o755)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    _attach(tree, target)


def _place_opened(tree: int, children: list[tuple[str, int | str]], target: str) -> None:
    """Rebuild at ``target`` a directory that is closed to others: same children, but open to all."""
    os.close(tree)
    os.mkdir(target, 0o755)
    for name, child in children:
        if isinstance(child, str):
            os.symlink(child, os.path.join(target, name))
        else:
            _place(child, os.path.join(target, name))


def _owned_by(tree: int, owner: int, uid: int) -> bool:
    """Make what ``owner`` owns in ``tree`` appear to belong to ``uid``; False where the kernel or file system cannot.

    Needs Linux 5.12; overlay file systems, as in containers, do not take part.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        failed = _libc().unshare(_CLONE_NEWUSER) != 0
        os.write(writer, b"\0" if failed else b"\1")
        signal.pause()
    os.close(writer)
    try:
        if os.read(reader, 1) != b"\1":
            return False
        for kind in ("uid_map", "gid_map"):
            with open(f"/proc/{child}/{kind}", "w") as file:
                file.write(f"{owner} {uid} 1")
        names = os.open(f"/proc/{child}/ns/user", os.O_RDONLY)
        attributes = struct.pack("=QQQQ", _MOUNT_ATTR_IDMAP, 0, 0, names)
        flags = _AT_EMPTY_PATH | _AT_RECURSIVE
        result = _libc().syscall(_MOUNT_SETATTR, tree, b"", flags, attributes, ctypes.c_size_t(len(attributes)))
        os.close(names)
        return int(result) == 0
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _children_of(directory: str) -> list[tuple[str, int | str]]:
    """Name of each folder, file and link in ``directory``, with its mount tree or the link's target."""
    found: list[tuple[str, int | str]] = []
    for entry in sorted(os.scandir(directory), key=lambda entry: entry.name):
        if entry.is_symlink():
            found.append((entry.name, os.readlink(entry.path)))
        elif entry.is_dir() or entry.is_file():
            found.append((entry.name, _detached(entry.path)))
    return found


def _stage(paths: list[str], writable: list[str], uid: int) -> None:
    _checked(_libc().unshare(_CLONE_NEWNS), "making a private mount namespace")
    _mount("none", "/", "", _MS_REC | _MS_PRIVATE)
    # All are taken before /tmp is covered, since some may lie under it or contain it.
    taken: list[tuple[int, list[tuple[str, int | str]] | None]] = []
    for path in paths:
        tree = _detached(path)
        status = os.fstat(tree)
        closed = stat.S_ISDIR(status.st_mode) and status.st_mode & 0o005 != 0o005 and path not in writable
        rebuild = closed and not _owned_by(tree, status.st_uid, uid)
        taken.append((tree, _children_of(path) if rebuild else None))
    _mount("tmpfs", STAGE, "tmpfs", 0, "mode=0755,size=4m")
    for index, (tree, children) in enumerate(taken):
        target = os.path.join(STAGE, str(index))
        if children is None:
            _place(tree, target)
        else:
            _place_opened(tree, children, target)


def _become(uid: int) -> None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def _kill(pid: int | None) -> None:
    if pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _keep_sandbox(argv: list[str], environment: dict[str, str], info_fd: int) -> int:
    """Run a bubblewrap command line, which reports on ``info_fd``, until it ends or standard input closes."""
    reader, writer = os.pipe()
    os.dup2(writer, info_fd)
    os.close(writer)
    child = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, pass_fds=(info_fd,), env=environment, start_new_session=True
    )
    os.close(info_fd)
    if _launcher_left(child.pid):
        _kill(_reported_pid(reader))
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(5)
        _kill(child.pid)
    return child.wait()


def _keep_processes(argv: list[str], environment: dict[str, str], input_fd: int | None) -> int:
    """Run ``argv`` without bubblewrap; when it ends or standard input closes, every descendant is killed."""
    # Orphans come back to this process, whatever session or process group they moved to.
    _libc().prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    child = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL if input_fd is None else input_fd, env=environment, start_new_session=True
    )
    if input_fd is not None:
        os.close(input_fd)
    status = 0
    ended = os.pidfd_open(child.pid)
    while not select.select([sys.stdin.fileno(), ended], [], [], _REAP_INTERVAL)[0]:
        _reap(but=child.pid)
    if child.poll() is not None:
        status = child.returncode
    deadline = time.monotonic() + _KILL_SECONDS
    while _kill_descendants() and time.monotonic() < deadline:
        _reap(but=None)
        time.sleep(0.002)
    return status


def _launcher_left(pid: int) -> bool:
    ended = os.pidfd_open(pid)
    ready, _, _ = select.select([sys.stdin.fileno(), ended], [], [])
    os.close(ended)
    return sys.stdin.fileno() in ready


def _reap(*, but: int | None) -> None:
    """Collect adopted orphans that have ended; the child named by ``but`` is left to its own waiter."""
    with contextlib.suppress(ChildProcessError):
        while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if ended.si_pid == but:
                return
            os.waitpid(ended.si_pid, 0)


def _children() -> dict[int, list[int]]:
    """Process ids by parent, zombies included."""
    tree: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
                tree.setdefault(int(fields[1]), []).append(int(name))
    return tree


def _kill_descendants() -> bool:
    """Kill all descendants seen now; False when there are none left."""
    tree = _children()
    pending = list(tree.get(os.getpid(), ()))
    if not pending:
        return False
    while pending:
        pid = pending.pop()
        pending += tree.get(pid, ())
        _kill(pid)
    return True


def _reported_pid(reader: int) -> int | None:
    """The sandbox's top process; killing it ends the whole PID namespace before bubblewrap itself returns."""
    ready, _, _ = select.select([reader], [], [], 0)
    text = os.read(reader, 4096) if ready else b""
    try:
        return int(json.loads(text)["child-pid"])
    except (ValueError, KeyError):
        return None


def main() -> int:
    """Read the order, carry it out, and return the program's exit status (70: the order could not be carried out)."""
    order: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    try:
        if order["uid"] is not None:
            if order["stage"]:
                _stage(order["stage"], order["writable"], order["uid"])
            _become(order["uid"])
        if order["info_fd"] is None:
            status = _keep_processes(order["argv"], order["environment"], order["input_fd"])
        else:
            status = _keep_sandbox(order["argv"], order["environment"], order["info_fd"])
    except OSError as error:
        sys.stderr.write(f"sandbox keeper: {error}\n")
        return 70
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
