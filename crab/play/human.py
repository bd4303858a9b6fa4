"""The agent whose decisions a person makes on a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from crab.agent import Decision, TaskView
from crab.environment import Environment
from crab.errors import EnvironmentFailure
from crab.observation import Observation, ObservationRequest, Observations
from crab.play.session import Session

LOOK_SECONDS = 0.4
"""How often a device in real time is looked at while the person thinks."""


class HumanAgent:
    """Shows a person what an agent is shown, and decides what the person does; each gesture is one decision.

    Args:
        session: Shared with the page.
    """

    name = "human"

    def __init__(self, session: Session) -> None:
        self._session = session
        self._live: dict[str, Callable[[ObservationRequest], Observation]] = {}

    def watch(self, environments: Mapping[str, Environment]) -> None:
        """Keeps the screens of devices in real time live; those in stepped time stand still by themselves."""
        self._live = {
            role: environment.observe
            for role, environment in environments.items()
            if environment.describe().provider.time == "real"
        }

    def start(self, view: TaskView) -> None:
        """Gives the page the task."""
        self._session.begin(view)

    def decide(self, observations: Observations) -> Decision:
        """Returns what the person does next; waits for it without end, as limits do the ending."""
        self._session.show(observations.environments)
        self._session.ask(observations.results)
        while True:
            call = self._session.next_call(LOOK_SECONDS)
            if call is not None:
                return Decision((call,))
            self._look()

    def close(self) -> None:
        """Lets go of the devices."""
        self._live = {}

    def _look(self) -> None:
        try:
            self._session.show({role: observe(ObservationRequest()) for role, observe in self._live.items()})
        except EnvironmentFailure:
            # The next action meets the same trouble, where the episode tells whose it is.
            self._live = {}
