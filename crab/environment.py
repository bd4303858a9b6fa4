"""The environment contract: a device behind named, checked calls.

`EnvironmentKind` declares actions, probes, preparations and providers. A `Provider` starts a device and returns an
`Environment`, the verbs through which everything else sees it. ``crab.hosting`` has those verbs in process;
``crab.remote`` carries them over a wire.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol

from crab.action import Action
from crab.errors import (
    DefinitionError,
    UsageError,
)
from crab.observation import Observation, ObservationRequest
from crab.operation import Operation, is_name, read_function

PROBE_SECONDS = 10.0
"""Deadline of a probe when the caller names none."""


class Probe(Operation):
    """A read-only question to a device; its answer is a JSON value. Whatever an agent can cause is an answer."""


class Preparation(Operation):
    """A privileged named write, accepted only between reset and the first act."""


def probe(function: Callable[..., Any]) -> Probe:
    """Makes a `Probe` of a function whose parameter `env` is the device.

    Raises:
        DefinitionError: See `crab.action.read_function`.
    """
    return Probe(**read_function(function, "probe"))


def preparation(function: Callable[..., Any]) -> Preparation:
    """Makes a `Preparation` of a function whose parameter `env` is the device.

    Raises:
        DefinitionError: See `crab.action.read_function`.
    """
    return Preparation(**read_function(function, "preparation"))


@dataclass(frozen=True)
class Settlement:
    """How a device came to rest after an action.

    Attributes:
        settled: False when it was still changing at the cap.
        seconds: How long it took.
    """

    settled: bool = True
    seconds: float = 0.0


class Device(Protocol):
    """What is injected as `env`: the implementation inside an environment's server."""

    def reset(self, seed: int, start_time: str) -> None:
        """Brings back the start state; `start_time` is ISO 8601 in UTC and is what the device's clock shows."""

    def observe(self, request: ObservationRequest) -> Observation:
        """Returns what is to be seen now."""

    def settle(self) -> Settlement:
        """Returns once the device has come to rest after an action, or at its cap."""

    def advance(self, seconds: float) -> None:
        """Lets time pass: at once where time is stepped, by waiting where it is real."""

    def pause(self) -> None:
        """Stops the device's clock, where it can be stopped."""

    def resume(self) -> None:
        """Starts the device's clock again."""

    def health(self) -> str | None:
        """Returns None when all is well, else one line that says what died."""

    def close(self) -> None:
        """Ends everything the device started; safe to call twice."""


@dataclass(frozen=True)
class OperationDescription:
    """One action, probe or preparation as seen from outside.

    Attributes:
        name: Its name.
        schema: Tool schema in the OpenAI function form.
        duration: Seconds on the environment's clock, or the parameter that holds them (actions only).
    """

    name: str
    schema: Mapping[str, Any]
    duration: float | str = 0.0


@dataclass(frozen=True)
class ProviderDescription:
    """What a provider promises.

    Attributes:
        name: For example ``embedded``.
        reset: ``total`` brings back everything, ``best_effort`` what it can.
        time: ``stepped`` where waiting costs nothing, else ``real``.
        applications: Application name by role.
        versions: Version by component, for the lock.
        isolation: What stands between the agent and this machine, for the record.
    """

    name: str
    reset: Literal["total", "best_effort"]
    time: Literal["stepped", "real"]
    applications: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    isolation: str = "none"


@dataclass(frozen=True)
class EnvironmentDescription:
    """Everything about an environment that others may know."""

    kind: str
    description: str
    actions: tuple[OperationDescription, ...]
    extra_actions: tuple[OperationDescription, ...]
    probes: tuple[OperationDescription, ...]
    preparations: tuple[OperationDescription, ...]
    provider: ProviderDescription


@dataclass(frozen=True)
class ActResult:
    """What became of one executed action.

    Attributes:
        value: What it returned (JSON).
        duration: Seconds that passed on the environment's clock by declaration.
        settled: Whether the device came to rest before the cap.
        settle_seconds: How long that took.
    """

    value: Any = None
    duration: float = 0.0
    settled: bool = True
    settle_seconds: float = 0.0


