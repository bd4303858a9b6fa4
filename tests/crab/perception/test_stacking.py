"""Which window lies on top is told from the screenshot."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from PIL import Image, ImageDraw

from crab.observation import AccessibilityNode, Bounds, Frame, Observation
from crab.perception.accessibility import AccessibilityMarker
from crab.perception.stacking import is_above
from tests.crab.perception.pictures import encoded

WINDOWS = {
    "left": Bounds(20, 20, 300, 200),
    "right": Bounds(180, 90, 320, 220),
    "small": Bounds(220, 120, 80, 60),
}


def screen(*order: str) -> Image.Image:
    """White windows with a thin border, from the lowest to the highest."""
    image = Image.new("RGB", (640, 400), "#4080b0")
    draw = ImageDraw.Draw(image)
    for name in order:
        box = WINDOWS[name]
        draw.rectangle((box.x, box.y, box.x + box.width - 1, box.y + box.height - 1), fill="#fdfdfd", outline="#c0c0c4")
    return image


@pytest.mark.parametrize("order", list(permutations(("left", "right"))), ids="-".join)
def test_the_upper_of_two_windows(order: tuple[str, str]) -> None:
    lower, upper = order
    grey = np.asarray(screen(*order).convert("L"), dtype=np.int16)

    assert is_above(WINDOWS[upper], WINDOWS[lower], grey)
    assert not is_above(WINDOWS[lower], WINDOWS[upper], grey)


def test_a_window_within_another_is_on_it_or_hidden() -> None:
    shown = np.asarray(screen("right", "small").convert("L"), dtype=np.int16)
    hidden = np.asarray(screen("small", "right").convert("L"), dtype=np.int16)

    assert is_above(WINDOWS["small"], WINDOWS["right"], shown)
    assert not is_above(WINDOWS["right"], WINDOWS["small"], shown)
    assert is_above(WINDOWS["right"], WINDOWS["small"], hidden)
    assert not is_above(WINDOWS["small"], WINDOWS["right"], hidden)


def test_what_an_inactive_window_covers_is_not_marked() -> None:
    """Neither window is active; only the upper one's button is marked where both lie."""
    image = screen("left", "right")
    tree = AccessibilityNode(
        "desktop frame",
        "main",
        children=tuple(
            AccessibilityNode(
                "frame",
                name,
                bounds=WINDOWS[name],
                children=(AccessibilityNode("push button", f"in {name}", bounds=Bounds(200 + 60 * at, 150, 40, 20)),),
            )
            for at, name in enumerate(("left", "right"))
        ),
    )

    marks = AccessibilityMarker().marks(Observation((Frame(encoded(image), "image/png", 640, 400, 0.0),), tree))

    assert [mark.label for mark in marks] == ["in right"]
