"""Windows are listed as the window manager sees them, whatever their owners claim."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from environments.ubuntu.desktop import Controls, Desktop
from environments.ubuntu.processes import processes_below
from environments.ubuntu.x11.connection import open_display
from environments.ubuntu.x11.windows import Window
from tests.environments.ubuntu.desktops import open_role
from tests.environments.ubuntu.waiting import until

pytestmark = pytest.mark.desktop


@pytest.fixture
def client(controls: Controls) -> Iterator[Any]:
    """A connection to open windows with."""
    display = open_display(controls.handle.display, controls.handle.xauthority)
    yield display
    display.close()


def show(client: Any, controls: Controls, **properties: Any) -> tuple[Any, Window]:
    """Maps a window with these properties and returns it, and how it is listed."""
    window = client.screen().root.create_window(40, 50, 300, 200, 0, client.screen().root_depth, background_pixel=0)
    window.set_wm_class("small", "Big")
    for name, (kind, size, value) in properties.items():
        window.change_property(client.intern_atom(name), client.intern_atom(kind), size, value)
    window.map()
    client.sync()
    listed = until(
        lambda: next((found for found in controls.windows.all() if found.id == window.id), None), "the window"
    )
    assert listed is not None
    return window, listed


def test_an_application_s_window_has_title_class_process_and_place(desktop: Desktop) -> None:
    open_role(desktop, "text_editor")
    (window,) = desktop.controls.windows.all()
    assert window == desktop.controls.windows.focused()
    assert (window.title, window.kind, window.window_class) == ("Untitled 1 - Mousepad", "normal", "Mousepad")
    names = {found.pid: found.name for found in processes_below(desktop.controls.handle.root_pid)}
    assert window.pid is not None
    assert names[window.pid] == "mousepad"
    assert window.width > 100
    assert window.height > 100
    assert 0 <= window.x < 1280 - window.width + 1
    assert 0 < window.y < 720


def test_no_window_has_the_focus_on_an_empty_desktop(controls: Controls) -> None:
    assert controls.windows.all() == ()
    assert controls.windows.focused() is None


def test_states_are_told_in_words(desktop: Desktop) -> None:
    open_role(desktop, "calculator")
    desktop.controls.keyboard.combine(["alt", "space"])
    desktop.settle()
    desktop.controls.keyboard.press("n")
    until(lambda: "hidden" in desktop.controls.windows.all()[0].states, "the calculator to be minimised")


def test_a_title_that_is_no_text_or_endless_is_still_a_title(controls: Controls, client: Any) -> None:
    _, listed = show(client, controls, _NET_WM_NAME=("UTF8_STRING", 8, b"caf\xff\xfe" + b"x" * 100_000))
    assert listed.title.startswith("caf�")
    assert len(listed.title) <= 1024


def test_the_kind_of_a_window_is_told(controls: Controls, client: Any) -> None:
    dock = client.intern_atom("_NET_WM_WINDOW_TYPE_DOCK")
    _, panel = show(client, controls, _NET_WM_WINDOW_TYPE=("ATOM", 32, [dock]))
    _, plain = show(client, controls)
    assert (panel.kind, plain.kind) == ("dock", "normal")


def test_properties_of_the_wrong_type_count_as_missing(controls: Controls, client: Any) -> None:
    _, listed = show(
        client,
        controls,
        _NET_WM_PID=("STRING", 8, b"not a number"),
        _NET_WM_STATE=("STRING", 8, b"nor this"),
        _NET_WM_NAME=("CARDINAL", 32, [1, 2, 3]),
    )
    assert (listed.title, listed.pid, listed.window_class) == ("", None, "Big")


def test_a_window_that_vanishes_is_left_out(controls: Controls, client: Any) -> None:
    window, _ = show(client, controls)
    window.destroy()
    client.sync()
    until(lambda: window.id not in [found.id for found in controls.windows.all()], "the window to vanish")
