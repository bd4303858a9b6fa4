"""Checks of windows, programs and what a terminal shows, on answers of a desktop."""

from __future__ import annotations

from typing import Any

import pytest

from subtasks.ubuntu.checks import application_in_front, terminal_shows, vim_running, window_shown
from tests.subtasks.ubuntu.answers import Recorded, verdict

LINES = ["kelp ember 204", "Meet Zoë at the pier - 9:30", 'Tell Tomé: "bring the spare keys"']


def node(role: str, text: str | None = None, *children: dict[str, Any]) -> dict[str, Any]:
    """A node of an accessibility tree."""
    return {"role": role, "name": "", "text": text, "states": [], "bounds": None, "children": list(children)}


def screen(*texts: str | None, role: str = "terminal") -> Recorded:
    """A desktop with a window for each text."""
    windows = [node("frame", None, node("filler", None, node(role, text))) for text in texts]
    return Recorded(accessibility=node("desktop frame", None, node("application", None, *windows)))


def printed(lines: list[str]) -> str:
    """A terminal's text after a command that printed these lines, with cells behind them as blanks."""
    return "\n".join(["user@ubuntu:~$ cat 'a file'", *(line + "   " for line in lines), "user@ubuntu:~$ ", "", ""])


def test_a_terminal_that_shows_the_lines_passes() -> None:
    assert verdict(terminal_shows, screen(printed(LINES)), lines=LINES) is True
    assert verdict(terminal_shows, screen("user@ubuntu:~$ ", printed(LINES)), lines=LINES) is True


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param("", id="empty"),
        pytest.param("user@ubuntu:~$ \n\n", id="fresh"),
        pytest.param(printed(LINES[:-1]), id="last_line_missing"),
        pytest.param(printed(LINES[1:]), id="first_line_missing"),
        pytest.param(printed([LINES[1], LINES[0], LINES[2]]), id="other_order"),
        pytest.param(printed([LINES[0], "", *LINES[1:]]), id="line_between"),
        pytest.param(printed([line.swapcase() for line in LINES]), id="other_case"),
        pytest.param(printed([line.replace("e", "е") for line in LINES]), id="look_alike"),
        pytest.param(printed([f"     {number}  {line}" for number, line in enumerate(LINES)]), id="numbered"),
        pytest.param(printed([" ".join(LINES)]), id="all_in_one_line"),
        pytest.param("user@ubuntu:~$ " + "\n> ".join(LINES), id="typed_not_run"),
        pytest.param(printed([repr(LINES)]), id="dumped"),
    ],
)
def test_a_terminal_that_shows_something_else_is_false(shown: str) -> None:
    assert verdict(terminal_shows, screen(shown), lines=LINES) is False


def test_lines_outside_a_terminal_are_false() -> None:
    """A text editor with the file is no terminal, and lines spread over two terminals are in none."""
    assert verdict(terminal_shows, screen("\n".join(LINES), role="text"), lines=LINES) is False
    assert verdict(terminal_shows, screen(printed(LINES[:2]), printed(LINES[2:])), lines=LINES) is False


def test_a_terminal_without_text_or_no_window_at_all_is_false() -> None:
    """A closed or frozen application answers nothing."""
    assert verdict(terminal_shows, screen(None), lines=LINES) is False
    assert verdict(terminal_shows, screen(), lines=LINES) is False
    assert verdict(terminal_shows, Recorded(accessibility=node("desktop frame")), lines=LINES) is False


def window(window_class: str = "Lxterminal", title: str = "LXTerminal", kind: str = "normal") -> dict[str, Any]:
    """A window as the desktop tells of it."""
    return {"id": 1, "title": title, "kind": kind, "class": window_class, "pid": 7, "process": "x", "states": []}


def test_the_role_of_the_window_in_front() -> None:
    """The class tells the role, whatever the title says."""
    terminal = Recorded(focused_window=window())

    assert verdict(application_in_front, terminal, role="terminal") is True
    assert verdict(application_in_front, terminal, role="text_editor") is False
    titled = Recorded(focused_window=window("Mousepad", "LXTerminal"))
    assert verdict(application_in_front, titled, role="terminal") is False
    assert verdict(application_in_front, titled, role="text_editor") is True


def test_no_window_or_the_desktop_itself_in_front_is_false() -> None:
    """The file manager draws the desktop, too, but that is no file manager in front."""
    desktop = window("Pcmanfm", "pcmanfm", "desktop")

    assert verdict(application_in_front, Recorded(focused_window=None), role="terminal") is False
    assert verdict(application_in_front, Recorded(focused_window=desktop), role="file_manager") is False
    assert verdict(application_in_front, Recorded(focused_window=window("")), role="terminal") is False


def test_vim_is_known_under_each_of_its_names() -> None:
    """A program that only has a similar name or edits a file of that name is another."""
    for name in ("vi", "vim", "vim.tiny", "vim.basic"):
        assert verdict(vim_running, processes(name)) is True
    for name in ("bash", "vimtutor", "view", "Vi", "nano"):
        assert verdict(vim_running, processes(name)) is False
    assert verdict(vim_running, Recorded(processes=[])) is False


def processes(name: str) -> Recorded:
    """A desktop on which one program runs, with an argument that says vi."""
    return Recorded(processes=[{"pid": 9, "name": name, "argv": [name, "vi"], "elapsed": 1.0}])


def test_a_window_is_known_by_its_exact_title() -> None:
    shown = Recorded(windows=[window(), window("Pcmanfm", "Desktop Preferences")])

    assert verdict(window_shown, shown, title="Desktop Preferences") is True
    assert verdict(window_shown, shown, title="Desktop") is False
    assert verdict(window_shown, Recorded(windows=[]), title="Desktop Preferences") is False
