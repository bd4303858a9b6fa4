"""What evaluators are told about pictures, with pairs that are alike and pairs that only look it."""

from __future__ import annotations

import subprocess
import sys
from itertools import permutations

import numpy as np
import pytest
from PIL import Image, ImageOps

from crab.observation import Bounds
from crab.perception.comparing import decoded, grey, structural_similarity
from crab.perception.images import (
    Side,
    crop_place,
    icon_place,
    is_brighter,
    is_darker,
    is_joined,
    picture_in_window,
    same_picture,
    wallpaper_is,
)
from tests.crab.perception.pictures import SCREEN, brightened, encoded, joined, photograph, resized, screen_with

SEEDS = range(6)
PHOTOGRAPHS = [photograph(seed) for seed in SEEDS]
OTHER_EYE = [photograph(seed, eye=1) for seed in SEEDS]
FILES = [encoded(picture) for picture in PHOTOGRAPHS]
ONE, TWO = PHOTOGRAPHS[0], photograph(7, (220, 190))
NO_PICTURES = [b"", b"hello", FILES[0][:200], FILES[0][:-400], b"\x89PNG\r\n\x1a\n" + bytes(50), b"GIF89a\x01"]
WINDOW = Bounds(100, 60, 700, 520)
PLACE = (WINDOW.x, WINDOW.y, WINDOW.width, WINDOW.height)


@pytest.mark.parametrize("seed", SEEDS)
def test_same_picture_in_other_files(seed: int) -> None:
    """Scaled, recompressed, stretched, or in another format it is the same."""
    picture, file = PHOTOGRAPHS[seed], FILES[seed]

    assert same_picture(file, file)
    assert same_picture(file, encoded(resized(picture, 0.5)))
    assert same_picture(file, encoded(resized(picture, 1.7)))
    assert same_picture(file, encoded(picture, "JPEG", 40))
    assert same_picture(file, encoded(picture.resize((640, 360))))
    assert same_picture(file, encoded(picture.convert("RGBA"), "WEBP", 90))


