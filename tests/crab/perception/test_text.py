"""Text on the screen: found when it is there, and never found when one sign differs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from crab.observation import Bounds
from crab.perception.comparing import Pixels
from crab.perception.rapid import RapidReader
from crab.perception.text import Line, TesseractReader, TextReader, normalised, text_on_screen
from tests.crab.perception.pictures import encoded

TEXTS = ("Invoice 2041 from Ada Example", "Total: 1,250.00 EUR", "ada@example.org", "14 March, 10:30")
WRONG = ("Invoice 2047", "Total: 1,260.00 EUR", "ada@example.com", "14 March, 10:36", "15 March")


def screen(*, dark: bool = False) -> Image.Image:
    """A window with lines of text."""
    image = Image.new("RGB", (640, 240), "#202428" if dark else "#fafafa")
    draw = ImageDraw.Draw(image)
    for row, text in enumerate(TEXTS):
        draw.text((30, 20 + 50 * row), text, fill="#f0f0f0" if dark else "#202020", font=ImageFont.load_default(18))
    return image


class Fixed:
    """Reads the same lines in every picture."""

    def __init__(self, *lines: Line) -> None:
        self._lines = lines

    def read(self, picture: Pixels) -> Sequence[Line]:
        return self._lines


@pytest.mark.parametrize(
    ("reader", "dark"), [(TesseractReader(), False), (TesseractReader(), True), (RapidReader(), False)]
)
def test_text_is_found_where_it_is_and_wrong_text_is_not(reader: TextReader, dark: bool) -> None:
    """Each line is found at its place; none is that differs in one sign."""
    shot = screen(dark=dark)
    lines = reader.read(np.asarray(shot))
    read = Fixed(*lines)

    assert [text for text in TEXTS if not text_on_screen(encoded(shot), text, reader=read)] == []
    assert [text for text in WRONG if text_on_screen(encoded(shot), text, reader=read)] == []
    assert len(lines) == len(TEXTS)
    for row, line in enumerate(sorted(lines, key=lambda found: found.bounds.y)):
        assert line.bounds.x == pytest.approx(30, abs=6)
        assert line.bounds.center[1] == pytest.approx(20 + 50 * row + 11, abs=6)
        assert line.score > 0.5


def test_a_region_shows_its_own_text_only() -> None:
    shot = encoded(screen())

    assert text_on_screen(shot, "Total: 1,250.00 EUR", Bounds(0, 60, 640, 50))
    assert not text_on_screen(shot, "ada@example.org", Bounds(0, 60, 640, 50))
    assert not text_on_screen(shot, "Total", Bounds(700, 0, 50, 50))


@pytest.mark.parametrize("picture", [Image.new("RGB", (1, 1)), Image.new("RGB", (3, 900)), Image.new("RGB", (300, 80))])
def test_pictures_without_text_are_read_as_nothing(picture: Image.Image) -> None:
    assert not text_on_screen(encoded(picture), "anything")


@pytest.mark.parametrize("data", [b"", b"no picture"])
def test_what_is_no_picture_shows_no_text(data: bytes) -> None:
    assert not text_on_screen(data, "anything")


@pytest.mark.parametrize(
    ("shown", "wanted"),
    [
        (("TOTAL 12",), "total 12"),
        (("Total12",), "Total 12"),
        (("TotaI 1O",), "Total 10"),
        (("Ｔｏｔａｌ：５",), "Total: 5"),
        (("it’s “so” – yes…",), 'it\'s "so" - yes...'),
        (("a long", "sentence"), "A long sentence"),
    ],
)
def test_what_counts_as_the_same(shown: tuple[str, ...], wanted: str) -> None:
    """Case, spaces, line breaks, full-width and typographic signs, and signs that look alike."""
    read = Fixed(*(Line(text, Bounds(0, 0, 9, 9), 1.0) for text in shown))

    assert text_on_screen(encoded(screen()), wanted, reader=read)


@given(st.text("abcdefghjkmnpqrstuvwxyz23456789.,:-", min_size=3, max_size=20), st.data())
def test_one_other_sign_is_another_text(text: str, data: st.DataObject) -> None:
    """Whatever sign is changed into whatever other one that does not look like it."""
    place = data.draw(st.integers(0, len(text) - 1))
    sign = data.draw(st.sampled_from([sign for sign in "abcdefghjkmnpqrstuvwxyz23456789.,:-" if sign != text[place]]))

    assert normalised(text) != normalised(text[:place] + sign + text[place + 1 :])


@pytest.mark.parametrize("text", ["", "  ", "--", "…"])
def test_looking_for_nothing_is_a_mistake(text: str) -> None:
    """An empty text would be on every screen."""
    with pytest.raises(ValueError, match="no letter or digit"):
        text_on_screen(encoded(screen()), text)
