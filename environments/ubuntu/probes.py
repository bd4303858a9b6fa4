"""Read-only questions to the desktop, for checkers. Whatever an agent can cause is an answer, not an error."""

from __future__ import annotations

import base64
from typing import Annotated, Any

from pydantic import Field

from crab.environment import probe
from crab.observation import AccessibilityNode
from environments.ubuntu.desktop import Desktop
from environments.ubuntu.files import HASH_LIMIT, LIST_LIMIT, READ_LIMIT, Encoding
from environments.ubuntu.processes import processes_below
from environments.ubuntu.settings import SettingName, SettingValue, read_setting
from environments.ubuntu.x11.screen import MEDIA_TYPE
from environments.ubuntu.x11.windows import Window

Limit = Annotated[int, Field(ge=1, le=HASH_LIMIT)]


@probe
def file_stat(env: Desktop, path: str) -> dict[str, Any]:
    """What a path is: exists, kind, size in bytes, mode ("644"), modified (Unix seconds).

    Args:
        path: ``~/...`` or ``/home/user/...``; symbolic links are not followed.
    """
    return env.controls.files.stat(path)


@probe
def file_read(env: Desktop, path: str, limit: Limit = READ_LIMIT, encoding: Encoding = "text") -> dict[str, Any]:
    """The answer of file_stat with content and truncated; content is None when there is no readable file.

    Args:
        path: ``~/...`` or ``/home/user/...``; symbolic links are not followed.
        limit: Bytes to read at most.
        encoding: ``text`` (UTF-8; anything else has content None) or ``base64``.
    """
    return env.controls.files.read(path, limit, encoding)


@probe
def file_list(
    env: Desktop,
    path: str,
    depth: Annotated[int, Field(ge=1, le=32)] = 1,
    limit: Annotated[int, Field(ge=1, le=20_000)] = LIST_LIMIT,
) -> dict[str, Any]:
    """The answer of file_stat with entries (path, kind, size) and truncated; entries is None when it is no folder.

    Args:
        path: ``~/...`` or ``/home/user/...``; symbolic links are not followed.
        depth: 1 lists the folder only, 2 its subfolders too, and so on.
        limit: Most entries.
    """
    return env.controls.files.list(path, depth, limit)


@probe
def file_hash(env: Desktop, path: str, limit: Limit = HASH_LIMIT) -> dict[str, Any]:
    """The answer of file_stat with sha256, which is None when there is no readable file, or a larger one.

    Args:
        path: ``~/...`` or ``/home/user/...``; symbolic links are not followed.
        limit: Bytes above which a file is not hashed.
    """
    return env.controls.files.hash(path, limit)


@probe
def processes(env: Desktop) -> list[dict[str, Any]]:
    """The programs of the agent's world in the order of their start: pid, name, argv, elapsed seconds."""
    return [
        {"pid": process.pid, "name": process.name, "argv": list(process.argv), "elapsed": process.elapsed}
        for process in processes_below(env.controls.handle.root_pid)
    ]


@probe
def focused_window(env: Desktop) -> dict[str, Any] | None:
    """The window in front that has the keyboard, as in windows; None when no window has it."""
    window = env.controls.windows.focused()
    return None if window is None else _window_answer(window, _names_by_pid(env))


@probe
def windows(env: Desktop) -> list[dict[str, Any]]:
    """Every window, those of desktop and panel included.

    Each has id, title, kind (normal, dialog, desktop, dock, …), class, pid and process (name or None), x, y, width and
    height of its content, and states.
    """
    names = _names_by_pid(env)
    return [_window_answer(window, names) for window in env.controls.windows.all()]


@probe
def clipboard(env: Desktop) -> str | None:
    """The text on the clipboard, or None when there is none or its owner does not hand it over within a second."""
    return env.controls.clipboard.read()


@probe
def setting(env: Desktop, name: SettingName, key: str = "") -> SettingValue:
    """The value of a desktop setting, None when it is not set.

    Args:
        name: Which setting.
        key: For ``default_application`` a MIME type; for ``gsettings`` schema and key with a blank between.
    """
    return read_setting(env.controls.files, name, key)


@probe
def screenshot(env: Desktop) -> dict[str, Any]:
    """The screen as it is now: media_type, width, height, and data in base64."""
    picture = env.controls.screen.grab()
    data = base64.b64encode(picture.png()).decode("ascii")
    return {"media_type": MEDIA_TYPE, "width": picture.width, "height": picture.height, "data": data}


@probe
def accessibility(env: Desktop) -> dict[str, Any]:
    """The accessibility tree: role, name, text, states, bounds ([x, y, width, height] or None), children."""
    return _node_answer(env.controls.accessibility.read())


def _names_by_pid(env: Desktop) -> dict[int, str]:
    return {process.pid: process.name for process in processes_below(env.controls.handle.root_pid)}


def _window_answer(window: Window, names: dict[int, str]) -> dict[str, Any]:
    return {
        "id": window.id,
        "title": window.title,
        "kind": window.kind,
        "class": window.window_class,
        "pid": window.pid,
        "process": None if window.pid is None else names.get(window.pid),
        "x": window.x,
        "y": window.y,
        "width": window.width,
        "height": window.height,
        "states": list(window.states),
    }


def _node_answer(node: AccessibilityNode) -> dict[str, Any]:
    bounds = node.bounds
    return {
        "role": node.role,
        "name": node.name,
        "text": node.text,
        "states": list(node.states),
        "bounds": None if bounds is None else [bounds.x, bounds.y, bounds.width, bounds.height],
        "children": [_node_answer(child) for child in node.children],
    }
