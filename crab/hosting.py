"""Devices in this process: the environment verbs over a `Device`, and the short way to a kind of environment."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from crab.action import Action
from crab.environment import (
    PROBE_SECONDS,
    ActResult,
    Device,
    Environment,
    EnvironmentDescription,
    EnvironmentKind,
    Finding,
    Preparation,
    Probe,
    ProviderDescription,
    Settlement,
)
from crab.errors import (
    ActionFailed,
    CrabError,
    DeadlineExceeded,
    DefinitionError,
    EnvironmentFailure,
    InfrastructureError,
    ProbeFailure,
    UnknownAction,
    UsageError,
)
from crab.observation import AccessibilityNode, Frame, Observation, ObservationRequest

if TYPE_CHECKING:
    from PIL.Image import Image


def _json_copy(what: str, value: Any) -> Any:
    """Returns a value as it would arrive over a wire, so that no caller holds a part of the device."""
    if value is None:
        return None
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise DefinitionError(f"{what} is not JSON: {error}") from error


@contextmanager
def _device_trouble(what: str, health: Callable[[], str | None] | None = None) -> Iterator[None]:
    """Makes whatever a device raises an `EnvironmentFailure`, except what it raises on purpose.

    A device that dies of an action counts against the agent, so where `health` is given it decides whether it died.
    """
    try:
        yield
    except CrabError:
        raise
    except Exception as error:
        message = f"{what}: {type(error).__name__}: {error}"
        if health is not None and health() is None:
            raise InfrastructureError(message, fix="the device is well: mend the action") from error
        raise EnvironmentFailure(message) from error


class HostedEnvironment(Environment):
    """The verbs over a device in this process. Not thread-safe: one caller at a time.

    Args:
        kind: What the device offers.
        device: What operations get as `env`.
        provider: What the provider promises.
    """

    def __init__(self, kind: EnvironmentKind, device: Device, provider: ProviderDescription) -> None:
        self._kind = kind
        self._device = device
        self._provider = provider
        self._enabled: dict[str, Action[Any, Any]] = {}
        self._phase: Literal["new", "prepare", "act", "closed"] = "new"

    def describe(self) -> EnvironmentDescription:
        """Returns what the environment offers."""
        return self._kind.describe(self._provider)

    def reset(self, seed: int, start_time: str, extra_actions: Iterable[str] = ()) -> None:
        """Resets the device; see `Environment.reset`."""
        self._require_open()
        extra: dict[str, Action[Any, Any]] = {}
        for name in extra_actions:
            if name not in self._kind.extra_actions:
                raise UsageError(f"{self._kind.kind} has no extra action {name!r}")
            extra[name] = self._kind.extra_actions[name]
        # A reset that fails half-way must leave nothing enabled.
        self._enabled = {}
        self._phase = "new"
        with _device_trouble(f"{self._kind.kind}: reset"):
            self._device.reset(seed, start_time)
        self._enabled = {**self._kind.actions, **extra}
        self._phase = "prepare"

    def observe(self, request: ObservationRequest | None = None) -> Observation:
        """Observes the device; see `Environment.observe`."""
        self._require_reset("observe")
        with _device_trouble(f"{self._kind.kind}: observe"):
            return self._device.observe(request or ObservationRequest())

    def act(self, name: str, arguments: Mapping[str, Any]) -> ActResult:
        """Acts on the device; see `Environment.act`."""
        self._require_reset("act")
        if name not in self._enabled:
            raise UnknownAction(f"{self._kind.kind} has no action {name!r}; it has: {', '.join(self._enabled)}")
        action = self._enabled[name]
        values = action.validate(arguments)
        self._phase = "act"
        with _device_trouble(f"{self._kind.kind}: action {name}", self._device.health):
            try:
                value = action.invoke(values, self._device)
            except ActionFailed:
                # It may have changed something on the way, and the next look must not see it moving.
                self._device.settle()
                raise
            settlement = self._device.settle()
        value = _json_copy(f"action {name} was carried out, but what it returned", value)
        return ActResult(value, action.seconds(values), settlement.settled, settlement.seconds)

    def advance(self, seconds: float) -> None:
        """Lets time pass; see `Environment.advance`."""
        self._require_reset("advance")
        with _device_trouble(f"{self._kind.kind}: advance"):
            self._device.advance(seconds)

    def pause(self) -> None:
        """Pauses the device."""
        self._require_reset("pause")
        with _device_trouble(f"{self._kind.kind}: pause"):
            self._device.pause()

    def resume(self) -> None:
        """Resumes the device."""
        self._require_reset("resume")
        with _device_trouble(f"{self._kind.kind}: resume"):
            self._device.resume()

    def probe(self, name: str, arguments: Mapping[str, Any], seconds: float = PROBE_SECONDS) -> Any:
        """Asks the device; see `Environment.probe`."""
        self._require_reset("probe")
        if name not in self._kind.probes:
            raise ProbeFailure(f"{self._kind.kind} has no probe {name!r}; it has: {', '.join(self._kind.probes)}")
        deadline = time.monotonic() + seconds
        try:
            answer = _json_copy(f"probe {name}", self._kind.probes[name].run(arguments, self._device))
        except ProbeFailure:
            raise
        except Exception as error:
            raise ProbeFailure(f"probe {name}: {type(error).__name__}: {error}") from error
        # The device runs in this process and cannot be interrupted, but a late answer is none.
        if time.monotonic() >= deadline:
            raise DeadlineExceeded(f"probe {name} took longer than {seconds:g} s")
        return answer

    def prepare(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Prepares the device; see `Environment.prepare`."""
        self._require_reset("prepare")
        if self._phase != "prepare":
            raise UsageError(f"{self._kind.kind}: prepare {name!r} came after the first act; reset first")
        if name not in self._kind.preparations:
            known = ", ".join(self._kind.preparations)
            raise UsageError(f"{self._kind.kind} has no preparation {name!r}; it has: {known}")
        with _device_trouble(f"{self._kind.kind}: preparation {name}"):
            try:
                self._kind.preparations[name].run(arguments, self._device)
            except ActionFailed as error:
                # Devices share code between actions and preparations, but no agent asked for this one.
                raise EnvironmentFailure(f"{self._kind.kind}: preparation {name}: {error}") from error

    def close(self) -> None:
        """Closes the device once."""
        if self._phase != "closed":
            self._phase = "closed"
            self._device.close()

    def health(self) -> str | None:
        """Returns None when the device is well, else one line that says what died."""
        return "closed" if self._phase == "closed" else self._device.health()

    def _require_open(self) -> None:
        if self._phase == "closed":
            raise EnvironmentFailure(f"{self._kind.kind} is closed", fix="start a new one")

    def _require_reset(self, verb: str) -> None:
        self._require_open()
        if self._phase == "new":
            raise UsageError(f"{self._kind.kind}: {verb} before reset")


