"""A program on the display can cut our connections or grab the server; driving the desktop goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crab.errors import EnvironmentFailure
from environments.ubuntu.desktop import Controls
from environments.ubuntu.x11.connection import open_display
from tests.environments.ubuntu.waiting import until

pytestmark = pytest.mark.desktop


def kill_all_other_clients(controls: Controls) -> None:
    """Does what an agent's program could: XKillClient on every resource of every other client it can think of."""
    from Xlib.protocol import request

    display = open_display(controls.handle.display, controls.handle.xauthority)
    info = display.display.info
    for base in range(info.resource_id_mask + 1, info.resource_id_base, info.resource_id_mask + 1):
        for offset in range(8):
            request.KillClient(display=display.display, onerror=lambda *_: True, resource=base + offset)
    display.sync()
    display.close()


def test_everything_reconnects_after_being_killed(controls: Controls) -> None:
    # A resource for the connection to be killed by, as any window or pixmap would be.
    controls.connection.call(
        lambda display: display.screen().root.create_window(0, 0, 1, 1, 0, 0).id and display.sync()
    )
    controls.clipboard.write("ours")
    before = controls.screen.grab()
    kill_all_other_clients(controls)
    controls.pointer.move(12, 34)
    assert controls.pointer.position() == (12, 34)
    controls.keyboard.press("a")
    assert (controls.screen.grab().width, controls.screen.grab().height) == (before.width, before.height)
    assert until(lambda: controls.clipboard.read() is None, "the clipboard to be lost")
    controls.clipboard.write("again")
    assert controls.clipboard.read() == "again"


def test_a_server_grab_by_another_program_does_not_stop_the_pointer(controls: Controls) -> None:
    display = open_display(controls.handle.display, controls.handle.xauthority)
    controls.pointer.move(1, 1)
    display.grab_server()
    display.sync()
    try:
        controls.pointer.move(99, 88)
        assert controls.pointer.position() == (99, 88)
    finally:
        display.ungrab_server()
        display.close()


def test_an_error_of_the_operation_itself_is_not_taken_for_a_lost_connection(controls: Controls) -> None:
    attempts: list[Any] = []

    def wrong(display: Any) -> None:
        attempts.append(display)
        raise TypeError("a mistake of ours")

    with pytest.raises(TypeError, match="a mistake of ours"):
        controls.connection.call(wrong)
    assert len(attempts) == 1


def test_a_display_that_is_not_there_is_named(tmp_path: Path) -> None:
    cookie = tmp_path / "cookie"
    cookie.touch()
    with pytest.raises(EnvironmentFailure, match=r"X display :9999"):
        open_display(":9999", cookie)


def test_a_missing_cookie_file_is_named(controls: Controls, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="cookie"):
        open_display(controls.handle.display, tmp_path / "none")
