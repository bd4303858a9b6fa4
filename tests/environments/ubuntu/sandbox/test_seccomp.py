"""The filter of system calls, run by an interpreter of its few instructions; what it achieves is in ``hostile``."""

from __future__ import annotations

import errno
import struct

import pytest

from environments.ubuntu.sandbox.seccomp import program

ALLOWED = 0x7FFF0000
X86_64, AARCH64, I386 = 0xC000003E, 0xC00000B7, 0x40000003


def verdict(machine: str, architecture: int, number: int) -> int:
    """The filter's answer to one call: 0 when it is allowed, else the error."""
    code = program(machine)
    assert code is not None
    lines = list(struct.iter_unpack("=HBBI", code))
    position, value = 0, 0
    while True:
        kind, if_true, if_false, operand = lines[position]
        position += 1
        if kind == 0x20:
            value = {0: number, 4: architecture}[operand]
        elif kind in (0x15, 0x35):
            holds = value == operand if kind == 0x15 else value >= operand
            position += if_true if holds else if_false
        else:
            assert kind == 0x06
            assert operand == ALLOWED or operand >> 16 == 5
            return 0 if operand == ALLOWED else operand & 0xFFFF


@pytest.mark.parametrize(
    ("machine", "architecture", "mount", "read"), [("x86_64", X86_64, 165, 0), ("aarch64", AARCH64, 40, 63)]
)
def test_mounting_is_refused_and_reading_is_not(machine: str, architecture: int, mount: int, read: int) -> None:
    assert verdict(machine, architecture, mount) == errno.EPERM
    assert verdict(machine, architecture, read) == 0


def test_calls_in_another_manner_are_refused_altogether() -> None:
    """32-bit and x32 calls have other numbers, which would slip through."""
    assert verdict("x86_64", I386, 21) == errno.ENOSYS
    assert verdict("x86_64", I386, 3) == errno.ENOSYS
    assert verdict("x86_64", X86_64, 0x40000000 + 165) == errno.ENOSYS


def test_an_unknown_architecture_has_no_filter() -> None:
    assert program("abacus") is None
