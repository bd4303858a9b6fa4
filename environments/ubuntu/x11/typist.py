"""Typing text: every character of Unicode arrives, whatever the keyboard map holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crab.errors import ActionFailed
from environments.ubuntu.x11.barrier import FocusBarrier
from environments.ubuntu.x11.connection import Connection
from environments.ubuntu.x11.keymap import Key, Keymap
from environments.ubuntu.x11.keys import CAPS_LOCK_KEYSYM, SHIFT_KEYSYM, keysym_of_character

_KEY_PRESS, _KEY_RELEASE = 2, 3
_PACE = 64


class Typist:
    """Types text with XTEST key events, lending spare keycodes to characters the keyboard lacks.

    Args:
        connection: The display.
        keymap: Its keyboard map, shared with the keyboard.
        barrier: Its focus barrier.
    """

    def __init__(self, connection: Connection, keymap: Keymap, barrier: FocusBarrier) -> None:
        self._connection = connection
        self._keymap = keymap
        self._barrier = barrier
        self._frozen = False

    def write(self, text: str) -> None:
        r"""Types exactly this text into the focused window; the keyboard map is afterwards as it was before.

        A line break is the enter key (``\r\n`` counts as one), a tab the tab key. Caps lock is lifted meanwhile.
        Returns when the focused application has read the last key.

        Args:
            text: Any characters but control characters.

        Raises:
            InvalidArguments: A character cannot be typed; nothing has been typed then.
            ActionFailed: The keyboard map has no spare keycode left for characters it lacks.
        """
        keysyms = [keysym_of_character(character) for character in text.replace("\r\n", "\n")]
        if not keysyms:
            return
        self._frozen = False
        self._keymap.read()
        caps_lock = self._keymap.find(CAPS_LOCK_KEYSYM) if self._keymap.caps_lock else None
        if caps_lock is not None:
            self._tap(caps_lock.keycode)
        try:
            for chunk, foreign in self._chunks(keysyms):
                if foreign:
                    self._wait()
                    self._keymap.lend(foreign)
                    self._wait()
                self._type(chunk)
        finally:
            self._wait()
            if self._keymap.lends:
                self._keymap.restore()
                self._wait()
            if caps_lock is not None:
                self._tap(caps_lock.keycode)

    def _chunks(self, keysyms: Sequence[int]) -> Iterator[tuple[Sequence[int], list[int]]]:
        """Yields runs of text, each with the keysyms to lend for it: as many as there are spare keycodes."""
        native = {keysym for keysym in set(keysyms) if self._keymap.find(keysym) is not None}
        spare = self._keymap.spare
        if spare == 0 and not native.issuperset(keysyms):
            raise ActionFailed("the keyboard map has no spare keycode for a character it lacks; reset the keyboard map")
        start, foreign = 0, dict[int, None]()
        for index, keysym in enumerate(keysyms):
            if keysym in native or keysym in foreign:
                continue
            if len(foreign) == spare:
                yield keysyms[start:index], list(foreign)
                start, foreign = index, {}
            foreign[keysym] = None
        yield keysyms[start:], list(foreign)

    def _type(self, keysyms: Sequence[int]) -> None:
        shift = self._keymap.find(SHIFT_KEYSYM)
        for index, keysym in enumerate(keysyms, start=1):
            key = self._keymap.find(keysym)
            if key is None:
                raise ActionFailed(f"the keyboard map changed while typing: keysym {keysym:#x} is gone")
            if key.shifted and shift is not None:
                self._tap_shifted(key, shift)
            else:
                self._tap(key.keycode)
            # A slow application is not flooded: it reads this much before it is sent more.
            if index % _PACE == 0 and not self._frozen:
                self._frozen = self._barrier.ask() is False

    def _wait(self) -> None:
        """Lets the application catch up. One that did not answer once is not asked again for this text."""
        self._frozen = self._frozen or not self._barrier.wait()

    def _tap(self, keycode: int) -> None:
        self._connection.fake_input(_KEY_PRESS, keycode)
        self._connection.fake_input(_KEY_RELEASE, keycode)

    def _tap_shifted(self, key: Key, shift: Key) -> None:
        self._connection.fake_input(_KEY_PRESS, shift.keycode)
        try:
            self._tap(key.keycode)
        finally:
            self._connection.fake_input(_KEY_RELEASE, shift.keycode)
