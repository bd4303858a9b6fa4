"""Imports the modules named on standard input and reports what each import did beyond defining names.

Run as a program in a fresh interpreter. Input: JSON, ``{"modules": [...], "root": "...", "heavy": [...]}``. Output, on
the last line: JSON, a list of sentences, empty when nothing happened. Only what code of the repository does counts: a
third-party package may read its own files.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

EFFECTS = {
    "os.exec": "started a program",
    "os.fork": "started a process",
    "os.forkpty": "started a process",
    "os.mkdir": "made a folder",
    "os.posix_spawn": "started a program",
    "os.remove": "removed a file",
    "os.rename": "renamed a file",
    "os.system": "started a program",
    "open": "opened a file",
    "shutil.rmtree": "removed a folder",
    "socket.bind": "opened a socket",
    "socket.connect": "opened a connection",
    "socket.getaddrinfo": "asked for a host's address",
    "subprocess.Popen": "started a program",
    "tempfile.mkdtemp": "made a temporary folder",
    "tempfile.mkstemp": "made a temporary file",
}
MODULE_FILES = (".py", ".pyc", ".so")


class Watch:
    """Collects what the repository's code does while it is imported."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.library = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
        self.packages = sysconfig.get_path("purelib")
        self.module = ""
        self.seen: list[str] = []

    def note(self, effect: str) -> None:
        """Record ``effect`` of the module being imported, when the repository's code asked for it."""
        if self.module and self.asked_by_repository():
            self.seen.append(f"importing {self.module} {effect}")

    def asked_by_repository(self) -> bool:
        """Whether the innermost frame that is not a function of the standard library is in the repository."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            file, name = frame.f_code.co_filename, frame.f_code.co_name
            ours = file.startswith(self.root) and not file.startswith((self.packages, sys.prefix))
            if ours and os.path.basename(file) != "import_watch.py":
                return True
            # Another package's code, or a module of the standard library that is being imported in its turn.
            if file.startswith(self.packages) or (file.startswith(self.library) and name == "<module>"):
                return False
            frame = frame.f_back
        return False

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """The interpreter's audit hook."""
        if event not in EFFECTS or not self.module:
            return
        subject = str(arguments[0]) if arguments else ""
        if event == "open" and (subject.endswith(MODULE_FILES) or subject.isdigit()):
            return
        self.note(f"{EFFECTS[event]} ({subject})")

    def clock(self, original: Callable[[], Any], name: str) -> Callable[[], Any]:
        """``original``, telling when the repository's code reads it."""

        def read() -> Any:
            self.note(f"read the clock ({name})")
            return original()

        return read

    def environment(self) -> Any:
        """``os.environ``, telling when the repository's code reads it."""
        watch = self

        class Watched(type(os.environ)):  # type: ignore[misc]
            def __getitem__(self, key: str) -> str:
                watch.note(f"read the environment variable {key}")
                return str(super().__getitem__(key))

            def __iter__(self) -> Iterator[str]:
                watch.note("read the environment")
                return iter(super().__iter__())

        plain = os.environ
        return Watched(plain._data, plain.encodekey, plain.decodekey, plain.encodevalue, plain.decodevalue)  # type: ignore[attr-defined]


def heavy_loaded(heavy: list[str]) -> set[str]:
    """Which of the packages ``heavy`` are loaded."""
    return {name for name in heavy if name in sys.modules}


def watch_imports(modules: list[str], root: str, heavy: list[str]) -> list[str]:
    """Import ``modules`` one after the other; what each did."""
    watch = Watch(root)
    os.environ = watch.environment()  # noqa: B003 - replaced as a whole, to see who reads it
    for name in ("time", "monotonic", "time_ns", "perf_counter"):
        setattr(time, name, watch.clock(getattr(time, name), name))
    sys.addaudithook(watch.audit)
    threads = threading.active_count()
    for module in modules:
        loaded, printed = heavy_loaded(heavy), io.StringIO()
        watch.module = module
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            importlib.import_module(module)
        watch.module = ""
        watch.seen += [f"importing {module} loaded {name}" for name in sorted(heavy_loaded(heavy) - loaded)]
        if printed.getvalue():
            watch.seen.append(f"importing {module} printed {printed.getvalue()!r}")
        if threading.active_count() > threads:
            watch.seen.append(f"importing {module} started a thread")
            threads = threading.active_count()
    return watch.seen


if __name__ == "__main__":
    sys.stdout.write(json.dumps(watch_imports(**json.load(sys.stdin))))
