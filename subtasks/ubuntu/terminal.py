"""Work in a terminal: writing a file with Vim, and showing a file."""

from __future__ import annotations

import random
import shlex
from collections.abc import Callable

from crab.graph import CheckpointGraph, chain, checkpoint
from crab.observation import AccessibilityNode, Observations
from crab.task import NearMiss, Needs, Output, Parameter, SetupCall, Solution, Solve, Subtask, Values
from subtasks.types import FILE_NAME, FILE_PATH, FOLDER_PATH, TEXT
from subtasks.ubuntu import pools
from subtasks.ubuntu.checks import application_in_front, terminal_shows, text_file_holds, vim_running
from subtasks.ubuntu.gestures import (
    DESKTOP,
    Gesture,
    Search,
    await_found,
    choose_in_dialog,
    do,
    element,
    open_application,
    window_in_front,
)
from subtasks.ubuntu.mutations import look_alike, with_blank_at_end

_IN_FRONT = checkpoint("terminal_in_front", application_in_front.bind(role="terminal").on(DESKTOP), transient=True)


def shown_in_terminal(holds: Callable[[str], bool]) -> Search[AccessibilityNode]:
    """Returns a search for the terminal in front once its text is as wanted."""

    def search(root: AccessibilityNode) -> AccessibilityNode | None:
        window = window_in_front(root)
        terminal = window.find(role="terminal") if window is not None else None
        ready = terminal is not None and "focused" in terminal.states and holds(terminal.text or "")
        return terminal if ready else None

    return search


def prompt_waits(text: str) -> bool:
    """Whether the last line of a terminal's text is a prompt."""
    lines = text.rstrip().split("\n")
    return lines[-1].endswith("$")


def _run(seen: Observations, command: str, holds: Callable[[str], bool], what: str) -> Gesture:
    seen = yield do("write_text", text=f"{command}\n")
    seen, _ = yield from await_found(seen, shown_in_terminal(holds), what)
    return seen


def write_with_vim(folder: str, name: str, text: str, *, last_command: str = "wq") -> Solution:
    """Opens a new file with vi in a terminal, types the text, and ends with a colon command."""
    seen = yield from open_application("terminal", shown_in_terminal(prompt_waits))
    path = shlex.quote(f"{folder}/{name}")
    seen = yield from _run(seen, f"vi {path}", lambda shown: "\n~" in shown, "an empty file in Vim")
    seen = yield do("write_text", text=f"i{text}")
    seen, _ = yield from await_found(seen, shown_in_terminal(lambda shown: text.rstrip() in shown), "the text in Vim")
    yield do("key_press", key="escape")
    seen = yield do("write_text", text=f":{last_command}\n")
    if "q" in last_command:
        yield from await_found(seen, shown_in_terminal(prompt_waits), "the prompt after Vim")
    else:
        yield from await_found(seen, shown_in_terminal(lambda shown: "written" in shown), "Vim's word that it wrote")


def _vim(mutate: Callable[[str], str] = str, *, name: Callable[[str], str] = str, end: str = "wq") -> Solve:
    return lambda values: write_with_vim(
        values["folder"], name(values["name"]), mutate(values["text"]), last_command=end
    )


def _vim_elsewhere(values: Values) -> Solution:
    return write_with_vim(pools.HOME, values["name"], values["text"])


def _vim_graph(values: Values) -> CheckpointGraph:
    path = f"{values['folder']}/{values['name']}"
    return chain(
        _IN_FRONT,
        checkpoint("vim_running", vim_running.on(DESKTOP)),
        checkpoint("text_saved", text_file_holds.bind(path=path, content=values["text"]).on(DESKTOP)),
        checkpoint("vim_closed", ~vim_running.on(DESKTOP)),
    )


