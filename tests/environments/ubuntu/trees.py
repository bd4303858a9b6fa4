"""Finding nodes in accessibility trees as a probe returns them."""

from __future__ import annotations

from typing import Any


def find(node: dict[str, Any], role: str, name: str | None = None) -> dict[str, Any]:
    """Returns the first node of that role (and name) in a tree that a probe returned."""
    pending = [node]
    while pending:
        found = pending.pop(0)
        if found["role"] == role and name in (None, found["name"]):
            return found
        pending.extend(found["children"])
    raise AssertionError(f"no {role} {name or ''} in the tree")