class Environment(ABC):
    """The verbs of an environment; every implementation passes ``crab.testing.environment``."""

    @abstractmethod
    def describe(self) -> EnvironmentDescription:
        """Returns what the environment offers."""

    @abstractmethod
    def reset(self, seed: int, start_time: str, extra_actions: Iterable[str] = ()) -> None:
        """Brings back the start state and enables exactly these extra actions.

        Args:
            seed: Of everything random in the device.
            start_time: ISO 8601 in UTC, what the device's clock shows.
            extra_actions: Names from the kind's extra actions.

        Raises:
            UsageError: An extra action is unknown.
            EnvironmentFailure: The device could not be reset.
        """

    @abstractmethod
    def observe(self, request: ObservationRequest | None = None) -> Observation:
        """Returns what is to be seen now.

        Raises:
            EnvironmentFailure: The device died or does not answer.
        """

    @abstractmethod
    def act(self, name: str, arguments: Mapping[str, Any]) -> ActResult:
        """Carries out one action and lets the device settle.

        Raises:
            UnknownAction: There is no such action, or it is not enabled.
            InvalidArguments: The arguments do not fit; nothing was done.
            ActionFailed: The device answered no.
            EnvironmentFailure: The device died or does not answer.
            InfrastructureError: The action broke, and the device is well.
            DefinitionError: It was carried out, but what it returned is not JSON.
        """

    @abstractmethod
    def advance(self, seconds: float) -> None:
        """Lets time pass on the environment's clock."""

    @abstractmethod
    def pause(self) -> None:
        """Stops the environment's clock, where it can be stopped."""

    @abstractmethod
    def resume(self) -> None:
        """Starts the environment's clock again."""

    @abstractmethod
    def probe(self, name: str, arguments: Mapping[str, Any], seconds: float = PROBE_SECONDS) -> Any:
        """Asks the device one read-only question; hidden from agents.

        Raises:
            ProbeFailure: It could not be answered.
            DeadlineExceeded: It was not answered within `seconds`.
        """

    @abstractmethod
    def prepare(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Makes one privileged write; hidden from agents.

        Raises:
            UsageError: After the first act, before any reset, or no such preparation.
            InvalidArguments: The arguments do not fit.
            EnvironmentFailure: It could not be carried out.
        """

    @abstractmethod
    def close(self) -> None:
        """Ends the device and everything it started; safe to call twice."""


@dataclass(frozen=True)
class Finding:
    """One line of a diagnosis.

    Attributes:
        name: What was looked at.
        ok: Whether it is as needed.
        detail: What was found.
        fix: What to do when it is not; empty when it is.
    """

    name: str
    ok: bool
    detail: str
    fix: str = ""


class Provider(Protocol):
    """Starts, diagnoses and describes one sort of device for a kind of environment."""

    name: str

    def check(self, options: Mapping[str, Any]) -> None:
        """Checks options without starting anything, so that a run is refused before it begins.

        Raises:
            UsageError: An option is unknown or has a wrong value.
        """

    def start(self, options: Mapping[str, Any]) -> Environment:
        """Starts a device.

        Args:
            options: JSON values, checked by the provider; unknown ones are refused. ``services`` maps host names
                to addresses the device may reach.

        Raises:
            UsageError: An option is unknown or has a wrong value.
            ProviderUnavailable: It cannot be started here; the message says what is missing and how to get it.
        """

    def diagnose(self) -> tuple[Finding, ...]:
        """Looks at everything the provider needs on this machine."""

    def describe(self) -> ProviderDescription:
        """Returns what the provider promises."""


def _by_name(kind: str, what: str, operations: Iterable[Operation], sort: type) -> Mapping[str, Any]:
    table: dict[str, Any] = {}
    for operation in operations:
        if not isinstance(operation, sort):
            raise DefinitionError(f"{kind}: {what} {operation!r} is no {sort.__name__}")
        if operation.name in table:
            raise DefinitionError(f"{kind}: two {what} are called {operation.name!r}")
        table[operation.name] = operation
    return MappingProxyType(table)


def _distinct(kind: str, providers: Iterable[Provider]) -> dict[str, Provider]:
    table: dict[str, Provider] = {}
    for provider in providers:
        if provider.name in table:
            raise DefinitionError(f"{kind}: two providers are called {provider.name!r}")
        table[provider.name] = provider
    return table


class EnvironmentKind:
    """Declares one kind of environment: actions + probes + preparations + providers.

    Args:
        kind: A Python identifier without ``__``, for example ``ubuntu``.
        description: One paragraph for agents: what the device is and how it is operated.
        actions: Always enabled.
        extra_actions: Enabled only by tasks that name them.
        probes: Read-only questions, hidden from agents.
        preparations: Privileged writes, hidden from agents.
        providers: The first one is the default.

    Raises:
        DefinitionError: A name is taken twice or not valid.
    """

    def __init__(
        self,
        kind: str,
        description: str,
        *,
        actions: Iterable[Action[Any, Any]],
        probes: Iterable[Probe] = (),
        preparations: Iterable[Preparation] = (),
        extra_actions: Iterable[Action[Any, Any]] = (),
        providers: Iterable[Provider] = (),
    ) -> None:
        if not is_name(kind) or kind == "root":
            raise DefinitionError(f"kind of environment {kind!r}: an identifier without '__', and not 'root'")
        self.kind = kind
        self.description = description
        self.actions: Mapping[str, Action[Any, Any]] = _by_name(kind, "actions", actions, Action)
        self.extra_actions: Mapping[str, Action[Any, Any]] = _by_name(kind, "extra actions", extra_actions, Action)
        self.probes: Mapping[str, Probe] = _by_name(kind, "probes", probes, Probe)
        self.preparations: Mapping[str, Preparation] = _by_name(kind, "preparations", preparations, Preparation)
        self.providers: Mapping[str, Provider] = MappingProxyType(_distinct(kind, providers))
        for name in self.extra_actions:
            if name in self.actions:
                raise DefinitionError(f"{kind}: {name!r} is both an action and an extra action")

    def provider(self, name: str | None = None) -> Provider:
        """Returns a provider by name, or the default one.

        Raises:
            UsageError: There is none of that name.
        """
        if not self.providers:
            raise UsageError(f"{self.kind} has no provider")
        if name is None:
            return next(iter(self.providers.values()))
        if name not in self.providers:
            raise UsageError(f"{self.kind} has no provider {name!r}; it has: {', '.join(self.providers)}")
        return self.providers[name]

    def describe(self, provider: ProviderDescription) -> EnvironmentDescription:
        """Returns the description of an environment of this kind started by that provider."""
        return EnvironmentDescription(
            kind=self.kind,
            description=self.description,
            actions=tuple(_describe(action) for action in self.actions.values()),
            extra_actions=tuple(_describe(action) for action in self.extra_actions.values()),
            probes=tuple(_describe(item) for item in self.probes.values()),
            preparations=tuple(_describe(item) for item in self.preparations.values()),
            provider=provider,
        )


def _describe(operation: Operation) -> OperationDescription:
    duration = operation.duration if isinstance(operation, Action) else 0.0
    return OperationDescription(operation.name, operation.schema(), duration)
