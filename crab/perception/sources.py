"""Where marks may come from, by the names that settings use; what makes them is loaded elsewhere, when it is used."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal, TypeAlias

from crab.errors import UsageError
from crab.observation import ACCESSIBILITY_TRACK

MarkSource: TypeAlias = Literal["none", "visual", "accessibility", "merged"]
"""What an agent's settings call them."""

_VISION = ("cv2", "rapidocr", "onnxruntime")


def needed_tracks(source: str) -> tuple[str, ...]:
    """Returns the privileged tracks that marks of a source need; none where there is no such source."""
    return (ACCESSIBILITY_TRACK,) if source in ("accessibility", "merged") else ()


def check_source(source: MarkSource) -> None:
    """Looks whether marks of a source can be made here; nothing is loaded.

    Raises:
        UsageError: A package for it is missing; the message names the extra.
    """
    missing = [name for name in _VISION if find_spec(name) is None] if source in ("visual", "merged") else []
    if missing:
        raise UsageError(f"{source} marks need {missing[0]}; install crab-eval with the extra: vision")
