"""Observations: what is now, how pictures are named in records, and how the accessibility tree is read."""

from __future__ import annotations

import dataclasses
import hashlib

import pytest

from crab.observation import (
    AccessibilityNode,
    Bounds,
    CallResult,
    Frame,
    Observation,
    ObservationRequest,
    Observations,
)


def frame(data: bytes, time: float = 0.0) -> Frame:
    return Frame(data, "image/png", 4, 3, time)


WINDOW = AccessibilityNode(
    "frame",
    "Editor",
    children=(
        AccessibilityNode("menu bar", children=(AccessibilityNode("menu", "File"), AccessibilityNode("menu", "Edit"))),
        AccessibilityNode("push button", "Save", bounds=Bounds(10, 20, 31, 11)),
        AccessibilityNode("menu", "File"),
    ),
)


def test_the_last_frame_is_now() -> None:
    assert Observation((frame(b"old", 1.0), frame(b"new", 1.5))).now.data == b"new"


def test_a_picture_is_named_by_the_digest_of_its_unchanged_bytes() -> None:
    assert frame(b"abc").sha256 == hashlib.sha256(b"abc").hexdigest()
    assert frame(b"abc").sha256 != frame(b"abd").sha256


def test_pictures_do_not_flood_logs() -> None:
    assert "secret" not in repr(Observation((frame(b"secret" * 100),)))


def test_observations_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        frame(b"abc").width = 5  # type: ignore[misc]


def test_by_default_one_frame_and_pixels_only_are_asked_for() -> None:
    request = ObservationRequest()
    assert request.frames_per_second is None
    assert request.accessibility is False
    assert Observation((frame(b""),)).accessibility is None


def test_an_environment_is_found_by_its_role() -> None:
    seen = Observation((frame(b"x"),))
    observations = Observations(1, {"desktop": seen}, (CallResult("1", "click", executed=True),))
    assert observations["desktop"] is seen
    with pytest.raises(KeyError):
        observations["phone"]


def test_the_tree_is_walked_in_document_order() -> None:
    names = [(node.role, node.name) for node in WINDOW.walk()]
    assert names == [
        ("frame", "Editor"),
        ("menu bar", ""),
        ("menu", "File"),
        ("menu", "Edit"),
        ("push button", "Save"),
        ("menu", "File"),
    ]


def test_a_deep_tree_is_walked_without_recursion() -> None:
    node = AccessibilityNode("leaf")
    for _ in range(5000):
        node = AccessibilityNode("panel", children=(node,))
    assert sum(1 for _ in node.walk()) == 5001


def test_elements_are_found_by_role_and_name() -> None:
    first = WINDOW.find(role="menu", name="File")
    assert first is WINDOW.children[0].children[0]
    assert len(list(WINDOW.find_all(role="menu"))) == 3
    assert len(list(WINDOW.find_all(name="File"))) == 2
    assert WINDOW.find(role="push button", name="Open") is None


def test_the_middle_of_a_rectangle_is_a_pixel_inside() -> None:
    assert Bounds(10, 20, 31, 11).center == (25, 25)
    assert Bounds(7, 9, 1, 1).center == (7, 9)
