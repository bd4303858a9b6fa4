"""What the checkpoints of the desktop ask, named by what they check.

Whatever an agent can leave behind (nothing, something huge, binary or locked, a pipe, a link, a closed application) is
an answer of False. Expected values are bound from parameters and from what the runner prepared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

from crab.errors import InvalidArguments
from crab.evaluator import Probes, evaluator
from environments.ubuntu.files import components

WINDOW_CLASSES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "terminal": frozenset({"lxterminal", "gnome-terminal-server", "gnome-terminal", "xfce4-terminal", "xterm"}),
        "text_editor": frozenset({"mousepad", "org.xfce.mousepad", "gnome-text-editor", "gedit"}),
        "file_manager": frozenset({"pcmanfm", "org.gnome.nautilus", "nautilus", "thunar"}),
    }
)
"""Window classes, in lower case, of the programs that play a role on any desktop we know."""

_VIM_PROGRAMS = frozenset({"vi", "vim", "vim.tiny", "vim.basic", "vim.nox", "vim.gtk3"})
_MODES_WITHOUT_PICTURE = frozenset({"color", "none"})
# Whatever set-up prepares is far smaller; a larger file is another one and need not be read.
_MOST_BYTES = 1 << 20


@evaluator
def application_in_front(env: Probes, role: str) -> bool:
    """Whether the window that has the keyboard belongs to a program of that role; the desktop itself is no window."""
    window = env.probe("focused_window")
    # The file manager draws the desktop as well.
    return window is not None and window["kind"] != "desktop" and window["class"].lower() in WINDOW_CLASSES[role]


@evaluator
def vim_running(env: Probes) -> bool:
    """Whether Vim runs, under whatever name it is installed."""
    return any(process["name"] in _VIM_PROGRAMS for process in env.probe("processes"))


@evaluator
def window_shown(env: Probes, title: str) -> bool:
    """Whether there is a window with exactly this title."""
    return any(window["title"] == title for window in env.probe("windows"))


@evaluator
def text_file_holds(env: Probes, path: str, content: str) -> bool:
    """Whether the path is a regular file that holds exactly this text; a line feed at its end may be there or not."""
    wanted = content.removesuffix("\n")
    answer = env.probe("file_read", path=path, limit=len(wanted.encode()) + 1)
    return not answer["truncated"] and answer["content"] in (wanted, wanted + "\n")


@evaluator
def terminal_shows(env: Probes, lines: list[str]) -> bool:
    """Whether a terminal shows these lines one after another, each alone on its line.

    Blanks at the end of a line cannot be told from empty cells and are left out of account.
    """
    wanted = [line.rstrip() for line in lines]
    for node in _nodes(env.probe("accessibility")):
        if node["role"] == "terminal" and isinstance(node["text"], str):
            shown = [line.rstrip() for line in node["text"].split("\n")]
            if any(shown[start : start + len(wanted)] == wanted for start in range(len(shown))):
                return True
    return False


@evaluator
def wallpaper_shows(env: Probes, sha256: str) -> bool:
    """Whether the desktop is set to show a picture with this content: where the picture lies is not asked."""
    mode = env.probe("setting", name="wallpaper_mode")
    path = _path_in_home(env.probe("setting", name="wallpaper"))
    if path is None or not isinstance(mode, str) or mode in _MODES_WITHOUT_PICTURE:
        return False
    return bool(env.probe("file_hash", path=path, limit=_MOST_BYTES)["sha256"] == sha256)


@evaluator
def folder_exists(env: Probes, path: str) -> bool:
    """Whether the path is a folder; a link to one is none."""
    return bool(env.probe("file_stat", path=path)["kind"] == "directory")


@evaluator
def folder_holds_exactly(env: Probes, path: str, files: dict[str, str]) -> bool:
    """Whether a folder holds these files and nothing else, hidden or not.

    Args:
        env: The desktop.
        path: The folder.
        files: SHA-256 of each file's content by its name.
    """
    entries = env.probe("file_list", path=path, limit=len(files) + 1)["entries"]
    if entries is None or [entry["path"] for entry in entries] != sorted(files):
        return False
    return _all_hold(env, path, files)


@evaluator
def folder_still_holds(env: Probes, path: str, files: dict[str, str]) -> bool:
    """Whether these files lie in a folder with the content they had, whatever else is there.

    Args:
        env: The desktop.
        path: The folder.
        files: SHA-256 of each file's content by its name.
    """
    return _all_hold(env, path, files)


def _all_hold(env: Probes, path: str, files: Mapping[str, str]) -> bool:
    return all(
        env.probe("file_hash", path=f"{path}/{name}", limit=_MOST_BYTES)["sha256"] == digest
        for name, digest in files.items()
    )


def _path_in_home(value: object) -> str | None:
    """Returns a setting's value as a path that probes take, or None when it is none."""
    if not isinstance(value, str):
        return None
    path = unquote(value.removeprefix("file://")) if value.startswith("file://") else value
    try:
        components(path)
    except InvalidArguments:
        return None
    return path


def _nodes(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(node["children"])
