"""Typed text lands byte-exact in real applications, and leaves the keyboard map as it was."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from functools import partial

import pytest

from crab.errors import InvalidArguments
from environments.ubuntu.desktop import Desktop
from environments.ubuntu.processes import processes_below
from environments.ubuntu.x11.connection import open_display
from tests.environments.ubuntu.desktops import await_title, open_role, open_terminal, title_in_front
from tests.environments.ubuntu.waiting import until

pytestmark = pytest.mark.desktop

TEXT = "aZ~@#^{}|\\<>? héßñ €中文😀"
ROUNDS = 10
MAPPING_NOTIFY = 34


def keyboard_map(desktop: Desktop) -> str:
    """Returns the whole map as text."""
    program = shutil.which("xkbcomp")
    if program is None:
        pytest.skip("not installed: xkbcomp")
    handle = desktop.controls.handle
    return subprocess.run(
        [program, "-w0", handle.display, "-"],
        env={"XAUTHORITY": str(handle.xauthority)},
        capture_output=True,
        check=True,
        timeout=20,
        text=True,
    ).stdout


def holds(desktop: Desktop, path: str, text: str) -> bool:
    """Tells whether a file holds exactly this text."""
    return bool(desktop.controls.files.read(path)["content"] == text)


def exists(desktop: Desktop, path: str) -> bool:
    return bool(desktop.controls.files.stat(path)["exists"])


def running(desktop: Desktop, name: str) -> bool:
    return any(found.name == name for found in processes_below(desktop.controls.handle.root_pid))


def start_reader(desktop: Desktop, path: str) -> None:
    """Starts a program in the terminal in front that writes one line to a file.

    A shell may swallow what is typed ahead of it, so this returns once the program reads.
    """
    until(lambda: not running(desktop, "head"), "the reader before it to end")
    desktop.settle()
    desktop.controls.typist.write(f"head -n 1 > {path}\n")
    until(partial(running, desktop, "head"), "the reader")


def type_into_file(desktop: Desktop, path: str, text: str) -> None:
    """Types one line into a file by way of the terminal in front."""
    start_reader(desktop, path)
    desktop.controls.typist.write(text + "\n")


def test_text_lands_in_a_terminal_each_time(desktop: Desktop) -> None:
    open_terminal(desktop)
    for number in range(ROUNDS):
        type_into_file(desktop, f"t{number}", TEXT)
        until(partial(holds, desktop, f"~/t{number}", TEXT + "\n"), f"round {number}: {TEXT}")


def test_text_lands_in_an_editor_each_time(desktop: Desktop) -> None:
    """Line breaks and tabs included; ``<`` is not ``>``."""
    desktop.controls.files.write("~/note.txt", b"")
    desktop.open(desktop.application("text_editor"), (f"{desktop.home_inside}/note.txt",))
    await_title(desktop, lambda title: "note.txt" in title, "the editor with the file")
    for number in range(ROUNDS):
        text = f"{number} {TEXT}\n\t<<second line>>"
        desktop.controls.keyboard.combine(["ctrl", "a"])
        desktop.controls.typist.write(text)
        desktop.controls.keyboard.combine(["ctrl", "s"])
        until(partial(holds, desktop, "~/note.txt", text), text)


def test_text_lands_in_a_file_dialog_each_time(desktop: Desktop) -> None:
    open_role(desktop, "file_manager")
    window = title_in_front(desktop)
    for number in range(ROUNDS):
        folder = f"{number}{TEXT}"
        desktop.controls.keyboard.combine(["ctrl", "shift", "n"])
        await_title(desktop, lambda title: title.startswith("Creat"), "the dialog for a new folder")
        desktop.controls.keyboard.combine(["ctrl", "a"])
        desktop.controls.typist.write(folder + "\n")
        until(partial(exists, desktop, f"~/{folder}"), folder)
        await_title(desktop, lambda title: title == window, "the window behind the dialog")


def test_more_foreign_characters_than_spare_keycodes_are_typed_in_chunks(desktop: Desktop) -> None:
    text = "".join(chr(code) for code in range(0x4E00, 0x4E00 + 70)) + "Ж" * 3 + "ありがとう"
    open_terminal(desktop)
    type_into_file(desktop, "many", text)
    until(partial(holds, desktop, "~/many", text + "\n"), text)


def test_the_keyboard_map_is_left_as_it_was(desktop: Desktop) -> None:
    """To the bit: keysyms, types and actions, as the map's own compiler prints them."""
    open_terminal(desktop)
    before = keyboard_map(desktop)
    desktop.controls.typist.write(TEXT + "".join(chr(code) for code in range(0x4E00, 0x4E20)))
    assert keyboard_map(desktop) == before


