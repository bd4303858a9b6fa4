"""Frames for fabricated records: a plain desktop and a plain phone, drawn for the tests."""

from __future__ import annotations

import io
from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont

from crab.observation import Frame

DESKTOP = (1280, 720)
PHONE = (540, 1200)

INK, PAPER, BAR, BLUE = "#22262e", "#fbfbf9", "#2b3440", "#3b6ea5"


def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size=size)


def _frame(picture: Image.Image, time: float) -> Frame:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return Frame(buffer.getvalue(), "image/png", picture.width, picture.height, time)


def desktop(title: str = "", lines: Sequence[str] = (), *, dialog: str = "", time: float = 0.0) -> Frame:
    """A desktop of 1280x720 with at most one window, and a dialog before it."""
    picture = Image.new("RGB", DESKTOP, "#4f7a86")
    pen = ImageDraw.Draw(picture)
    for row in range(DESKTOP[1]):
        shade = row * 60 // DESKTOP[1]
        pen.line((0, row, DESKTOP[0], row), (70 + shade, 110 + shade, 125 + shade))
    pen.rectangle((0, 688, 1280, 720), fill=BAR)
    for index, name in enumerate(("Menu", "Files", "Editor", "Mail")):
        pen.text((16 + 90 * index, 695), name, "#dfe6ee", _font(15))
    for index, name in enumerate(("Home", "Documents", "Wastebasket")):
        top = 30 + 110 * index
        pen.rounded_rectangle((40, top, 96, top + 48), 6, fill="#e8c46a")
        pen.text((30, top + 54), name, "white", _font(14))
    if title:
        pen.rounded_rectangle((240, 70, 1120, 620), 8, fill=PAPER, outline="#9aa4b0")
        pen.rounded_rectangle((240, 70, 1120, 104), 8, fill=BAR)
        pen.text((256, 78), title, "white", _font(16))
        pen.text((256, 112), "File   Edit   Search   View   Help", INK, _font(15))
        for index, line in enumerate(lines):
            pen.text((262, 150 + 26 * index), line, INK, _font(17))
    if dialog:
        pen.rounded_rectangle((430, 260, 930, 430), 8, fill="white", outline=BLUE, width=2)
        pen.text((452, 280), dialog, INK, _font(17))
        pen.rectangle((452, 318, 908, 352), outline="#9aa4b0")
        pen.rounded_rectangle((810, 378, 908, 412), 5, fill=BLUE)
        pen.text((838, 385), "Save", "white", _font(16))
    return _frame(picture, time)


def phone(title: str = "Home", rows: Sequence[str] = (), *, time: float = 0.0) -> Frame:
    """A phone of 540x1200 with a title and a list."""
    picture = Image.new("RGB", PHONE, "#f2f3f7")
    pen = ImageDraw.Draw(picture)
    pen.rectangle((0, 0, 540, 40), fill="#dfe3ec")
    pen.text((24, 10), "9:41", INK, _font(18))
    pen.rectangle((0, 40, 540, 130), fill=BLUE)
    pen.text((28, 68), title, "white", _font(30))
    for index, row in enumerate(rows):
        top = 160 + 100 * index
        pen.rounded_rectangle((20, top, 520, top + 84), 14, fill="white")
        pen.ellipse((36, top + 16, 88, top + 68), fill="#c9d6e6")
        pen.text((110, top + 28), row, INK, _font(24))
    pen.rounded_rectangle((200, 1176, 340, 1182), 3, fill="#8a93a2")
    return _frame(picture, time)
