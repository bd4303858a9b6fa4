"""Two in-memory devices with every feature of the contract: a toy desktop with a notepad, a toy phone with messages.

They draw real pixels, offer an accessibility tree, hit-test clicks, and step their clock; nothing outside this
process is touched. Docs, tests and newcomers use them where a real device would be slow.
"""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field

from crab.action import action
from crab.environment import preparation, probe
from crab.errors import ActionFailed, InvalidArguments
from crab.hosting import SimpleDevice, in_process
from crab.observation import AccessibilityNode, Bounds, Frame, Observation, ObservationRequest

SCREEN = (320, 240)
"""Width and height of both toy screens in pixels."""

LINE = 20
"""Height of one toy element in pixels."""

Coordinate = Annotated[int, Field(ge=0, description="Pixels from the upper left corner.")]


@dataclass(frozen=True)
class Element:
    """Something on a toy screen."""

    role: str
    name: str
    bounds: Bounds
    text: str | None = None
    click: Callable[[], None] | None = field(default=None, repr=False)


class ToyDevice(SimpleDevice):
    """What both toys share: a clock, a screen of elements, a focused field, and drawing."""

    title = "Toy"

    def __init__(self) -> None:
        self.reset(0, "2030-01-07T09:00:00Z")

    def reset(self, seed: int, start_time: str) -> None:
        """Forgets everything; the seed shifts where elements lie."""
        super().reset(seed, start_time)
        self.random = random.Random(seed)
        self.start = datetime.fromisoformat(start_time)
        self.offset = self.random.randrange(0, 40)
        self.fields: dict[str, str] = {}
        self.focused: str | None = None
        self.application: str | None = None
        self.paused = False

    @property
    def now(self) -> datetime:
        """What the device's clock shows."""
        return self.start + timedelta(seconds=self.seconds)

    def pause(self) -> None:
        """Notes that the clock stands."""
        self.paused = True

    def resume(self) -> None:
        """Notes that the clock runs."""
        self.paused = False

    def elements(self) -> list[Element]:
        """Returns what is on the screen, in reading order."""
        raise NotImplementedError

    def click(self, x: int, y: int) -> None:
        """Clicks the topmost element at a point, if any.

        Raises:
            InvalidArguments: The point lies outside the screen.
        """
        if x >= SCREEN[0] or y >= SCREEN[1]:
            raise InvalidArguments(f"({x}, {y}) lies outside the screen of {SCREEN[0]}×{SCREEN[1]} pixels")
        for element in reversed(self.elements()):
            box = element.bounds
            if box.x <= x < box.x + box.width and box.y <= y < box.y + box.height:
                if element.click is not None:
                    element.click()
                elif element.text is not None:
                    self.focused = element.name
                return

    def type(self, text: str) -> None:
        """Appends to the focused field.

        Raises:
            ActionFailed: No field is focused.
        """
        if self.focused is None:
            raise ActionFailed("no text field is focused; click one first")
        self.fields[self.focused] = self.fields.get(self.focused, "") + text

    def open(self, application: str) -> None:
        """Brings an application to the front."""
        self.application = application
        self.focused = None

    def observe(self, request: ObservationRequest) -> Observation:
        """Draws the screen; with frames per second asked, one earlier frame of the same picture is added."""
        data = self._png()
        times = [self.seconds]
        if request.frames_per_second and self.seconds > 0:
            times.insert(0, max(0.0, self.seconds - 1 / request.frames_per_second))
        frames = tuple(Frame(data, "image/png", *SCREEN, time) for time in times)
        return Observation(frames, self._tree() if request.accessibility else None)

    def _row(self, number: int, width: int = 120, x: int = 10) -> Bounds:
        return Bounds(x + self.offset, 10 + number * (LINE + 6), width, LINE)

    def _field(self, name: str, row: int) -> Element:
        return Element("text", name, self._row(row, 200), self.fields.get(name, ""))

    def _tree(self) -> AccessibilityNode:
        children = tuple(
            AccessibilityNode(
                element.role,
                element.name,
                element.text,
                ("focused",) if element.name == self.focused else (),
                element.bounds,
            )
            for element in self.elements()
        )
        return AccessibilityNode("frame", self.application or self.title, children=children)

    def _png(self) -> bytes:
        from PIL import Image, ImageDraw

        image = Image.new("RGB", SCREEN, "#f4f1ea")
        draw = ImageDraw.Draw(image)
        for element in self.elements():
            box = element.bounds
            focused = element.name == self.focused
            fill = "#ffffff" if element.text is not None else "#d9e4f2"
            draw.rectangle(
                (box.x, box.y, box.x + box.width, box.y + box.height), fill, "#1f5fa8" if focused else "#8a8f98"
            )
            label = element.name if element.text is None else f"{element.name}: {element.text}"
            draw.text((box.x + 4, box.y + 4), label[:40].encode("ascii", "replace").decode(), fill="#20242a")
        buffer = io.BytesIO()
        image.save(buffer, "PNG", compress_level=1)
        return buffer.getvalue()


