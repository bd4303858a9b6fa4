"""The pointer does exactly what it is told, and refuses what lies outside the screen."""

from __future__ import annotations

import pytest

from crab.errors import InvalidArguments
from environments.ubuntu.desktop import Controls
from environments.ubuntu.x11.pointer import BUTTONS, Button
from tests.environments.ubuntu.x11.spy import Spy

pytestmark = pytest.mark.desktop


def test_click_presses_and_releases_at_the_point(controls: Controls, spy: Spy) -> None:
    controls.pointer.click(300, 200)
    assert [event for event in spy.take() if event[0] != "move"] == [("press", 1, 300, 200), ("release", 1, 300, 200)]


@pytest.mark.parametrize("button", list(BUTTONS))
def test_every_button_of_nine_arrives_as_its_number(controls: Controls, spy: Spy, button: Button) -> None:
    controls.pointer.click(50, 60, button)
    assert [event[:2] for event in spy.take() if event[0] != "move"] == [
        ("press", BUTTONS[button]),
        ("release", BUTTONS[button]),
    ]


def test_double_click_is_two_clicks(controls: Controls, spy: Spy) -> None:
    controls.pointer.click(50, 60, count=2)
    assert [event[0] for event in spy.take() if event[0] != "move"] == ["press", "release", "press", "release"]


def test_drag_moves_in_many_steps_between_press_and_release(controls: Controls, spy: Spy) -> None:
    """Toolkits start a drag only after several motions, so one jump would not do."""
    controls.pointer.drag((100, 100), (400, 300), duration=0.0)
    events = spy.take()
    press, release = events.index(("press", 1, 100, 100)), events.index(("release", 1, 400, 300))
    between = [event[2:] for event in events[press + 1 : release]]
    assert len(set(between)) >= 10
    assert between == sorted(between)


def test_gliding_takes_its_time_in_steps(controls: Controls, spy: Spy) -> None:
    controls.pointer.move(10, 10)
    spy.take()
    controls.pointer.move(210, 110, duration=0.1)
    moves = spy.take()
    assert len(moves) >= 5
    assert moves[-1] == ("move", 0, 210, 110)


def test_relative_motion_adds_to_the_position(controls: Controls) -> None:
    controls.pointer.move(100, 100)
    controls.pointer.move_by(-30, 45)
    assert controls.pointer.position() == (70, 145)


@pytest.mark.parametrize(
    ("dx", "dy", "button"), [(0, 3, 5), (0, -3, 4), (3, 0, 7), (-3, 0, 6)], ids=["down", "up", "right", "left"]
)
def test_scrolling_turns_the_wheel_once_per_notch(controls: Controls, spy: Spy, dx: int, dy: int, button: int) -> None:
    controls.pointer.scroll(dx, dy)
    assert [event[:2] for event in spy.take()] == [("press", button), ("release", button)] * 3


def test_the_corner_does_not_wedge_later_calls(controls: Controls, spy: Spy) -> None:
    """A fail-safe that raises for ever once the pointer is in a corner would let one click end a trial."""
    controls.pointer.click(0, 0)
    controls.pointer.click(5, 5)
    assert ("release", 1, 5, 5) in spy.take()


@pytest.mark.parametrize("point", [(-1, 0), (0, -1), (1280, 0), (0, 800), (10**9, 5)])
def test_a_point_outside_the_screen_is_refused_and_nothing_happens(
    controls: Controls, spy: Spy, point: tuple[int, int]
) -> None:
    with pytest.raises(InvalidArguments, match=r"outside the screen: x goes from 0 to 1279"):
        controls.pointer.click(*point)
    with pytest.raises(InvalidArguments):
        controls.pointer.drag((5, 5), point)
    assert spy.take() == []


def test_held_buttons_stay_down_until_released(controls: Controls, spy: Spy) -> None:
    controls.pointer.move(20, 20)
    controls.pointer.press("left")
    controls.pointer.press("left")
    controls.pointer.move(60, 20)
    assert list(controls.pointer.held) == ["left"]
    controls.pointer.release_all()
    assert list(controls.pointer.held) == []
    assert [event[0] for event in spy.take() if event[0] != "move"] == ["press", "release"]
