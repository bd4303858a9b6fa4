"""The agent's HOME as a checker sees it: answers about files that nothing in them can break.

Paths are written as the agent sees them: ``/home/user/...``, or ``~`` for it. They are walked one component at a time
from a descriptor of HOME, without following symbolic links, so no link leads anywhere else. Whatever an agent can
leave behind (nothing, a pipe, a link, an endless or locked or unreadable file) is an answer.
"""

from __future__ import annotations

import base64
import codecs
import errno
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from crab.errors import EnvironmentFailure, InvalidArguments

AGENT_HOME = "/home/user"
"""HOME as the agent sees it."""

READ_LIMIT = 1 << 20
"""Bytes of a file that are read unless asked otherwise."""

HASH_LIMIT = 1 << 28
"""Bytes up to which a file is hashed unless asked otherwise."""

LIST_LIMIT = 2000
"""Entries of a listing unless asked otherwise."""

LIST_CHARACTERS = 4_000_000
"""Characters that the paths of a listing have together at most."""

_SECONDS = 5.0
_CHUNK = 1 << 20
_OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_OPEN_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KINDS = (
    (stat.S_ISREG, "file"),
    (stat.S_ISDIR, "directory"),
    (stat.S_ISLNK, "symlink"),
    (stat.S_ISFIFO, "fifo"),
    (stat.S_ISSOCK, "socket"),
)

Encoding = Literal["text", "base64"]
"""How the content of a file is handed over."""


def components(path: str) -> tuple[str, ...]:
    """Returns the names that lead from HOME to a path.

    Args:
        path: ``~``, ``~/...``, or an absolute path beneath ``/home/user``.

    Raises:
        InvalidArguments: The path is relative, leads out of HOME, or cannot be the name of a file.
    """
    if path == "~" or path.startswith("~/"):
        path = AGENT_HOME + path[1:]
    pure = PurePosixPath(path)
    try:
        names = pure.relative_to(AGENT_HOME).parts
        path.encode("utf-8")
    except ValueError as trouble:
        raise InvalidArguments(
            f"path {path[:200]!r} is not beneath {AGENT_HOME}; write ~/… or {AGENT_HOME}/…"
        ) from trouble
    if ".." in names or "\0" in path:
        raise InvalidArguments(f"path {path[:200]!r} has a component that no file is named by")
    return names


