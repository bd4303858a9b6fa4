"""What the rules of the environment contract are tried with: samples, and environments lent one at a time."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from crab.environment import Environment, Finding
from crab.errors import CrabError
from crab.observation import ObservationRequest
from crab.testing.rules import Rule, check

SEED = 7
"""Seed of the resets in these rules."""

START_TIME = "2031-03-04T05:06:07Z"
"""Start time of the resets in these rules."""


@dataclass(frozen=True)
class Example:
    """A call of one action, probe or preparation that is right.

    Attributes:
        name: Its name.
        arguments: JSON values by parameter.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class EnvironmentSamples:
    """What the rules try on a kind of environment.

    Attributes:
        action: Can be done right after a reset, and changes the answer of one of `probes`.
        probes: Questions whose answers together tell the state that the other samples change.
        preparation: Changes the answer of one of `probes`.
        extra_action: Can be done right after a reset that enables it.
        failing: A valid action to which the device answers no after a reset.
        clock: A probe that answers with the device's time in ISO 8601, when there is one.
        same_pixels: Whether the same seed and actions give the same pictures, byte for byte.
        accessibility: Whether the accessibility tree is offered.
        several: Whether two environments can be started at once.
    """

    action: Example
    probes: tuple[Example, ...]
    preparation: Example | None = None
    extra_action: Example | None = None
    failing: Example | None = None
    clock: Example | None = None
    same_pixels: bool = False
    accessibility: bool = False
    several: bool = True


class Bench:
    """Lends environments to the rules: one is shared and reset for each, and replaced after a rule broke.

    Args:
        make: Starts an environment.
        samples: What is tried on it.
    """

    def __init__(self, make: Callable[[], Environment], samples: EnvironmentSamples) -> None:
        self._make = make
        self.samples = samples
        self._shared: Environment | None = None
        self._others: list[Environment] = []

    def new(self) -> Environment:
        """Returns an environment that was never reset; it is closed after the rule."""
        environment = self._make()
        self._others.append(environment)
        return environment

    def reset(self, *, seed: int = SEED, extra_actions: Iterable[str] = ()) -> Environment:
        """Returns the shared environment, freshly reset."""
        if self._shared is None:
            self._shared = self._make()
        self._shared.reset(seed, START_TIME, extra_actions)
        return self._shared

    def state(self, environment: Environment) -> dict[str, Any]:
        """Returns what the samples' probes answer now, and the picture's digest where pictures repeat."""
        state = {
            f"{number}: {example.name}": copy.deepcopy(environment.probe(example.name, example.arguments))
            for number, example in enumerate(self.samples.probes)
        }
        if self.samples.same_pixels:
            state["picture"] = environment.observe(ObservationRequest()).now.sha256
        return state

    def act(self, environment: Environment) -> None:
        """Does the sample action."""
        environment.act(self.samples.action.name, self.samples.action.arguments)

    def check(self, rule: Rule[Bench]) -> Finding:
        """Tries one rule, and cleans up after it."""
        finding = check(rule, self)
        if not finding.ok:
            self.close()
        self._close(self._others)
        return finding

    def close(self) -> None:
        """Closes everything that was lent."""
        if self._shared is not None:
            self._others.append(self._shared)
            self._shared = None
        self._close(self._others)

    def _close(self, environments: list[Environment]) -> None:
        while environments:
            try:
                environments.pop().close()
            except CrabError:
                # How closing goes is a rule of its own; here it only has to be tried.
                continue
