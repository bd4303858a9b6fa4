"""Where marks come from: pixels alone (the default), the accessibility tree (a privileged track), or both merged."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache

import numpy as np
from PIL import Image

from crab.observation import ACCESSIBILITY_TRACK, Observation
from crab.perception.accessibility import AccessibilityMarker
from crab.perception.detection import marks_from_pixels
from crab.perception.grounding import Marker
from crab.perception.marks import Mark, merged, tidied
from crab.perception.rapid import RapidReader
from crab.perception.sources import MarkSource
from crab.perception.text import TextReader


class VisualMarker:
    """Marks what is seen in the screenshot alone: text, frames and icons.

    Args:
        reader: Who recognises text; None takes the one that all markers of this process share.
    """

    track = ""

    def __init__(self, reader: TextReader | None = None) -> None:
        self._reader = reader
        self._last: tuple[str, tuple[Mark, ...]] | None = None

    def marks(self, observation: Observation) -> Sequence[Mark]:
        """Returns marks in reading order, without numbers; for the same picture again at once.

        Raises:
            InfrastructureError: The extra ``vision`` is not installed.
        """
        frame = observation.now
        if self._last is None or self._last[0] != frame.sha256:
            with Image.open(io.BytesIO(frame.data)) as image:
                picture = np.asarray(image.convert("RGB"))
            lines = (self._reader or shared_reader()).read(picture)
            self._last = frame.sha256, marks_from_pixels(picture, lines)
        return self._last[1]


class MergedMarker:
    """Marks what the accessibility tree knows, and what is seen beside it.

    Args:
        reader: As in `VisualMarker`.
    """

    track = ACCESSIBILITY_TRACK

    def __init__(self, reader: TextReader | None = None) -> None:
        self._visual = VisualMarker(reader)
        self._accessible = AccessibilityMarker()

    def marks(self, observation: Observation) -> Sequence[Mark]:
        """Returns marks in reading order, without numbers.

        Raises:
            UsageError: The observation has no accessibility tree.
            InfrastructureError: The extra ``vision`` is not installed.
        """
        both = merged(tuple(self._accessible.marks(observation)), tuple(self._visual.marks(observation)))
        return tidied(both, (observation.now.width, observation.now.height))


def make_marker(source: MarkSource) -> Marker | None:
    """Returns the marker that a setting names, or None for ``none``."""
    if source == "visual":
        return VisualMarker()
    if source == "accessibility":
        return AccessibilityMarker()
    return MergedMarker() if source == "merged" else None


@cache
def shared_reader() -> TextReader:
    """Returns the reader of this process; its networks are loaded when it reads first."""
    return RapidReader()