def test_many_foreign_characters_disturb_other_programs_no_more_than_one(desktop: Desktop) -> None:
    """A window manager is deaf for 30 ms after each change of the map, so characters share one."""
    handle = desktop.controls.handle
    watcher = open_display(handle.display, handle.xauthority)

    def notices(text: str) -> int:
        desktop.controls.typist.write(text)
        watcher.sync()
        return [watcher.next_event().type for _ in range(watcher.pending_events())].count(MAPPING_NOTIFY)

    # The first key of all makes the server change keyboards, which is told too.
    notices("first")
    assert notices("plain") == 0
    assert notices("é") == notices(TEXT) > 0
    watcher.close()


def test_caps_lock_does_not_change_what_is_typed_and_stays_on(desktop: Desktop) -> None:
    open_terminal(desktop)
    desktop.controls.keyboard.press("caps_lock")
    type_into_file(desktop, "caps", TEXT)
    until(partial(holds, desktop, "~/caps", TEXT + "\n"), TEXT)
    mask = desktop.controls.connection.call(lambda display: display.screen().root.query_pointer().mask)
    assert mask & 2


def test_another_keyboard_layout_does_not_change_what_is_typed(desktop: Desktop) -> None:
    """An agent may change the layout; the map is read anew for every text."""
    open_terminal(desktop)
    desktop.controls.typist.write("setxkbmap de; touch changed\n")
    until(partial(exists, desktop, "~/changed"), "the German layout")
    type_into_file(desktop, "layout", TEXT)
    until(partial(holds, desktop, "~/layout", TEXT + "\n"), TEXT)


@pytest.mark.parametrize("text", ["bell\x07", "null\0", "half \ud83d"])
def test_a_character_that_cannot_be_typed_is_refused_before_anything_is_typed(desktop: Desktop, text: str) -> None:
    open_terminal(desktop)
    with pytest.raises(InvalidArguments, match="cannot be typed"):
        desktop.controls.typist.write("touch typed\n" + text)
    type_into_file(desktop, "after", "x")
    until(partial(holds, desktop, "~/after", "x\n"), "the text after it")
    assert not exists(desktop, "~/typed")


def test_a_frozen_application_does_not_hang_the_typist(desktop: Desktop) -> None:
    open_terminal(desktop)
    terminal = next(found for found in processes_below(desktop.controls.handle.root_pid) if found.name == "lxterminal")
    os.kill(terminal.pid, signal.SIGSTOP)
    began = time.monotonic()
    try:
        desktop.controls.typist.write("# " + TEXT * 20)
    finally:
        os.kill(terminal.pid, signal.SIGCONT)
    # Not a speed test: one unanswered question is 2 s, and asking again for every chunk would be minutes.
    assert time.monotonic() - began < 10


def test_typing_after_the_connection_was_cut_goes_on(desktop: Desktop) -> None:
    open_terminal(desktop)
    start_reader(desktop, "cut")
    desktop.controls.typist.write("first ")
    desktop.controls.connection.call(lambda display: display.display.socket.shutdown(2))
    desktop.controls.typist.write("second €\n")
    until(partial(holds, desktop, "~/cut", "first second €\n"), "both halves")
