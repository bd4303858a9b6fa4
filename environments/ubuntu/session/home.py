"""The agent's HOME: written anew for every session from a template, the same bytes every time."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from environments.ubuntu.session.applications import default_applications, installed
from environments.ubuntu.session.themes import COLOURS, Theme

_TEMPLATE = Path(__file__).with_name("template")
FOLDERS = ("Desktop", "Documents", "Downloads", "Pictures")
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
    """Remove everything in ``directory``, whatever permissions its owner gave to the contents; create it if absent.

    Raises:
        OSError: Something could not be removed.
    """
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o700)
    for entry in list(os.scandir(directory)):
        if entry.is_dir(follow_symlinks=False):
            _open_up(entry.path)
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)


def _open_up(top: str) -> None:
    """Make every folder from ``top`` down accessible; from the top, since a closed folder hides what it holds."""
    os.chmod(top, 0o700)
    for folder, names, _ in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)


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
