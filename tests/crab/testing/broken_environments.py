"""Toy environments that break one rule of the contract each, and which rules that are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from crab.action import action
from crab.environment import (
    ActResult,
    EnvironmentDescription,
    EnvironmentKind,
    OperationDescription,
    preparation,
    probe,
)
from crab.errors import ActionFailed, EnvironmentFailure
from crab.hosting import HostedEnvironment
from crab.observation import Observation, ObservationRequest
from crab.testing.toy import TOY_DESKTOP, TOY_PHONE, ToyDesktop, ToyDevice, ToyPhone


class Hosted(HostedEnvironment):
    """The toy desktop as it should be; the broken ones below change one thing each."""

    kind: EnvironmentKind = TOY_DESKTOP
    device: Callable[[], ToyDevice] = ToyDesktop

    def __init__(self) -> None:
        super().__init__(self.kind, type(self).device(), self.kind.provider().describe())


class Desktop(ToyDesktop):
    """Gives broken devices a name to inherit from."""


def kind_with(operation: Any, *, instead_of: str) -> EnvironmentKind:
    """The toy desktop's kind with one operation exchanged."""

    def exchanged(operations: Mapping[str, Any]) -> list[Any]:
        return [operation if name == instead_of else old for name, old in operations.items()]

    return EnvironmentKind(
        TOY_DESKTOP.kind,
        TOY_DESKTOP.description,
        actions=exchanged(TOY_DESKTOP.actions),
        extra_actions=exchanged(TOY_DESKTOP.extra_actions),
        probes=exchanged(TOY_DESKTOP.probes),
        preparations=exchanged(TOY_DESKTOP.preparations),
        providers=TOY_DESKTOP.providers.values(),
    )


def changed(about: EnvironmentDescription, name: str, **changes: Any) -> EnvironmentDescription:
    """A description with one action changed."""
    actions = tuple(replace(item, **changes) if item.name == name else item for item in about.actions)
    return replace(about, actions=actions)


class NamedAgainstTheRules(Hosted):
    def describe(self) -> EnvironmentDescription:
        about = super().describe()
        schema = {"type": "function", "function": {**about.actions[0].schema["function"], "name": "left__click"}}
        return replace(about, actions=(*about.actions, OperationDescription("left__click", schema)))


class NamedTwice(Hosted):
    def describe(self) -> EnvironmentDescription:
        about = super().describe()
        return replace(about, probes=about.probes + about.probes[:1])


class SchemaOfAnUnknownType(Hosted):
    def describe(self) -> EnvironmentDescription:
        function = {"name": "click", "description": "Click.", "parameters": {"type": "object", "properties": 3}}
        about = super().describe()
        return changed(about, "click", schema={"type": "function", "function": function}, duration=0.0)


class DurationOfNoParameter(Hosted):
    def describe(self) -> EnvironmentDescription:
        return changed(super().describe(), "click", duration="seconds")


class SaysOtherThingsLater(Hosted):
    def describe(self) -> EnvironmentDescription:
        return replace(super().describe(), description=f"Now in phase {self._phase}.")


class BeginsByItself(Hosted):
    def __init__(self) -> None:
        super().__init__()
        self.reset(0, "2030-01-07T09:00:00Z")


@preparation
def write_note(env: ToyDesktop, name: str, text: str) -> None:
    """Save no note at all."""


class PreparesNothing(Hosted):
    kind = kind_with(write_note, instead_of="write_note")


class PreparesAtAnyTime(Hosted):
    def prepare(self, name: str, arguments: Mapping[str, Any]) -> None:
        if self._phase == "act":
            self._phase = "prepare"
        super().prepare(name, arguments)


class PreparesWithoutLooking(Hosted):
    def prepare(self, name: str, arguments: Mapping[str, Any]) -> None:
        super().prepare(name, {key: value for key, value in arguments.items() if key in ("name", "text")})


@action
def open_application(env: ToyDesktop, name: str) -> None:
    """Open nothing.

    Args:
        name: Name of the application.
    """
    if name != "Notepad":
        raise ActionFailed("no such application")


class ActsWithoutEffect(Hosted):
    kind = kind_with(open_application, instead_of="open_application")


class TakesLongerThanDeclared(Hosted):
    def act(self, name: str, arguments: Mapping[str, Any]) -> ActResult:
        return replace(super().act(name, arguments), duration=9.0)


class TakesAnyAction(Hosted):
    def act(self, name: str, arguments: Mapping[str, Any]) -> ActResult:
        known = name in self._kind.actions or name in self._kind.extra_actions
        return super().act(name, arguments) if known or self._phase in ("new", "closed") else ActResult()


