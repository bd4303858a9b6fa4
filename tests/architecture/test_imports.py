"""Importing a module defines names, and nothing else happens: no display, network, file, variable, clock or model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import PACKAGES, ROOT, sources

HEAVY = [
    "PIL",
    "Xlib",
    "anthropic",
    "cv2",
    "dbus_fast",
    "fastapi",
    "google.genai",
    "httpx",
    "jinja2",
    "matplotlib",
    "mss",
    "networkx",
    "numpy",
    "openai",
    "pandas",
    "pyautogui",
    "ray",
    "rich",
    "scipy",
    "selenium",
    "starlette",
    "torch",
    "typer",
    "uvicorn",
]
"""Packages that cost tens of milliseconds or want a display; they are imported where they are used."""

PICTURES = ["PIL", "numpy"]
"""What modules that work on pixels may load."""

PIXEL_PACKAGES = ("crab.perception", "crab.testing", "environments")

MAY_LOAD: dict[str, list[str]] = {"crab.cli": ["rich", "typer"]}
"""What else the modules of a package may load."""


def allowed(module: str) -> frozenset[str]:
    """The heavy packages that ``module`` may load when it is imported."""
    extra = [name for package, names in MAY_LOAD.items() if lies_in(module, package) for name in names]
    pictures = PICTURES if any(lies_in(module, package) for package in PIXEL_PACKAGES) else []
    return frozenset([*extra, *pictures])


def lies_in(module: str, package: str) -> bool:
    """Whether ``module`` is ``package`` or lies in it."""
    return module == package or module.startswith(f"{package}.")


def groups() -> dict[frozenset[str], list[str]]:
    """The modules of the source tree by what they may load; each group gets one interpreter."""
    found: dict[frozenset[str], list[str]] = {}
    for source in sources(*PACKAGES):
        if not source.module.endswith("__main__"):
            found.setdefault(allowed(source.module), []).append(source.module)
    return found


def watch(modules: list[str], heavy: list[str], *, root: Path = ROOT) -> list[str]:
    """What importing ``modules`` did, in an interpreter without display, variables or standard input of its own."""
    request = json.dumps({"modules": modules, "root": str(root), "heavy": heavy})
    program = ROOT / "tests" / "architecture" / "import_watch.py"
    prelude = (
        f"import runpy, sys; sys.path.insert(0, {str(root)!r}); runpy.run_path({str(program)!r}, run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-B", "-c", prelude],
        input=request,
        env={"LANG": "C.UTF-8"},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(answer, list)
    return answer


@pytest.mark.parametrize("may_load", groups(), ids=lambda names: "-".join(sorted(names)) or "nothing-heavy")
def test_importing_does_nothing_but_define(may_load: frozenset[str]) -> None:
    """No module of the framework or its content acts, reads, prints or loads something heavy when it is imported."""
    assert watch(groups()[may_load], [name for name in HEAVY if name not in may_load]) == []


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("import os\nos.environ.get('DISPLAY')", "read the environment variable DISPLAY"),
        ("import os\n'HOME' in os.environ", "read the environment variable HOME"),
        ("import time\ntime.time()", "read the clock (time)"),
        ("open('/etc/hostname').close()", "opened a file (/etc/hostname)"),
        ("from pathlib import Path\nPath('/etc/hostname').read_text()", "opened a file (/etc/hostname)"),
        ("import subprocess\nsubprocess.run(['true'])", "started a program (true)"),
        ("import socket\nsocket.socket().bind(('127.0.0.1', 0))", "opened a socket"),
        ("import tempfile\ntempfile.mkdtemp()", "made a temporary folder"),
        ("print('hello')", "printed 'hello\\n'"),
        ("import numpy", "loaded numpy"),
        ("import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()", "started a thread"),
    ],
)
def test_watch_notices(code: str, complaint: str, tmp_path: Path) -> None:
    """The watch itself sees each kind of breach."""
    (tmp_path / "rover.py").write_text(code, encoding="utf-8")

    seen = watch(["rover"], HEAVY, root=tmp_path)

    assert any(complaint in sentence for sentence in seen), seen


def test_watch_lets_the_standard_library_be_imported(tmp_path: Path) -> None:
    """What a module of the standard library does when it is imported is not the importing module's doing."""
    (tmp_path / "rover.py").write_text("import logging, multiprocessing, asyncio, uuid, tempfile", encoding="utf-8")

    assert watch(["rover"], HEAVY, root=tmp_path) == []
