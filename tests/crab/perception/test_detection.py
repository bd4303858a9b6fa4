"""Marks from pixels: what a person would click is marked once, and text and frames come together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from crab.errors import UsageError
from crab.observation import AccessibilityNode, Bounds, Frame, Observation
from crab.perception.accessibility import AccessibilityMarker
from crab.perception.comparing import Pixels
from crab.perception.detection import marks_from_pixels
from crab.perception.markers import MergedMarker, VisualMarker, make_marker
from crab.perception.marks import Mark, holds
from crab.perception.text import Line
from tests.crab.perception.pictures import encoded

BUTTONS = {"Save": (40, 60), "Open": (140, 60), "Close": (240, 60)}
MENUS = {"File": 20, "Edit": 80, "View": 140}
ENTRY = Bounds(40, 120, 300, 28)
ICON = (420, 60)


def window(*, dark: bool = False) -> Image.Image:
    """A window with a menu bar, buttons, an empty field and an icon."""
    ground, ink, light = ("#24282c", "#e8e8e8", "#3c4248") if dark else ("#eef0f2", "#222222", "#ffffff")
    image = Image.new("RGB", (640, 360), ground)
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(14)
    for name, x in MENUS.items():
        draw.text((x, 12), name, fill=ink, font=font)
    for name, (x, y) in BUTTONS.items():
        draw.rectangle((x, y, x + 80, y + 30), fill=light, outline="#808890")
        draw.text((x + 40, y + 15), name, fill=ink, font=font, anchor="mm")
    draw.rectangle((ENTRY.x, ENTRY.y, ENTRY.x + ENTRY.width, ENTRY.y + ENTRY.height), fill=light, outline="#808890")
    x, y = ICON
    draw.ellipse((x, y, x + 30, y + 30), fill="#2060c0")
    draw.polygon([(x + 8, y + 24), (x + 15, y + 4), (x + 22, y + 24)], fill="#ffd040")
    return image


def lines() -> list[Line]:
    """What a reader finds: the menu bar as one line, as readers do, and the buttons' words."""
    bar = Line("File Edit View", Bounds(18, 10, 160, 20), 0.9)
    return [bar, *(Line(name, Bounds(x + 20, y + 5, 42, 20), 0.9) for name, (x, y) in BUTTONS.items())]


class Fixed:
    """Reads what is written on the window, and counts how often."""

    def __init__(self) -> None:
        self.count = 0

    def read(self, picture: Pixels) -> Sequence[Line]:
        self.count += 1
        return lines()


def seen(tree: AccessibilityNode | None = None) -> Observation:
    """An observation of the window."""
    image = window()
    return Observation((Frame(encoded(image), "image/png", image.width, image.height, 0.0),), tree)


def at(marks: Sequence[Mark], x: int, y: int) -> list[Mark]:
    return [mark for mark in marks if holds(mark.bounds, (x, y))]


@pytest.mark.parametrize("dark", [False, True])
def test_everything_to_click_is_marked_once(dark: bool) -> None:
    marks = marks_from_pixels(np.asarray(window(dark=dark)), lines())

    for name, (x, y) in BUTTONS.items():
        (button,) = at(marks, x + 40, y + 15)
        assert (button.label, button.role) == (name, "frame")
        assert holds(Bounds(x, y, 80, 30), button.click)
    for name, x in MENUS.items():
        (menu,) = at(marks, x + 8, 20)
        assert (menu.label, menu.source) == (name, "text")
    (entry,) = at(marks, *ENTRY.center)
    assert abs(entry.bounds.width - ENTRY.width) < 8
    (icon,) = at(marks, ICON[0] + 15, ICON[1] + 15)
    assert icon.source == "shape"
    assert len(marks) == 8


def test_marks_are_in_reading_order() -> None:
    marks = marks_from_pixels(np.asarray(window()), lines())

    assert [mark.label for mark in marks if mark.label] == ["File", "Edit", "View", "Save", "Open", "Close"]


def test_without_text_there_are_shapes() -> None:
    marks = marks_from_pixels(np.asarray(window()), [])

    assert all(at(marks, x + 40, y + 15) for x, y in BUTTONS.values())


def test_an_empty_screen_has_no_marks() -> None:
    assert marks_from_pixels(np.zeros((360, 640, 3), dtype=np.uint8), []) == ()


def test_a_picture_is_looked_at_once() -> None:
    """Reading takes a second, so the same picture again is answered at once."""
    reader = Fixed()
    marker = VisualMarker(reader)

    assert marker.marks(seen()) == marker.marks(seen())
    assert reader.count == 1
    assert marker.track == ""


def test_both_sources_are_merged_without_doubles() -> None:
    """What the tree knows keeps its name from there; the icon, which it does not know, is added from the pixels."""
    save = AccessibilityNode("push button", "Save document", bounds=Bounds(40, 60, 81, 31))
    tree = AccessibilityNode("frame", "Window", bounds=Bounds(0, 0, 640, 360), children=(save,))
    marker = MergedMarker(Fixed())

    marks = marker.marks(seen(tree))

    assert [mark.label for mark in at(marks, 80, 75)] == ["Save document"]
    assert len(at(marks, ICON[0] + 15, ICON[1] + 15)) == 1
    assert marker.track == "accessibility"
    with pytest.raises(UsageError, match="--accessibility"):
        marker.marks(seen())


def test_markers_by_name() -> None:
    assert make_marker("none") is None
    assert isinstance(make_marker("visual"), VisualMarker)
    assert isinstance(make_marker("accessibility"), AccessibilityMarker)
    assert isinstance(make_marker("merged"), MergedMarker)


def test_lines_of_a_wall_of_text_are_not_split() -> None:
    """In a terminal each line is one mark, where words would use up all numbers; a menu bar above it is split."""
    image = window()
    image.paste("white", (0, 160, 640, 360))
    draw = ImageDraw.Draw(image)
    wall = []
    for row in range(8):
        draw.text((40, 180 + 18 * row), "total   84   files", fill="black", font=ImageFont.load_default(14))
        wall.append(Line("total 84 files", Bounds(38, 178 + 18 * row, 130, 18), 0.9))

    marks = marks_from_pixels(np.asarray(image), [*lines(), *wall])

    assert [mark.label for mark in marks].count("total 84 files") >= 6
    assert {"File", "Edit", "View"} <= {mark.label for mark in marks}
