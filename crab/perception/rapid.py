"""Text with its place, recognised by neural networks that come with their package; the reader for marks.

Building it takes a second and several hundred megabytes, so a process that needs it often keeps one.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from crab.errors import InfrastructureError
from crab.observation import Bounds
from crab.perception.comparing import Pixels
from crab.perception.text import Line


class RapidReader:
    """Recognises text with rapidocr and the models in its package; nothing is downloaded. Usable from any thread.

    The networks are loaded on first use.

    Args:
        threads: Processor threads it may use.
    """

    def __init__(self, *, threads: int = 2) -> None:
        self._threads = threads
        self._engine: Any = None
        self._lock = threading.Lock()

    def read(self, picture: Pixels) -> Sequence[Line]:
        """Returns pieces of text from the top.

        Raises:
            InfrastructureError: rapidocr is not installed.
        """
        with self._lock:
            if self._engine is None:
                self._engine = _build(self._threads)
            # OpenCV's order of colours, which the networks were trained on.
            result = self._engine(np.ascontiguousarray(picture[:, :, ::-1]))
        if result.boxes is None or result.txts is None:
            return []
        return [
            Line(text, _bounds(box), float(score))
            for box, text, score in zip(result.boxes, result.txts, result.scores, strict=True)
        ]


def _build(threads: int) -> Any:
    try:
        from rapidocr import RapidOCR
    except ImportError as error:
        raise InfrastructureError(
            "text for marks needs rapidocr and onnxruntime", fix="install crab-eval with the extra: vision"
        ) from error
    # The classifier of angles turns whole lines upside down; screens have no such lines.
    settings = {
        "Global.use_cls": False,
        "Global.log_level": "error",
        "EngineConfig.onnxruntime.intra_op_num_threads": threads,
    }
    return RapidOCR(params=settings)


def _bounds(corners: Any) -> Bounds:
    """Returns the upright rectangle around four corners."""
    points = np.asarray(corners, dtype=float)
    left, top = np.floor(points.min(axis=0)).astype(int)
    right, bottom = np.ceil(points.max(axis=0)).astype(int)
    x, y = max(0, int(left)), max(0, int(top))
    return Bounds(x, y, max(1, int(right) - x), max(1, int(bottom) - y))
