"""What a model is shown of a turn: pictures with captions, elements as lines, results as text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from crab.models.chat import Image, Text
from crab.observation import AccessibilityNode, CallResult, Observation, Observations

if TYPE_CHECKING:
    from crab.perception.grounding import Shown

ELEMENT_LINES = 150
"""Elements of one screen that are listed, at most."""

VALUE_LENGTH = 4000
"""Characters of one result that are shown, at most."""


def turn_parts(
    observations: Observations, shown: Mapping[str, Shown], *, marked: bool = False, elements: bool = True
) -> Iterator[Text | Image]:
    """Yields what a turn shows: for each device its pictures, oldest first, and what is on the last of them.

    Args:
        observations: What there is to be seen.
        shown: The present picture of each device, as it is shown.
        marked: Whether marks are listed.
        elements: Whether the elements of the accessibility tree are listed, where there is one.
    """
    for role, observation in observations.environments.items():
        for frame in observation.frames:
            when = "now" if frame is observation.now else f"{observation.now.time - frame.time:.1f} s ago"
            yield Text(f"Screen of {role}, {when}, {frame.width}×{frame.height} pixels:")
            present = shown[role] if frame is observation.now else None
            yield Image(present.picture, present.media_type) if present else Image(frame.data, frame.media_type)
        if marked:
            listing = shown[role].listing
            yield Text(f"Marks on the screen of {role}, as [number|label]:\n{listing or '(none)'}")
        if elements and observation.accessibility is not None:
            yield Text(f"Elements of {role}, with their middle:\n" + "\n".join(_elements(observation)))


def result_text(result: CallResult) -> str:
    """Returns what a model is told about a call."""
    if result.error:
        return f"{'Failed' if result.executed else 'Refused'}: {result.error}"
    if result.value is None:
        return "Done."
    value = result.value if isinstance(result.value, str) else json.dumps(result.value, ensure_ascii=False)
    shown = value[:VALUE_LENGTH]
    return f"Done. {shown}" + ("" if shown == value else f" … ({len(value) - VALUE_LENGTH} more characters)")


def _elements(observation: Observation) -> Iterator[str]:
    tree = observation.accessibility
    nodes = [node for node in tree.walk() if node.bounds and (node.name or node.text)] if tree else []
    yield from map(_line, nodes[:ELEMENT_LINES])
    if len(nodes) > ELEMENT_LINES:
        yield f"… and {len(nodes) - ELEMENT_LINES} more"


def _line(node: AccessibilityNode) -> str:
    where = f" at {node.bounds.center}" if node.bounds else ""
    text = f", holds {node.text[:200]!r}" if node.text else ""
    states = f" ({', '.join(node.states)})" if node.states else ""
    return f"{node.role} {node.name!r}{where}{text}{states}"
