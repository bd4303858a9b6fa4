"""The names of keys: one vocabulary, its aliases, and the X keysym of each.

A key is named by a single character (``a``, ``7``, ``+``, ``é``) or by a word of `KEYS`. Words are matched without
regard to case, and blanks and hyphens count as underscores, so ``Page Down`` is ``page_down``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from types import MappingProxyType

from crab.errors import InvalidArguments

SHIFT_KEYSYM = 0xFFE1
"""Left shift."""

CAPS_LOCK_KEYSYM = 0xFFE5
"""Caps lock."""

KEYS: Mapping[str, int] = MappingProxyType(
    {
        "enter": 0xFF0D,
        "tab": 0xFF09,
        "space": 0x0020,
        "backspace": 0xFF08,
        "delete": 0xFFFF,
        "insert": 0xFF63,
        "escape": 0xFF1B,
        "home": 0xFF50,
        "end": 0xFF57,
        "page_up": 0xFF55,
        "page_down": 0xFF56,
        "up": 0xFF52,
        "down": 0xFF54,
        "left": 0xFF51,
        "right": 0xFF53,
        "shift": SHIFT_KEYSYM,
        "shift_right": 0xFFE2,
        "ctrl": 0xFFE3,
        "ctrl_right": 0xFFE4,
        "alt": 0xFFE9,
        "alt_right": 0xFFEA,
        "super": 0xFFEB,
        "super_right": 0xFFEC,
        "menu": 0xFF67,
        "caps_lock": CAPS_LOCK_KEYSYM,
        "num_lock": 0xFF7F,
        "scroll_lock": 0xFF14,
        "print_screen": 0xFF61,
        "pause": 0xFF13,
        "kp_enter": 0xFF8D,
        "kp_add": 0xFFAB,
        "kp_subtract": 0xFFAD,
        "kp_multiply": 0xFFAA,
        "kp_divide": 0xFFAF,
        "kp_decimal": 0xFFAE,
        **{f"kp_{digit}": 0xFFB0 + digit for digit in range(10)},
        **{f"f{number}": 0xFFBE + number - 1 for number in range(1, 25)},
    }
)
"""Named keys and their keysyms."""

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "return": "enter",
        "esc": "escape",
        "del": "delete",
        "ins": "insert",
        "back_space": "backspace",
        "spacebar": "space",
        "pageup": "page_up",
        "pgup": "page_up",
        "pagedown": "page_down",
        "pgdn": "page_down",
        "arrow_up": "up",
        "arrow_down": "down",
        "arrow_left": "left",
        "arrow_right": "right",
        "arrowup": "up",
        "arrowdown": "down",
        "arrowleft": "left",
        "arrowright": "right",
        "control": "ctrl",
        "ctrl_left": "ctrl",
        "control_left": "ctrl",
        "control_right": "ctrl_right",
        "shift_left": "shift",
        "alt_left": "alt",
        "option": "alt",
        "altgr": "alt_right",
        "super_left": "super",
        "win": "super",
        "windows": "super",
        "cmd": "super",
        "command": "super",
        "meta": "super",
        "capslock": "caps_lock",
        "numlock": "num_lock",
        "scrolllock": "scroll_lock",
        "printscreen": "print_screen",
        "prtsc": "print_screen",
        "plus": "+",
        "minus": "-",
        "equal": "=",
        "comma": ",",
        "period": ".",
        "slash": "/",
        "backslash": "\\",
        "semicolon": ";",
        "apostrophe": "'",
        "grave": "`",
    }
)
"""Other names people use, and the name of `KEYS` or the character each stands for."""

MODIFIERS = frozenset(
    {"shift", "shift_right", "ctrl", "ctrl_right", "alt", "alt_right", "super", "super_right"},
)
"""Keys that change what others do while they are held."""

_CONTROL_CHARACTERS: Mapping[str, int] = MappingProxyType(
    {"\n": KEYS["enter"], "\r": KEYS["enter"], "\t": KEYS["tab"], "\b": KEYS["backspace"], "\x1b": KEYS["escape"]}
)


def canonical(key: str) -> str:
    """Returns the one name of a key: a word of `KEYS` or a single character.

    Raises:
        InvalidArguments: There is no such key; the message gives examples.
    """
    if len(key) == 1:
        if key == " ":
            return "space"
        keysym_of_character(key)
        return key
    word = key.strip().lower().replace("-", "_").replace(" ", "_")
    word = ALIASES.get(word, word)
    if word in KEYS or len(word) == 1:
        return word
    raise InvalidArguments(
        f"unknown key {key[:40]!r}: use a single character or a name such as enter, tab, escape, ctrl, shift, alt, "
        "super, page_down, f5"
    )


def keysym(key: str) -> int:
    """Returns the keysym of a canonical name."""
    return KEYS[key] if key in KEYS else keysym_of_character(key)


def keysym_of_character(character: str) -> int:
    """Returns the keysym that produces one character.

    Raises:
        InvalidArguments: No key produces it: a control character other than newline, tab, backspace and escape, or a
            lone surrogate.
    """
    if character in _CONTROL_CHARACTERS:
        return _CONTROL_CHARACTERS[character]
    code = ord(character)
    if unicodedata.category(character) in ("Cc", "Cs"):
        raise InvalidArguments(f"character U+{code:04X} cannot be typed; only newline and tab can, of such characters")
    # Latin-1 keysyms equal their code; all others follow the rule of the X protocol for Unicode.
    return code if code <= 0xFF else 0x01000000 | code