class HomeFiles:
    """Questions about the files of one HOME, and the privileged write that set-up needs.

    Every answer about a path has ``exists`` and ``kind`` (``file``, ``directory``, ``symlink``, ``fifo``, ``socket``,
    ``other``, or None when there is nothing). A path that leads through a symbolic link or an unreadable folder counts
    as not existing.

    Args:
        home: HOME as this process sees it.
    """

    def __init__(self, home: Path) -> None:
        self._home = home

    def stat(self, path: str) -> dict[str, Any]:
        """Returns what a path is: exists, kind, size in bytes, mode (such as ``"644"``) and modified (Unix seconds).

        Raises:
            InvalidArguments: See `components`.
        """
        names = components(path)
        try:
            with self._parent(names) as (folder, name):
                return _described(os.stat(name, dir_fd=folder, follow_symlinks=False))
        except OSError:
            return _nothing()

    def read(self, path: str, limit: int = READ_LIMIT, encoding: Encoding = "text") -> dict[str, Any]:
        """Returns what a path is, and the content of it when it is a file.

        Args:
            path: See `components`.
            limit: Bytes to read at most.
            encoding: ``text`` decodes UTF-8, ``base64`` hands over the bytes.

        Returns:
            The answer of `stat` with ``content``, a string, and ``truncated``. Content is None when the path is no
            regular file, cannot be read or is locked, or is not UTF-8 while text was asked for.
        """
        with self._opened(path) as (answer, descriptor):
            answer |= {"content": None, "truncated": False}
            if descriptor is not None:
                data = b"".join(_pieces(descriptor, limit + 1))
                answer["truncated"] = len(data) > limit
                answer["content"] = _content(data[:limit], encoding)
        return answer

    def hash(self, path: str, limit: int = HASH_LIMIT) -> dict[str, Any]:
        """Returns what a path is, and ``sha256`` of its content.

        Args:
            path: See `components`.
            limit: Bytes above which a file is not hashed.

        Returns:
            The answer of `stat` with ``sha256`` in lower-case hexadecimal, which is None when the path is no regular
            file, cannot be read, is locked, or is larger than the limit.
        """
        with self._opened(path) as (answer, descriptor):
            answer["sha256"] = None
            if descriptor is not None and os.fstat(descriptor).st_size <= limit:
                digest, size = hashlib.sha256(), 0
                for piece in _pieces(descriptor, limit + 1):
                    digest.update(piece)
                    size += len(piece)
                complete = size <= limit and not os.read(descriptor, 1)
                answer["sha256"] = digest.hexdigest() if complete else None
        return answer

    def list(self, path: str, depth: int = 1, limit: int = LIST_LIMIT) -> dict[str, Any]:
        """Returns what a path is, and what is in it when it is a folder.

        Args:
            path: See `components`.
            depth: 1 lists the folder itself, 2 its subfolders too, and so on.
            limit: Most entries.

        Returns:
            The answer of `stat` with ``entries`` (each: path relative to the folder, kind, size) sorted by path, and
            ``truncated``. Entries is None when the path is no folder or cannot be read.
        """
        answer: dict[str, Any] = self.stat(path) | {"entries": None, "truncated": False}
        if answer["kind"] != "directory":
            return answer
        try:
            folder = self._walk(components(path))
        except OSError:
            return answer
        try:
            listing = _Listing(limit, time.monotonic() + _SECONDS)
            answer["truncated"] = not listing.gather(folder, "", depth)
            answer["entries"] = sorted(listing.entries, key=lambda entry: str(entry["path"]))
        except OSError:
            return answer
        finally:
            os.close(folder)
        return answer

    def write(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Writes a file, creating the folders above it; for set-up only.

        Args:
            path: See `components`.
            data: The whole content.
            mode: Permission bits of the file.

        Raises:
            InvalidArguments: The path is not beneath HOME, or is HOME itself.
            EnvironmentFailure: Something other than a file or folder is in the way.
        """
        names = components(path)
        if not names:
            raise InvalidArguments("path is HOME itself; name a file in it")
        try:
            with self._parent(names, create=True) as (folder, name):
                descriptor = os.open(name, _OPEN_WRITE, 0o600, dir_fd=folder)
                with os.fdopen(descriptor, "wb") as opened:
                    opened.write(data)
                    os.fchmod(opened.fileno(), mode & 0o777)
        except OSError as trouble:
            raise EnvironmentFailure(f"cannot write {path}: {trouble.strerror}") from trouble

    def make_directory(self, path: str) -> None:
        """Creates a folder and those above it; one that exists is left as it is. For set-up only.

        Raises:
            InvalidArguments: The path is not beneath HOME.
            EnvironmentFailure: Something other than a folder is in the way.
        """
        try:
            os.close(self._walk(components(path), create=True))
        except OSError as trouble:
            raise EnvironmentFailure(f"cannot create folder {path}: {trouble.strerror}") from trouble

    def _walk(self, names: tuple[str, ...], *, create: bool = False) -> int:
        """Returns a descriptor of the folder these names lead to."""
        folder = os.open(self._home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for name in names:
            above = folder
            try:
                folder = _enter(above, name, create=create)
            finally:
                os.close(above)
        return folder

    @contextmanager
    def _parent(self, names: tuple[str, ...], *, create: bool = False) -> Iterator[tuple[int, str]]:
        """Gives the folder that holds the last name, and that name."""
        folder = self._walk(names[:-1], create=create)
        try:
            yield folder, names[-1] if names else "."
        finally:
            os.close(folder)

    @contextmanager
    def _opened(self, path: str) -> Iterator[tuple[dict[str, Any], int | None]]:
        """Gives what a path is and, when it is a readable regular file, a descriptor of it."""
        answer, descriptor = self.stat(path), None
        if answer["kind"] == "file":
            try:
                with self._parent(components(path)) as (folder, name):
                    # Opening must not wait: neither for a writer of a pipe nor for the holder of a lease.
                    descriptor = os.open(name, _OPEN_FILE, dir_fd=folder)
            except OSError as trouble:
                answer = _nothing() if trouble.errno == errno.ENOENT else answer
        try:
            if descriptor is not None:
                answer = _described(os.fstat(descriptor))
            yield answer, descriptor if answer["kind"] == "file" else None
        finally:
            if descriptor is not None:
                os.close(descriptor)


def _nothing() -> dict[str, Any]:
    return {"exists": False, "kind": None, "size": None, "mode": None, "modified": None}


def _described(result: os.stat_result) -> dict[str, Any]:
    return {
        "exists": True,
        "kind": _kind(result.st_mode),
        "size": result.st_size,
        "mode": f"{stat.S_IMODE(result.st_mode):03o}",
        "modified": result.st_mtime,
    }


def _kind(mode: int) -> str:
    return next((kind for holds, kind in _KINDS if holds(mode)), "other")


def _enter(folder: int, name: str, *, create: bool) -> int:
    try:
        return os.open(name, _OPEN_DIRECTORY, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            raise
    os.mkdir(name, 0o755, dir_fd=folder)
    return os.open(name, _OPEN_DIRECTORY, dir_fd=folder)


def _pieces(descriptor: int, limit: int) -> Iterator[bytes]:
    """Yields the content, at most `limit` bytes and for at most 5 s; stops early where reading fails."""
    deadline = time.monotonic() + _SECONDS
    left = limit
    while left > 0 and time.monotonic() < deadline:
        try:
            piece = os.read(descriptor, min(left, _CHUNK))
        except OSError:
            return
        if not piece:
            return
        left -= len(piece)
        yield piece


def _content(data: bytes, encoding: Encoding) -> str | None:
    if encoding == "base64":
        return base64.b64encode(data).decode("ascii")
    try:
        # Not final: a character cut in two by the limit is left out rather than an error.
        return codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return None


@dataclass
class _Listing:
    """A listing in the making, and what is left of its limits."""

    limit: int
    deadline: float
    entries: list[dict[str, Any]] = field(default_factory=list)
    characters: int = LIST_CHARACTERS

    def add(self, path: str, found: os.stat_result) -> None:
        self.characters -= len(path)
        self.entries.append({"path": path, "kind": _kind(found.st_mode), "size": found.st_size})

    @property
    def over(self) -> bool:
        full = len(self.entries) >= self.limit or self.characters < 0
        return full or time.monotonic() > self.deadline

    def gather(self, folder: int, prefix: str, depth: int) -> bool:
        """Adds what is in a folder; returns False when a limit cut it short."""
        subfolders = list[str]()
        with os.scandir(folder) as scan:
            for entry in scan:
                if self.over:
                    return False
                try:
                    found = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                self.add(prefix + _printable(entry.name), found)
                if stat.S_ISDIR(found.st_mode):
                    subfolders.append(entry.name)
        return depth <= 1 or all(self._gather_subfolder(folder, name, prefix, depth) for name in sorted(subfolders))

    def _gather_subfolder(self, folder: int, name: str, prefix: str, depth: int) -> bool:
        try:
            inner = os.open(name, _OPEN_DIRECTORY, dir_fd=folder)
        except OSError:
            return True
        try:
            return self.gather(inner, f"{prefix}{_printable(name)}/", depth - 1)
        except OSError:
            return True
        finally:
            os.close(inner)


def _printable(name: str) -> str:
    """Returns a file name as text that JSON can carry: bytes that are not UTF-8 become escapes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