class ActsBeforeItLooks(Hosted):
    def act(self, name: str, arguments: Mapping[str, Any]) -> ActResult:
        if isinstance(arguments.get("name"), str) and self._phase == "prepare":
            assert isinstance(self._device, ToyDesktop)
            self._device.open("Notepad")
        return super().act(name, arguments)


class DropsUnknownArguments(Hosted):
    def act(self, name: str, arguments: Mapping[str, Any]) -> ActResult:
        return super().act(name, {key: value for key, value in arguments.items() if key in ("name", "text", "x", "y")})


class DiesOfAFailure(Hosted):
    def act(self, name: str, arguments: Mapping[str, Any]) -> ActResult:
        try:
            return super().act(name, arguments)
        except ActionFailed as error:
            raise EnvironmentFailure("the device is gone") from error


class KeepsExtraActions(Hosted):
    def reset(self, seed: int, start_time: str, extra_actions: Iterable[str] = ()) -> None:
        kept = {name: item for name, item in self._enabled.items() if name in self._kind.extra_actions}
        super().reset(seed, start_time, extra_actions)
        self._enabled.update(kept)


class NotesStay(Desktop):
    def reset(self, seed: int, start_time: str) -> None:
        kept = getattr(self, "notes", {})
        super().reset(seed, start_time)
        self.notes = kept


class KeepsNotes(Hosted):
    device = NotesStay


class MovesAbout(Desktop):
    resets = 0

    def reset(self, seed: int, start_time: str) -> None:
        self.resets += 1
        super().reset(seed + self.resets, start_time)


class IgnoresTheSeed(Hosted):
    device = MovesAbout


class OneForAll(Desktop):
    opened: list[ToyDesktop] = []  # noqa: RUF012  that it is shared is the fault

    def __init__(self) -> None:
        super().__init__()
        self.opened.append(self)

    def open(self, application: str) -> None:
        for desktop in self.opened:
            desktop.application = application


class ReachesTheOthers(Hosted):
    device = OneForAll


class Looking(Hosted):
    """Changes what is seen."""

    def observe(self, request: ObservationRequest | None = None) -> Observation:
        asked = request or ObservationRequest()
        return self.seen(super().observe(asked), asked)

    def seen(self, observation: Observation, request: ObservationRequest) -> Observation:
        return observation


class SaysAnotherSize(Looking):
    def seen(self, observation: Observation, request: ObservationRequest) -> Observation:
        return replace(observation, frames=tuple(replace(frame, width=640) for frame in observation.frames))


class SendsNoPicture(Looking):
    def seen(self, observation: Observation, request: ObservationRequest) -> Observation:
        return replace(observation, frames=tuple(replace(frame, data=b"GIF") for frame in observation.frames))


class AlwaysShowsTwoFrames(Looking):
    def seen(self, observation: Observation, request: ObservationRequest) -> Observation:
        return replace(observation, frames=(observation.now, observation.now))


class TellsTooMuch(Looking):
    def seen(self, observation: Observation, request: ObservationRequest) -> Observation:
        asked = ObservationRequest(request.frames_per_second, accessibility=True)
        return HostedEnvironment.observe(self, asked)


class HasNoTree(Looking):
    def seen(self, observation: Observation, request: ObservationRequest) -> Observation:
        return replace(observation, accessibility=None)


class ShowsTimeBackwards(Looking):
    def seen(self, observation: Observation, request: ObservationRequest) -> Observation:
        return replace(observation, frames=observation.frames[::-1])


class PaintsOver(Looking):
    canvas = bytearray()

    def seen(self, observation: Observation, request: ObservationRequest) -> Observation:
        self.canvas[:] = observation.now.data
        painted: Any = self.canvas
        return replace(observation, frames=(*observation.frames[:-1], replace(observation.now, data=painted)))


class Hurries(Desktop):
    def advance(self, seconds: float) -> None:
        super().advance(2 * seconds)


class ClockIsTooFast(Hosted):
    device = Hurries


class LivesIn2030(Desktop):
    def reset(self, seed: int, start_time: str) -> None:
        super().reset(seed, "2030-01-01T00:00:00Z")


class ClockIsItsOwn(Hosted):
    device = LivesIn2030


class IsBlindWhilePaused(Looking):
    def seen(self, observation: Observation, request: ObservationRequest) -> Observation:
        assert isinstance(self._device, ToyDevice)
        if self._device.paused:
            raise EnvironmentFailure("paused")
        return observation


