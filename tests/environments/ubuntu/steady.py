"""A desktop whose answers can be compared: without the numbers and times that differ from one start to the next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from crab.environment import PROBE_SECONDS, ActResult, Environment, EnvironmentDescription
from crab.observation import Observation, ObservationRequest
from crab.testing.environment import EnvironmentSamples, Example

PASSING = frozenset({"id", "pid", "elapsed", "modified"})

SAMPLES = EnvironmentSamples(
    action=Example("open_application", {"application": "calculator"}),
    probes=(
        Example("windows"),
        Example("focused_window"),
        Example("clipboard"),
        Example("file_list", {"path": "~/Documents"}),
        Example("file_read", {"path": "~/Documents/list.txt"}),
        Example("setting", {"name": "wallpaper"}),
    ),
    preparation=Example("write_file", {"path": "~/Documents/list.txt", "content": "bread\n"}),
    failing=Example("open_application", {"application": "time machine"}),
    accessibility=True,
)
"""What the conformance suite tries on a desktop."""


class Steady(Environment):
    """Hands every verb on; answers of probes lose what passes.

    Args:
        inner: The desktop.
    """

    def __init__(self, inner: Environment) -> None:
        self._inner = inner

    def describe(self) -> EnvironmentDescription:
        """Returns what the desktop says of itself."""
        return self._inner.describe()

    def reset(self, seed: int, start_time: str, extra_actions: Iterable[str] = ()) -> None:
        """Resets the desktop."""
        self._inner.reset(seed, start_time, extra_actions)

    def observe(self, request: ObservationRequest | None = None) -> Observation:
        """Looks at the desktop."""
        return self._inner.observe(request)

    def act(self, name: str, arguments: Mapping[str, Any]) -> ActResult:
        """Acts on the desktop."""
        return self._inner.act(name, arguments)

    def advance(self, seconds: float) -> None:
        """Waits."""
        self._inner.advance(seconds)

    def pause(self) -> None:
        """Pauses the desktop."""
        self._inner.pause()

    def resume(self) -> None:
        """Resumes the desktop."""
        self._inner.resume()

    def probe(self, name: str, arguments: Mapping[str, Any], seconds: float = PROBE_SECONDS) -> Any:
        """Asks the desktop; windows come in the order of their names, since two may open at the same moment."""
        answer = _without_passing(self._inner.probe(name, arguments, seconds))
        return sorted(answer, key=lambda window: str(window["class"])) if name == "windows" else answer

    def prepare(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Prepares the desktop."""
        self._inner.prepare(name, arguments)

    def close(self) -> None:
        """Closes the desktop."""
        self._inner.close()


def _without_passing(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {name: _without_passing(value) for name, value in answer.items() if name not in PASSING}
    if isinstance(answer, list):
        return [_without_passing(value) for value in answer]
    return answer
