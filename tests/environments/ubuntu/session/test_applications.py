"""The applications: each opens its window at once, without tips or questions, and files open in the right one."""

from __future__ import annotations

import pytest

from environments.ubuntu.session.applications import default_applications, installed
from tests.environments.ubuntu.sandbox.sandboxed import Sandboxed, sandboxed
from tests.environments.ubuntu.waiting import until

pytestmark = pytest.mark.desktop

ROLES = ["terminal", "text_editor", "file_manager", "image_viewer", "calculator", "application_search"]


def geometry(world: Sandboxed, window_class: str) -> str:
    """Position and size of the window of that class, as xwininfo prints them."""
    _, text = world.call("outside", argv=["xwininfo", "-root", "-tree"])
    lines = [line.split() for line in text.splitlines() if f'"{window_class}")' in line and "10x10" not in line]
    return " ".join(lines[-1][-2:])


def test_the_roles_tasks_ask_for_are_all_there() -> None:
    assert list(installed()) == ROLES


@pytest.mark.parametrize("role", [role for role in ROLES if role != "application_search"])
def test_each_opens_one_window_of_its_class_where_it_always_is(fresh: Sandboxed, role: str) -> None:
    """One window: no tip of the day, no question, no warning; and twice at the same place."""
    argv, window_class = fresh.call("applications")[role]
    desktop_alone = 2
    places = []
    for _ in range(2):
        fresh.call("start")
        fresh.call("spawn", argv=argv)
        until(lambda: len(fresh.window_classes()) > desktop_alone, role)
        assert fresh.window_classes()[desktop_alone:] == [window_class]
        places.append(until(lambda: geometry(fresh, window_class), "a place"))
    assert places[0] == places[1]


def test_search_opens_by_key_and_starts_what_is_typed(fresh: Sandboxed) -> None:
    """Super+Space, a name and Enter, as a person does it."""
    fresh.call("outside", argv=["xdotool", "key", "super+space"])
    until(lambda: "rofi" in fresh.output("sh", "-c", "cat /proc/[0-9]*/comm"), "the search")
    until(lambda: '"Rofi")' in fresh.call("outside", argv=["xwininfo", "-root", "-tree"])[1], "its window")
    fresh.call("outside", argv=["xdotool", "type", "--delay", "20", "calc"])
    fresh.call("outside", argv=["xdotool", "key", "Return"])
    fresh.wait_for_window("Galculator")


def test_the_panels_button_opens_the_search(fresh: Sandboxed) -> None:
    fresh.call("outside", argv=["xdotool", "mousemove", "50", "780", "click", "1"])
    until(lambda: '"Rofi")' in fresh.call("outside", argv=["xwininfo", "-root", "-tree"])[1], "the search")


@pytest.mark.parametrize(
    ("file", "window_class"),
    [
        ("a.txt", "Mousepad"),
        ("a.csv", "Mousepad"),
        ("a.json", "Mousepad"),
        ("a.png", "Viewnior"),
        ("folder", "Pcmanfm"),
    ],
)
def test_files_open_in_the_right_application(fresh: Sandboxed, file: str, window_class: str) -> None:
    already = fresh.window_classes().count(window_class)
    path = f"/home/user/Documents/{file}"
    if file == "a.png":
        fresh.output("cp", "/home/user/.local/share/backgrounds/default.png", path)
    elif file == "folder":
        fresh.output("mkdir", path)
    else:
        fresh.output("sh", "-c", f"echo '[1]' >{path}")
    fresh.call("spawn", argv=["gio", "open", path])
    until(lambda: fresh.window_classes().count(window_class) > already, f"{window_class} with {file}")


def test_only_the_desktops_own_applications_are_on_offer(fresh: Sandboxed) -> None:
    """Whatever else the host has installed does not show up in menus."""
    files = set(fresh.output("ls", "/usr/share/applications").split())
    assert files == {application.desktop_file for application in installed().values()} | {"mimeinfo.cache"}


def test_default_applications_name_entries_that_exist() -> None:
    known = {application.desktop_file for application in installed().values()}
    lines = default_applications().splitlines()[1:]
    assert lines
    assert {line.partition("=")[2] for line in lines} <= known


def test_terminal_runs_a_shell_in_home(fresh: Sandboxed) -> None:
    """With SHELL unset or nologin it would close at once."""
    fresh.call("spawn", argv=["lxterminal"])
    fresh.wait_for_window("Lxterminal")
    until(lambda: "bash" in fresh.output("sh", "-c", "cat /proc/[0-9]*/comm"), "a shell")
    command = "pwd >$HOME/part; tty >>$HOME/part; mv $HOME/part $HOME/said"

    def typed() -> bool:
        fresh.call("outside", argv=["xdotool", "type", "--delay", "5", command])
        fresh.call("outside", argv=["xdotool", "key", "Return"])
        return True

    until(typed, "typing")
    until(lambda: fresh.call("read", path="said") is not None, "the shell's answer")
    assert (fresh.call("read", path="said") or "").splitlines()[0] == "/home/user"
    assert "/dev/pts/" in (fresh.call("read", path="said") or "")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_one_look_for_all(theme: str) -> None:
    """GTK 2, GTK 3, window frames, panel, search and terminal all take the colours of the theme that was asked for."""
    with sandboxed(theme=theme) as world:
        world.call("start")
        name = "Arc-Dark" if theme == "dark" else "Arc-Lighter"
        assert world.output("gsettings", "get", "org.gnome.desktop.interface", "gtk-theme") == f"'{name}'"
        for file in (".gtkrc-2.0", ".config/gtk-3.0/settings.ini"):
            assert name in world.output("cat", file)
        assert world.output("gsettings", "get", "org.gnome.desktop.interface", "cursor-blink") == "false"
        surface = "#383c4a" if theme == "dark" else "#ffffff"
        for file in (".config/rofi/config.rasi", ".local/share/themes/Desktop/openbox-3/themerc"):
            assert surface in world.output("cat", file)
