"""Keys arrive as named; names are checked; what is held is let go."""

from __future__ import annotations

import pytest

from crab.errors import InvalidArguments
from environments.ubuntu.desktop import Controls, Desktop
from environments.ubuntu.x11.keymap import Keymap
from environments.ubuntu.x11.keys import ALIASES, KEYS, canonical, keysym
from tests.environments.ubuntu.desktops import await_title, open_role
from tests.environments.ubuntu.waiting import until
from tests.environments.ubuntu.x11.spy import Spy


def keycode(controls: Controls, name: str) -> int:
    """Returns the keycode of a key on the display's present map."""
    keymap = Keymap(controls.connection)
    keymap.read()
    key = keymap.find(keysym(canonical(name)))
    assert key is not None
    return key.keycode


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("Enter", "enter"),
        ("Return", "enter"),
        ("ESC", "escape"),
        ("Page Down", "page_down"),
        ("page-up", "page_up"),
        ("Control", "ctrl"),
        ("cmd", "super"),
        ("F5", "f5"),
        ("plus", "+"),
        (" ", "space"),
        ("A", "A"),
        ("é", "é"),
    ],
)
def test_names_and_aliases_mean_one_key(given: str, name: str) -> None:
    assert canonical(given) == name


def test_every_alias_leads_to_a_key() -> None:
    for alias, name in ALIASES.items():
        assert canonical(alias) == name
        assert keysym(name) > 0


@pytest.mark.parametrize("name", ["", "ctr", "f99", "ctrl+c", "\x07"])
def test_an_unknown_key_is_refused_with_examples(name: str) -> None:
    with pytest.raises(InvalidArguments, match=r"unknown key .*enter, tab|cannot be typed"):
        canonical(name)


@pytest.mark.desktop
def test_named_keys_are_on_the_keyboard(controls: Controls, spy: Spy) -> None:
    """Each name reaches an application as a key press and its release."""
    # Print screen belongs to the window manager; the keyboard ends at F12.
    taken = {"print_screen", *(f"f{number}" for number in range(13, 25))}
    for name in sorted(KEYS.keys() - taken):
        controls.keyboard.press(name)
        code = keycode(controls, name)
        # Digits of the keypad need shift while num lock is off.
        others = {keycode(controls, "shift")} - {code}
        events = [event[:2] for event in spy.take() if event[1] not in others]
        assert events == [("down", code), ("up", code)], name


@pytest.mark.desktop
def test_a_combination_is_released_in_reverse_order(controls: Controls, spy: Spy) -> None:
    controls.keyboard.combine(["ctrl", "shift", "t"])
    ctrl, shift, t = (keycode(controls, name) for name in ("ctrl", "shift", "t"))
    assert [event[:2] for event in spy.take()] == [
        ("down", ctrl),
        ("down", shift),
        ("down", t),
        ("up", t),
        ("up", shift),
        ("up", ctrl),
    ]


@pytest.mark.desktop
def test_letters_of_a_combination_name_the_key_whatever_their_case(controls: Controls, spy: Spy) -> None:
    controls.keyboard.combine(["ctrl", "C"])
    assert ("down", keycode(controls, "shift")) not in [event[:2] for event in spy.take()]


@pytest.mark.desktop
def test_a_character_that_needs_shift_gets_it(controls: Controls, spy: Spy) -> None:
    controls.keyboard.press("?")
    slash, shift = keycode(controls, "/"), keycode(controls, "shift")
    assert [event[:2] for event in spy.take()] == [("down", shift), ("down", slash), ("up", slash), ("up", shift)]


@pytest.mark.desktop
def test_held_keys_stay_down_and_are_all_let_go(controls: Controls, spy: Spy) -> None:
    for name in ("ctrl", "shift", "ctrl"):
        controls.keyboard.hold(name)
    assert list(controls.keyboard.held) == ["ctrl", "shift"]
    controls.keyboard.release_all()
    assert list(controls.keyboard.held) == []
    ctrl, shift = keycode(controls, "ctrl"), keycode(controls, "shift")
    assert [event[:2] for event in spy.take()] == [("down", ctrl), ("down", shift), ("up", shift), ("up", ctrl)]


@pytest.mark.desktop
@pytest.mark.parametrize("keys", [[], ["a", "a"], ["ctrl", "nonsense"]])
def test_a_wrong_combination_presses_nothing(controls: Controls, spy: Spy, keys: list[str]) -> None:
    with pytest.raises(InvalidArguments):
        controls.keyboard.combine(keys)
    assert spy.take() == []


@pytest.mark.desktop
def test_a_key_the_keyboard_lacks_still_arrives(desktop: Desktop) -> None:
    open_role(desktop, "text_editor")
    desktop.controls.keyboard.press("é")
    desktop.controls.keyboard.combine(["ctrl", "a"])
    desktop.controls.keyboard.combine(["ctrl", "c"])
    until(lambda: desktop.controls.clipboard.read() == "é", "é in the editor")


@pytest.mark.desktop
def test_alt_f4_closes_a_window(desktop: Desktop) -> None:
    open_role(desktop, "calculator")
    desktop.controls.keyboard.combine(["alt", "f4"])
    await_title(desktop, lambda title: title == "" or "calc" not in title.lower(), "the calculator to close")
