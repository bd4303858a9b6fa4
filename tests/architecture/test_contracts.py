"""The import contracts of pyproject.toml hold."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from importlinter import api

from tests.architecture.tree import ROOT, Source, sources

CONFIGURATION = str(ROOT / "pyproject.toml")


def contract(identifier: str) -> dict[str, Any]:
    """The options of one contract."""
    options = api.read_configuration(CONFIGURATION)["contracts_options"]
    return next(dict(option) for option in options if option["id"] == identifier)


def test_import_contracts_hold() -> None:
    """Layers, the wall before the answer key, purity, independence and the absence of cycles are kept."""
    # In a process of its own: the linter sets up logging for the whole process.
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)

    assert done.returncode == 0, done.stdout + done.stderr


def test_every_part_of_crab_has_a_layer() -> None:
    """A new module cannot slip in between the layers."""
    layers = " ".join(contract("layers")["layers"])
    parts = {source.path.parts[1].removesuffix(".py") for source in sources("crab")} - {"__init__"}

    assert not {part for part in parts if f"({part})" not in layers}


def test_vocabulary_is_held_to_purity() -> None:
    """Every single-file module of crab is pure: it is a word of the vocabulary, not machinery."""
    modules = {source.module for source in sources("crab") if is_vocabulary(source)}

    assert modules <= set(contract("pure")["source_modules"])


def is_vocabulary(source: Source) -> bool:
    """Whether ``source`` is a module directly under ``crab``."""
    return len(source.path.parts) == 2 and not source.is_package
