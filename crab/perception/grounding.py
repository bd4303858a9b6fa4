"""What stands between an agent and pixels: pictures with marks, tools that take an element in place of a point."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

from PIL import Image

from crab.agent import Call, Tool
from crab.errors import InvalidArguments, InvalidCall
from crab.observation import Observation, Observations
from crab.perception.drawing import draw_marks
from crab.perception.listing import listed
from crab.perception.marks import Mark
from crab.perception.transform import ScreenTransform

ELEMENT = "element"
"""Name of the parameter for a mark's number in place of ``x`` and ``y``; ``to_element`` for ``to_x`` and ``to_y``."""

LAST_NUMBER = 999
"""Numbers of marks go up to this, then begin again: so one of an earlier picture is told from one of the last."""


class Marker(Protocol):
    """Finds the marks of an observation."""

    track: str
    """The privileged track it needs, as records name it; empty when it looks at pixels only."""

    def marks(self, observation: Observation) -> Sequence[Mark]:
        """Returns marks without numbers, tidied, in the order they are to be numbered in."""


@dataclass(frozen=True)
class Shown:
    """What an agent is shown of one environment.

    Attributes:
        picture: The encoded picture; the device's own bytes when nothing is drawn or scaled.
        media_type: For example ``image/png``.
        transform: From device pixels to those of the picture.
        marks: With their numbers, in device pixels.
    """

    picture: bytes
    media_type: str
    transform: ScreenTransform
    marks: tuple[Mark, ...]

    @cached_property
    def listing(self) -> str:
        """One line ``[id|label]`` for each mark."""
        return listed(self.marks)


