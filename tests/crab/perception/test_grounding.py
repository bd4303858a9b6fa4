"""What an agent is shown and offered, and how its calls find their way back to the device."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from PIL import Image

from crab.agent import Call, Tool
from crab.errors import InvalidArguments
from crab.graph import chain
from crab.observation import Observation, ObservationRequest, Observations
from crab.perception.grounding import LAST_NUMBER, Grounding, Shown
from crab.perception.marks import Mark
from crab.record.reader import TrialRecord
from crab.record.trajectory import derive_trajectory
from crab.testing.toy import ToyDesktop, ToyDevice, ToyPhone
from tests.crab.run.toy_stage import Script, answered, hosted, opened, play, toy_task


class ToyMarker:
    """Marks the elements of the device whose screen it is shown first, then those of the next one."""

    track = ""

    def __init__(self, *devices: ToyDevice) -> None:
        self._devices = devices
        self._turn = 0

    def marks(self, observation: Observation) -> Sequence[Mark]:
        device = self._devices[self._turn % len(self._devices)]
        self._turn += 1
        return [Mark(e.name, e.role, "accessibility", e.bounds) for e in device.elements()]


DRAG = Tool(
    "drag",
    "desktop",
    "drag",
    {
        "type": "function",
        "function": {
            "name": "drag",
            "parameters": {
                "type": "object",
                "properties": {name: {"type": "integer"} for name in ("x", "y", "to_x", "to_y", "dx", "dy")},
                "required": ["x", "y", "to_x", "to_y"],
                "additionalProperties": False,
            },
        },
    },
)
CLICK = replace(
    DRAG,
    name="click",
    action="click",
    schema={
        "type": "function",
        "function": {
            "name": "click",
            "parameters": {
                "type": "object",
                "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}, "button": {"type": "string"}},
                "required": ["x", "y"],
            },
        },
    },
)


def stage(*, longest: int | None = None) -> tuple[Grounding, ToyDesktop, ToyPhone]:
    """A grounding of both toys with the tools above."""
    desktop, phone = ToyDesktop(), ToyPhone()
    grounding = Grounding(ToyMarker(desktop, phone), longest=longest)
    grounding.tools([DRAG, CLICK, replace(CLICK, name="phone__tap", environment="phone")])
    return grounding, desktop, phone


def look(grounding: Grounding, *devices: ToyDevice) -> Mapping[str, Shown]:
    """Shows the toys as they are now."""
    roles = ("desktop", "phone")
    seen = {role: device.observe(ObservationRequest()) for role, device in zip(roles, devices, strict=False)}
    return grounding.look(Observations(1, seen))


def parameters(tool: Tool) -> Mapping[str, Any]:
    found = tool.schema["function"]["parameters"]
    assert isinstance(found, Mapping)
    return found


def test_tools_with_a_point_also_take_an_element() -> None:
    """Every absolute point gets one, a distance none; the rest stays, and the schema is one."""
    drag, click = Grounding(ToyMarker()).tools([DRAG, CLICK])

    assert list(parameters(drag)["properties"]) == ["element", "x", "y", "to_element", "to_x", "to_y", "dx", "dy"]
    assert parameters(drag)["required"] == []
    assert parameters(drag)["additionalProperties"] is False
    assert list(parameters(click)["properties"]) == ["element", "x", "y", "button"]
    jsonschema.Draft202012Validator.check_schema(parameters(drag))
    assert parameters(DRAG)["required"] == ["x", "y", "to_x", "to_y"], "the tool itself is left alone"


def test_without_marks_tools_and_pictures_are_the_devices_own() -> None:
    grounding, desktop = Grounding(), ToyDesktop()

    tools = grounding.tools([DRAG, CLICK])
    shown = look(grounding, desktop)["desktop"]

    assert tools == (DRAG, CLICK)
    assert shown.picture.startswith(b"\x89PNG")
    assert (shown.marks, shown.listing, shown.transform.identical) == ((), "", True)
    assert grounding.resolve(Call("click", {"x": 5, "y": 6})) == {"x": 5, "y": 6}


def test_an_element_becomes_the_point_of_its_mark() -> None:
    grounding, desktop, phone = stage()
    desktop.open("Notepad")
    shown = look(grounding, desktop, phone)["desktop"]
    save = next(mark for mark in shown.marks if mark.label == "Save")

    call = grounding.ground(Call("click", {"element": save.id, "button": "left"}, id="a"))

    x, y = save.click
    assert call == Call("click", {"x": x, "y": y, "button": "left"}, "a", asked={"element": save.id, "button": "left"})
    assert shown.listing.splitlines()[2] == f"[{save.id}|Save]"


def test_a_point_of_a_smaller_picture_becomes_the_devices() -> None:
    grounding, desktop, phone = stage(longest=160)
    shown = look(grounding, desktop, phone)["desktop"]

    with Image.open(io.BytesIO(shown.picture)) as picture:
        assert picture.size == (160, 120)
    arguments = {"x": 10, "y": 20, "to_element": shown.marks[0].id}
    to_x, to_y = shown.marks[0].click
    assert grounding.resolve(Call("drag", arguments)) == {"x": 21, "y": 41, "to_x": to_x, "to_y": to_y}


def test_numbers_of_an_earlier_picture_are_refused() -> None:
    """After the screen has changed, an old number never means something new."""
    grounding, desktop, phone = stage()
    old = look(grounding, desktop, phone)["desktop"].marks[0].id
    desktop.open("Notepad")
    new = {mark.id for mark in look(grounding, desktop, phone)["desktop"].marks}

    assert old not in new
    with pytest.raises(InvalidArguments, match="from an earlier picture"):
        grounding.resolve(Call("click", {"element": old}))


def test_a_screen_that_did_not_change_keeps_its_numbers() -> None:
    grounding, desktop, phone = stage()

    assert look(grounding, desktop, phone) == look(grounding, desktop, phone)


def test_a_number_of_another_device_is_refused_by_name() -> None:
    grounding, desktop, phone = stage()
    shown = look(grounding, desktop, phone)

    with pytest.raises(InvalidArguments, match="it is on desktop"):
        grounding.resolve(Call("phone__tap", {"element": shown["desktop"].marks[0].id}))


def test_numbers_begin_again_before_they_grow_too_long() -> None:
    """At no time are two marks of one look called the same."""
    grounding, desktop, phone = stage()
    for turn in range(200):
        desktop.open("Notepad" if turn % 2 else "Other")
        shown = look(grounding, desktop, phone)
        numbers = [mark.id for view in shown.values() for mark in view.marks]

        assert len(set(numbers)) == len(numbers)
        assert max(numbers) <= LAST_NUMBER


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({}, "give element, the number of a mark, or x and y"),
        ({"element": 1, "x": 3, "y": 4}, "give either element or x and y, not both"),
        ({"element": 500}, "marks are 1 to 1"),
        ({"element": "first"}, "is not on the present picture"),
        ({"element": True}, "is not on the present picture"),
        ({"element": [1]}, "is not on the present picture"),
        ({"x": 160, "y": 4}, "outside the picture of 160×120"),
    ],
)
def test_calls_that_mean_nothing_are_refused(arguments: dict[str, Any], complaint: str) -> None:
    grounding, desktop, phone = stage(longest=160)
    look(grounding, desktop, phone)

    call = grounding.ground(Call("click", arguments))

    assert isinstance(call.problem, InvalidArguments)
    assert complaint in str(call.problem)


@pytest.mark.parametrize("arguments", [{"x": "7", "y": 4}, {"x": 3}, {"x": None, "y": None}])
def test_what_is_no_point_is_left_for_the_environment_to_refuse(arguments: dict[str, Any]) -> None:
    grounding, desktop, phone = stage()
    look(grounding, desktop, phone)

    assert grounding.ground(Call("click", arguments)) == Call("click", arguments)


class Grounded(Script):
    """Clicks the marks of these numbers, one in each turn."""

    def __init__(self, grounding: Grounding, *numbers: int) -> None:
        super().__init__(*[lambda seen, number=number: self.click(seen, number) for number in numbers])
        self._grounding = grounding

    def click(self, seen: Observations, number: int) -> list[Call]:
        """Looks, and clicks."""
        assert self.view is not None
        if seen.turn == 1:
            self._grounding.tools(self.view.tools)
        self._grounding.look(seen)
        return [self._grounding.ground(Call("click", {"element": number}))]


def test_a_trial_records_element_and_coordinates(tmp_path: Path) -> None:
    """A click by number opens the notepad; the record has the number, the point, and a stale number's refusal."""
    device = ToyDesktop()
    agent = Grounded(Grounding(ToyMarker(device)), 1, 1)
    task = toy_task(chain(opened(), answered()))

    played = play(tmp_path, task, agent, environments={"desktop": hosted("toy_desktop", device)})

    assert device.application == "Notepad"
    call = played.of("decision")[0]["calls"][0]
    (action,) = played.of("action", action="click")
    (refused,) = played.of("invalid_call")
    assert call["asked"] == {"element": 1}
    assert call["arguments"] == action["arguments"]
    assert set(action["arguments"]) == {"x", "y"}
    assert (refused["turn"], refused["reason"]) == (2, "invalid_arguments")
    assert "earlier picture" in refused["message"]
    assert played.of("decision")[1]["calls"][0]["arguments"] == {"element": 1}
    step = derive_trajectory(TrialRecord(played.directory))["steps"][1]
    assert step["extra"]["asked"] == {"call_1": {"element": 1}}
