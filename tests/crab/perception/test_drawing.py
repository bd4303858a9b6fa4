"""Numbers on pictures: where they stand, and that they can be read."""

from __future__ import annotations

import pytest
from PIL import Image, ImageDraw

from crab.observation import Bounds
from crab.perception.drawing import PALETTE, draw_marks
from crab.perception.marks import Mark, overlap
from crab.perception.transform import ScreenTransform

SCREEN = (800, 600)
WHOLE = ScreenTransform.fit(SCREEN)


def grid(columns: int, rows: int, width: int, height: int, gap: int) -> list[Mark]:
    """Buttons like those of a calculator."""
    return [
        Mark(
            "",
            "push button",
            "accessibility",
            Bounds(60 + (width + gap) * column, 60 + (height + gap) * row, width, height),
            id=1 + column + columns * row,
        )
        for row in range(rows)
        for column in range(columns)
    ]


def luminance(color: tuple[int, ...]) -> float:
    """Relative luminance as WCAG defines it."""
    parts = [value / 255 for value in color[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("gap", [2, 6, 30])
def test_numbers_of_a_dense_grid_hide_no_other_number(gap: int) -> None:
    marks = grid(8, 8, 46, 28, gap)

    labels = list(draw_marks(Image.new("RGB", SCREEN, "#f0f0f0"), marks, WHOLE).labels.values())

    assert not [(one, two) for one in labels for two in labels if one is not two and overlap(one, two)]


def test_numbers_stay_on_the_picture() -> None:
    corners = [Bounds(0, 0, 30, 12), Bounds(770, 0, 30, 12), Bounds(0, 588, 30, 12), Bounds(770, 588, 30, 12)]
    marks = [Mark("", "icon", "shape", box, id=997 + number) for number, box in enumerate(corners)]

    for box in draw_marks(Image.new("RGB", SCREEN), marks, WHOLE).labels.values():
        assert 0 <= box.x <= SCREEN[0] - box.width
        assert 0 <= box.y <= SCREEN[1] - box.height


def test_a_number_hides_no_text_when_there_is_room() -> None:
    """Beside a word there is room to the right, so the word stays whole."""
    screenshot = Image.new("RGB", SCREEN, "white")
    box = Bounds(300, 300, 80, 14)
    draw = ImageDraw.Draw(screenshot)
    draw.text((302, 300), "Important", fill="black")
    for row in range(240, 300, 2):
        draw.line((200, row, 500, row), fill="black")
    mark = Mark("Important", "text", "text", box, id=1)

    label = draw_marks(screenshot, [mark], WHOLE).labels[1]

    assert not overlap(label, box)
    assert label.y >= 298


@pytest.mark.parametrize("color", PALETTE)
def test_white_digits_stand_out_from_every_colour(color: str) -> None:
    """A contrast of at least 4.5 to 1, which WCAG asks for text."""
    fill = Image.new("RGB", (1, 1), color).getpixel((0, 0))

    assert isinstance(fill, tuple)
    assert 1.05 / (luminance(fill) + 0.05) >= 4.5


@pytest.mark.parametrize("background", ["#000000", "#ffffff", "#b3121d", "#808080"])
def test_boxes_stand_out_from_any_background(background: str) -> None:
    """Of the two lines of a box at least one has a contrast of 3 to 1 with what is around it."""
    mark = Mark("", "icon", "shape", Bounds(100, 100, 60, 40), id=8)

    picture = draw_marks(Image.new("RGB", SCREEN, background), [mark], WHOLE).picture

    around = luminance(pixel(picture, (90, 120)))
    lines = [luminance(pixel(picture, (x, 120))) for x in (99, 100)]
    assert max((max(line, around) + 0.05) / (min(line, around) + 0.05) for line in lines) >= 3


def test_a_scaled_picture_is_marked_in_its_own_pixels() -> None:
    transform = ScreenTransform.fit(SCREEN, longest=400)
    mark = Mark("", "icon", "shape", Bounds(200, 200, 100, 60), id=1)

    drawn = draw_marks(Image.new("RGB", SCREEN, "black"), [mark], transform)

    assert drawn.picture.size == (400, 300)
    assert pixel(drawn.picture, (99, 115)) == (255, 255, 255)
    assert pixel(drawn.picture, (140, 115)) == (0, 0, 0)


def test_drawing_twice_gives_the_same_picture() -> None:
    marks = grid(5, 5, 40, 20, 4)
    screenshot = Image.new("RGB", SCREEN, "#336699")

    first, second = (draw_marks(screenshot, marks, WHOLE).picture.tobytes() for _ in range(2))

    assert first == second
    assert screenshot.getpixel((61, 61)) == (0x33, 0x66, 0x99), "the screenshot itself stays as it is"


def pixel(picture: Image.Image, point: tuple[int, int]) -> tuple[int, ...]:
    """The colour at a point."""
    color = picture.getpixel(point)
    assert isinstance(color, tuple)
    return color
