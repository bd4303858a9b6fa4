"""Prompts say how to use tools; they hold no hint at any task, and are filled in strictly."""

from __future__ import annotations

import random
import re
from pathlib import Path
from string import Template

import pytest

from agents import prompts
from agents.prompts import FOLDER, fill
from crab.errors import DefinitionError
from crab.evaluator import ROOT
from crab.loading import find_project
from crab.run.build import load_catalogue, load_kind
from crab.run.root import RootDevice, root_environment
from tests.architecture.tree import ROOT as REPOSITORY

FILES = sorted(FOLDER.glob("*.txt"))

WORDS_OF_THE_MACHINERY = {"checkpoint", "evaluator", "oracle", "probe", "score", "benchmark", "crab", "test", "grade"}
"""An agent that is told how it is judged plays to the judge."""


@pytest.fixture(scope="module")
def hints() -> set[str]:
    """Words and phrases that would help with particular tasks: applications, roles, environments, actions, values."""
    project = find_project(explicit=REPOSITORY)
    kinds = [load_kind(project, id) for id in project.entries("environments")]
    providers = [kind.provider().describe() for kind in kinds]
    found = {name for provider in providers for pair in provider.applications.items() for name in pair}
    found |= {kind.kind for kind in kinds} | {action for kind in kinds for action in kind.actions if "_" in action}
    for subtask in load_catalogue(project):
        found |= {subtask.id, *subtask.environments}
        draws = [str(parameter.draw(random.Random(seed))) for parameter in subtask.parameters for seed in range(30)]
        found |= {draw for draw in draws if len(draw) > 3}
    for packages in (REPOSITORY / "environments").glob("*/packages.txt"):
        lines = packages.read_text(encoding="utf-8").splitlines()
        found |= {words[0] for line in lines if (words := line.partition("#")[0].split())}
    root = root_environment(RootDevice()).describe()
    allowed = {ROOT, *(action.name for action in root.actions)}
    return {hint.lower().replace("_", " ") for hint in found} - allowed


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_prompts_hold_no_hints(file: Path, hints: set[str]) -> None:
    """No application, device, template or value of a task is named, nor how a trial is judged."""
    words = " ".join(re.findall(r"[\w'.-]+", Template(file.read_text(encoding="utf-8")).template.lower()))

    assert len(hints) > 20, "nothing was looked for"
    assert not [hint for hint in hints | WORDS_OF_THE_MACHINERY if re.search(rf"\b{re.escape(hint)}\b", words)]


def test_there_are_prompts() -> None:
    assert FILES


def test_values_are_taken_as_they_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A task's words are not filled in themselves."""
    monkeypatch.setattr(prompts, "FOLDER", tmp_path)
    (tmp_path / "bill.txt").write_text("Pay $sum, that is $$.\n", encoding="utf-8")

    assert fill("bill", sum="$name and ${other}") == "Pay $name and ${other}, that is $."


@pytest.mark.parametrize(
    ("text", "values"),
    [("$task", {}), ("nothing", {"task": "x"}), ("$task costs 5 $", {"task": "x"}), ("$tusk", {"task": "x"})],
)
def test_a_prompt_and_its_values_fit_exactly(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, values: dict[str, str]
) -> None:
    """A name without a value, a value without a name, and a stray sign are refused."""
    monkeypatch.setattr(prompts, "FOLDER", tmp_path)
    (tmp_path / "some.txt").write_text(text, encoding="utf-8")

    with pytest.raises(DefinitionError, match="prompt some"):
        fill("some", **values)
