"""The agent's HOME: written anew for every session from a template, the same bytes every time."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from environments.ubuntu.session.applications import default_applications, installed
from environments.ubuntu.session.themes import COLOURS, Theme

_TEMPLATE = Path(__file__).with_name("template")
FOLDERS = ("Desktop", "Documents", "Downloads", "Pictures")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MARK = re.compile(r"@([a-z_]+)@")
_LAUNCHERS = ("file_manager", "text_editor", "terminal")


def seed(home: Path, *, inside: Path, applications: Path, theme: Theme) -> None:
    """Fill an empty HOME: folders, wallpaper, and settings that leave out tips, blinking carets and other noise.

    Args:
        home: The directory to fill; exists and is empty.
        inside: The path by which programs in the session know it.
        applications: Where the session finds its desktop entries.
        theme: The look.
    """
    wallpaper = inside / ".local/share/backgrounds/default.png"
    values = {
        **COLOURS[theme],
        "home": str(inside),
        "wallpaper": str(wallpaper),
        "launchers": "\n".join(
            f"launcher_item_app = {applications / installed()[role].desktop_file}"
            for role in _LAUNCHERS
            if role in installed()
        ),
    }
    source = _TEMPLATE / "home"
    for folder, _, files in os.walk(source):
        target = home / Path(folder).relative_to(source)
        target.mkdir(parents=True, exist_ok=True)
        for name in files:
            text = Path(folder, name).read_text(encoding="utf-8")
            (target / name).write_text(_filled(text, values), encoding="utf-8")
    for name in FOLDERS:
        (home / name).mkdir()
    (home / ".config/mimeapps.list").write_text(default_applications(), encoding="utf-8")
    backgrounds = home / ".local/share/backgrounds"
    backgrounds.mkdir(parents=True)
    shutil.copyfile(_TEMPLATE / f"wallpaper-{theme}.png", backgrounds / "default.png")


def empty(directory: Path) -> None:
    """Remove everything in ``directory``, whatever its owner made of it; create it if absent.

    Folders may be closed, and nested deeper than a path can tell or a recursion follow.

    Raises:
        OSError: Something could not be removed.
    """
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o700)
    top = os.open(directory, _FOLDER)
    try:
        numbers = itertools.count()
        # No name an agent could have taken before.
        prefix = secrets.token_hex(8)
        while folders := _remove_files(top):
            for name in folders:
                _dissolve(top, name, (f"{prefix}{number}" for number in numbers))
    finally:
        os.close(top)


def _remove_files(folder: int) -> list[str]:
    """Remove what is no folder; returns the folders, open to their owner."""
    with os.scandir(folder) as scan:
        entries = list(scan)
    folders = []
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            os.chmod(entry.name, 0o700, dir_fd=folder)
            folders.append(entry.name)
        else:
            os.unlink(entry.name, dir_fd=folder)
    return folders


def _dissolve(top: int, name: str, names: Iterator[str]) -> None:
    """Remove a folder and its files; the folders in it move up, each once in its life."""
    folder = os.open(name, _FOLDER, dir_fd=top)
    try:
        for inner in _remove_files(folder):
            os.rename(inner, next(names), src_dir_fd=folder, dst_dir_fd=top)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)


def hand_over(directory: Path, uid: int) -> None:
    """Give ``directory`` and everything in it to ``uid``; needs root."""
    os.chown(directory, uid, uid)
    for folder, names, files in os.walk(directory):
        for name in [*names, *files]:
            with contextlib.suppress(FileNotFoundError):
                os.lchown(os.path.join(folder, name), uid, uid)


def _filled(text: str, values: Mapping[str, str]) -> str:
    """Replace each ``@name@`` that has a value; any other text between such signs stays."""
    return _MARK.sub(lambda match: values.get(match[1], match[0]), text)
