"""A stand-in for a vision model that solves tasks of the toy devices by looking: `read` is a brain for `ChatServer`.

It is given the bytes of a request and nothing else. Where to click it finds out from the pixels alone; what to write
stands in the task's description. Where pictures have marks, it reads the numbers drawn on them, looks at what each one
stands at, and names that number in place of a point. With a blank or shuffled picture it gets nowhere.
"""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from crab.observation import Bounds
from crab.testing.chat_server import Answer, Called
from crab.testing.mark_reader import read_marks

FIELD = (255, 255, 255)
BUTTON = (0xD9, 0xE4, 0xF2)
FOCUSED = (0x1F, 0x5F, 0xA8)
"""Colours by which the toys draw fields, buttons and icons, and the frame of the focused field."""

_FILLED, _LINE = 0.5, 24
"""Share of a box that its thing fills at least, and most pixels of its height."""

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Goal:
    """What is to be written into the two fields of one device's application."""

    role: str
    point_tool: str
    values: tuple[tuple[str, str], tuple[str, str]]


@dataclass(frozen=True)
class Box:
    """A filled rectangle on a screen, without its frame."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def middle(self) -> dict[str, int]:
        """Where to click it."""
        return {"x": (self.left + self.right) // 2, "y": (self.top + self.bottom) // 2}


def read(body: bytes) -> Answer:
    """Answers a request: one step towards the first goal that is not reached yet."""
    request = json.loads(body)
    tools = {tool["function"]["name"]: tool["function"].get("parameters", {}) for tool in request["tools"]}
    said = {message.get("content") for message in request["messages"] if message["role"] == "assistant"}
    screens = _screens(request["messages"][-1])
    for goal in _goals("\n".join(_texts(request["messages"]))):
        # A picture without caption can only be of the one device there is.
        screen = screens.get(goal.role, screens.get(""))
        if screen is not None and _finished(goal) not in said:
            prefix = f"{goal.role}__" if f"{goal.role}__write_text" in tools else ""
            if "element" in tools[f"{prefix}{goal.point_tool}"]["properties"]:
                numbers = _numbers(request["messages"][-1], goal.role)
                return _marked_step(goal, screen, numbers, said, prefix)
            return _step(goal, screen, prefix)
    return Answer("All is done.", (Called("complete"),))


def _texts(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for message in messages:
        content = message.get("content") or ""
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        yield from (part["text"] for part in parts if part["type"] == "text")


def _goals(task: str) -> Iterator[Goal]:
    note = re.search(r'note called "(.*?)" with the text "(.*?)"', task)
    if note:
        yield Goal("desktop", "click", (("Name", note[1]), ("Text", note[2])))
    message = re.search(r'message "(.*?)" to (\d+)', task)
    copied = re.search(r"message it to (\d+)", task)
    if message or (copied and note):
        text, number = (message[1], message[2]) if message else (note[2], copied[1]) if note and copied else ("", "")
        yield Goal("phone", "tap", (("To", number), ("Message", text)))


def _finished(goal: Goal) -> str:
    return f"The form on {goal.role} is filled in; I send it."


def _screens(message: Mapping[str, Any]) -> dict[str, Pixels]:
    """The pictures of the present turn by the role in the caption before each."""
    found: dict[str, Pixels] = {}
    role = ""
    for part in message["content"]:
        if part["type"] == "text":
            caption = re.match(r"Screen of (\w+)", part["text"])
            role = caption[1] if caption else role
        else:
            data = base64.b64decode(part["image_url"]["url"].partition(",")[2])
            found[role] = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    return found


def _step(goal: Goal, screen: Pixels, prefix: str) -> Answer:
    point, write = f"{prefix}{goal.point_tool}", f"{prefix}write_text"
    buttons = _boxes(screen, BUTTON)
    fields = [box for box in _boxes(screen, FIELD) if buttons and box.bottom < buttons[0].top]
    if not buttons:
        return Answer("I see nothing to click.", (Called("wait", {"seconds": 1}),))
    if len(fields) < 2:
        return Answer("I open the application.", (Called(point, buttons[0].middle),))
    for box, (label, value) in zip(fields, goal.values, strict=False):
        if _shows(screen, box, f"{label}: {value}"):
            continue
        if _focused(screen, box):
            return Answer(f"I fill in {label}.", (Called(write, {"text": value}),))
        return Answer(f"I go to {label}.", (Called(point, box.middle),))
    return Answer(_finished(goal), (Called(point, buttons[0].middle),))


def _numbers(message: Mapping[str, Any], role: str) -> list[int]:
    """The numbers that are listed for a device's present picture; what they stand at is not looked up there."""
    lists = (text for text in _texts([message]) if text.startswith(f"Marks on the screen of {role},"))
    return [int(number) for text in lists for number in re.findall(r"^\[(\d+)\|", text, re.MULTILINE)]


