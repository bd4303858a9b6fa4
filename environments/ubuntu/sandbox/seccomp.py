"""The system calls that the agent's world does without, as a filter for bubblewrap's ``--seccomp``.

Namespaces stay allowed, since browsers build their own sandbox from them. What is refused are ways round the other
walls: keyrings belong to no namespace; a mount in a namespace of one's own, a file in memory without a name and a
System V segment take memory that no limit counts; the rest is kernel surface that no desktop application needs.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Mapping

_DENIED = errno.EPERM
# As on a kernel without the call: programs that ask for one of these have another way.
_MISSING = errno.ENOSYS

# Number on x86_64, number in the table that newer architectures share, and the answer.
_CALLS: Mapping[str, tuple[int, int, int]] = {
    "shmget": (29, 194, _MISSING),
    "mount": (165, 40, _DENIED),
    "umount2": (166, 39, _DENIED),
    "pivot_root": (155, 41, _DENIED),
    "add_key": (248, 217, _DENIED),
    "request_key": (249, 218, _DENIED),
    "keyctl": (250, 219, _DENIED),
    "perf_event_open": (298, 241, _DENIED),
    "name_to_handle_at": (303, 264, _DENIED),
    "open_by_handle_at": (304, 265, _DENIED),
    "memfd_create": (319, 279, _MISSING),
    "bpf": (321, 280, _DENIED),
    "userfaultfd": (323, 282, _DENIED),
    "io_uring_setup": (425, 425, _MISSING),
    "open_tree": (428, 428, _DENIED),
    "move_mount": (429, 429, _DENIED),
    "fsopen": (430, 430, _DENIED),
    "fsconfig": (431, 431, _DENIED),
    "fsmount": (432, 432, _DENIED),
    "fspick": (433, 433, _DENIED),
    "mount_setattr": (442, 442, _DENIED),
    "memfd_secret": (447, 447, _MISSING),
}

# The kernel's name of an architecture, and the column of the table above.
_ARCHITECTURES: Mapping[str, tuple[int, int]] = {
    "x86_64": (0xC000003E, 0),
    "aarch64": (0xC00000B7, 1),
    "riscv64": (0xC00000F3, 1),
}
_X32_BIT = 0x40000000

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_OFFSET_NUMBER, _OFFSET_ARCHITECTURE = 0, 4
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000


def program(machine: str | None = None) -> bytes | None:
    """Builds the filter.

    Args:
        machine: As ``platform.machine()`` names it; None means this one.

    Returns:
        Instructions as the kernel takes them, or None for an architecture whose numbers are not known here: its world
        has the other walls, but not this one.
    """
    known = _ARCHITECTURES.get(machine or platform.machine())
    if known is None:
        return None
    architecture, column = known
    lines = [
        (_LOAD, 0, 0, _OFFSET_ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, architecture),
        # Calls in the manner of another architecture have other numbers.
        (_RETURN, 0, 0, _ERRNO | _MISSING),
        (_LOAD, 0, 0, _OFFSET_NUMBER),
        (_JUMP_AT_LEAST, 0, 1, _X32_BIT),
        (_RETURN, 0, 0, _ERRNO | _MISSING),
    ]
    for numbers in _CALLS.values():
        lines += [(_JUMP_EQUAL, 0, 1, numbers[column]), (_RETURN, 0, 0, _ERRNO | numbers[2])]
    lines.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *line) for line in lines)
