"""Text on the screen: recognised by a program for it, compared exactly after normalising, never by likeness.

A fuzzy ratio accepts most texts with one digit wrong, so a check that passes by it means nothing. What recognition
cannot tell apart (l, I and 1; O and 0) counts as the same, so no task may hinge on it. Where the device can say what a
widget holds, ask that instead.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from PIL import Image, ImageOps

from crab.errors import InfrastructureError
from crab.observation import Bounds
from crab.perception.comparing import Pixels, decoded, part

LOOK_ALIKE = str.maketrans({"l": "1", "i": "1", "|": "1", "ı": "1", "o": "0"})
"""What recognition takes for one another, after case is folded."""

_PLAIN = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "…": "..."})
_ENLARGED = 2.0
_LONGEST = 30_000
_SECONDS = 30
_DARK = 128


@dataclass(frozen=True)
class Line:
    """A piece of recognised text.

    Attributes:
        text: What it says.
        bounds: Where it is, in pixels of the picture.
        score: How certain the program is, from 0 to 1.
    """

    text: str
    bounds: Bounds
    score: float


class TextReader(Protocol):
    """Recognises text in a picture."""

    def read(self, picture: Pixels) -> Sequence[Line]:
        """Returns pieces of text in the order the program gives them.

        Raises:
            InfrastructureError: The program is not installed, or broke.
        """


def normalised(text: str) -> str:
    """Returns a text as it is compared: case folded, without spaces, special signs made plain, look-alikes made one."""
    plain = unicodedata.normalize("NFKC", text.translate(_PLAIN)).casefold()
    return "".join(plain.split()).translate(LOOK_ALIKE)


def text_on_screen(
    screenshot: bytes, text: str, region: Bounds | None = None, *, reader: TextReader | None = None
) -> bool:
    """Returns whether a text is to be read on a screenshot, exactly after normalising.

    It may run over several lines. Bytes that are no picture show no text.

    Args:
        screenshot: The whole screen in its own size; recognition suffers fast from a smaller one.
        text: What to look for; it needs a letter or digit.
        region: Where to look; a region is read better and faster than a screen.
        reader: Who recognises; tesseract when None.

    Raises:
        ValueError: There is nothing to look for in the text.
        InfrastructureError: The program for it is not installed, or broke.
    """
    wanted = normalised(text)
    if not any(sign.isalnum() for sign in wanted):
        raise ValueError(f"no letter or digit to look for in {text!r}")
    picture = decoded(screenshot)
    if picture is None:
        return False
    shown = part(picture, region) if region is not None else picture
    if shown.size == 0:
        return False
    lines = (reader or TesseractReader()).read(shown)
    return wanted in "".join(normalised(line.text) for line in lines)


class TesseractReader:
    """Recognises text with tesseract, in a process for each picture; the light choice, for regions and guests.

    Args:
        language: Languages as tesseract names them, joined by ``+``; their data has to be installed.
    """

    def __init__(self, language: str = "eng") -> None:
        self._language = language

    def read(self, picture: Pixels) -> Sequence[Line]:
        """Returns the words of each line together, line by line.

        Raises:
            InfrastructureError: tesseract or its data is not installed, or it broke.
        """
        engine = _pytesseract()
        image, scale = _prepared(picture)
        # Threads of one tesseract hinder one another: without this it takes five times as long. It reads this process's
        # environment, and there is no other way to tell it.
        os.environ.setdefault("OMP_THREAD_LIMIT", "1")
        try:
            table = engine.image_to_data(
                image, lang=self._language, config="--psm 6", timeout=_SECONDS, output_type=engine.Output.DICT
            )
        except (engine.TesseractError, engine.TesseractNotFoundError, RuntimeError, OSError) as error:
            raise InfrastructureError(
                f"tesseract did not read the picture: {error}", fix="install the system package tesseract-ocr"
            ) from error
        return _lines_of(table, scale)


def _prepared(picture: Pixels) -> tuple[Image.Image, float]:
    """Returns the picture in grey, enlarged, dark on light, which tesseract reads best; and how much enlarged."""
    grey = Image.fromarray(picture).convert("L")
    if float(np.median(np.asarray(grey))) < _DARK:
        grey = ImageOps.invert(grey)
    scale = min(_ENLARGED, _LONGEST / max(grey.size))
    size = max(1, round(grey.width * scale)), max(1, round(grey.height * scale))
    return grey.resize(size, Image.Resampling.BICUBIC), scale


def _lines_of(table: dict[str, list[object]], scale: float) -> list[Line]:
    found: dict[tuple[object, ...], list[int]] = {}
    for index, word in enumerate(table["text"]):
        if str(word).strip():
            key = table["block_num"][index], table["par_num"][index], table["line_num"][index]
            found.setdefault(key, []).append(index)
    return [_line(table, words, scale) for words in found.values()]


def _line(table: dict[str, list[object]], words: Sequence[int], scale: float) -> Line:
    left, top, width, height = (
        [int(int(str(table[name][index])) / scale) for index in words] for name in ("left", "top", "width", "height")
    )
    x, y = min(left), min(top)
    right = max(a + b for a, b in zip(left, width, strict=True))
    bottom = max(a + b for a, b in zip(top, height, strict=True))
    certain = [float(str(table["conf"][index])) / 100 for index in words]
    text = " ".join(str(table["text"][index]) for index in words)
    return Line(text, Bounds(x, y, max(1, right - x), max(1, bottom - y)), max(0.0, sum(certain) / len(certain)))


def _pytesseract() -> Any:
    try:
        import pytesseract
    except ImportError as error:
        raise InfrastructureError(
            "reading text needs pytesseract", fix="install crab-eval with the extra: vision"
        ) from error
    return pytesseract