class Grounding:
    """Shows an agent's observations, and turns its calls into the device's; made anew for each trial.

    Numbers are never used twice within several turns, nor in two environments at once: a call that names one from an
    earlier picture, or of another device, is refused. A screen that did not change keeps its numbers.

    Args:
        marker: Finds what is marked; None marks nothing and offers points only.
        longest: Most pixels on either side of a picture; None never scales.
    """

    def __init__(self, marker: Marker | None = None, *, longest: int | None = None) -> None:
        self._marker = marker
        self._longest = longest
        self._shown: dict[str, Shown] = {}
        self._digests: dict[str, str] = {}
        self._tools: dict[str, Tool] = {}
        self._next = 1

    def tools(self, tools: Iterable[Tool]) -> tuple[Tool, ...]:
        """Returns the tools as the agent gets them: with marks, those that take a point also take an element."""
        self._tools = {tool.name: tool for tool in tools}
        if self._marker is None:
            return tuple(self._tools.values())
        return tuple(_with_elements(tool) for tool in self._tools.values())

    def look(self, observations: Observations) -> dict[str, Shown]:
        """Returns what is shown of each environment now; calls are resolved against it until the next look."""
        for role, observation in observations.environments.items():
            self._shown[role] = self._look_at(role, observation)
        return dict(self._shown)

    def ground(self, call: Call) -> Call:
        """Returns a call in the device's coordinates; what was asked is kept in `Call.asked`.

        One that cannot be resolved is returned with its problem, so that it is refused and recorded like any other.
        """
        try:
            arguments = self.resolve(call)
        except InvalidCall as refusal:
            return replace(call, problem=refusal)
        return call if arguments == call.arguments else replace(call, arguments=arguments, asked=call.arguments)

    def resolve(self, call: Call) -> Mapping[str, Any]:
        """Returns a call's arguments in the device's coordinates, without elements.

        Raises:
            InvalidArguments: An element is not on the picture shown last, or it stands beside a point or without one,
                or a point lies outside the picture.
        """
        tool = self._tools.get(call.name)
        shown = self._shown.get(tool.environment) if tool else None
        if tool is None or shown is None or not isinstance(call.arguments, Mapping):
            return call.arguments
        arguments = dict(call.arguments)
        for element, x, y in _points(tool):
            if self._marker is not None and arguments.get(element) is not None:
                given = [name for name in (x, y) if arguments.get(name) is not None]
                if given:
                    raise InvalidArguments(f"{call.name}: give either {element} or {x} and {y}, not both")
                mark = self._mark(arguments.pop(element), tool.environment, shown, element)
                arguments[x], arguments[y] = mark.click
            elif _is_number(arguments.get(x)) and _is_number(arguments.get(y)):
                arguments[x], arguments[y] = _device_point(arguments[x], arguments[y], shown.transform, call.name)
            elif self._marker is not None and not {x, y} & arguments.keys():
                raise InvalidArguments(f"{call.name}: give {element}, the number of a mark, or {x} and {y}")
        return arguments

    def _look_at(self, role: str, observation: Observation) -> Shown:
        frame = observation.now
        transform = ScreenTransform.fit((frame.width, frame.height), longest=self._longest)
        found = tuple(self._marker.marks(observation)) if self._marker is not None else ()
        before = self._shown.get(role)
        if before and frame.sha256 == self._digests[role] and found == tuple(replace(m, id=0) for m in before.marks):
            return before
        self._digests[role] = frame.sha256
        marks = self._numbered(found)
        if not marks and transform.identical:
            return Shown(frame.data, frame.media_type, transform, marks)
        with Image.open(io.BytesIO(frame.data)) as screenshot:
            picture = draw_marks(screenshot, marks, transform).picture
        buffer = io.BytesIO()
        picture.save(buffer, "PNG", compress_level=1)
        return Shown(buffer.getvalue(), "image/png", transform, marks)

    def _numbered(self, marks: Sequence[Mark]) -> tuple[Mark, ...]:
        if self._next + len(marks) - 1 > LAST_NUMBER:
            self._next = 1
        first, self._next = self._next, self._next + len(marks)
        return tuple(replace(mark, id=first + index) for index, mark in enumerate(marks))

    def _mark(self, number: object, role: str, shown: Shown, parameter: str) -> Mark:
        if isinstance(number, str) and number.isdecimal():
            number = int(number)
        for mark in shown.marks:
            if type(number) is int and mark.id == number:
                return mark
        there = f"marks are {shown.marks[0].id} to {shown.marks[-1].id}" if shown.marks else "it shows no marks"
        elsewhere = [
            other for other, view in self._shown.items() if other != role and any(m.id == number for m in view.marks)
        ]
        why = f"it is on {elsewhere[0]}" if elsewhere else "it is from an earlier picture, or was never there"
        raise InvalidArguments(f"{parameter} {number!r} is not on the present picture of {role}: {why}; {there}")


def _points(tool: Tool) -> list[tuple[str, str, str]]:
    """Returns names of element and coordinates for each absolute point that a tool takes."""
    properties = tool.schema["function"].get("parameters", {}).get("properties", {})
    names = [name for name in properties if name == "x" or name.endswith("_x")]
    return [(f"{name[:-1]}{ELEMENT}", name, f"{name[:-1]}y") for name in names if f"{name[:-1]}y" in properties]


def _with_elements(tool: Tool) -> Tool:
    points = _points(tool)
    function = tool.schema["function"]
    if not points or any(element in function["parameters"]["properties"] for element, _, _ in points):
        return tool
    parameters = function["parameters"]
    properties: dict[str, Any] = {}
    replaced = {name for _, x, y in points for name in (x, y)}
    for name, schema in parameters["properties"].items():
        for element, x, y in points:
            if name == x:
                text = f"Number of a mark on the present picture, in place of {x} and {y}."
                properties[element] = {"type": "integer", "minimum": 1, "description": text}
        properties[name] = schema
    required = [name for name in parameters.get("required", ()) if name not in replaced]
    changed = {**parameters, "properties": properties, "required": required}
    return replace(tool, schema={**tool.schema, "function": {**function, "parameters": changed}})


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _device_point(x: float, y: float, transform: ScreenTransform, name: str) -> tuple[int, int]:
    if transform.identical and isinstance(x, int) and isinstance(y, int):
        return x, y
    try:
        return transform.to_device(x, y)
    except ValueError as error:
        raise InvalidArguments(f"{name}: {error}") from error