def _marked_step(
    goal: Goal, screen: Pixels, numbers: Sequence[int], said: Container[str | None], prefix: str
) -> Answer:
    """The same steps by numbers; which field has been written to is remembered, since boxes hide what shows it."""
    point, write = f"{prefix}{goal.point_tool}", f"{prefix}write_text"
    marks = read_marks(screen, numbers)
    buttons = _lines(screen, marks, BUTTON)
    if not buttons:
        return Answer("I see no number at a button.", (Called("wait", {"seconds": 1}),))
    fields = [number for number in _lines(screen, marks, FIELD) if marks[number].y < marks[buttons[0]].y]
    if len(fields) < 2:
        return Answer("I open the application.", (Called(point, {"element": buttons[0]}),))
    for field, (label, value) in zip(fields, goal.values, strict=False):
        going, filling = f"I go to {label} on {goal.role}.", f"I fill in {label} on {goal.role}."
        if filling in said:
            continue
        if going in said:
            return Answer(filling, (Called(write, {"text": value}),))
        return Answer(going, (Called(point, {"element": field}),))
    return Answer(_finished(goal), (Called(point, {"element": buttons[0]}),))


def _lines(screen: Pixels, marks: Mapping[int, Bounds], colour: tuple[int, int, int]) -> list[int]:
    """The first number on each line, from the top, whose box is filled with a colour; the toys' things are lines."""
    lines: dict[int, int] = {}
    for number, box in sorted(marks.items(), key=lambda mark: (mark[1].center[1], mark[1].x)):
        # The lines of boxes, of this and others, are not what is marked.
        inside = screen[box.y + 2 : box.y + box.height - 2, box.x + 2 : box.x + box.width - 2]
        filled = inside.size and (inside == colour).all(axis=2).mean() > _FILLED
        if filled and box.height <= _LINE and not any(abs(box.center[1] - y) < _LINE / 2 for y in lines):
            lines[box.center[1]] = number
    return list(lines.values())


def _boxes(screen: Pixels, colour: tuple[int, int, int]) -> list[Box]:
    """Filled rectangles of a colour from top to bottom; the toys never draw two beside one another."""
    mask = (screen == colour).all(axis=2)
    rows = np.flatnonzero(mask.sum(axis=1) >= 20)
    boxes = []
    for run in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1) if rows.size else []:
        columns = np.flatnonzero(mask[run].any(axis=0))
        boxes.append(Box(int(columns[0]), int(run[0]), int(columns[-1]), int(run[-1])))
    return boxes


def _focused(screen: Pixels, box: Box) -> bool:
    return box.left > 0 and tuple(screen[box.top, box.left - 1]) == FOCUSED


def _shows(screen: Pixels, box: Box, text: str) -> bool:
    """Whether a field looks as it would with exactly this text in it."""
    width, height = box.right - box.left + 1, box.bottom - box.top + 1
    expected = Image.new("RGB", (width, height), FIELD)
    # The text begins four pixels from the frame, which is one pixel outside of the box.
    drawn = text[:40].encode("ascii", "replace").decode()
    ImageDraw.Draw(expected).text((3, 3), drawn, fill="#20242a")
    return np.array_equal(np.asarray(expected), screen[box.top : box.bottom + 1, box.left : box.right + 1])
