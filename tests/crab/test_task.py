"""Subtasks and tasks: what a template promises, which values it takes, and what is refused when written."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from crab.errors import DefinitionError
from crab.evaluator import Probes, evaluator, submitted
from crab.graph import CheckpointGraph, chain, checkpoint
from crab.task import (
    NearMiss,
    Needs,
    OracleCall,
    Output,
    Parameter,
    SetupCall,
    Solution,
    Subtask,
    Task,
    Values,
    ValueType,
    perform,
    submit,
)

FILE = ValueType("file_path", "A path in the home folder.")
COUNT = ValueType("count", "How many.", int)
LOUD = ValueType("loud", "Whether it is loud.", bool)


@evaluator
def exists(env: Probes, path: str) -> bool:
    """Whether there is such a file."""
    return bool(env.probe("exists", path=path))


def checkpoints(values: Values) -> CheckpointGraph:
    return chain(checkpoint("file_exists", exists.bind(path=values["file"]).on("desktop")))


def solve(values: Values) -> Solution:
    yield perform("desktop", "write", path=values["file"])


def near_miss(values: Values) -> Solution:
    yield perform("desktop", "write", path=values["file"] + "x")


def write_file(**changes: Any) -> Subtask:
    fields: dict[str, Any] = {
        "id": "write_file",
        "version": 2,
        "description": "Write {count} lines to {file}.",
        "environments": {"desktop": "ubuntu"},
        "parameters": (
            Parameter("file", FILE, ("a.txt", "b.txt", "c.txt")),
            Parameter("count", COUNT, lambda generator: generator.randint(1, 1000)),
        ),
        "checkpoints": checkpoints,
        "solve": solve,
        "near_misses": (NearMiss("other_name", "file_exists", near_miss),),
    }
    return Subtask(**{**fields, **changes})


VALUES = {"file": "a.txt", "count": 3}


# Values


def test_a_template_is_referred_to_by_id_and_version() -> None:
    assert write_file().reference == "write_file@2"


def test_a_description_is_filled_with_values() -> None:
    assert write_file().describe(VALUES) == "Write 3 lines to a.txt."


def test_braces_in_values_and_doubled_braces_are_text() -> None:
    subtask = write_file(description="Write {{}} and {file}.")
    assert subtask.describe({"file": "{count}{0}", "count": 1}) == "Write {} and {count}{0}."


def test_the_same_seed_draws_the_same_values() -> None:
    subtask = write_file()
    assert subtask.draw(5) == subtask.draw(5)
    assert len({str(subtask.draw(seed)) for seed in range(30)}) > 20


def test_drawn_values_fit_and_come_from_the_pools() -> None:
    for seed in range(20):
        values = write_file().draw(seed)
        write_file().check(values)
        assert values["file"] in ("a.txt", "b.txt", "c.txt")
        assert 1 <= values["count"] <= 1000


def test_drawing_leaves_the_global_generator_alone() -> None:
    random.seed(1)
    expected = random.random()
    random.seed(1)
    write_file().draw(3)
    assert random.random() == expected


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"file": "a.txt"}, "'count' is missing"),
        ({**VALUES, "colour": "red"}, "'colour' is no parameter"),
        ({"file": 3, "count": 3}, "file must be str \\(file_path\\), got 3"),
        ({"file": "a.txt", "count": "3"}, "count must be int \\(count\\), got '3'"),
        ({"file": "a.txt", "count": True}, "count must be int"),
        ({"file": "a.txt", "count": None}, "count must be int"),
    ],
)
def test_values_that_do_not_fit_are_named(values: dict[str, Any], problem: str) -> None:
    with pytest.raises(DefinitionError, match=f"write_file@2: {problem}"):
        write_file().check(values)


# Writing templates


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"id": "write file"}, "the id is an identifier"),
        ({"version": 0}, "the version at least 1"),
        ({"description": "Write to {path}."}, "{path} in its text is no parameter"),
        ({"description": "Write to {}."}, "{} in its text is no parameter"),
        ({"description": "Write to {file.name}."}, "{file.name} in its text is no parameter"),
        ({"description": "Write to {file."}, "expected '}'"),
        ({"output": Output(FILE, "the file {path}", lambda values: "")}, "{path} in its text is no parameter"),
        ({"parameters": (Parameter("file", FILE, "ab"), Parameter("file", FILE, "ab"))}, "two parameters share a name"),
        ({"needs": {"phone": Needs(("x",))}}, "'phone' is none of its roles"),
        ({"extra_actions": {"phone": ("x",)}}, "'phone' is none of its roles"),
        ({"environments": {}}, "it needs an environment"),
        ({"environments": {"root": "ubuntu"}}, "'root' is always there"),
        ({"environments": {"desk__top": "ubuntu"}}, "role 'desk__top' must be an identifier without '__'"),
        ({"environments": {"desk top": "ubuntu"}}, "role 'desk top' must be an identifier"),
    ],
)
def test_a_template_that_is_written_wrong_is_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(DefinitionError, match=r"write.file") as caught:
        write_file(**changes)
    assert problem in str(caught.value)


def test_an_output_is_computed_from_parameters_alone() -> None:
    output = Output(FILE, "the copy of {file}", lambda values: values["file"] + ".bak")
    subtask = write_file(output=output)
    assert subtask.output is output
    assert output.value(VALUES) == "a.txt.bak"


def test_an_oracle_yields_calls_by_name() -> None:
    assert next(solve(VALUES)) == OracleCall("desktop", "write", {"path": "a.txt"})
    assert submit("42") == OracleCall("root", "submit", {"answer": "42"})


def test_any_argument_name_can_be_performed() -> None:
    call = perform("desktop", "start", environment="PATH=x", action="run")
    assert (call.environment, call.action) == ("desktop", "start")
    assert call.arguments == {"environment": "PATH=x", "action": "run"}


# Tasks


def task(**changes: Any) -> Task:
    fields: dict[str, Any] = {
        "id": "two_devices",
        "version": 1,
        "description": "Write it, and say so.",
        "environments": {"desktop": "ubuntu", "phone": "android"},
        "graph": chain(checkpoints(VALUES), checkpoint("answered", submitted("42"))),
        "setup": (SetupCall("desktop", "write_file", {"path": "x"}), SetupCall("phone", "add_contact")),
    }
    return Task(**{**fields, **changes})


def test_two_environments_of_a_kind_differ_by_role() -> None:
    both = task(environments={"desktop": "ubuntu", "phone": "android", "phone_b": "android"})
    assert both.environments["phone_b"] == "android"


def test_setup_keeps_its_order() -> None:
    assert [call.name for call in task().setup] == ["write_file", "add_contact"]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"environments": {}}, "it needs an environment"),
        ({"environments": {"desktop": "ubuntu", "phone": "android", "root": "ubuntu"}}, "'root' is always there"),
        ({"environments": {"desktop": "ubuntu", "phone": "android", "a__b": "ubuntu"}}, "role 'a__b'"),
        ({"environments": {"desktop": "ubuntu", "phone": "android", "a_": "ubuntu"}}, "role 'a_'"),
        ({"environments": {"phone": "android"}}, "'desktop' is none of its environments"),
        ({"setup": (SetupCall("tablet", "x"),)}, "'tablet' is none of its environments"),
        ({"setup": (SetupCall("root", "submit"),)}, "'root' is none of its environments"),
        ({"needs": {"tablet": Needs()}}, "'tablet' is none of its environments"),
        ({"extra_actions": {"tablet": ("x",)}}, "'tablet' is none of its environments"),
    ],
)
def test_a_task_names_only_environments_it_has(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(DefinitionError, match="task two_devices: ") as caught:
        task(**changes)
    assert problem in str(caught.value)


def test_root_may_be_asked_without_being_named() -> None:
    assert "root" in task().graph.environments


def test_a_task_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        task().description = "Else."  # type: ignore[misc]
    assert replace(task(), tags=("x",)).tags == ("x",)
