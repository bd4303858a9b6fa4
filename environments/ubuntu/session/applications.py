"""Which application plays which role, and the desktop entries by which launcher and file manager know them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from environments.ubuntu.session.handle import Application


@dataclass(frozen=True)
class _Entry:
    """An application with what only its desktop entry says."""

    application: Application
    comment: str
    icon: str
    categories: str
    keywords: str
    field: str = ""
    types: tuple[str, ...] = ()


_IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/bmp", "image/tiff", "image/svg+xml", "image/webp")
_TEXT_TYPES = (
    "text/plain",
    "text/markdown",
    "text/csv",
    "text/html",
    "text/x-log",
    "text/x-python",
    "application/json",
    "application/x-shellscript",
    "application/xml",
)

_CATALOGUE = (
    _Entry(
        Application("terminal", "Terminal", ("lxterminal",), "Lxterminal", "lxterminal.desktop"),
        "Type commands",
        "utilities-terminal",
        "System;TerminalEmulator;",
        "shell;prompt;command;",
    ),
    _Entry(
        Application("text_editor", "Text Editor", ("mousepad",), "Mousepad", "org.xfce.mousepad.desktop"),
        "Edit text files",
        "org.xfce.mousepad",
        "Utility;TextEditor;",
        "notes;write;mousepad;",
        "%F",
        _TEXT_TYPES,
    ),
    _Entry(
        Application("file_manager", "Files", ("pcmanfm",), "Pcmanfm", "pcmanfm.desktop"),
        "Look through folders",
        "folder",
        "System;FileManager;",
        "folder;browse;pcmanfm;",
        "%U",
        ("inode/directory",),
    ),
    _Entry(
        Application("image_viewer", "Image Viewer", ("viewnior",), "Viewnior", "viewnior.desktop"),
        "Look at pictures",
        "viewnior",
        "Graphics;Viewer;",
        "photo;picture;viewnior;",
        "%F",
        _IMAGE_TYPES,
    ),
    _Entry(
        Application("calculator", "Calculator", ("galculator",), "Galculator", "galculator.desktop"),
        "Do sums",
        "galculator",
        "Utility;Calculator;",
        "sum;maths;galculator;",
    ),
    _Entry(
        Application("application_search", "Search Applications", ("rofi", "-show", "drun"), "Rofi", "search.desktop"),
        "Find and start an application",
        "system-search",
        "Utility;",
        "find;launch;",
    ),
)


def installed() -> Mapping[str, Application]:
    """The applications whose programs are on this machine, by role, in the catalogue's order."""
    return {entry.application.role: entry.application for entry in _installed()}


def write_desktop_entries(directory: Path) -> None:
    """Write one desktop entry per installed application, and the MIME cache, into an existing directory."""
    cache: dict[str, str] = {}
    for entry in _installed():
        application = entry.application
        lines = [
            "[Desktop Entry]",
            "Type=Application",
            f"Name={application.name}",
            f"Comment={entry.comment}",
            f"Exec={' '.join([*application.argv, entry.field]).strip()}",
            f"Icon={entry.icon}",
            f"Categories={entry.categories}",
            f"Keywords={entry.keywords}",
            "Terminal=false",
            f"StartupWMClass={application.window_class}",
        ]
        if application.role == "application_search":
            lines.append("NoDisplay=true")
        if entry.types:
            lines.append(f"MimeType={';'.join(entry.types)};")
        (directory / application.desktop_file).write_text("\n".join(lines) + "\n", encoding="utf-8")
        cache |= dict.fromkeys(entry.types, application.desktop_file)
    cached = [f"{kind}={cache[kind]};" for kind in sorted(cache)]
    (directory / "mimeinfo.cache").write_text("\n".join(["[MIME Cache]", *cached]) + "\n", encoding="utf-8")


def default_applications() -> str:
    """Content of ``mimeapps.list``: each type opens with the application of this catalogue."""
    lines = [f"{kind}={entry.application.desktop_file}" for entry in _installed() for kind in entry.types]
    return "\n".join(["[Default Applications]", *sorted(lines)]) + "\n"


def _installed() -> list[_Entry]:
    return [entry for entry in _CATALOGUE if shutil.which(entry.application.argv[0]) is not None]
