"""The device: reset is total, observations are timestamped, and what died is named."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable

import pytest
from PIL import Image

from crab.errors import ActionFailed, EnvironmentFailure
from crab.observation import ObservationRequest
from environments.ubuntu.desktop import Desktop
from environments.ubuntu.processes import processes_below
from tests.environments.ubuntu.desktops import SEED, START_TIME, make_session, open_role, open_terminal, title_in_front
from tests.environments.ubuntu.waiting import until

pytestmark = pytest.mark.desktop


def test_reset_leaves_nothing_of_before(desktop: Desktop) -> None:
    """Files, clipboard, windows, programs, keyboard map, held keys and buttons."""
    before = desktop.observe(ObservationRequest()).now.sha256
    names = [found.name for found in processes_below(desktop.controls.handle.root_pid)]
    open_terminal(desktop)
    desktop.controls.files.write("~/left/behind.txt", b"x")
    desktop.controls.clipboard.write("left behind")
    desktop.controls.keyboard.hold("shift")
    desktop.controls.pointer.press("left")
    desktop.controls.pointer.move(3, 3)
    desktop.controls.connection.call(lambda display: display.change_keyboard_mapping(93, [[0x41, 0x41]]))
    keys = desktop.controls.connection.call(lambda display: display.get_keyboard_mapping(93, 1))
    assert any(keys[0])
    desktop.reset(SEED, START_TIME)
    controls = desktop.controls
    desktop.settle()
    assert desktop.observe(ObservationRequest()).now.sha256 == before
    assert [found.name for found in processes_below(controls.handle.root_pid)] == names
    assert not controls.files.stat("~/left")["exists"]
    assert controls.clipboard.read() is None
    assert list(controls.windows.all()) == []
    state = controls.connection.call(lambda display: display.screen().root.query_pointer())
    assert state.mask == 0
    assert not any(controls.connection.call(lambda display: display.query_keymap()))
    keys = controls.connection.call(lambda display: display.get_keyboard_mapping(93, 1))
    assert not any(keys[0])


def test_a_plain_observation_is_one_png_of_now(desktop: Desktop) -> None:
    observation = desktop.observe(ObservationRequest())
    assert observation.accessibility is None
    (frame,) = observation.frames
    assert (frame.media_type, frame.width, frame.height) == ("image/png", *desktop.controls.handle.screen)
    assert Image.open(io.BytesIO(frame.data)).size == desktop.controls.handle.screen
    assert frame.time >= 0


def test_an_unchanged_screen_gives_the_same_bytes(desktop: Desktop) -> None:
    first, second = (desktop.observe(ObservationRequest()).now for _ in range(2))
    assert first.data == second.data
    assert first.time <= second.time


def test_frames_since_the_last_action_are_recorded_when_asked_for(desktop: Desktop) -> None:
    request = ObservationRequest(frames_per_second=50)
    assert len(desktop.observe(request).frames) == 1
    controls = desktop.begin_action()
    controls.pointer.move(10, 10)
    until(lambda: len(controls.recorder.taken()) >= 3, "three frames")
    frames = desktop.observe(request).frames
    assert len(frames) >= 4
    times = [frame.time for frame in frames]
    assert times == sorted(times)
    desktop.begin_action()
    assert len(desktop.observe(ObservationRequest()).frames) == 1
    assert controls.recorder.taken() == ()


def test_the_accessibility_track_is_there_when_asked_for(desktop: Desktop) -> None:
    open_role(desktop, "calculator")
    tree = desktop.observe(ObservationRequest(accessibility=True)).accessibility
    assert tree is not None
    assert tree.find(role="application", name="galculator") is not None


def test_settling_waits_for_a_busy_application(desktop: Desktop) -> None:
    """An application that has not read its input yet shows a still screen; that is not settled."""
    open_role(desktop, "text_editor")
    editor = next(found for found in processes_below(desktop.controls.handle.root_pid) if found.name == "mousepad")
    os.kill(editor.pid, signal.SIGSTOP)
    try:
        desktop.controls.keyboard.press("x")
        settlement = desktop.settle()
    finally:
        os.kill(editor.pid, signal.SIGCONT)
    assert settlement.seconds >= 1.5


def test_a_settled_desktop_says_so(desktop: Desktop) -> None:
    settlement = desktop.settle()
    assert settlement.settled
    assert settlement.seconds >= 0.1


def test_health_is_none_until_something_dies() -> None:
    desktop = Desktop(make_session())
    try:
        desktop.reset(SEED, START_TIME)
        assert desktop.health() is None
        x_server = next(
            found for found in processes_below(os.getpid()) if found.name == "Xvfb" and _is(found.argv, desktop)
        )
        os.kill(x_server.pid, signal.SIGKILL)
        assert until(desktop.health, "the death to be told")
        with pytest.raises(EnvironmentFailure, match="display"):
            desktop.observe(ObservationRequest())
        desktop.reset(SEED, START_TIME)
        assert desktop.health() is None
    finally:
        desktop.close()


def test_a_desktop_before_its_first_reset_and_after_its_end_says_so() -> None:
    desktop = Desktop(make_session())
    with pytest.raises(EnvironmentFailure, match="reset it first"):
        desktop.observe(ObservationRequest())
    desktop.close()
    desktop.close()


@pytest.mark.parametrize(
    "spell", [lambda a: a.role, lambda a: a.name.upper(), lambda a: a.argv[0], lambda a: a.role.replace("_", " ")]
)
def test_an_application_has_many_names(desktop: Desktop, spell: Callable[[object], str]) -> None:
    editor = desktop.application("text_editor")
    assert desktop.application(spell(editor)) == editor


def test_opening_returns_when_the_window_is_in_front(desktop: Desktop) -> None:
    desktop.open(desktop.application("calculator"))
    assert "galculator" in title_in_front(desktop).lower()
    desktop.open(desktop.application("file_manager"))
    first = desktop.controls.windows.focused()
    desktop.open(desktop.application("file_manager"))
    second = desktop.controls.windows.focused()
    assert first is not None
    assert second is not None
    assert first.id != second.id


def test_an_unknown_application_is_answered_with_those_there_are(desktop: Desktop) -> None:
    with pytest.raises(ActionFailed, match=r"no application 'gimp'.*text_editor"):
        desktop.application("gimp")


def _is(argv: tuple[str, ...], desktop: Desktop) -> bool:
    return desktop.controls.handle.display in argv or str(desktop.controls.handle.xauthority) in argv
