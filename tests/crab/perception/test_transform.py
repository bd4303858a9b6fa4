"""The screen transform maps both ways, and stays on the screen."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from crab.observation import Bounds
from crab.perception.transform import ScreenTransform

SIDES = st.integers(1, 4000)


@st.composite
def transforms(draw: st.DrawFn) -> ScreenTransform:
    """Any fit of any part of any screen."""
    width, height = draw(SIDES), draw(SIDES)
    x, y = draw(st.integers(0, width - 1)), draw(st.integers(0, height - 1))
    crop = Bounds(x, y, draw(st.integers(1, width - x)), draw(st.integers(1, height - y)))
    longest = draw(st.none() | st.integers(1, 4000))
    return ScreenTransform.fit((width, height), longest=longest, crop=draw(st.sampled_from([None, crop])))


def some(draw: st.DataObject, size: int) -> int:
    """Any pixel of an axis."""
    return draw.draw(st.integers(0, size - 1))


@given(transforms(), st.data())
def test_shown_to_device_and_back_is_exact(transform: ScreenTransform, data: st.DataObject) -> None:
    x, y = some(data, transform.shown[0]), some(data, transform.shown[1])

    assert transform.to_shown(*transform.to_device(x, y)) == (x, y)


@given(transforms(), st.data())
def test_device_to_shown_and_back_moves_less_than_a_shown_pixel(
    transform: ScreenTransform, data: st.DataObject
) -> None:
    crop = transform.crop
    x, y = crop.x + some(data, crop.width), crop.y + some(data, crop.height)

    shown = transform.to_shown(x, y)

    assert shown is not None
    back = transform.to_device(*shown)
    assert abs(back[0] - x) < max(1, math.ceil(crop.width / transform.shown[0]))
    assert abs(back[1] - y) < max(1, math.ceil(crop.height / transform.shown[1]))


@given(transforms(), st.data())
def test_fractions_of_a_shown_pixel_stay_in_the_crop(transform: ScreenTransform, data: st.DataObject) -> None:
    x = data.draw(st.floats(0, transform.shown[0], exclude_max=True))
    y = data.draw(st.floats(0, transform.shown[1], exclude_max=True))

    device_x, device_y = transform.to_device(x, y)

    assert transform.crop.x <= device_x < transform.crop.x + transform.crop.width
    assert transform.crop.y <= device_y < transform.crop.y + transform.crop.height


@given(transforms(), st.data())
def test_a_rectangle_is_shown_where_its_pixels_are(transform: ScreenTransform, data: st.DataObject) -> None:
    crop = transform.crop
    x, y = crop.x + some(data, crop.width), crop.y + some(data, crop.height)
    box = transform.bounds_to_shown(Bounds(x, y, 7, 5))

    shown = transform.to_shown(x, y)

    assert box is not None
    assert shown == (box.x, box.y)
    assert box.x + box.width <= transform.shown[0]
    assert box.y + box.height <= transform.shown[1]


@given(SIDES, SIDES, st.integers(1, 4000))
def test_fitting_keeps_the_bound_and_enlarges_nothing(width: int, height: int, longest: int) -> None:
    transform = ScreenTransform.fit((width, height), longest=longest)

    assert max(transform.shown) <= max(1, min(longest, max(width, height)))
    assert transform.identical == (max(width, height) <= longest)


def test_a_known_case() -> None:
    """1920×1080 shown at 960×540: each shown pixel stands for four, of which the lower right one is its middle."""
    transform = ScreenTransform.fit((1920, 1080), longest=960)

    assert transform.shown == (960, 540)
    assert transform.to_device(0, 0) == (1, 1)
    assert transform.to_device(959, 539) == (1919, 1079)
    assert transform.to_shown(100, 101) == (50, 50)


@pytest.mark.parametrize("point", [(-1, 0), (0, 540), (960, 0), (math.nan, 0), (math.inf, 1)])
def test_a_point_off_the_picture_is_refused(point: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="outside the picture of 960×540"):
        ScreenTransform.fit((1920, 1080), longest=960).to_device(*point)


def test_what_is_cropped_away_is_shown_nowhere() -> None:
    transform = ScreenTransform.fit((100, 100), crop=Bounds(50, 50, 100, 100))

    assert transform.crop == Bounds(50, 50, 50, 50)
    assert transform.to_shown(49, 60) is None
    assert transform.bounds_to_shown(Bounds(0, 0, 50, 50)) is None
    assert transform.bounds_to_shown(Bounds(40, 40, 20, 20)) == Bounds(0, 0, 10, 10)


def test_a_crop_off_the_screen_is_refused() -> None:
    with pytest.raises(ValueError, match="outside the screen of 100×100"):
        ScreenTransform.fit((100, 100), crop=Bounds(100, 0, 5, 5))


def test_the_picture_shows_the_pixels_that_the_transform_says() -> None:
    """A dot of the screen is found where the transform puts it."""
    screenshot = Image.new("RGB", (200, 100))
    screenshot.paste((255, 255, 255), (120, 60, 130, 70))
    transform = ScreenTransform.fit((200, 100), longest=75, crop=Bounds(50, 0, 150, 100))

    picture = transform.apply(screenshot)

    assert picture.size == (75, 50)
    spot = transform.to_shown(125, 65)
    assert spot is not None
    grey = picture.convert("L").tobytes()
    assert grey[spot[0] + 75 * spot[1]] > 240
    assert grey[spot[0] - 5 + 75 * spot[1]] < 10
