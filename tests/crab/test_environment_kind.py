"""Kinds of environment: what they declare, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from crab.environment import EnvironmentKind, preparation, probe
from crab.errors import DefinitionError, UsageError
from tests.crab.lamp import EMBEDDED, LAMP, Lamp, Shop, colour, paint, shine


def test_a_kind_describes_itself_without_a_device() -> None:
    described = LAMP.describe(EMBEDDED)
    assert (described.kind, described.description, described.provider) == ("lamp", "A lamp.", EMBEDDED)
    assert [item.name for item in described.actions] == ["shine", "unscrew"]
    assert [item.name for item in described.extra_actions] == ["blink"]
    assert [item.name for item in described.probes] == ["colour", "colour_is"]
    assert [item.name for item in described.preparations] == ["paint"]
    assert [item.duration for item in described.actions] == ["seconds", 0.0]
    assert described.actions[0].schema == shine.schema()
    assert "env" not in described.probes[1].schema["function"]["parameters"]["properties"]


@pytest.mark.parametrize("kind", ["", "root", "a__b", "a b", "3d", "a_"])
def test_a_kind_has_a_name_that_fits_into_tool_names(kind: str) -> None:
    with pytest.raises(DefinitionError, match="kind of environment"):
        EnvironmentKind(kind, "", actions=[])


def test_no_name_is_taken_twice() -> None:
    cases: list[tuple[Callable[[], EnvironmentKind], str]] = [
        (lambda: EnvironmentKind("lamp", "", actions=[shine, shine]), "two actions are called 'shine'"),
        (lambda: EnvironmentKind("lamp", "", actions=[], probes=[colour, colour]), "two probes are called 'colour'"),
        (
            lambda: EnvironmentKind("lamp", "", actions=[shine], extra_actions=[shine]),
            "'shine' is both an action and an extra action",
        ),
        (
            lambda: EnvironmentKind("lamp", "", actions=[], providers=[Shop("a"), Shop("b"), Shop("a")]),
            "two providers are called 'a'",
        ),
    ]
    for build, problem in cases:
        with pytest.raises(DefinitionError, match=f"lamp: {problem}"):
            build()


def test_a_privileged_write_cannot_be_passed_off_as_an_action() -> None:
    with pytest.raises(DefinitionError, match="is no Action"):
        EnvironmentKind("lamp", "", actions=[paint])  # type: ignore[list-item]
    with pytest.raises(DefinitionError, match="is no Probe"):
        EnvironmentKind("lamp", "", actions=[], probes=[paint])  # type: ignore[list-item]


def test_a_kind_cannot_be_extended_from_outside() -> None:
    with pytest.raises(TypeError):
        LAMP.actions["paint"] = paint  # type: ignore[index]


def test_the_first_provider_is_the_default() -> None:
    assert LAMP.provider().name == "embedded"
    assert LAMP.provider("workshop").name == "workshop"
    with pytest.raises(UsageError, match="lamp has no provider 'attic'; it has: embedded, workshop"):
        LAMP.provider("attic")
    with pytest.raises(UsageError, match="lamp has no provider"):
        EnvironmentKind("lamp", "", actions=[]).provider()


def test_async_probes_and_preparations_are_refused() -> None:
    async def later(env: Lamp) -> None: ...

    for decorate in (probe, preparation):
        with pytest.raises(DefinitionError, match=f"{decorate.__name__} later must be a plain function"):
            decorate(later)