WRITE_WITH_VIM = Subtask(
    id="write_with_vim",
    version=1,
    description="In a terminal, use the editor Vim (command: vi) to write a new file named “{name}” in the folder "
    "{folder}. It holds one line, without the quotation marks: “{text}”. Save it and leave Vim.",
    environments={DESKTOP: "ubuntu"},
    parameters=(
        Parameter("folder", FOLDER_PATH, pools.folder, "Where the file is written; it is there already."),
        Parameter("name", FILE_NAME, pools.text_file_name, "Name of the new file."),
        Parameter("text", TEXT, pools.line, "The one line of the file."),
    ),
    checkpoints=_vim_graph,
    solve=_vim(),
    near_misses=(
        NearMiss("not_saved", "text_saved", _vim(end="q!")),
        NearMiss("other_folder", "text_saved", _vim_elsewhere),
        NearMiss("other_name", "text_saved", _vim(name=str.upper)),
        NearMiss("look_alike_letters", "text_saved", _vim(look_alike)),
        NearMiss("blank_at_end", "text_saved", _vim(with_blank_at_end)),
        NearMiss("vim_left_open", "vim_closed", _vim(end="w")),
    ),
    needs={DESKTOP: Needs(probes=("focused_window", "processes", "file_read"), roles=("terminal",))},
    output=Output(FILE_PATH, "the file {name} in {folder}", lambda values: f"{values['folder']}/{values['name']}"),
    tags=("terminal", "writing"),
    clause="in a terminal, use the editor Vim (command: vi) to write a new file named {name} in {folder}, with {text} "
    "as its single line, save it and leave Vim",
)
"""Write one line into a new file with Vim.

A terminal comes to the front (way-check), Vim runs, the file holds exactly the line (a line feed at its end may be
there or not), Vim runs no longer. The description names Vim, so running it is demanded; by which keys or commands the
text gets into the file is not.
"""


def slip(path: str) -> list[str]:
    """Returns the three lines that set-up puts into a file: they follow from its path and stand in no description."""
    generator = random.Random(f"slip:{path}")
    title = f"{pools.word(generator)} {pools.word(generator)} {generator.randint(100, 999)}"
    return [title, *pools.lines(generator, 2)]


def _neighbour(path: str) -> str:
    return f"{path.removesuffix('.txt')} old.txt"


def _slip_setup(values: Values) -> tuple[SetupCall, ...]:
    file = values["file"]
    return tuple(
        SetupCall(DESKTOP, "write_file", {"path": path, "content": "\n".join(slip(path)) + "\n"})
        for path in (_neighbour(file), file)
    )


def _run_command(command: str, *, enter: bool = True) -> Solution:
    seen = yield from open_application("terminal", shown_in_terminal(prompt_waits))
    if enter:
        yield from _run(seen, command, prompt_waits, "the prompt after the command")
    else:
        yield do("write_text", text=command)


def _command(pattern: str, *, file: Callable[[str], str] = str, enter: bool = True) -> Solve:
    return lambda values: _run_command(pattern.format(shlex.quote(file(values["file"]))), enter=enter)


def _show_in_editor(values: Values) -> Solution:
    yield from open_application("terminal", shown_in_terminal(prompt_waits))
    seen = yield from open_application("text_editor", element("menu", name="File"))
    seen = yield do("press_hotkey", keys=["ctrl", "o"])
    yield from choose_in_dialog(seen, "Open File", values["file"])


SHOW_FILE = Subtask(
    id="show_file",
    version=1,
    description="Open a terminal and print the whole file {file} in it, so that its lines can be read there as they "
    "are.",
    environments={DESKTOP: "ubuntu"},
    parameters=(Parameter("file", FILE_PATH, pools.text_file, "A text file of three lines that set-up writes."),),
    checkpoints=lambda values: chain(
        _IN_FRONT,
        checkpoint("file_shown", terminal_shows.bind(lines=slip(values["file"])).on(DESKTOP)),
    ),
    solve=_command("cat {}"),
    near_misses=(
        NearMiss("other_file", "file_shown", _command("cat {}", file=_neighbour)),
        NearMiss("last_line_missing", "file_shown", _command("head -n 2 {}")),
        NearMiss("other_letter_case", "file_shown", _command("tr a-z A-Z < {}")),
        NearMiss("with_line_numbers", "file_shown", _command("cat -n {}")),
        NearMiss("command_not_run", "file_shown", _command("cat {}", enter=False)),
        NearMiss("shown_in_text_editor", "file_shown", _show_in_editor),
    ),
    setup=_slip_setup,
    needs={DESKTOP: Needs(probes=("focused_window", "accessibility"), roles=("terminal",))},
    output=Output(TEXT, "the last line of {file}", lambda values: slip(values["file"])[-1]),
    tags=("terminal", "reading"),
    clause="open a terminal and print the whole of {file} in it, so that its lines can be read there as they are",
)
"""Show a file in a terminal.

A terminal comes to the front (way-check), and a terminal shows the file's lines one after another, each alone on its
line. What was typed is not asked: any command that prints the file will do. The lines follow from the path, stand in no
description, and the last of them is the output, so whoever needs it must read it. A file of a similar name lies beside.
"""

SUBTASKS = (WRITE_WITH_VIM, SHOW_FILE)
