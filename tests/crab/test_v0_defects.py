"""Defects of CRAB v0 in vocabulary and composition (numbers as in the list of its defects), shown to be none of ours.

Those in whole trials and in remote environments have files of their own beside this one.
"""

from __future__ import annotations

import json
from typing import Any

import networkx
import pytest
import typer
from typer.testing import CliRunner

from crab.action import action
from crab.cli.main import app
from crab.compose.composer import Catalogue, ComposedTask, compose
from crab.compose.document import document_text, parse_document
from crab.errors import CompositionError, DefinitionError, GraphError, InvalidArguments
from crab.evaluator import Probes, Verdict, evaluator
from crab.graph import Checkpoint, CheckpointGraph, chain, checkpoint, parallel
from crab.progress import Progress
from crab.task import Output, Parameter, SetupCall, Solution, Subtask, Values, ValueType, perform


@evaluator
def equals(env: Probes, name: str, wanted: int = 1) -> bool:
    """Whether a device has that value."""
    return bool(env.probe(name) == wanted)


@evaluator
def true() -> bool:
    return True


@action
def add(first: int, second: int = 1) -> int:
    """Adds.

    Args:
        first: One number.
        second: Another number.
    """
    return first + second


def nodes(ids: str) -> list[Checkpoint]:
    return [checkpoint(id, true) for id in ids]


def rows_of_two(count: int) -> CheckpointGraph:
    """Rows of two, fully joined, and one checkpoint at the end: v0's walk took twice as long for each row."""
    rows = [parallel(checkpoint(f"left_{row}", true), checkpoint(f"right_{row}", true)) for row in range(count)]
    return chain(*rows, checkpoint("end", true))


class Table:
    """A device that answers probes from a table."""

    def __init__(self, **values: Any) -> None:
        self._values = values

    def probe(self, name: str, /, **arguments: Any) -> Any:
        return self._values[name]


# Scoring


def test_v0_01_a_step_asks_as_many_questions_as_there_are_checkpoints() -> None:
    graph = rows_of_two(500)
    asked: list[str] = []

    def ask(node: Checkpoint) -> Verdict:
        asked.append(node.id)
        return Verdict(True)

    progress = Progress(graph)
    progress.advance(ask, 1)
    assert progress.complete
    assert len(asked) == len(graph) == 1001


