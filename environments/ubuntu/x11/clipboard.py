"""The clipboard: reading it without ever hanging, and setting it to a text."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from crab.errors import EnvironmentFailure, InvalidArguments
from environments.ubuntu.x11.connection import await_event, lost_errors, open_display
from environments.ubuntu.x11.watch import Watch

READ_SECONDS = 1.0
"""How long a clipboard owner may take to hand over its text."""

READ_LIMIT = 1 << 20
"""Most bytes of clipboard text that are read."""

WRITE_LIMIT = 200_000
"""Most bytes of clipboard text that can be set: what one X request carries."""

_SELECTION = "CLIPBOARD"
_SELECTION_CLEAR, _SELECTION_REQUEST, _SELECTION_NOTIFY, _PROPERTY_NOTIFY = 29, 30, 31, 28
_PROPERTY_CHANGE_MASK = 1 << 22
_NEW_VALUE = 0
_ATOM_ATOM, _ATOM_STRING = 4, 31
_ANY_TYPE = 0
_CHUNK_WORDS = 1 << 16


class Clipboard:
    """The clipboard of a display.

    Args:
        name: The display, such as ``":1"``.
        xauthority: Its cookie file.
        watch: Times every call.
    """

    def __init__(self, name: str, xauthority: Path, watch: Watch | None = None) -> None:
        self._name = name
        self._xauthority = xauthority
        self._watch = watch or Watch()
        self._owner: _Owner | None = None

    def read(self, seconds: float = READ_SECONDS, limit: int = READ_LIMIT) -> str | None:
        """Returns the text on the clipboard.

        Args:
            seconds: How long its owner may take.
            limit: Bytes after which the text is cut.

        Returns:
            The text, or None when there is none: nobody owns the clipboard, or its owner offers no text, or does not
            hand it over in time.

        Raises:
            EnvironmentFailure: The display is gone.
        """
        deadline = time.monotonic() + seconds
        with self._watch:
            # A connection of its own: answers that come too late die with it.
            display = open_display(self._name, self._xauthority)
            try:
                return _Reader(display, deadline, limit).read()
            except lost_errors():
                # Cut by a program on the display; the clipboard has been read as far as it could be.
                return None
            finally:
                with suppress(*lost_errors()):
                    display.close()

    def write(self, text: str) -> None:
        """Puts a text on the clipboard, where it stays until another program takes the clipboard over.

        Raises:
            InvalidArguments: The text has more than 200,000 bytes in UTF-8.
            EnvironmentFailure: The display is gone or does not let us own the clipboard.
        """
        data = text.encode("utf-8", "replace")
        if len(data) > WRITE_LIMIT:
            raise InvalidArguments(f"the clipboard takes at most {WRITE_LIMIT} bytes, the text has {len(data)}")
        with self._watch:
            previous, self._owner = self._owner, _Owner(open_display(self._name, self._xauthority), data)
        if previous is not None:
            previous.close()

    def close(self) -> None:
        """Gives the clipboard up if it is ours; may be called twice."""
        owner, self._owner = self._owner, None
        if owner is not None:
            owner.close()


class _Reader:
    """One reading of the clipboard, by the rules of the ICCCM."""

    def __init__(self, display: Any, deadline: float, limit: int) -> None:
        self._display = display
        self._deadline = deadline
        self._limit = limit
        self._selection = display.intern_atom(_SELECTION)
        self._incremental = display.intern_atom("INCR")
        self._property = display.intern_atom("CRAB_CLIPBOARD")
        self._window = display.screen().root.create_window(0, 0, 1, 1, 0, 0, event_mask=_PROPERTY_CHANGE_MASK)

    def read(self) -> str | None:
        if not self._display.get_selection_owner(self._selection):
            return None
        utf8 = self._convert(self._display.intern_atom("UTF8_STRING"))
        if utf8 is not None:
            return utf8.decode("utf-8", "replace")
        latin = self._convert(_ATOM_STRING)
        return None if latin is None else latin.decode("latin-1")

    def _convert(self, target: int) -> bytes | None:
        self._window.convert_selection(self._selection, target, self._property, 0)
        while (event := self._next_event()) is not None:
            if event.type & 0x7F == _SELECTION_NOTIFY and event.target == target:
                return self._received() if event.property else None
        return None

    def _received(self) -> bytes | None:
        kind, data = self._take_property()
        if kind != self._incremental:
            return data
        pieces, size = list[bytes](), 0
        while (event := self._next_event()) is not None:
            if event.type & 0x7F != _PROPERTY_NOTIFY or event.atom != self._property or event.state != _NEW_VALUE:
                continue
            _, piece = self._take_property()
            pieces.append(piece)
            size += len(piece)
            if not piece or size >= self._limit:
                return b"".join(pieces)[: self._limit]
        return None

    def _take_property(self) -> tuple[int, bytes]:
        words = min(self._limit // 4 + 1, _CHUNK_WORDS)
        kind, pieces, offset = 0, list[bytes](), 0
        while True:
            answer = self._window.get_property(self._property, _ANY_TYPE, offset, words)
            if answer is None:
                break
            kind = answer.property_type
            if answer.format == 8:
                pieces.append(_bytes(answer.value))
            offset += words
            if answer.bytes_after == 0 or offset * 4 >= self._limit:
                break
        self._window.delete_property(self._property)
        self._display.flush()
        return kind, b"".join(pieces)[: self._limit]

    def _next_event(self) -> Any:
        """Returns the next event, or None when the deadline has passed."""
        return self._display.next_event() if await_event(self._display, self._deadline) else None


class _Owner:
    """Owns the clipboard and hands its text out, on a connection and a thread of its own."""

    def __init__(self, display: Any, data: bytes) -> None:
        self._display = display
        self._data = data
        self._selection = display.intern_atom(_SELECTION)
        self._targets = display.intern_atom("TARGETS")
        self._utf8 = display.intern_atom("UTF8_STRING")
        self._encodings = {
            self._utf8: self._utf8,
            display.intern_atom("text/plain;charset=utf-8"): self._utf8,
            display.intern_atom("TEXT"): self._utf8,
        }
        window = display.screen().root.create_window(0, 0, 1, 1, 0, 0)
        window.set_selection_owner(self._selection, 0)
        owner = display.get_selection_owner(self._selection)
        if not owner or owner.id != window.id:
            raise EnvironmentFailure("the X server did not let us own the clipboard")
        self._wake_reader, self._wake_writer = os.pipe()
        self._thread = threading.Thread(target=self._serve, name="clipboard", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stops serving; the clipboard is then empty unless somebody else has taken it."""
        os.write(self._wake_writer, b"x")
        self._thread.join()
        os.close(self._wake_writer)
        os.close(self._wake_reader)

    def _serve(self) -> None:
        try:
            while await_event(self._display, wake=self._wake_reader):
                event = self._display.next_event()
                if event.type & 0x7F == _SELECTION_CLEAR:
                    return
                if event.type & 0x7F == _SELECTION_REQUEST:
                    self._answer(event)
        except lost_errors():
            # Cut by a program on the display, or the display went: either way there is nobody left to serve.
            return
        finally:
            with suppress(*lost_errors()):
                self._display.close()

    def _answer(self, request: Any) -> None:
        from Xlib.protocol import event

        # Requestors older than the ICCCM give no property and mean the target's name.
        where = request.property or request.target
        if request.target == self._targets:
            offered = [self._targets, *self._encodings, _ATOM_STRING]
            request.requestor.change_property(where, _ATOM_ATOM, 32, offered)
        elif request.target in self._encodings:
            request.requestor.change_property(where, self._encodings[request.target], 8, self._data)
        elif request.target == _ATOM_STRING:
            latin = self._data.decode("utf-8").encode("latin-1", "replace")
            request.requestor.change_property(where, _ATOM_STRING, 8, latin)
        else:
            where = 0
        notice = event.SelectionNotify(
            time=request.time,
            requestor=request.requestor,
            selection=request.selection,
            target=request.target,
            property=where,
        )
        request.requestor.send_event(notice)
        self._display.flush()


def _bytes(value: bytes | str) -> bytes:
    # Xlib decodes what happens to be UTF-8.
    return value if isinstance(value, bytes) else value.encode()
