"""The desktop itself, which the file manager draws: its wallpaper."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable

from crab.graph import CheckpointGraph, chain, checkpoint
from crab.observation import AccessibilityNode, Observations
from crab.task import NearMiss, Needs, Parameter, SetupCall, Solution, Solve, Subtask, Values
from subtasks.types import PICTURE_PATH
from subtasks.ubuntu import pools
from subtasks.ubuntu.checks import wallpaper_shows, window_shown
from subtasks.ubuntu.gestures import (
    DESKTOP,
    Gesture,
    await_found,
    choose_in_dialog,
    click_on,
    do,
    element,
    in_front,
    tree,
    window_in_front,
    windows,
)
from subtasks.ubuntu.pictures import landscape

_PREFERENCES = "Desktop Preferences"
_CHOOSER = "Please select an image file"


def _pictures(path: str) -> dict[str, bytes]:
    """Returns what set-up writes: the picture, and others that are easily taken for it."""
    folder, _, name = path.rpartition("/")
    decoys = f"{folder}/{name.upper()}", f"{folder}/old {name}", f"{pools.HOME}/Downloads/{name}"
    return {file: landscape(file) for file in (*decoys, path)}


def _setup(values: Values) -> tuple[SetupCall, ...]:
    return tuple(
        SetupCall(
            DESKTOP, "write_file", {"path": path, "content": base64.b64encode(data).decode(), "encoding": "base64"}
        )
        for path, data in _pictures(values["picture"]).items()
    )


def _open_preferences(seen: Observations) -> Gesture:
    if any(window.role == "frame" for window in windows(tree(seen))):
        # Windows may cover the desktop, and a dialog would open behind them.
        seen = yield do("press_hotkey", keys=["super", "d"])
    frame = seen[DESKTOP].now
    # The icons are on the left, the panel is at the bottom.
    seen = yield do("right_click", x=frame.width - 80, y=frame.height - 100)
    seen = yield from click_on(seen, element("menu item", name=_PREFERENCES), "the menu of the desktop")
    seen, _ = yield from await_found(seen, in_front(_PREFERENCES), "the preferences")
    return seen


def _picture_button(root: AccessibilityNode) -> AccessibilityNode | None:
    """Returns the button of the preferences that tells the picture: the one that shares its row with the label."""
    window = window_in_front(root)
    label = window.find(role="label", name="Wallpaper:") if window is not None else None
    if window is None or label is None or label.bounds is None:
        return None
    for button in window.find_all(role="push button"):
        if button.bounds is not None and button.bounds.y == label.bounds.y:
            return button
    return None


def set_wallpaper(path: str, *, confirm: bool = True) -> Solution:
    """Sets a picture through the preferences of the desktop."""
    seen = yield None
    seen = yield from _open_preferences(seen)
    seen = yield from click_on(seen, _picture_button, "the button that tells the picture")
    if confirm:
        seen = yield from choose_in_dialog(seen, _CHOOSER, path)
    else:
        seen, _ = yield from await_found(seen, in_front(_CHOOSER), "the file dialog")
        seen = yield do("write_text", text=path)
        seen = yield from click_on(seen, element("push button", name="Cancel"), "the button that cancels")
    yield from click_on(seen, element("push button", name="Close"), "the button that closes the preferences")


def _set(path: Callable[[str], str] = str, *, confirm: bool = True) -> Solve:
    return lambda values: set_wallpaper(path(values["picture"]), confirm=confirm)


def _decoy(number: int) -> Callable[[str], str]:
    return lambda path: list(_pictures(path))[number]


def _graph(values: Values) -> CheckpointGraph:
    digest = hashlib.sha256(landscape(values["picture"])).hexdigest()
    return chain(
        checkpoint("preferences_shown", window_shown.bind(title=_PREFERENCES).on(DESKTOP), transient=True),
        checkpoint("wallpaper_set", wallpaper_shows.bind(sha256=digest).on(DESKTOP)),
    )


SET_WALLPAPER = Subtask(
    id="set_wallpaper",
    version=1,
    description="Make the picture {picture} the wallpaper of the desktop.",
    environments={DESKTOP: "ubuntu"},
    parameters=(Parameter("picture", PICTURE_PATH, pools.picture_file, "A picture that set-up draws."),),
    checkpoints=_graph,
    solve=_set(),
    near_misses=(
        NearMiss("name_in_capitals", "wallpaper_set", _set(_decoy(0))),
        NearMiss("other_picture", "wallpaper_set", _set(_decoy(1))),
        NearMiss("same_name_elsewhere", "wallpaper_set", _set(_decoy(2))),
        NearMiss("dialog_cancelled", "wallpaper_set", _set(confirm=False)),
    ),
    setup=_setup,
    needs={DESKTOP: Needs(probes=("windows", "setting", "file_hash"), roles=("file_manager",))},
    tags=("file_manager", "settings", "pictures"),
    clause="make {picture} the wallpaper of the desktop",
)
"""Set the wallpaper.

The desktop's preferences open (way-check), and the desktop is set to show a file with the picture's content, in a mode
in which pictures show. A program that copies the picture and points at its copy is right too; the other pictures that
lie about, one of the same name among them, have another content.
"""

SUBTASKS = (SET_WALLPAPER,)