def test_v0_02_counts_are_right_where_paths_meet() -> None:
    assert len(rows_of_two(16).edges) == 62
    diamond = CheckpointGraph(nodes("abcde"), [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "e")])
    assert len(diamond.edges) == 5
    short_cut = CheckpointGraph(nodes("abcd"), [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")])
    assert networkx.dag_longest_path_length(short_cut.to_networkx()) == 3


def test_v0_03_completion_never_exceeds_one() -> None:
    progress = Progress(chain(*nodes("abc")))
    for step in range(4):
        progress.advance(lambda node: Verdict(True), step)
        assert progress.completion == 1
        assert len(progress.passed) == 3


def test_v0_04_progress_starts_at_nothing() -> None:
    graph = chain(*nodes("a"))
    Progress(graph).advance(lambda node: Verdict(True), 1)
    assert Progress(graph).completion == 0
    assert Progress(graph).passed == ()


def test_v0_05_combinations_keep_environment_arguments_and_a_readable_name() -> None:
    first, second = equals.bind(name="x", wanted=3).on("desktop"), equals.bind(name="y").on("phone")
    devices = {"desktop": Table(x=3), "phone": Table(y=2)}
    values = {
        question.name: question.evaluate(lambda role, deadline: devices[role]).value
        for question in (first & second, first | second, ~second)
    }
    assert values == {"(equals and equals)": False, "(equals or equals)": True, "not equals": True}


# Actions


def test_v0_06_preset_optional_value_is_kept() -> None:
    assert add.bind(second=10).run({"first": 1}) == 11


def test_v0_06_preset_required_value_is_no_longer_asked_for() -> None:
    closed = add.bind(first=10)
    assert list(closed.schema()["function"]["parameters"]["properties"]) == ["second"]
    assert closed.run({"second": 5}) == 15


def test_v0_07_a_wrong_type_never_reaches_the_function() -> None:
    called = []

    @action
    def note(number: int) -> None:
        called.append(number)

    for wrong in ("3", None, 1.5, True, [1]):
        with pytest.raises(InvalidArguments, match="'number'"):
            note.run({"number": wrong})
    assert called == []


def test_v0_08_texts_of_optional_arguments_reach_the_schema() -> None:
    properties = add.schema()["function"]["parameters"]["properties"]
    assert properties["second"] == {"type": "integer", "default": 1, "description": "Another number."}


def test_v0_08_an_undocumented_action_has_a_description() -> None:
    @action
    def press_key(key: str) -> None: ...

    assert press_key.schema()["function"]["description"] == "Press key."


def test_v0_08_a_parameter_may_be_called_model_config() -> None:
    @action
    def train(model_config: str) -> str:
        return model_config

    assert train.run({"model_config": "small"}) == "small"


def test_v0_08_an_async_function_is_refused() -> None:
    async def later() -> None: ...

    with pytest.raises(DefinitionError, match="later must be a plain function, not async"):
        action(later)


def test_v0_09_a_sequence_can_be_called_with_the_parameters_of_both() -> None:
    @action
    def say(text: str) -> str:
        return text

    assert (add + say).run({"first": 1, "text": "hello"}) == "hello"
    with pytest.raises(DefinitionError, match="both ask for 'first'"):
        add + add


# Composition

NAME = ValueType("name", "A name.")
PLACE = ValueType("place", "A place.")


def no_solution(values: Values) -> Solution:
    yield perform("desk", "shine", colour="red")


def template(id: str, *parameters: Parameter, **more: Any) -> Subtask:
    """A subtask with one checkpoint and one preparation, each named after it."""
    fields: dict[str, Any] = {
        "setup": lambda values: [SetupCall("desk", f"prepare_{id}")],
        "output": Output(NAME, f"what {id} gives", lambda values: f"from {id}"),
        **more,
    }
    return Subtask(
        id=id,
        version=1,
        description=f"Do {id}.",
        environments={"desk": "lamp"},
        parameters=parameters,
        checkpoints=lambda values: chain(checkpoint("done", equals.bind(name=id).on("desk"))),
        solve=no_solution,
        near_misses=(),
        **fields,
    )


def name(parameter: str, type: ValueType = NAME) -> Parameter:
    return Parameter(parameter, type, ("x",))


CATALOGUE = Catalogue(
    [
        template("a"),
        template("b"),
        template("c"),
        template("d"),
        template("pair", name("first"), name("second")),
        template("place", name("where", PLACE)),
    ]
)


def composed(*ids: str, **more: Any) -> ComposedTask:
    """A task made of instances called as their templates."""
    parts = [{"id": id, "template": f"{id}@1", **more.pop(id, {})} for id in ids]
    document = {
        "schema_version": 1,
        "id": "a-task",
        "version": 1,
        "description": "Do it.",
        "environments": {"desk": "lamp"},
        "subtasks": parts,
        "review": {"author": "someone"},
        **more,
    }
    return compose(parse_document(json.dumps(document), "test"), CATALOGUE)


def edges(task: ComposedTask) -> set[tuple[str, str]]:
    return {(before.split(".")[0], after.split(".")[0]) for before, after in task.task.graph.edges}


def test_v0_30_a_join_keeps_its_direction() -> None:
    task = composed("a", "b", "c", after={"c": ["a", "b"]})
    assert edges(task) == {("a", "c"), ("b", "c")}
    assert task.task.graph.sinks == ("c.done",)


def test_v0_30_an_edge_to_an_earlier_one_in_the_list_keeps_its_direction() -> None:
    task = composed("a", "b", after={"a": ["b"]})
    assert edges(task) == {("b", "a")}
    assert [instance.id for instance in task.instances] == ["b", "a"]


def test_v0_30_a_diamond_stays_a_diamond() -> None:
    task = composed("a", "b", "c", "d", after={"b": ["a"], "c": ["a"], "d": ["b", "c"]})
    assert edges(task) == {("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")}


def test_v0_30_a_cycle_is_refused_and_spelled_out_in_its_direction() -> None:
    with pytest.raises(CompositionError) as caught:
        composed("a", "b", "c", after={"b": ["a"], "c": ["b"], "a": ["c"]})
    assert any(cycle in str(caught.value) for cycle in ("a → b → c → a", "b → c → a → b", "c → a → b → c"))


def test_v0_30_nothing_vanishes_because_no_edge_names_it() -> None:
    task = composed("a", "b", "c", after={"b": ["a"]})
    assert {node.id for node in task.task.graph.checkpoints} == {"a.done", "b.done", "c.done"}


def test_v0_30_an_edge_to_nowhere_is_refused() -> None:
    with pytest.raises(CompositionError, match="there is no subtask 'z'"):
        composed("a", after={"a": ["z"]})
    with pytest.raises(GraphError):
        CheckpointGraph(nodes("a"), [("a", "z")])


def test_v0_32_a_single_set_up_call_is_enough() -> None:
    assert composed("a").task.setup == (SetupCall("desk", "prepare_a"),)


def test_v0_32_set_up_keeps_its_order_in_every_composition() -> None:
    backwards = composed("a", "b", "c", "d", after={"c": ["d"], "b": ["c"], "a": ["b"]})
    assert [call.name for call in backwards.task.setup] == ["prepare_d", "prepare_c", "prepare_b", "prepare_a"]
    several = template("e", setup=lambda values: [SetupCall("desk", f"call_{number}") for number in range(20)])
    document = composed("a").document.model_copy(
        update={"subtasks": (composed("a").document.subtasks[0].model_copy(update={"template": "e@1"}),)}
    )
    task = compose(document, Catalogue([several]))
    assert [call.name for call in task.task.setup] == [f"call_{number}" for number in range(20)]


def test_v0_33_two_parameters_of_one_type_are_both_linked() -> None:
    task = composed("a", "b", "pair", pair={"parameters": {"first": {"from": "a"}, "second": {"from": "b"}}})
    assert task.instances[-1].values == {"first": "from a", "second": "from b"}
    assert edges(task) == {("a", "pair"), ("b", "pair")}


def test_v0_33_one_output_may_feed_two_parameters() -> None:
    task = composed("a", "pair", pair={"parameters": {"first": {"from": "a"}, "second": {"from": "a"}}})
    assert task.instances[-1].values == {"first": "from a", "second": "from a"}


def test_v0_33_a_subtask_cannot_feed_itself() -> None:
    with pytest.raises(CompositionError, match="pair → pair"):
        composed("pair", pair={"parameters": {"first": {"from": "pair"}, "second": "x"}})


def test_v0_33_an_output_feeds_only_its_own_type() -> None:
    with pytest.raises(CompositionError, match="where wants a place, 'a' gives a name"):
        composed("a", "place", place={"parameters": {"where": {"from": "a"}}})


def test_v0_33_ids_are_words_in_json() -> None:
    document = composed("a", "b", after={"b": ["a"]}).document
    assert json.loads(document_text(document))["subtasks"][0]["id"] == "a"
    assert parse_document(document_text(document), "test") == document


# The command line


def commands() -> list[list[str]]:
    """Every command of ``crab``, as the words that call it."""
    found: list[list[str]] = []
    pending: list[tuple[list[str], Any]] = [([], typer.main.get_command(app))]
    while pending:
        words, command = pending.pop()
        inner = getattr(command, "commands", None)
        if inner is None:
            found.append(words)
        else:
            pending.extend(([*words, name], part) for name, part in inner.items())
    return sorted(found)


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_v0_31_every_command_loads_and_explains_itself(words: list[str]) -> None:
    result = CliRunner().invoke(app, [*words, "--help"])
    assert result.exit_code == 0, result.output
    assert "Usage" in result.output


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_v0_31_an_option_that_does_not_exist_is_named(words: list[str]) -> None:
    result = CliRunner().invoke(app, [*words, "--dir_path", "x"])
    assert result.exit_code == 2
    assert "--dir_path" in result.output
