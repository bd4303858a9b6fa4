"""Pictures show what is on the screen, and settling tells stillness from motion."""

from __future__ import annotations

import io
import threading

import numpy as np
import pytest
from PIL import Image

from environments.ubuntu.desktop import Controls
from environments.ubuntu.x11.connection import open_display
from environments.ubuntu.x11.screen import Picture

pytestmark = pytest.mark.desktop


def paint(controls: Controls, colour: int) -> None:
    root = controls.connection.call(lambda display: display.screen().root)
    root.change_attributes(background_pixel=colour)
    root.clear_area()
    controls.connection.call(lambda display: display.sync())


def test_the_picture_has_the_screen_s_size_and_colours(controls: Controls) -> None:
    paint(controls, 0x336699)
    controls.pointer.move(1279, 719)
    picture = controls.screen.grab()
    image = Image.open(io.BytesIO(picture.png()))
    assert (image.format, image.mode, image.size) == ("PNG", "RGB", controls.handle.screen)
    assert image.getpixel((100, 100)) == (0x33, 0x66, 0x99)


def test_png_keeps_every_pixel() -> None:
    pixels = np.random.default_rng(3).integers(0, 256, (48, 64, 4), dtype=np.uint8)
    image = Image.open(io.BytesIO(Picture(pixels.tobytes(), 64, 48).png()))
    assert np.array_equal(np.asarray(image), pixels[:, :, 2::-1])


def test_the_pointer_is_drawn(controls: Controls) -> None:
    controls.pointer.move(100, 100)
    here = controls.screen.grab().checksum
    controls.pointer.move(300, 300)
    assert controls.screen.grab().checksum != here
    controls.pointer.move(100, 100)
    assert controls.screen.grab().checksum == here


def test_a_still_screen_settles(controls: Controls) -> None:
    stillness = controls.screen.settle()
    assert stillness.settled
    assert stillness.seconds >= 0.1


def test_a_screen_that_never_rests_is_reported_at_the_cap(controls: Controls) -> None:
    stop = threading.Event()
    display = open_display(controls.handle.display, controls.handle.xauthority)

    def flicker() -> None:
        root, colour = display.screen().root, 0
        while not stop.wait(0.005):
            colour += 0x10101
            root.change_attributes(background_pixel=colour & 0xFFFFFF)
            root.clear_area()
            display.sync()

    thread = threading.Thread(target=flicker)
    thread.start()
    try:
        stillness = controls.screen.settle(cap=0.5)
    finally:
        stop.set()
        thread.join()
        display.close()
    assert not stillness.settled
    assert stillness.seconds >= 0.5
