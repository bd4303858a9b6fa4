"""The two requests of the XKEYBOARD extension that change many keys of the keyboard map at once.

The core protocol changes one run of keycodes per request, tells every program of each, and loses what it cannot
express. Window managers take all their key bindings down and up again each time (32 ms in openbox), so twenty changes
would leave them deaf for most of a second. Here any number of keys changes with one notice, and all others stay as
they are to the bit.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

_EXTENSION = "XKEYBOARD"
_CORE_KEYBOARD = 0x100
_KEY_SYMS = 1 << 1
_USE_EXTENSION, _GET_MAP, _SET_MAP = 0, 8, 9
_REPLY_FIELDS = 40


class KeyRow(NamedTuple):
    """What one keycode means.

    Attributes:
        types: Four bytes, the key type of each group.
        groups: Number of groups, and what happens to those out of range.
        width: Keysyms of each group.
        keysyms: Group after group.
    """

    types: bytes
    groups: int
    width: int
    keysyms: tuple[int, ...]


EMPTY_ROW = KeyRow(bytes(4), 0, 0, ())
"""A keycode that means nothing."""


def single(keysym: int) -> KeyRow:
    """Returns a row that gives one keysym, whatever modifiers and group are in force."""
    return KeyRow(bytes(4), 1, 1, (keysym,))


def change_keys(display: Any, changes: Mapping[int, KeyRow]) -> None:
    """Changes what some keycodes mean, in one request and with one notice to all programs.

    Args:
        display: An open ``Xlib.display.Display``.
        changes: New row by keycode; at least one.
    """
    opcode = display.query_extension(_EXTENSION).major_opcode
    # Version 1.0; the server refuses all else until it has been told.
    _ask(display, opcode, _USE_EXTENSION, struct.pack("=HH", 1, 0))
    first, last = min(changes), max(changes)
    present = _rows(display, opcode, first, last - first + 1)
    rows = [changes.get(first + index, row) for index, row in enumerate(present)]
    # Keysyms only: nothing of types, actions and modifiers, whose fields stay zero.
    head = struct.pack("=HHHBB", _CORE_KEYBOARD, _KEY_SYMS, 0, first, last)
    lists = struct.pack("=BBBBH", 0, 0, first, len(rows), sum(len(row.keysyms) for row in rows))
    _send(display, opcode, _SET_MAP, head + lists + bytes(18) + b"".join(map(_packed, rows)))
    display.sync()


def _rows(display: Any, opcode: int, first: int, count: int) -> list[KeyRow]:
    wanted = struct.pack("=HHHBBBB", _CORE_KEYBOARD, 0, _KEY_SYMS, 0, 0, first, count) + bytes(14)
    reply = _ask(display, opcode, _GET_MAP, wanted)
    rows, offset = list[KeyRow](), _REPLY_FIELDS
    for _ in range(count):
        groups, width, length = struct.unpack_from("=BBH", reply, offset + 4)
        keysyms = struct.unpack_from(f"={length}I", reply, offset + 8)
        rows.append(KeyRow(reply[offset : offset + 4], groups, width, keysyms))
        offset += 8 + 4 * length
    return rows


def _packed(row: KeyRow) -> bytes:
    count = len(row.keysyms)
    return row.types + struct.pack(f"=BBH{count}I", row.groups, row.width, count, *row.keysyms)


def _send(display: Any, opcode: int, minor: int, body: bytes) -> None:
    from Xlib.protocol import rq

    class Sent(rq.Request):  # type: ignore[misc]
        _request = _structure(rq, minor)

    Sent(display=display.display, opcode=opcode, body=body)


def _ask(display: Any, opcode: int, minor: int, body: bytes) -> bytes:
    """Sends a request and returns the whole reply, header included."""
    from Xlib.protocol import rq

    class Asked(rq.ReplyRequest):  # type: ignore[misc]
        _request = _structure(rq, minor)
        _reply = rq.Struct(rq.ReplyCode(), rq.Card8("device"), rq.Card16("sequence_number"), _bytes_field(rq))

    return struct.pack("=BBH", 1, 0, 0) + bytes(Asked(display=display.display, opcode=opcode, body=body).body)


def _structure(rq: Any, minor: int) -> Any:
    return rq.Struct(rq.Card8("opcode"), rq.Opcode(minor), rq.RequestLength(), _bytes_field(rq))


def _bytes_field(rq: Any) -> Any:
    """Returns an Xlib field that takes and gives the rest of a message as bytes."""

    class Bytes(rq.ValueField):  # type: ignore[misc]
        structcode = None

        def pack_value(self, value: bytes) -> tuple[bytes, int, None]:
            return value, len(value), None

        def parse_binary_value(self, data: bytes, *_: Any) -> tuple[bytes, bytes]:
            return bytes(data), b""

    return Bytes("body")