@pytest.mark.parametrize("seed", SEEDS)
def test_changed_pictures_are_others(seed: int) -> None:
    """Turned, mirrored, inverted, grey, cropped, or seen from beside it is another picture."""
    picture = PHOTOGRAPHS[seed]
    width, height = picture.size
    changed = {
        "turned": picture.rotate(90, expand=True),
        "upside down": picture.rotate(180),
        "mirrored": ImageOps.mirror(picture),
        "inverted": ImageOps.invert(picture),
        "grey": picture.convert("L"),
        "cropped": picture.crop((width // 5, height // 5, width, height)),
        "brighter": brightened(picture, 40),
        "the other eye": OTHER_EYE[seed],
    }

    assert [name for name, other in changed.items() if same_picture(FILES[seed], encoded(other))] == []


def test_no_two_photographs_are_the_same() -> None:
    assert not [pair for pair in permutations(range(len(FILES)), 2) if same_picture(FILES[pair[0]], FILES[pair[1]])]


@pytest.mark.parametrize("share", [0.8, 0.5, 0.25])
@pytest.mark.parametrize("form", ["PNG", "JPEG"])
def test_a_crop_is_found_where_it_was_cut(share: float, form: str) -> None:
    x, y, width, height = 50, 30, round(ONE.width * share), round(ONE.height * share)
    cut = ONE.crop((x, y, x + width, y + height))

    assert crop_place(FILES[0], encoded(cut, form)) == Bounds(x, y, width, height)


@pytest.mark.parametrize("seed", SEEDS)
def test_parts_of_other_pictures_are_no_crops(seed: int) -> None:
    """Nor is the whole picture, a larger one, a scaled one, or the same part in grey or from beside."""
    box = (80, 60, 260, 200)
    cut = PHOTOGRAPHS[seed].crop(box)

    assert [other for other in SEEDS if crop_place(FILES[other], encoded(cut))] == [seed]
    assert not crop_place(FILES[seed], encoded(OTHER_EYE[seed].crop(box)))
    assert not crop_place(FILES[seed], encoded(cut.convert("L")))
    assert not crop_place(FILES[seed], encoded(resized(cut, 0.7)))
    assert not crop_place(FILES[seed], FILES[seed])
    assert not crop_place(encoded(cut), FILES[seed])


def test_flat_parts_are_told_by_their_colour() -> None:
    """A crop without any structure matches a flat part of that colour, and no other."""
    whole = Image.new("RGB", (200, 100), "#204060")
    whole.paste(Image.new("RGB", (60, 60), "#c0a040"), (120, 20))

    assert crop_place(encoded(whole), encoded(Image.new("RGB", (40, 40), "#c0a040"))) is not None
    assert crop_place(encoded(whole), encoded(Image.new("RGB", (40, 40), "#40c0a0"))) is None


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("amount", [15, 40, 80])
def test_brighter_and_darker(seed: int, amount: int) -> None:
    """Light that was added is seen, in either direction, also when it clips or the file is compressed."""
    before, bright, dark = FILES[seed], brightened(PHOTOGRAPHS[seed], amount), brightened(PHOTOGRAPHS[seed], -amount)

    assert is_brighter(before, encoded(bright))
    assert is_darker(before, encoded(dark))
    assert not is_darker(before, encoded(bright))
    assert not is_brighter(before, encoded(dark))


def test_brighter_by_a_factor_and_in_a_compressed_file() -> None:
    factor = Image.fromarray(np.clip(np.asarray(ONE) * 1.3, 0, 255).astype(np.uint8))

    assert is_brighter(FILES[0], encoded(factor, "JPEG", 90))


@pytest.mark.parametrize("seed", SEEDS)
def test_other_changes_are_not_brighter(seed: int) -> None:
    """The same picture, one with more contrast, in other colours, inverted, covered, or another bright one."""
    before, picture = FILES[seed], PHOTOGRAPHS[seed]
    pixels = np.asarray(picture, dtype=float)
    contrast = Image.fromarray(np.clip((pixels - 110) * 1.8 + 130, 0, 255).astype(np.uint8))
    redder = Image.fromarray(np.clip(pixels + np.array([60, -20, 0]), 0, 255).astype(np.uint8))
    covered = picture.copy()
    covered.paste("white", (0, 0, picture.width, picture.height // 2))
    others = {
        "same": picture,
        "compressed": decoded_image(encoded(picture, "JPEG", 60)),
        "contrast": contrast,
        "redder": redder,
        "covered": covered,
        "white": Image.new("RGB", picture.size, "white"),
        "another": brightened(PHOTOGRAPHS[(seed + 1) % len(SEEDS)], 80),
        "the other eye": brightened(OTHER_EYE[seed], 40),
        "cropped": brightened(picture.crop((10, 10, 300, 220)), 40),
    }

    assert [name for name, other in others.items() if is_brighter(before, encoded(other))] == []


@pytest.mark.parametrize(
    ("first", "second", "across", "side"),
    [(ONE, TWO, True, "left"), (TWO, ONE, True, "right"), (ONE, TWO, False, "above"), (TWO, ONE, False, "below")],
    ids=["left", "right", "above", "below"],
)
@pytest.mark.parametrize("middle", [False, True])
def test_joined_on_each_side(first: Image.Image, second: Image.Image, across: bool, side: Side, middle: bool) -> None:
    """Only the side where the first picture really stands is true."""
    whole = encoded(joined(ONE, TWO, across=across, middle=middle), "JPEG", 90)
    sides: tuple[Side, ...] = ("left", "right", "above", "below")

    assert [name for name in sides if is_joined(encoded(first), encoded(second), whole, name)] == [side]


def test_pictures_that_are_not_joined() -> None:
    """Another picture in place of one, a gap, a scaled half, one half alone, and the same picture twice."""
    one, two = encoded(ONE), encoded(TWO)
    gap = Image.new("RGB", (ONE.width + TWO.width + 12, ONE.height))
    gap.paste(ONE, (0, 0))
    gap.paste(TWO, (ONE.width + 12, 0))

    assert not is_joined(one, two, encoded(joined(ONE, photograph(9, TWO.size))), "left")
    assert not is_joined(one, two, encoded(joined(photograph(9), TWO)), "left")
    assert not is_joined(one, two, encoded(gap), "left")
    assert not is_joined(one, two, encoded(joined(ONE, resized(TWO, 1.2))), "left")
    assert not is_joined(one, two, one, "left")
    assert not is_joined(one, two, encoded(joined(ONE, ONE)), "left")
    assert is_joined(one, one, encoded(joined(ONE, ONE)), "left")


@pytest.mark.parametrize("mode", ["stretch", "fit", "fill", "centre"])
def test_wallpapers_are_known_in_each_mode_behind_windows(mode: str) -> None:
    picture = photograph(20, (900, 700))
    screen = Image.new("RGB", SCREEN, "#303840")
    shown = {
        "stretch": picture.resize(SCREEN),
        "fit": ImageOps.contain(picture, SCREEN),
        "fill": ImageOps.fit(picture, SCREEN),
        "centre": picture.crop((0, 0, 900, 700)),
    }[mode]
    screen.paste(shown, ((SCREEN[0] - shown.width) // 2, (SCREEN[1] - shown.height) // 2))
    screen.paste("#eeeeee", (700, 300, 1200, 680))

    shot = encoded(screen)
    assert wallpaper_is(shot, encoded(picture))
    assert not [seed for seed in SEEDS[:2] if wallpaper_is(shot, FILES[seed])]


@pytest.mark.parametrize("seed", SEEDS[:3])
def test_a_window_shows_its_picture_and_no_other(seed: int) -> None:
    """Another photograph of the same scene has many matching points, and is another picture all the same."""
    screen = encoded(screen_with(PHOTOGRAPHS[seed], PLACE, seed))

    assert picture_in_window(screen, WINDOW, FILES[seed])
    assert not picture_in_window(screen, WINDOW, FILES[seed + 1])
    assert not picture_in_window(screen, WINDOW, encoded(OTHER_EYE[seed]))
    assert not picture_in_window(screen, Bounds(850, 60, 400, 500), FILES[seed])


def test_a_window_shows_a_large_picture_scaled_down() -> None:
    picture = photograph(31, (1400, 1000))

    assert picture_in_window(encoded(screen_with(picture, PLACE)), WINDOW, encoded(picture))


def test_an_icon_is_found_where_it_is() -> None:
    icon = photograph(40, (32, 32))
    screen = photograph(41, (640, 360))
    screen.paste(icon, (400, 200))

    assert icon_place(encoded(screen), encoded(icon)) == Bounds(400, 200, 32, 32)
    assert icon_place(encoded(screen), encoded(icon), Bounds(380, 190, 100, 100)) == Bounds(400, 200, 32, 32)
    assert icon_place(encoded(screen), encoded(icon), Bounds(0, 0, 300, 300)) is None
    assert icon_place(encoded(screen), encoded(photograph(42, (32, 32)))) is None


@pytest.mark.parametrize("broken", NO_PICTURES, ids=range(len(NO_PICTURES)))
def test_no_picture_is_an_answer_and_no_error(broken: bytes) -> None:
    """An agent can write any bytes into a file; a check of that file is false."""
    file = FILES[0]

    assert not same_picture(file, broken)
    assert not same_picture(broken, broken)
    assert crop_place(broken, file) is None
    assert crop_place(file, broken) is None
    assert not is_brighter(file, broken)
    assert not is_darker(broken, file)
    assert not is_joined(file, file, broken, "left")
    assert not wallpaper_is(file, broken)
    assert not picture_in_window(file, WINDOW, broken)
    assert icon_place(file, broken) is None


@pytest.mark.parametrize("picture", [Image.new("RGB", (1, 1)), Image.new("1", (3, 500)), Image.new("RGB", (256, 256))])
def test_odd_pictures_are_no_error(picture: Image.Image) -> None:
    """Tiny, thin, and black ones are pictures too, and equal themselves only."""
    odd, file = encoded(picture), FILES[0]

    assert same_picture(odd, odd)
    assert not same_picture(odd, file)
    assert not is_brighter(odd, file)
    assert not is_joined(odd, file, file, "above")
    assert not wallpaper_is(file, odd)
    assert not picture_in_window(file, Bounds(0, 0, 400, 300), odd)


def test_a_bomb_is_no_picture() -> None:
    """A small file that would unpack to gigabytes is not unpacked."""
    assert decoded(encoded(Image.new("1", (7000, 7000)))) is None


def test_transparent_parts_are_seen_on_white() -> None:
    clear = Image.new("RGBA", (20, 20), (0, 0, 0, 0))

    pixels = decoded(encoded(clear))

    assert pixels is not None
    assert pixels.shape == (20, 20, 3)
    assert pixels.min() == 255


def test_structural_similarity_of_known_planes() -> None:
    """One for the same plane; for two flat planes only the term of their means counts."""
    ramp = grey(np.asarray(ONE))
    low, high = np.full((20, 20), 50.0), np.full((20, 20), 100.0)
    steady = (0.01 * 255) ** 2

    assert structural_similarity(ramp, ramp) == pytest.approx(1)
    assert structural_similarity(low, high) == pytest.approx((2 * 50 * 100 + steady) / (50**2 + 100**2 + steady))


def test_without_the_extra_the_error_names_it() -> None:
    """Whoever installed the core alone reads what to install."""
    program = (
        "import sys; sys.modules['cv2'] = None\n"
        "from crab.errors import InfrastructureError\n"
        "from crab.perception.comparing import opencv\n"
        "try: opencv()\n"
        "except InfrastructureError as error: assert 'vision' in str(error), error\n"
        "else: raise SystemExit('no error')\n"
    )

    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


def decoded_image(data: bytes) -> Image.Image:
    """The picture in a file."""
    pixels = decoded(data)
    assert pixels is not None
    return Image.fromarray(pixels)
