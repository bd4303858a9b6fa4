"""Errors, observations, trees and descriptions survive the wire."""

from __future__ import annotations

import inspect
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crab import errors
from crab.environment import EnvironmentDescription, OperationDescription, ProviderDescription
from crab.errors import CrabError, InfrastructureError, RemoteError
from crab.observation import AccessibilityNode, Bounds, Frame, Observation
from crab.remote.protocol import (
    decode_description,
    decode_error,
    decode_observation,
    decode_tree,
    encode_description,
    encode_error,
    encode_observation,
    encode_tree,
    operations_digest,
)
from crab.remote.values import dump, load
from tests.crab.remote.test_values import TEXT

CLASSES = [kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, CrabError)]

NODES = st.recursive(
    st.builds(
        AccessibilityNode,
        TEXT,
        TEXT,
        st.none() | TEXT,
        st.lists(TEXT, max_size=3).map(tuple),
        st.none() | st.builds(Bounds, st.integers(), st.integers(), st.integers(), st.integers()),
    ),
    lambda inner: st.builds(AccessibilityNode, TEXT, children=st.lists(inner, max_size=4).map(tuple)),
    max_leaves=20,
)

FRAMES = st.builds(
    Frame,
    st.binary(max_size=200),
    st.sampled_from(["image/png", "image/webp"]),
    st.integers(1, 5000),
    st.integers(1, 5000),
    st.floats(0, 1e9),
)


@given(st.sampled_from(CLASSES), TEXT, TEXT)
def test_errors_round_trip(kind: type[CrabError], message: str, fix: str) -> None:
    error = kind(message, fix=fix) if issubclass(kind, InfrastructureError) else kind(message)
    content = load(encode_error(error).body)["error"]
    copy = decode_error(content, "act 'press'")
    assert type(copy) is kind
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


@pytest.mark.parametrize(
    "content",
    [
        None,
        "UsageError",
        {},
        {"type": "UsageError"},
        {"type": 3, "message": "m"},
        {"type": "annotations", "message": "m"},
        {"type": "KeyError", "message": "m"},
        {"type": "__builtins__", "message": "m"},
    ],
)
def test_an_error_that_is_not_known_becomes_a_remote_error_that_names_the_call(content: object) -> None:
    error = decode_error(content, "act 'press'")
    assert type(error) is RemoteError
    assert error.message.startswith("act 'press': the server ")


@given(st.lists(FRAMES, min_size=1, max_size=4), st.none() | NODES)
def test_observations_round_trip(frames: list[Frame], tree: AccessibilityNode | None) -> None:
    observation = Observation(tuple(frames), tree)
    assert decode_observation(encode_observation(observation).body) == observation


def test_a_frame_is_sent_as_it_is() -> None:
    picture = bytes(range(256)) * 600
    body = encode_observation(Observation((Frame(picture, "image/png", 1, 1, 0.0),))).body
    assert body.endswith(picture)
    assert len(body) < len(picture) + 300


@given(NODES)
def test_trees_round_trip(tree: AccessibilityNode) -> None:
    assert decode_tree(load(dump(encode_tree(tree)))) == tree


def test_no_tree_is_too_deep() -> None:
    tree = AccessibilityNode("leaf")
    for _ in range(50_000):
        tree = AccessibilityNode("panel", children=(tree,))
    copy = decode_tree(load(dump(encode_tree(tree))))
    assert sum(1 for _ in copy.walk()) == 50_001
    # Taken apart from the outside in: Python would unwind such a tree recursively.
    for node in (tree, copy):
        while node.children:
            (node,) = node.children  # noqa: PLW2901


@pytest.mark.parametrize(
    "rows",
    [[], [["a", "", None, [], None, 1]], [["a", "", None, [], None, 0], ["b", "", None, [], None, 0]]],
)
def test_rows_that_are_not_one_tree_are_refused(rows: list[list[object]]) -> None:
    with pytest.raises(ValueError, match="an accessibility tree with"):
        decode_tree(rows)


@given(st.integers(0, 300))
def test_an_observation_that_is_cut_short_is_refused(size: int) -> None:
    body = encode_observation(Observation((Frame(b"picture", "image/png", 1, 1, 0.0),))).body
    with pytest.raises((ValueError, KeyError)):
        decode_observation(body[: min(size, len(body) - 1)])


OPERATIONS = st.lists(
    st.builds(
        OperationDescription,
        TEXT,
        st.dictionaries(TEXT, st.integers() | TEXT | st.lists(TEXT, max_size=2), max_size=3),
        st.floats(0, 100) | st.integers(0, 100) | TEXT,
    ),
    max_size=3,
    unique_by=lambda item: item.name,
).map(tuple)

DESCRIPTIONS = st.builds(
    EnvironmentDescription,
    TEXT,
    TEXT,
    OPERATIONS,
    OPERATIONS,
    OPERATIONS,
    OPERATIONS,
    st.builds(
        ProviderDescription,
        TEXT,
        st.sampled_from(["total", "best_effort"]),
        st.sampled_from(["stepped", "real"]),
        st.dictionaries(TEXT, TEXT, max_size=2),
        st.dictionaries(TEXT, TEXT, max_size=2),
        TEXT,
    ),
)


@given(DESCRIPTIONS)
def test_descriptions_round_trip_and_keep_their_digest(description: EnvironmentDescription) -> None:
    copy = decode_description(json.loads(dump(encode_description(description))))
    assert copy == description
    assert operations_digest(copy) == operations_digest(description)


def test_the_digest_changes_with_a_schema_and_not_with_the_order() -> None:
    def described(*operations: OperationDescription) -> str:
        provider = ProviderDescription("p", "total", "stepped")
        return operations_digest(EnvironmentDescription("k", "", operations, (), (), (), provider))

    press = OperationDescription("press", {"a": 1, "b": 2})
    hold = OperationDescription("hold", {})
    assert described(press, hold) == described(hold, OperationDescription("press", {"b": 2, "a": 1}))
    assert described(press) != described(OperationDescription("press", {"a": 1, "b": 3}))
    assert described(press) != described(OperationDescription("press", press.schema, 1.0))