class Nosy(Desktop):
    asked = 0

    def reset(self, seed: int, start_time: str) -> None:
        super().reset(seed, start_time)
        self.asked = 0


@probe
def note(env: Nosy, name: str) -> str | None:
    """Text of the note with that name; leaves its mark when it was asked often."""
    env.asked += 1
    if env.asked == 6:
        env.notes[name] = "asked"
    return env.notes.get(name)


class ProbesWrite(Hosted):
    device = Nosy
    kind = kind_with(note, instead_of="note")


class Answering(Hosted):
    """Changes what probes answer."""

    def probe(self, name: str, arguments: Mapping[str, Any], seconds: float = 10.0) -> Any:
        return self.answer(name, super().probe(name, arguments, seconds))

    def answer(self, name: str, answer: Any) -> Any:
        return answer


class AnswersTheUnknown(Answering):
    def probe(self, name: str, arguments: Mapping[str, Any], seconds: float = 10.0) -> Any:
        return super().probe(name, arguments, seconds) if name in self._kind.probes else None


class AnswersInTuples(Answering):
    def answer(self, name: str, answer: Any) -> Any:
        return (answer,) if name == "application" else answer


class IgnoresDeadlines(Answering):
    def probe(self, name: str, arguments: Mapping[str, Any], seconds: float = 10.0) -> Any:
        return super().probe(name, arguments, 10.0)


class LendsItsInbox(Answering):
    kind = TOY_PHONE
    device = ToyPhone

    def answer(self, name: str, answer: Any) -> Any:
        assert isinstance(self._device, ToyPhone)
        return self._device.inbox if name == "inbox" else answer


class ClosesOnce(Hosted):
    def close(self) -> None:
        if self._phase == "closed":
            raise EnvironmentFailure("closed already")
        super().close()


class LivesOn(Hosted):
    def close(self) -> None:
        """Closes nothing."""


BROKEN: dict[type[Hosted], tuple[str, ...]] = {
    NamedAgainstTheRules: ("names_are_distinct",),
    NamedTwice: ("names_are_distinct",),
    SchemaOfAnUnknownType: ("schemas_are_valid",),
    DurationOfNoParameter: ("durations_are_declared",),
    SaysOtherThingsLater: ("description_is_stable",),
    BeginsByItself: ("verbs_wait_for_the_first_reset",),
    PreparesNothing: ("preparations_change_the_state",),
    PreparesAtAnyTime: ("preparations_end_with_the_first_act",),
    PreparesWithoutLooking: ("preparations_are_checked",),
    # An action without effect proves nothing after a pause either.
    ActsWithoutEffect: ("actions_change_the_state", "pausing_keeps_it_usable"),
    TakesLongerThanDeclared: ("results_are_as_declared",),
    TakesAnyAction: ("unknown_actions_are_refused",),
    ActsBeforeItLooks: ("arguments_are_checked",),
    DropsUnknownArguments: ("arguments_are_checked",),
    DiesOfAFailure: ("failed_actions_leave_it_usable",),
    KeepsExtraActions: ("extra_actions_are_asked_for",),
    KeepsNotes: ("reset_is_total",),
    # Its pictures differ after every reset, so a reset does not bring the old one back.
    IgnoresTheSeed: ("reset_is_total", "same_seed_same_state"),
    ReachesTheOthers: ("environments_are_apart",),
    SaysAnotherSize: ("observations_are_pictures",),
    SendsNoPicture: ("observations_are_pictures",),
    AlwaysShowsTwoFrames: ("the_default_is_one_frame",),
    TellsTooMuch: ("the_default_is_one_frame",),
    HasNoTree: ("accessibility_comes_when_asked",),
    ShowsTimeBackwards: ("frames_are_in_order",),
    ClockIsTooFast: ("time_passes",),
    ClockIsItsOwn: ("the_clock_shows_the_start_time",),
    IsBlindWhilePaused: ("pausing_keeps_it_usable",),
    ProbesWrite: ("probes_only_read",),
    AnswersTheUnknown: ("unknown_probes_are_refused",),
    AnswersInTuples: ("answers_are_json",),
    LendsItsInbox: ("answers_belong_to_the_caller",),
    IgnoresDeadlines: ("deadlines_are_kept",),
    # What may change later is no `bytes`, which is a fault of its own.
    PaintsOver: ("observations_are_pictures", "observations_stay"),
    ClosesOnce: ("close_is_final",),
    LivesOn: ("close_is_final",),
}
"""What each broken environment breaks, in the order of the rules."""
