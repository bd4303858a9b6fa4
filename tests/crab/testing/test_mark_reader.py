"""Numbers are read from a picture as they were drawn, each with its own box."""

from __future__ import annotations

import numpy as np
from PIL import Image

from crab.observation import Bounds
from crab.perception.drawing import PALETTE, draw_marks
from crab.perception.marks import Mark
from crab.perception.transform import ScreenTransform
from crab.testing.mark_reader import read_marks

SIZE = (400, 300)
FIRST = 95
BOXES = {
    FIRST + place: Bounds(20 + 95 * (place % 4), 20 + 60 * (place // 4), 30 + place, 14 + 2 * place)
    for place in range(16)
}
"""More marks than there are colours, small and large ones."""


def test_numbers_are_read_with_their_boxes() -> None:
    """Also where several have one colour; what is listed but not drawn is not read."""
    marks = [Mark("", "icon", "shape", box, id=number) for number, box in BOXES.items()]
    drawn = draw_marks(Image.new("RGB", SIZE, "#5588aa"), marks, ScreenTransform.fit(SIZE))

    assert len(BOXES) > len(PALETTE)
    assert read_marks(np.asarray(drawn.picture), [*BOXES, 7, 200]) == BOXES


def test_nothing_is_read_from_a_picture_without_numbers() -> None:
    assert read_marks(np.full((300, 400, 3), 244, dtype=np.uint8), range(1, 20)) == {}