class ToyDesktop(ToyDevice):
    """A desktop with one application, a notepad that saves notes by name."""

    title = "Toy desktop"

    def reset(self, seed: int, start_time: str) -> None:
        """Forgets all notes."""
        super().reset(seed, start_time)
        self.notes: dict[str, str] = {}

    def elements(self) -> list[Element]:
        """The notepad when it is open, else its icon."""
        if self.application != "Notepad":
            return [Element("icon", "Notepad", self._row(0), click=lambda: self.open("Notepad"))]
        return [
            self._field("Name", 0),
            self._field("Text", 1),
            Element("push button", "Save", self._row(2, 60), click=self._save),
        ]

    def _save(self) -> None:
        if self.fields.get("Name"):
            self.notes[self.fields["Name"]] = self.fields.get("Text", "")


class ToyPhone(ToyDevice):
    """A phone with one application, messages."""

    title = "Toy phone"

    def reset(self, seed: int, start_time: str) -> None:
        """Forgets all messages."""
        super().reset(seed, start_time)
        self.inbox: list[dict[str, str]] = []
        self.sent: list[dict[str, str]] = []

    def elements(self) -> list[Element]:
        """The messages when they are open, else their icon."""
        if self.application != "Messages":
            return [Element("icon", "Messages", self._row(0), click=lambda: self.open("Messages"))]
        shown = [
            Element("label", message["sender"], self._row(3 + number, 200), message["text"])
            for number, message in enumerate(self.inbox)
        ]
        return [
            self._field("To", 0),
            self._field("Message", 1),
            Element("push button", "Send", self._row(2, 60), click=self._send),
            *shown,
        ]

    def _send(self) -> None:
        if self.fields.get("To") and self.fields.get("Message"):
            self.sent.append({"to": self.fields["To"], "text": self.fields["Message"]})
            self.fields = {}


@action(duration=0.5)
def click(env: ToyDevice, x: Coordinate, y: Coordinate) -> None:
    """Click a point on the screen.

    Args:
        x: Pixels from the left edge.
        y: Pixels from the upper edge.
    """
    env.click(x, y)


@action(duration=0.5)
def tap(env: ToyDevice, x: Coordinate, y: Coordinate) -> None:
    """Tap a point on the screen.

    Args:
        x: Pixels from the left edge.
        y: Pixels from the upper edge.
    """
    env.click(x, y)


@action
def write_text(env: ToyDevice, text: str) -> None:
    """Type text into the focused field.

    Args:
        text: Any Unicode text.
    """
    env.type(text)


@action
def open_application(env: ToyDesktop, name: str) -> None:
    """Bring an application to the front.

    Args:
        name: Name of the application.
    """
    if name != "Notepad":
        raise ActionFailed(f"no application {name!r}; there is: Notepad")
    env.open(name)


@action
def erase_notes(env: ToyDesktop) -> int:
    """Erase all notes and return how many there were."""
    count = len(env.notes)
    env.notes.clear()
    return count


@probe
def note(env: ToyDesktop, name: str) -> str | None:
    """Text of the note with that name, or None."""
    return env.notes.get(name)


@probe
def application(env: ToyDevice) -> str | None:
    """Name of the application in front, or None."""
    return env.application


@probe
def sent_messages(env: ToyPhone) -> list[dict[str, str]]:
    """All sent messages, oldest first, as ``{"to", "text"}``."""
    return env.sent


@probe
def inbox(env: ToyPhone) -> list[dict[str, str]]:
    """All received messages, oldest first, as ``{"sender", "text"}``."""
    return env.inbox


@probe
def clock(env: ToyDevice) -> str:
    """What the device's clock shows, in ISO 8601."""
    return env.now.isoformat()


@preparation
def write_note(env: ToyDesktop, name: str, text: str) -> None:
    """Save a note."""
    env.notes[name] = text


@preparation
def receive_message(env: ToyPhone, sender: str, text: str) -> None:
    """Put a message into the inbox."""
    env.inbox.append({"sender": sender, "text": text})


TOY_DESKTOP = in_process(
    "toy_desktop",
    "A toy desktop with a notepad. Click fields to focus them, type, and save.",
    device=ToyDesktop,
    actions=[click, write_text, open_application],
    extra_actions=[erase_notes],
    probes=[note, application, clock],
    preparations=[write_note],
    applications={"text_editor": "Notepad"},
)
TOY_PHONE = in_process(
    "toy_phone",
    "A toy phone with messages. Tap fields to focus them, type, and send.",
    device=ToyPhone,
    actions=[tap, write_text],
    probes=[sent_messages, inbox, application, clock],
    preparations=[receive_message],
    applications={"messages": "Messages"},
)
