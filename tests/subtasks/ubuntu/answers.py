"""Probes without a desktop: the real file probes over a folder, and recorded answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crab.evaluator import Evaluator, Leaf, Probes
from environments.ubuntu.files import HomeFiles
from environments.ubuntu.settings import read_setting


class HomeProbes:
    """The desktop's own answers about files and settings, for a HOME that lies in a folder."""

    def __init__(self, home: Path) -> None:
        self._files = HomeFiles(home)

    def probe(self, name: str, /, **arguments: Any) -> Any:
        if name == "setting":
            return read_setting(self._files, **arguments)
        return getattr(self._files, name.removeprefix("file_"))(**arguments)


class Recorded:
    """Answers of a desktop as they were recorded, by probe."""

    def __init__(self, **answers: Any) -> None:
        self._answers = answers

    def probe(self, name: str, /, **arguments: Any) -> Any:
        return self._answers[name]


def verdict(evaluator: Leaf, probes: Probes, /, **values: Any) -> bool | None:
    """What an evaluator says: True, False, or None for unknown."""
    bound: Evaluator = evaluator.bind(**values).on("desktop")
    return bound.evaluate(lambda role, deadline: probes).value
