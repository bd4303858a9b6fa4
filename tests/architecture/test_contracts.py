"""The import contracts of pyproject.toml hold."""

from __future__ import annotations

from typing import Any

import pytest
from importlinter import api

from tests.architecture.tree import ROOT, Source, sources

CONFIGURATION = str(ROOT / "pyproject.toml")


def contract(identifier: str) -> dict[str, Any]:
    """The options of one contract."""
    options = api.read_configuration(CONFIGURATION)["contracts_options"]
    return next(dict(option) for option in options if option["id"] == identifier)


def test_import_contracts_hold(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers, the wall before the answer key, purity, independence and the absence of cycles are kept."""
    from importlinter.cli import lint_imports

    monkeypatch.chdir(ROOT)
    kept = lint_imports(config_filename=CONFIGURATION, no_cache=True) == 0

    assert kept, capsys.readouterr().out


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
