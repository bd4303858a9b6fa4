"""What a model is shown of a turn: pictures with captions, elements as lines, results as text."""

from __future__ import annotations

import json
from collections.abc import Iterator

from crab.models.chat import Image, Text
from crab.observation import AccessibilityNode, CallResult, Observation, Observations

ELEMENT_LINES = 150
"""Elements of one screen that are listed, at most."""

VALUE_LENGTH = 4000
"""Characters of one result that are shown, at most."""


def turn_parts(observations: Observations) -> Iterator[Text | Image]:
    """Yields what a turn shows: for each device its pictures, oldest first, and its elements where they are given."""
    for role, observation in observations.environments.items():
        for frame in observation.frames:
            when = "now" if frame is observation.now else f"{observation.now.time - frame.time:.1f} s ago"
            yield Text(f"Screen of {role}, {when}, {frame.width}×{frame.height} pixels:")
            yield Image(frame.data, frame.media_type)
        if observation.accessibility is not None:
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
