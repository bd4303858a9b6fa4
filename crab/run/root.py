"""The root environment: what every task offers beside its devices."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from crab.action import action
from crab.environment import EnvironmentKind, ProviderDescription, Settlement, probe
from crab.errors import ActionFailed, UsageError
from crab.hosting import HostedEnvironment
from crab.observation import Observation, ObservationRequest

# "root" is reserved, so `EnvironmentKind` would refuse it; the role is what agents and records see.
KIND = "task_control"


class RootDevice:
    """Holds the one submission and how the agent ended the task, if it did."""

    def __init__(self) -> None:
        self.submission: str | None = None
        self.completed = False
        self.infeasible: str | None = None

    def reset(self, seed: int, start_time: str) -> None:
        """Forgets everything."""
        self.submission = None
        self.completed = False
        self.infeasible = None

    def observe(self, request: ObservationRequest) -> Observation:
        """Refuses: root has nothing to show."""
        raise UsageError("the root environment shows nothing")

    def settle(self) -> Settlement:
        """Is at rest at once."""
        return Settlement()

    def advance(self, seconds: float) -> None:
        """Has no clock of its own."""

    def pause(self) -> None:
        """Has no clock of its own."""

    def resume(self) -> None:
        """Has no clock of its own."""

    def health(self) -> str | None:
        """Is always well."""
        return None

    def close(self) -> None:
        """Holds nothing."""


@action
def submit(env: RootDevice, answer: Annotated[str, Field(max_length=100_000)]) -> None:
    """Submit the answer to the task. Only the first submission is accepted.

    Args:
        answer: The answer itself, without explanation.
    """
    if env.submission is not None:
        raise ActionFailed("an answer was already submitted; only the first one counts")
    env.submission = answer


@action
def complete(env: RootDevice) -> None:
    """Say that the task is done. Ends the task."""
    env.completed = True


@action(duration="seconds")
def wait(seconds: Annotated[float, Field(gt=0, le=60)]) -> None:
    """Wait for something to happen on the devices.

    Args:
        seconds: How long, more than 0 and at most 60.
    """


@action
def declare_infeasible(env: RootDevice, reason: Annotated[str, Field(max_length=10_000)]) -> None:
    """Say that the task cannot be done. Ends the task.

    Args:
        reason: Why not.
    """
    env.infeasible = reason


@probe
def submission(env: RootDevice) -> str | None:
    """The submitted answer, or None."""
    return env.submission


ROOT_KIND = EnvironmentKind(
    KIND,
    "Controls the task itself: submitting an answer, waiting, ending.",
    actions=[submit, complete, wait, declare_infeasible],
    probes=[submission],
)


def root_environment(device: RootDevice) -> HostedEnvironment:
    """Returns the root environment over its device."""
    return HostedEnvironment(ROOT_KIND, device, ProviderDescription("builtin", "total", "stepped"))
