"""What an agent is shown: frames of pixels and, as a privileged track, the accessibility tree.

Pixels travel as the device's encoded bytes, unchanged; decoding belongs to whoever looks at them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

ACCESSIBILITY_TRACK = "accessibility"
"""Name of the privileged track in records; trials without it are pixels only."""


@dataclass(frozen=True)
class ObservationRequest:
    """What an observation should hold.

    Attributes:
        frames_per_second: Frames since the last action, in hertz; None asks for the present frame only.
        accessibility: Whether to add the accessibility tree, which is a privileged track.
    """

    frames_per_second: float | None = None
    accessibility: bool = False


@dataclass(frozen=True)
class Frame:
    """One picture of a screen.

    Attributes:
        data: The encoded picture, exactly as the device gave it.
        media_type: For example ``image/png``.
        width: Pixels, at least 1.
        height: Pixels, at least 1.
        time: Seconds on the environment's clock since its reset.
    """

    data: bytes = field(repr=False)
    media_type: str
    width: int
    height: int
    time: float

    @cached_property
    def sha256(self) -> str:
        """Digest of `data` in lower-case hexadecimal, which names the file in records."""
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True)
class Bounds:
    """A rectangle on the screen in pixels; `x` and `y` are its upper left corner."""

    x: int
    y: int
    width: int
    height: int

    @property
    def center(self) -> tuple[int, int]:
        """The middle of the rectangle, rounded down, as (x, y)."""
        return self.x + self.width // 2, self.y + self.height // 2


@dataclass(frozen=True)
class AccessibilityNode:
    """One element of the accessibility tree.

    Attributes:
        role: The toolkit's role name in lower case, for example ``push button``.
        name: What assistive technology would read out; may be empty.
        text: Text content or value, or None when the element has none.
        states: State names in lower case, sorted, for example ``focused``.
        bounds: Where it is on the screen, or None when it is nowhere.
        children: Elements inside it, in the toolkit's order.
    """

    role: str
    name: str = ""
    text: str | None = None
    states: tuple[str, ...] = ()
    bounds: Bounds | None = None
    children: tuple[AccessibilityNode, ...] = ()

    def walk(self) -> Iterator[AccessibilityNode]:
        """Yields this node and all below it, parents before children, in document order."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(node.children))

    def find(self, *, role: str | None = None, name: str | None = None) -> AccessibilityNode | None:
        """Returns the first node in document order whose role and name equal those given, or None."""
        return next(self.find_all(role=role, name=name), None)

    def find_all(self, *, role: str | None = None, name: str | None = None) -> Iterator[AccessibilityNode]:
        """Yields every node, in document order, whose role and name equal those given (None matches any)."""
        for node in self.walk():
            if (role is None or node.role == role) and (name is None or node.name == name):
                yield node


@dataclass(frozen=True)
class Observation:
    """What one environment shows at one moment.

    Attributes:
        frames: At least one frame, oldest first; the last one is now.
        accessibility: The accessibility tree now, or None when the track is off.
    """

    frames: tuple[Frame, ...]
    accessibility: AccessibilityNode | None = None

    @property
    def now(self) -> Frame:
        """The present frame."""
        return self.frames[-1]


@dataclass(frozen=True)
class CallResult:
    """What became of one call of the agent's last decision.

    Attributes:
        id: The id of the call it answers.
        name: The tool that was called.
        executed: Whether the action was carried out and counted; an invalid call is not.
        value: What the action returned (JSON), None when it returned nothing or failed.
        error: Empty on success, else one line that says what was wrong and what to do.
    """

    id: str
    name: str
    executed: bool
    value: Any = None
    error: str = ""


@dataclass(frozen=True)
class Observations:
    """What an agent is given for one decision.

    Attributes:
        turn: Number of this decision, from 1.
        environments: Observation of each environment by its role.
        results: What became of the calls of the previous decision, in their order.
    """

    turn: int
    environments: Mapping[str, Observation]
    results: tuple[CallResult, ...] = ()

    def __getitem__(self, role: str) -> Observation:
        """Returns the observation of the environment with that role."""
        return self.environments[role]
