"""Keys: pressing, holding and combining them through XTEST."""

from __future__ import annotations

import time
from collections.abc import Sequence

from crab.errors import InvalidArguments
from environments.ubuntu.x11.barrier import FocusBarrier
from environments.ubuntu.x11.connection import Connection
from environments.ubuntu.x11.keymap import Key, Keymap
from environments.ubuntu.x11.keys import MODIFIERS, SHIFT_KEYSYM, canonical, keysym

_KEY_PRESS, _KEY_RELEASE = 2, 3
_SHIFT_NAMES = ("shift", "shift_right")


class Keyboard:
    """The keyboard of a display. Keys are named as `environments.ubuntu.x11.keys` says.

    Args:
        connection: The display.
        keymap: Its keyboard map, shared with the typist.
        barrier: Its focus barrier.
    """

    def __init__(self, connection: Connection, keymap: Keymap, barrier: FocusBarrier) -> None:
        self._connection = connection
        self._keymap = keymap
        self._barrier = barrier
        self._held: dict[str, int] = {}

    @property
    def held(self) -> tuple[str, ...]:
        """Names of the keys held down, in the order they were pressed."""
        return tuple(self._held)

    def press(self, key: str, duration: float = 0.0) -> None:
        """Presses a key and lets it go after `duration` seconds.

        Raises:
            InvalidArguments: There is no such key.
        """
        self.combine([key], duration)

    def combine(self, names: Sequence[str], duration: float = 0.0) -> None:
        """Presses keys one after the other, and lets them go in reverse order after `duration` seconds.

        Shift is added for a character that needs it. In a combination a letter names its key, so case is ignored.

        Args:
            names: At least one key; each at most once.
            duration: Seconds all of them stay down.

        Raises:
            InvalidArguments: There is no such key, none is given, or one is given twice.
        """
        keys = self._canonical_combination(names)
        self._keymap.read()
        located = [(name, self._keymap.find(keysym(name))) for name in keys]
        missing = [keysym(name) for name, key in located if key is None]
        try:
            if missing:
                self._keymap.lend(missing)
                self._barrier.wait()
                located = [(name, self._keymap.find(keysym(name))) for name in keys]
            self._strike([(name, key) for name, key in located if key is not None], duration)
            if missing:
                self._barrier.wait()
        finally:
            if self._keymap.lends:
                self._keymap.restore()

    def hold(self, key: str) -> None:
        """Presses a key and keeps it down; holding a held key again does nothing.

        Raises:
            InvalidArguments: The keyboard has no such key.
        """
        name = canonical(key)
        if name in self._held:
            return
        self._keymap.read()
        found = self._keymap.find(keysym(name))
        if found is None:
            raise InvalidArguments(
                f"key {name!r} is not on this keyboard, so it cannot be held; type it as text instead"
            )
        self._connection.fake_input(_KEY_PRESS, found.keycode)
        self._held[name] = found.keycode

    def release(self, key: str) -> None:
        """Lets a key go; one that is not held is let go all the same.

        Raises:
            InvalidArguments: The keyboard has no such key.
        """
        name = canonical(key)
        keycode = self._held.pop(name, None)
        if keycode is None:
            self._keymap.read()
            found = self._keymap.find(keysym(name))
            if found is None:
                raise InvalidArguments(f"key {name!r} is not on this keyboard, so it cannot be let go")
            keycode = found.keycode
        self._connection.fake_input(_KEY_RELEASE, keycode)

    def release_all(self) -> None:
        """Lets every held key go, the last pressed first."""
        for name in reversed(self.held):
            self.release(name)

    def _canonical_combination(self, names: Sequence[str]) -> list[str]:
        keys = [canonical(name) for name in names]
        if not keys:
            raise InvalidArguments("keys is empty: name at least one key, for example ['ctrl', 's']")
        if any(key in MODIFIERS for key in keys):
            keys = [key.lower() if len(key) == 1 and len(key.lower()) == 1 else key for key in keys]
        twice = [key for index, key in enumerate(keys) if key in keys[:index]]
        if twice:
            raise InvalidArguments(f"key {twice[0]!r} is named twice in one combination; press it twice instead")
        return keys

    def _strike(self, keys: Sequence[tuple[str, Key]], duration: float) -> None:
        down: list[int] = []
        names = {name for name, _ in keys} | set(self._held)
        try:
            for _, key in keys:
                if key.shifted and names.isdisjoint(_SHIFT_NAMES):
                    self._down(self._shift_keycode(), down)
                self._down(key.keycode, down)
            if duration > 0:
                time.sleep(duration)
        finally:
            for keycode in reversed(down):
                self._connection.fake_input(_KEY_RELEASE, keycode)

    def _down(self, keycode: int, down: list[int]) -> None:
        if keycode not in down and keycode not in self._held.values():
            self._connection.fake_input(_KEY_PRESS, keycode)
            down.append(keycode)

    def _shift_keycode(self) -> int:
        shift = self._keymap.find(SHIFT_KEYSYM)
        return shift.keycode if shift is not None else 0
