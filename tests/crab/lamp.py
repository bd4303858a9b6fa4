"""A lamp: the smallest device with everything an environment can have, and a log of what is done to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from crab.action import action
from crab.environment import Environment, EnvironmentKind, Finding, ProviderDescription, Settlement, preparation, probe
from crab.errors import ActionFailed
from crab.hosting import HostedEnvironment
from crab.observation import Frame, Observation, ObservationRequest

START = "2031-05-06T07:08:09Z"
EMBEDDED = ProviderDescription("embedded", "total", "stepped", {"text_editor": "Notes"})


class Lamp:
    """A device with one light; it notes what is done to it."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.light = "off"
        self.requests: list[ObservationRequest] = []
        self.broken: Exception | None = None
        self.died: str | None = None

    def note(self, text: str) -> None:
        self.log.append(text)
        if self.broken is not None:
            raise self.broken

    def reset(self, seed: int, start_time: str) -> None:
        self.note(f"reset {seed} {start_time}")
        self.light = "off"

    def observe(self, request: ObservationRequest) -> Observation:
        self.note("observe")
        self.requests.append(request)
        return Observation((Frame(self.light.encode(), "image/png", 1, 1, 0.0),))

    def settle(self) -> Settlement:
        self.log.append("settle")
        return Settlement(settled=False, seconds=0.25)

    def advance(self, seconds: float) -> None:
        self.log.append(f"advance {seconds:g}")

    def pause(self) -> None:
        self.log.append("pause")

    def resume(self) -> None:
        self.log.append("resume")

    def health(self) -> str | None:
        return self.died

    def close(self) -> None:
        self.log.append("close")


@action(duration="seconds")
def shine(env: Lamp, colour: Literal["red", "blue"], seconds: float = 0.5) -> str:
    """Turns the light on."""
    env.note(f"shine {colour}")
    env.light = colour
    return f"was {colour}"


@action
def unscrew(env: Lamp) -> None:
    """Takes the bulb out, which this lamp refuses."""
    env.note("unscrew")
    raise ActionFailed("the bulb is stuck")


@action
def blink(env: Lamp, times: int) -> None:
    """Blinks."""
    env.note(f"blink {times}")


@probe
def colour(env: Lamp) -> str:
    """The present colour."""
    env.note("colour")
    return env.light


@probe
def colour_is(env: Lamp, name: str) -> bool:
    """Whether the light has that colour."""
    return env.light == name


@preparation
def paint(env: Lamp, colour: str) -> None:
    """Sets the light."""
    env.note(f"paint {colour}")
    env.light = colour


class Shop:
    """A provider of lamps."""

    def __init__(self, name: str) -> None:
        self.name = name

    def check(self, options: Mapping[str, Any]) -> None:
        """Takes any option."""

    def start(self, options: Mapping[str, Any]) -> Environment:
        return HostedEnvironment(LAMP, Lamp(), self.describe())

    def diagnose(self) -> tuple[Finding, ...]:
        return ()

    def describe(self) -> ProviderDescription:
        return ProviderDescription(self.name, "total", "stepped")


LAMP = EnvironmentKind(
    "lamp",
    "A lamp.",
    actions=[shine, unscrew],
    extra_actions=[blink],
    probes=[colour, colour_is],
    preparations=[paint],
    providers=[Shop("embedded"), Shop("workshop")],
)
