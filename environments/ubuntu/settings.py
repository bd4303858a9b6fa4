"""The desktop's settings, read from the files they live in; broken or missing files mean "not set"."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from crab.errors import InvalidArguments
from environments.ubuntu.files import HomeFiles

SettingName = Literal[
    "wallpaper",
    "wallpaper_mode",
    "theme",
    "icon_theme",
    "cursor_theme",
    "font",
    "default_application",
    "gsettings",
]
"""The settings that can be asked for."""

SettingValue = str | bool | int | float | None
"""A setting's value, None when it is not set."""

Sections = Mapping[str, Mapping[str, str]]

_PCMANFM = "~/.config/pcmanfm"
_WALLPAPER_KEYS: Mapping[str, str] = MappingProxyType({"wallpaper": "wallpaper", "wallpaper_mode": "wallpaper_mode"})
_GTK_KEYS: Mapping[str, str] = MappingProxyType(
    {
        "theme": "gtk-theme-name",
        "icon_theme": "gtk-icon-theme-name",
        "cursor_theme": "gtk-cursor-theme-name",
        "font": "gtk-font-name",
    }
)
_GTK_FILE = "~/.config/gtk-3.0/settings.ini"
_MIME_FILES = ("~/.config/mimeapps.list", "~/.local/share/applications/mimeapps.list")
_KEYFILE = "~/.config/glib-2.0/settings/keyfile"


def read_setting(files: HomeFiles, name: SettingName, key: str = "") -> SettingValue:
    """Returns the value of a setting.

    Args:
        files: The agent's HOME.
        name: Which setting.
        key: For ``default_application`` a MIME type such as ``text/plain``; for ``gsettings`` schema and key, such as
            ``org.xfce.mousepad.preferences.view show-line-numbers``. Otherwise empty.

    Returns:
        ``wallpaper`` is the path of the picture; ``default_application`` the desktop file's name; a GSettings key its
        value where that is a string, number or boolean, else GVariant text. None when the setting is not set.

    Raises:
        InvalidArguments: The key is missing, malformed, or given where none belongs.
    """
    if (name in ("default_application", "gsettings")) != bool(key):
        raise InvalidArguments(
            f"setting {name!r}: a key belongs to default_application and gsettings, and only to them"
        )
    if name in _WALLPAPER_KEYS:
        return _wallpaper(files, _WALLPAPER_KEYS[name])
    if name in _GTK_KEYS:
        return _sections(files, _GTK_FILE).get("Settings", {}).get(_GTK_KEYS[name])
    if name == "default_application":
        return _default_application(files, key)
    return _gsettings(files, key)


def _wallpaper(files: HomeFiles, key: str) -> str | None:
    """Reads the desktop's file of whichever pcmanfm profile has one; ``default`` comes first."""
    listed = files.list(_PCMANFM)["entries"] or []
    profiles = [entry["path"] for entry in listed if entry["kind"] == "directory"]
    for profile in sorted(profiles, key=lambda profile: (profile != "default", profile)):
        section = _sections(files, f"{_PCMANFM}/{profile}/desktop-items-0.conf").get("*", {})
        if key in section:
            return section[key]
    return None


def _default_application(files: HomeFiles, mime_type: str) -> str | None:
    for path in _MIME_FILES:
        names = _sections(files, path).get("Default Applications", {}).get(mime_type, "")
        first = names.split(";")[0].strip()
        if first:
            return first
    return None


def _gsettings(files: HomeFiles, key: str) -> SettingValue:
    schema, separator, name = key.partition(" ")
    if not separator or not schema or not name or " " in name:
        raise InvalidArguments(f"setting 'gsettings': key {key!r} is not a schema, a blank and a key")
    raw = _sections(files, _KEYFILE).get(schema.replace(".", "/"), {}).get(name)
    return None if raw is None else _variant(raw)


def _variant(text: str) -> SettingValue:
    """Returns the value of a simple GVariant text, or the text itself when it is not simple."""
    if text in ("true", "false"):
        return text == "true"
    if len(text) >= 2 and text[0] in "'\"" and text[-1] == text[0]:
        return text[1:-1].replace("\\" + text[0], text[0]).replace("\\\\", "\\")
    plain = text.rsplit(" ", 1)[-1] if text.startswith(("uint", "int", "byte ", "double ")) else text
    for number in (int, float):
        try:
            return number(plain)
        except ValueError:
            continue
    return text


def _sections(files: HomeFiles, path: str) -> Sections:
    """Parses a key file leniently: what is not a section or an assignment is passed over."""
    content = files.read(path)["content"] or ""
    sections: dict[str, dict[str, str]] = {}
    current: dict[str, str] = {}
    for line in content.splitlines():
        text = line.strip()
        if text.startswith("[") and text.endswith("]"):
            current = sections.setdefault(text[1:-1], {})
        elif "=" in text and not text.startswith(("#", ";")):
            name, _, value = text.partition("=")
            current[name.strip()] = value.strip()
    return sections