class SimpleDevice:
    """What most devices in this process share: at rest at once, a clock that is stepped, nothing to close.

    A subclass adds `reset` (calling this one) and `observe` (by `picture`); see `crab.environment.Device`.
    """

    seconds = 0.0
    """Seconds since the reset on the device's clock."""

    def reset(self, seed: int, start_time: str) -> None:
        """Sets the clock back."""
        self.seconds = 0.0

    def observe(self, request: ObservationRequest) -> Observation:
        """Has to be written by the subclass."""
        raise NotImplementedError(f"{type(self).__name__} has no observe()")

    def picture(self, image: Image, accessibility: AccessibilityNode | None = None) -> Observation:
        """Returns an observation that shows a Pillow image, as PNG, at this moment.

        Args:
            image: The whole screen.
            accessibility: What is on it, where that was asked for.
        """
        data = io.BytesIO()
        image.save(data, "PNG", compress_level=1)
        return Observation((Frame(data.getvalue(), "image/png", *image.size, self.seconds),), accessibility)

    def settle(self) -> Settlement:
        """Is at rest at once."""
        return Settlement()

    def advance(self, seconds: float) -> None:
        """Moves the clock at once."""
        self.seconds += seconds

    def pause(self) -> None:
        """Has a clock that moves only when told."""

    def resume(self) -> None:
        """Has a clock that moves only when told."""

    def health(self) -> str | None:
        """Is always well."""
        return None

    def close(self) -> None:
        """Holds nothing outside this process."""


class InProcessProvider:
    """Makes devices in this process; made by `in_process`.

    Args:
        device: Makes one device.
        applications: Application name by role.
    """

    name = "memory"

    def __init__(self, device: Callable[[], Device], applications: Mapping[str, str]) -> None:
        self._device = device
        self._applications = applications
        self._kind: EnvironmentKind | None = None

    def serve(self, kind: EnvironmentKind) -> None:
        """Says which kind of environment the devices are."""
        self._kind = kind

    def check(self, options: Mapping[str, Any]) -> None:
        """Refuses every option: there are none.

        Raises:
            UsageError: An option is given.
        """
        if options:
            kind = self._kind.kind if self._kind is not None else "this kind"
            raise UsageError(f"{kind}/{self.name} takes no options, got {sorted(options)[0]!r}")

    def start(self, options: Mapping[str, Any]) -> Environment:
        """Returns a new environment.

        Raises:
            UsageError: An option is given; there are none.
        """
        if self._kind is None:
            raise UsageError("this provider belongs to no kind of environment; make both with in_process")
        self.check(options)
        return HostedEnvironment(self._kind, self._device(), self.describe())

    def diagnose(self) -> tuple[Finding, ...]:
        """Needs nothing."""
        return (Finding("memory", ok=True, detail="runs in this process"),)

    def describe(self) -> ProviderDescription:
        """Returns what it promises: total reset, stepped time."""
        return ProviderDescription(self.name, "total", "stepped", applications=self._applications, isolation="memory")


def in_process(
    kind: str,
    description: str,
    *,
    device: Callable[[], Device],
    actions: Iterable[Action[Any, Any]],
    probes: Iterable[Probe] = (),
    preparations: Iterable[Preparation] = (),
    extra_actions: Iterable[Action[Any, Any]] = (),
    applications: Mapping[str, str] | None = None,
) -> EnvironmentKind:
    """Returns a kind of environment whose devices live in this process.

    Args:
        kind: See `crab.environment.EnvironmentKind`, like the arguments below that are not named here.
        description: See there.
        device: Makes one device; each environment has its own.
        actions: See there.
        probes: See there.
        preparations: See there.
        extra_actions: See there.
        applications: Application name by role.

    Raises:
        DefinitionError: A name is taken twice or not valid.
    """
    provider = InProcessProvider(device, applications or {})
    made = EnvironmentKind(
        kind,
        description,
        actions=actions,
        probes=probes,
        preparations=preparations,
        extra_actions=extra_actions,
        providers=[provider],
    )
    provider.serve(made)
    return made
