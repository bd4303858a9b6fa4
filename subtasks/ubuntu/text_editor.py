"""Work in the text editor: adding to a file that is there."""

from __future__ import annotations

import random
from collections.abc import Callable

from crab.graph import CheckpointGraph, chain, checkpoint
from crab.observation import AccessibilityNode
from crab.task import NearMiss, Needs, Output, Parameter, SetupCall, Solution, Solve, Subtask, Values
from subtasks.types import FILE_PATH, TEXT
from subtasks.ubuntu import pools
from subtasks.ubuntu.checks import application_in_front, text_file_holds
from subtasks.ubuntu.gestures import (
    DESKTOP,
    Gesture,
    await_found,
    choose_in_dialog,
    do,
    element,
    field_holding,
    focused_field,
    open_application,
    window_in_front,
)
from subtasks.ubuntu.mutations import swapped_case, with_blank_at_end

_LINES = 4


def list_text(path: str) -> str:
    """Returns the text of the list that set-up puts at a path: `_LINES` lines, each with a line feed at its end."""
    generator = random.Random(f"list:{path}")
    return "".join(f"{pools.word(generator)} {generator.randint(2, 40)}\n" for _ in range(_LINES))


def _copy_of(path: str) -> str:
    return f"{path.removesuffix('.txt')} (copy).txt"


def _setup(values: Values) -> tuple[SetupCall, ...]:
    text = list_text(values["file"])
    return tuple(
        SetupCall(DESKTOP, "write_file", {"path": path, "content": text})
        for path in (_copy_of(values["file"]), values["file"])
    )


def _unchanged(root: AccessibilityNode) -> bool:
    """Whether the editor in front shows no mark of unsaved changes."""
    window = window_in_front(root)
    return window is not None and window.name.endswith("- Mousepad") and not window.name.startswith("*")


def _open(path: str) -> Gesture:
    seen = yield from open_application("text_editor", element("menu", name="File"))
    seen = yield do("press_hotkey", keys=["ctrl", "o"])
    seen = yield from choose_in_dialog(seen, "Open File", path)
    # The editor tells of its text only after it was clicked or typed into, so its title has to do.
    name = path.rpartition("/")[2]
    seen, _ = yield from await_found(seen, lambda root: _titled(root, name), f"{name} in the editor")
    return seen


def _titled(root: AccessibilityNode, name: str) -> bool:
    window = window_in_front(root)
    return window is not None and window.name.startswith(f"{name} - ")


def add_line(path: str, line: str, *, key: str = "end", after: str = "", save: bool = True) -> Solution:
    """Opens a file, goes to its end (or with ``home`` to its beginning), types a line there, and saves."""
    seen = yield from _open(path)
    yield do("press_hotkey", keys=["ctrl", key])
    seen = yield do("write_text", text=line + after)
    seen, _ = yield from await_found(seen, lambda root: _holds(root, line), "the line in the editor")
    if save:
        seen = yield do("press_hotkey", keys=["ctrl", "s"])
        yield from await_found(seen, _unchanged, "the end of saving")


def _holds(root: AccessibilityNode, line: str) -> bool:
    field = focused_field(root)
    return field is not None and line in (field.text or "")


def _add(mutate: Callable[[str], str] = str, *, file: Callable[[str], str] = str, save: bool = True) -> Solve:
    return lambda values: add_line(file(values["file"]), mutate(values["line"]), save=save)


def _add_at_the_top(values: Values) -> Solution:
    return add_line(values["file"], values["line"], key="home", after="\n")


def _save_in_other_folder(values: Values) -> Solution:
    yield from add_line(values["file"], values["line"], save=False)
    seen = yield do("press_hotkey", keys=["ctrl", "shift", "s"])
    name = values["file"].rpartition("/")[2]
    seen, _ = yield from await_found(seen, field_holding(name), "the name in the dialog")
    yield do("press_hotkey", keys=["ctrl", "a"])
    yield from choose_in_dialog(seen, "Save As", f"{pools.HOME}/{name}")


def _graph(values: Values) -> CheckpointGraph:
    content = list_text(values["file"]) + values["line"]
    return chain(
        checkpoint("editor_in_front", application_in_front.bind(role="text_editor").on(DESKTOP), transient=True),
        checkpoint("line_saved", text_file_holds.bind(path=values["file"], content=content).on(DESKTOP)),
    )


ADD_LINE = Subtask(
    id="add_line",
    version=1,
    description="Open the file {file} in the text editor, add this as a new last line, without the quotation marks: "
    "“{line}”, and save the file. The lines that are there stay as they are.",
    environments={DESKTOP: "ubuntu"},
    parameters=(
        Parameter("file", FILE_PATH, pools.list_file, "A list of a few lines that set-up writes."),
        Parameter("line", TEXT, pools.line, "The new last line."),
    ),
    checkpoints=_graph,
    solve=_add(),
    near_misses=(
        NearMiss("not_saved", "line_saved", _add(save=False)),
        NearMiss("saved_in_other_folder", "line_saved", _save_in_other_folder),
        NearMiss("other_file", "line_saved", _add(file=_copy_of)),
        NearMiss("at_the_top", "line_saved", _add_at_the_top),
        NearMiss("other_letter_case", "line_saved", _add(swapped_case)),
        NearMiss("blank_at_end", "line_saved", _add(with_blank_at_end)),
    ),
    setup=_setup,
    needs={DESKTOP: Needs(probes=("focused_window", "file_read"), roles=("text_editor",))},
    output=Output(TEXT, "the new last line of {file}", lambda values: values["line"]),
    tags=("text_editor", "writing"),
    clause="open {file} in the text editor, add {line} as a new last line and save the file, while the lines that are "
    "there stay as they are",
)
"""Add a line at the end of a file with the text editor.

The editor comes to the front (way-check), and the file holds its former lines and then the new one; a line feed at its
end may be there or not. A copy of the file lies beside it and is not the file.
"""

SUBTASKS = (ADD_LINE,)
