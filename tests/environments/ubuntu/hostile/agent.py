"""The agent of these tests: types commands into the terminal, and brings what tools it likes."""

from __future__ import annotations

import base64
import io
import zipfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from PIL import Image

from crab.environment import Environment
from crab.observation import ObservationRequest
from environments.ubuntu.providers.embedded import EmbeddedEnvironment
from tests.environments.ubuntu.waiting import until

SEED = 7
START_TIME = "2026-01-05T09:00:00Z"

X_PRELUDE = """
import os, sys, time
sys.path.insert(0, os.path.expanduser("~/Xlib.zip"))
from Xlib import X, Xatom, display, error
from Xlib.protocol import request
from Xlib.ext import randr
d = display.Display()
root = d.screen().root
def done():
    d.sync()
    open(os.path.expanduser("~/.done"), "w").close()
"""
"""First lines of a script that talks to the X server."""


def packed(package: str) -> str:
    """The Python files of an installed package as a zip in base64, for Python inside to import from."""
    found = Path(str(import_module(package).__file__)).parent
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(found.rglob("*.py")):
            archive.write(file, f"{package}/{file.relative_to(found)}")
    return base64.b64encode(buffer.getvalue()).decode("ascii")


class HostileAgent:
    """An agent with a terminal.

    Args:
        environment: The desktop, as the provider gave it.
    """

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self._commands = 0

    def begin(self, files: Mapping[str, str] | None = None, packages: tuple[str, ...] = ()) -> None:
        """Resets the desktop, puts files and packages into HOME, and opens a terminal.

        What an attack before did to the desktop must be gone then.
        """
        self.environment.reset(SEED, START_TIME)
        assert isinstance(self.environment, EmbeddedEnvironment)
        assert self.environment.health() is None
        assert sorted(window["class"] for window in self.probe("windows")) == ["Pcmanfm", "Tint2"]
        for name, content in (files or {}).items():
            self.environment.prepare("write_file", {"path": f"~/{name}", "content": content})
        for package in packages:
            arguments = {"path": f"~/{package}.zip", "content": packed(package), "encoding": "base64"}
            self.environment.prepare("write_file", arguments)
        self.open_terminal()

    def open_terminal(self) -> None:
        """Opens a terminal whose shell takes commands."""
        self.environment.act("open_application", {"application": "terminal"})
        # What is typed before the shell is there reaches it as well.
        assert self.run("true") == (0, "")

    def type(self, command: str) -> None:
        """Types a command and presses enter."""
        self.environment.act("write_text", {"text": command + "\n"})

    def run(self, command: str, seconds: float = 30.0) -> tuple[int, str]:
        """Types a command; returns its exit status and output when it has ended."""
        self._commands += 1
        out, status = f".out{self._commands}", f".status{self._commands}"
        self.type(f"{{ {command}\n}} >~/{out} 2>&1 </dev/null; echo $? >~/{status}")
        found = until(lambda: self.read(status).strip(), f"the end of {command[:200]}", seconds)
        return int(found), self.read(out)

    def output(self, command: str) -> str:
        """Output of a command that must succeed."""
        status, output = self.run(command)
        assert status == 0, output
        return output

    def unleash(self, script: str) -> None:
        """Runs ``~/script`` in the background, out of the terminal's reach, until it has written ``~/.done``."""
        self.type(f"setsid -f python3 ~/{script} >~/.log 2>&1")
        until(lambda: self.exists(".done") or "Traceback" in self.read(".log"), f"{script} to do its worst")
        assert self.exists(".done"), self.read(".log")

    def read(self, name: str) -> str:
        """Content of a file of HOME, empty when there is none."""
        return self.probe("file_read", path=f"~/{name}")["content"] or ""

    def exists(self, name: str) -> bool:
        """Whether a file of HOME is there."""
        return bool(self.probe("file_stat", path=f"~/{name}")["exists"])

    def probe(self, name: str, /, **arguments: Any) -> Any:
        """Asks as a checker would; an unknown answer fails the test."""
        return self.environment.probe(name, arguments)

    def assert_answers(self) -> None:
        """Everything that looks at the desktop answers within its deadline, with an answer and no error."""
        observation = self.environment.observe(ObservationRequest(accessibility=True))
        with Image.open(io.BytesIO(observation.now.data)) as picture:
            picture.load()
        assert observation.accessibility is not None
        for name in ("windows", "focused_window", "processes", "clipboard", "screenshot", "accessibility"):
            self.probe(name)
        for name in ("file_stat", "file_read", "file_hash", "file_list"):
            self.probe(name, path="~")
        self.probe("setting", name="wallpaper")

    def assert_usable(self) -> None:
        """Looking, typing and starting programs works: the attack got nowhere."""
        self.assert_answers()
        self.environment.act("click", {"x": 600, "y": 400})
        assert isinstance(self.environment, EmbeddedEnvironment)
        assert self.environment.health() is None
        self.open_terminal()

    def assert_recovers(self) -> None:
        """A reset brings everything back."""
        self.begin()
        self.assert_usable()
