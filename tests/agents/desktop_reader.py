"""A stand-in for a vision model on the real desktop: `read` is a brain for `crab.testing.chat_server.ChatServer`.

It gets the bytes of a request and nothing else. Whether a terminal is open, where it is, how to open one, and whether
it waits for a command, it finds out from the pixels; what to write stands in the task. Where the picture has marks, it
names the number that is drawn at the place in place of a point.
"""

from __future__ import annotations

import base64
import io
import json
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from crab.perception.marks import area, holds
from crab.testing.chat_server import Answer, Called
from crab.testing.mark_reader import read_marks

Pixels = NDArray[np.uint8]
Mask = NDArray[np.bool_]

PAPER = (251, 251, 252)
CURSOR = (46, 52, 64)
PROMPT = (47, 143, 70)
"""How a terminal draws its background, its cursor and the name in its prompt."""

WAIT = Called("wait", {"seconds": 0.3})


@dataclass(frozen=True)
class Step:
    """Something to type; `at_prompt` says whether the terminal waits for a command then."""

    calls: tuple[Called, ...]
    at_prompt: bool = True


def read(body: bytes) -> Answer:
    """Answers a request: the next step of the task, once the screen is ready for it."""
    request = json.loads(body)
    screen = _screen(request["messages"][-1])
    said = [message.get("content") or "" for message in request["messages"] if message["role"] == "assistant"]
    steps = steps_of(request["messages"][0]["content"])
    done = sum(text.startswith("Step ") for text in said)
    window = terminal(screen)
    if window is None:
        launcher = terminal_icon(screen)
        if launcher is None:
            return Answer("I see neither a terminal nor how to open one.", (WAIT,))
        return Answer("I open a terminal.", (_click(request, screen, launcher),))
    if done == len(steps):
        return Answer("Everything is done.", (Called("complete"),))
    if waits_for_command(screen) != steps[done].at_prompt:
        return Answer("The terminal is not ready.", (WAIT,))
    click = _click(request, screen, window)
    return Answer(f"Step {done + 1}: I click into the terminal and type.", (click, *steps[done].calls))


def _click(request: Mapping[str, Any], screen: Pixels, point: tuple[int, int]) -> Called:
    """A click on a point: by the number of a mark around it, or by the point where it has none."""
    texts = [part["text"] for part in request["messages"][-1]["content"] if part["type"] == "text"]
    lists = [text for text in texts if text.startswith("Marks on the screen of ")]
    numbers = [int(number) for text in lists for number in re.findall(r"^\[(\d+)\|", text, re.MULTILINE)]
    marks = read_marks(screen, numbers)
    at = [number for number, box in marks.items() if holds(box, point)]
    if not at:
        return Called("click", dict(zip("xy", point, strict=True)))
    return Called("click", {"element": min(at, key=lambda number: area(marks[number]))})


def steps_of(task: str) -> list[Step]:
    """What to type for a task, by what its description asks for."""
    for pattern, steps in TASKS.items():
        found = re.search(pattern, task)
        if found:
            return steps(*found.groups())
    raise ValueError("the model has not learned such a task")


def _command(*words: str, after: str = "") -> Step:
    return Step((Called("write_text", {"text": f"{shlex.join(words)}{after}\n"}),))


def _copy(target: str, source: str, ending: str) -> list[Step]:
    pattern = f"{shlex.quote(source)}/*{ending}"
    return [_command("mkdir", target), _command("cp", "-t", target, after=f" {pattern}")]


def _vim(name: str, folder: str, text: str) -> list[Step]:
    escape = Called("key_press", {"key": "escape"})
    typed = (Called("write_text", {"text": f"i{text}"}), escape, Called("write_text", {"text": ":wq\n"}))
    return [_command("vi", f"{folder}/{name}"), Step(typed, at_prompt=False)]


TASKS: Mapping[str, Callable[..., list[Step]]] = {
    r"content of the file (/.+?) in a terminal window": lambda file: [_command("cat", file)],
    r"Make a new folder “(.+?)” and copy every file from “(.+?)” into it whose name ends in \"(.+?)\"": _copy,
    r"to create the file “(.+?)” in the folder (/.+?)\. .* around it: “(.+?)”\. Save": _vim,
    r"wallpaper of the desktop to the picture (/.+?)\.\n": lambda file: [_command("pcmanfm", "--set-wallpaper", file)],
}
"""What the descriptions of tasks look like, and what to type for each."""


def terminal(screen: Pixels) -> tuple[int, int] | None:
    """The middle of an open terminal, or None when none is to be seen."""
    mask = _coloured(screen, PAPER)
    rows, columns = (np.flatnonzero(mask.sum(axis=axis) > 200) for axis in (1, 0))
    if rows.size < 200 or columns.size < 200:
        return None
    return int(columns[0] + columns[-1]) // 2, int(rows[0] + rows[-1]) // 2


def terminal_icon(screen: Pixels) -> tuple[int, int] | None:
    """The middle of the leftmost dark square with rounded corners, or None when there is none."""
    dark: Mask = np.abs(screen.astype(np.int64) - 81).max(axis=2) <= 5
    places = np.argwhere(_windows(dark, 22, 18) > 0.75 * 22 * 18)
    if not len(places):
        return None
    top, left = places[np.argmin(places[:, 1])]
    return int(left) + 11, int(top) + 9


def waits_for_command(screen: Pixels) -> bool:
    """Whether a cursor stands behind a prompt."""
    solid = np.argwhere(_windows(_coloured(screen, CURSOR), 8, 16) == 8 * 16)
    if not len(solid):
        return False
    top, left = solid[0]
    return bool(_coloured(screen[top : top + 16, :left], PROMPT).sum() > 20)


def _coloured(screen: Pixels, colour: tuple[int, int, int]) -> Mask:
    mask: Mask = (screen == colour).all(axis=2)
    return mask


def _windows(mask: Mask, width: int, height: int) -> NDArray[np.int64]:
    """How many pixels of the mask lie in the window at each place."""
    sums = np.pad(mask.astype(np.int64).cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    counts: NDArray[np.int64] = (
        sums[height:, width:] - sums[:-height, width:] - sums[height:, :-width] + sums[:-height, :-width]
    )
    return counts


def _screen(message: Mapping[str, Any]) -> Pixels:
    url = next(part["image_url"]["url"] for part in message["content"] if part["type"] == "image_url")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).convert("RGB"))
