"""The list of marks in words, which goes to a model beside the picture."""

from __future__ import annotations

from collections.abc import Iterable

from crab.perception.marks import Mark

LONGEST = 60
"""Characters of a label that are listed."""


def listed(marks: Iterable[Mark]) -> str:
    """Returns one line ``[id|label]`` for each mark, in the order given; nameless ones are called by their role."""
    return "\n".join(f"[{mark.id}|{_one_line(mark.label) or mark.role}]" for mark in marks)


def _one_line(label: str) -> str:
    """Cuts a label to one short line that cannot be mistaken for the end of an entry."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in label).split())
    line = line.translate(str.maketrans("[]|", "()/"))
    return line if len(line) <= LONGEST else line[: LONGEST - 1].rstrip() + "…"
