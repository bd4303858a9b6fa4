"""The keyboard map of a display: which keycode gives which keysym, and spare keycodes to lend to others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from environments.ubuntu.x11.connection import Connection
from environments.ubuntu.x11.xkb import EMPTY_ROW, KeyRow, change_keys, single

_FIRST_KEYCODE = 8
_LOCK_MASK = 1 << 1
_GROUP_SHIFT = 13
_COLUMNS_CORE = 4


class Key(NamedTuple):
    """Where a keysym sits: its keycode, and whether shift has to be held."""

    keycode: int
    shifted: bool


class Keymap:
    """The map as it was when read, and what has been lent since.

    Args:
        connection: The display.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._keys: dict[int, Key] = {}
        self._spare: list[int] = []
        self._lent: dict[int, int] = {}
        self.caps_lock = False

    def read(self) -> None:
        """Reads the map anew: any program may have changed it."""
        rows, mask = self._connection.call(_read)
        self.caps_lock = bool(mask & _LOCK_MASK)
        # Only the columns of the keyboard group in use count; core maps show two groups.
        first = 2 * (mask >> _GROUP_SHIFT & 3)
        self._keys.clear()
        for shifted in (False, True):
            column = first + shifted
            for index, row in enumerate(rows):
                if column < min(len(row), _COLUMNS_CORE) and row[column]:
                    self._keys.setdefault(row[column], Key(_FIRST_KEYCODE + index, shifted))
        self._spare = [
            _FIRST_KEYCODE + index
            for index, row in enumerate(rows)
            if not any(row) and _FIRST_KEYCODE + index not in self._lent
        ]

    @property
    def spare(self) -> int:
        """How many keysyms can be lent a keycode at one time."""
        return len(self._spare) + len(self._lent)

    def find(self, keysym: int) -> Key | None:
        """Returns where a keysym sits, lent ones included, or None."""
        if keysym in self._lent.values():
            return next(Key(keycode, False) for keycode, lent in self._lent.items() if lent == keysym)
        return self._keys.get(keysym)

    def lend(self, keysyms: Sequence[int]) -> None:
        """Puts keysyms on spare keycodes, in place of what was lent before.

        Args:
            keysyms: At most `spare` of them.
        """
        keycodes = [*self._lent, *self._spare]
        rows = dict.fromkeys(self._lent, EMPTY_ROW)
        self._lent = dict(zip(keycodes, keysyms, strict=False))
        self._spare = keycodes[len(self._lent) :]
        self._write(rows | {keycode: single(keysym) for keycode, keysym in self._lent.items()})

    def restore(self) -> None:
        """Takes back everything lent, so that the map is as before."""
        self._write(dict.fromkeys(self._lent, EMPTY_ROW))
        self._spare = sorted([*self._spare, *self._lent])
        self._lent = {}

    @property
    def lends(self) -> bool:
        """Whether something is lent at present."""
        return bool(self._lent)

    def _write(self, rows: dict[int, KeyRow]) -> None:
        self._connection.call(lambda display: change_keys(display, rows))


def _read(display: Any) -> tuple[list[Sequence[int]], int]:
    last = display.display.info.max_keycode
    rows = display.get_keyboard_mapping(_FIRST_KEYCODE, last - _FIRST_KEYCODE + 1)
    return list(rows), int(display.screen().root.query_pointer().mask)
