"""The clipboard is read and set as a text, and no owner can hold the reader up."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from Xlib.error import ConnectionClosedError

from crab.errors import InvalidArguments
from environments.ubuntu.desktop import Controls, Desktop
from environments.ubuntu.x11.connection import open_display
from tests.environments.ubuntu.desktops import open_role
from tests.environments.ubuntu.waiting import until

pytestmark = pytest.mark.desktop

TEXT = "zwei Wörter, 中文 😀\nund mehr"


@pytest.fixture
def lazy_owner(controls: Controls) -> Iterator[Any]:
    """A client that owns the clipboard and never answers."""
    display = open_display(controls.handle.display, controls.handle.xauthority)
    window = display.screen().root.create_window(0, 0, 1, 1, 0, 0)
    window.set_selection_owner(display.intern_atom("CLIPBOARD"), 0)
    display.sync()
    yield display
    with suppress(ConnectionClosedError):
        display.close()


def xclip(controls: Controls, *options: str, text: str | None = None) -> str:
    """Runs xclip as a stranger would."""
    if shutil.which("xclip") is None:
        pytest.skip("not installed: xclip")
    environment = {"DISPLAY": controls.handle.display, "XAUTHORITY": str(controls.handle.xauthority)}
    done = subprocess.run(
        [str(shutil.which("xclip")), "-selection", "clipboard", *options],
        env=environment,
        input=None if text is None else text.encode(),
        stdout=subprocess.DEVNULL if text is not None else subprocess.PIPE,
        timeout=20,
    )
    return (done.stdout or b"").decode()


def test_what_was_set_is_read(controls: Controls) -> None:
    controls.clipboard.write(TEXT)
    assert controls.clipboard.read() == TEXT


def test_nobody_s_clipboard_is_none(controls: Controls) -> None:
    assert controls.clipboard.read() is None


def test_other_programs_read_what_was_set(controls: Controls) -> None:
    controls.clipboard.write(TEXT)
    assert xclip(controls, "-o") == TEXT


def test_another_program_takes_the_clipboard_over(controls: Controls) -> None:
    controls.clipboard.write("ours")
    xclip(controls, text=TEXT)
    assert controls.clipboard.read() == TEXT


def test_setting_replaces_another_program_s_text(controls: Controls) -> None:
    xclip(controls, text="theirs")
    controls.clipboard.write("ours")
    controls.clipboard.write("ours again")
    assert controls.clipboard.read() == "ours again"


def test_an_application_pastes_what_was_set(desktop: Desktop) -> None:
    open_role(desktop, "text_editor")
    desktop.controls.clipboard.write(TEXT)
    desktop.controls.keyboard.combine(["ctrl", "v"])
    desktop.settle()
    desktop.controls.clipboard.write("")
    desktop.controls.keyboard.combine(["ctrl", "a"])
    desktop.controls.keyboard.combine(["ctrl", "c"])
    until(lambda: desktop.controls.clipboard.read() == TEXT, "the pasted text")


def test_a_text_handed_over_in_pieces_is_read_whole(controls: Controls) -> None:
    """Large texts come by the incremental protocol."""
    text = "0123456789" * 60_000
    xclip(controls, text=text)
    assert controls.clipboard.read(seconds=10) == text


def test_a_huge_text_is_cut_at_the_limit(controls: Controls) -> None:
    xclip(controls, text="x" * 3_000_000)
    assert controls.clipboard.read(seconds=10, limit=100_000) == "x" * 100_000


def test_an_owner_that_never_answers_counts_as_empty(controls: Controls, lazy_owner: Any) -> None:
    began = time.monotonic()
    assert controls.clipboard.read(seconds=0.3) is None
    assert time.monotonic() - began >= 0.3


def test_an_owner_that_has_gone_counts_as_empty(controls: Controls, lazy_owner: Any) -> None:
    lazy_owner.close()
    assert controls.clipboard.read() is None


def test_a_text_larger_than_a_request_is_refused(controls: Controls) -> None:
    with pytest.raises(InvalidArguments, match="at most 200000 bytes"):
        controls.clipboard.write("é" * 100_001)
    controls.clipboard.write("e" * 200_000)
    assert controls.clipboard.read() == "e" * 200_000
