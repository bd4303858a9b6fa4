"""The command line in this process, where a child would only be slower."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from crab.cli.main import main


class Done(NamedTuple):
    """What a command did."""

    status: int
    out: str
    err: str


class CommandLine:
    """Runs ``crab`` on one project.

    Args:
        project: Its folder.
        capture: Of what is printed.
    """

    def __init__(self, project: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.project = project
        self._temporary = project
        self._capture = capture

    def __call__(self, *arguments: str | Path) -> Done:
        """Runs one command."""
        status = main([*map(str, arguments), "--project", str(self.project)])
        self._forget()
        printed = self._capture.readouterr()
        return Done(status, printed.out, printed.err)

    def _forget(self) -> None:
        """Drops the modules of a temporary project, as the end of a process would."""
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if file is not None and self._temporary in Path(file).parents:
                del sys.modules[name]

    def refused(self, *arguments: str | Path) -> str:
        """Runs a command that must be refused in one line, and returns the line."""
        done = self(*arguments)
        assert done.status == 2, done
        assert done.err.count("\n") == 1, done.err
        return done.err


@pytest.fixture
def crab(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line on a toy project of the test's; what loading does to the module path ends with the test."""
    from tests.toy_project import write_project

    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("COLUMNS", "120")
    return CommandLine(write_project(tmp_path / "project"), capsys)
