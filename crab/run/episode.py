"""One trial of one agent at one task, on environments that are already started.

Order: reset all → prepare → start check → agent → end check. A *turn* is one decision; an *action* is one executed
call, after which the active checkpoints are asked.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import NoReturn, TypeVar

from crab.agent import Agent, Call, Decision, Tool
from crab.environment import ActResult, Environment, EnvironmentDescription
from crab.errors import ActionFailed, CrabError, EnvironmentFailure, InvalidCall, ModelError, ModelRejected
from crab.evaluator import ROOT
from crab.observation import CallResult, Observation, ObservationRequest, Observations
from crab.progress import Progress
from crab.record.schema import LimitsSpec, Reason
from crab.record.writer import TrialWriter
from crab.run.decisions import call_id, call_record, checked_decision, no_call
from crab.run.limits import LimitWatch, TimeUp
from crab.run.probing import StepProbes
from crab.run.root import RootDevice, root_environment
from crab.run.tools import ToolBox
from crab.task import Task

T = TypeVar("T")

END_CHECKS = 3
"""How often a still unknown checkpoint is asked again at the end before the trial is invalid."""


@dataclass(frozen=True)
class EpisodeSettings:
    """How an episode is run.

    Attributes:
        seed: Given to every environment and to the agent.
        start_time: ISO 8601 in UTC; what the devices' clocks show at the start.
        limits: What ends it.
        request: What each observation holds.
    """

    seed: int
    start_time: str
    limits: LimitsSpec
    request: ObservationRequest = field(default_factory=ObservationRequest)


@dataclass(frozen=True)
class Ending:
    """How an episode ended.

    Attributes:
        reason: Why.
        valid: False when infrastructure ended it: then it is no result of the agent's.
        hopeless: Why any other trial of this agent would end the same way; empty when nothing says so.
    """

    reason: Reason
    valid: bool = True
    hopeless: str = ""


class _End(Exception):
    """Unwinds the loop; never leaves this module."""

    def __init__(self, reason: Reason, *, valid: bool = True, hopeless: str = "") -> None:
        super().__init__(reason)
        self.ending = Ending(reason, valid, hopeless)


class Episode:
    """Runs one trial; an object serves once.

    Args:
        task: What is to be done.
        agent: Who does it.
        environments: A started environment for each role of the task, without root.
        writer: Where everything is recorded.
        settings: How it is run.
    """

    def __init__(
        self,
        task: Task,
        agent: Agent,
        environments: Mapping[str, Environment],
        writer: TrialWriter,
        settings: EpisodeSettings,
    ) -> None:
        self._task = task
        self._agent = agent
        self._root = RootDevice()
        self._environments: dict[str, Environment] = {**environments, ROOT: root_environment(self._root)}
        self._writer = writer
        self._settings = settings
        self._progress = Progress(task.graph)
        self._turn = 0

    def run(self) -> Ending:
        """Runs the trial to its end and records it.

        Returns:
            How it ended; every trouble but an interrupt becomes an ending.

        Raises:
            KeyboardInterrupt: The trial was interrupted; that is recorded before.
        """
        began = time.monotonic()
        try:
            ending = self._run()
        except KeyboardInterrupt:
            self._record_end(Ending(Reason.INTERRUPTED, valid=False), began)
            raise
        self._record_end(ending, began)
        return ending

    def _run(self) -> Ending:
        try:
            self._prepare()
            self._loop()
        except _End as end:
            return end.ending
        except CrabError as error:
            # Anything of ours that reaches this point was raised outside the agent's own calls.
            self._error("episode", error, "infrastructure")
            return Ending(Reason.ENVIRONMENT_ERROR, valid=False)
        except Exception as error:
            # An environment that breaks its contract must not take the record of the trial with it.
            logging.getLogger(__name__).exception("the trial broke off")
            self._error("episode", error, "infrastructure")
            return Ending(Reason.ENVIRONMENT_ERROR, valid=False)

    def _prepare(self) -> None:
        self._descriptions: dict[str, EnvironmentDescription] = {
            role: environment.describe() for role, environment in self._environments.items()
        }
        for role, environment in self._environments.items():
            began = time.monotonic()
            environment.reset(self._settings.seed, self._settings.start_time, self._task.extra_actions.get(role, ()))
            self._writer.event("reset", environment=role, seconds=_since(began))
        for call in self._task.setup:
            began = time.monotonic()
            self._environments[call.environment].prepare(call.name, call.arguments)
            self._writer.event(
                "prepare",
                environment=call.environment,
                name=call.name,
                arguments=self._writer.large(dict(call.arguments)),
                seconds=_since(began),
            )
        self._tools = ToolBox(self._task, self._descriptions)
        self._start_check()
        self._watch = LimitWatch(self._settings.limits)
        self._guarded("start", lambda: self._agent.start(self._tools.view(self._settings.seed)))

    def _start_check(self) -> None:
        """Refuses a start state in which a first checkpoint is already true, or cannot be told."""
        probes = StepProbes(self._environments, self._writer, step=0)
        for id in self._progress.active:
            verdict = probes.ask(self._task.graph[id])
            if verdict.value is None:
                self._error("start check", CrabError(f"checkpoint {id} is unknown: {verdict.reason}"), "infrastructure")
                raise _End(Reason.EVALUATOR_ERROR, valid=False)
            if verdict.value:
                self._error("start check", CrabError(f"checkpoint {id} is true before the start"), "infrastructure")
                raise _End(Reason.ENVIRONMENT_ERROR, valid=False)

    def _loop(self) -> NoReturn:
        results: tuple[CallResult, ...] = ()
        while True:
            self._stop_at_limit()
            self._turn += 1
            observations = self._observe()
            self._writer.observation(self._turn, observations)
            decision = self._decide(Observations(self._turn, observations, results))
            results = self._carry_out(decision)

    def _observe(self) -> dict[str, Observation]:
        return {role: self._environments[role].observe(self._settings.request) for role in self._task.environments}

    def _decide(self, observations: Observations) -> Decision:
        clocks = [
            self._environments[role]
            for role in self._task.environments
            if self._descriptions[role].provider.time == "real"
        ]
        began = time.monotonic()
        decision = self._guarded("decide", lambda: checked_decision(self._agent.decide(observations)), pausing=clocks)
        self._watch.used(decision.usage)
        self._writer.event(
            "decision",
            turn=self._turn,
            messages=[asdict(message) for message in decision.messages],
            calls=[call_record(call, number) for number, call in enumerate(decision.calls)],
            usage=asdict(decision.usage),
            seconds=_since(began),
        )
        return decision

    def _carry_out(self, decision: Decision) -> tuple[CallResult, ...]:
        if not decision.calls:
            return (self._refuse(_Asked("", ""), no_call(decision.fault)),)
        results: list[CallResult] = []
        for number, call in enumerate(decision.calls):
            asked = _Asked(call_id(call, number), str(getattr(call, "name", "")))
            if results and not results[-1].executed:
                results.append(self._skip(asked))
                continue
            try:
                tool = self._tools.resolve(call)
                results.append(self._act(asked, tool, call))
            except InvalidCall as error:
                results.append(self._refuse(asked, error))
        return tuple(results)

    def _act(self, asked: _Asked, tool: Tool, call: Call) -> CallResult:
        if tool.environment == ROOT and tool.action == "complete":
            self._environments[ROOT].act("complete", call.arguments)
            self._record_action(asked, tool, call, ActResult(), "", 0.0, counted=False)
            raise self._ended(Reason.AGENT_COMPLETE)
        began = time.monotonic()
        result, failure = ActResult(), ""
        try:
            result = self._environments[tool.environment].act(tool.action, call.arguments)
        except ActionFailed as error:
            failure = str(error)
        except EnvironmentFailure as error:
            self._died_of(asked, tool, call, error, began)
        self._watch.actions += 1
        self._watch.invalid_in_a_row = 0
        self._let_time_pass(tool.environment, result.duration)
        self._record_action(asked, tool, call, result, failure, _since(began))
        self._check()
        if self._progress.complete:
            raise _End(Reason.SUCCESS)
        if self._root.infeasible is not None:
            raise self._ended(Reason.DECLARED_INFEASIBLE)
        self._stop_at_limit()
        return CallResult(asked.id, tool.name, executed=True, value=result.value, error=failure)

    def _died_of(self, asked: _Asked, tool: Tool, call: Call, error: EnvironmentFailure, began: float) -> None:
        """An environment that dies of an action is the agent's doing, and counts as it stands."""
        self._watch.actions += 1
        self._record_action(asked, tool, call, ActResult(), str(error), _since(began))
        self._error(f"action {tool.action} in {tool.environment}", error, "agent")
        raise _End(Reason.ENVIRONMENT_ERROR)

    def _let_time_pass(self, actor: str, seconds: float) -> None:
        """Advances all clocks; those in real time have lived through an action already, but not through a wait."""
        if seconds <= 0:
            return
        waited = False
        for role in self._task.environments:
            real = self._descriptions[role].provider.time == "real"
            if real and (waited or actor != ROOT):
                continue
            self._environments[role].advance(seconds)
            waited = waited or real

    def _check(self) -> None:
        probes = StepProbes(self._environments, self._writer, self._watch.actions)
        for passed in self._progress.advance(probes.ask, self._watch.actions):
            self._writer.event("pass", step=passed.step, checkpoint=passed.checkpoint, implied_by=passed.implied_by)

    def _stop_at_limit(self) -> None:
        reason = self._watch.reached()
        if reason is not None:
            raise self._ended(reason)

    def _ended(self, reason: Reason) -> _End:
        """Makes the end check and returns the ending it leaves."""
        self._check()
        for _ in range(END_CHECKS):
            if not self._progress.unknown:
                break
            self._check()
        if self._progress.complete:
            return _End(Reason.SUCCESS)
        if self._progress.unknown:
            id, why = self._progress.unknown[0]
            self._error("end check", CrabError(f"checkpoint {id} stays unknown: {why}"), "infrastructure")
            return _End(Reason.EVALUATOR_ERROR, valid=False)
        return _End(reason)

    def _refuse(self, asked: _Asked, error: InvalidCall) -> CallResult:
        self._watch.invalid_in_a_row += 1
        self._writer.event(
            "invalid_call",
            turn=self._turn,
            call=asked.id,
            name=asked.name,
            reason=error.reason,
            message=str(error),
        )
        return CallResult(asked.id, asked.name, executed=False, error=str(error))

    def _skip(self, asked: _Asked) -> CallResult:
        message = "not carried out, because an earlier call of this turn was refused"
        self._writer.event(
            "invalid_call", turn=self._turn, call=asked.id, name=asked.name, reason="skipped", message=message
        )
        return CallResult(asked.id, asked.name, executed=False, error=message)

    def _record_action(
        self,
        asked: _Asked,
        tool: Tool,
        call: Call,
        result: ActResult,
        failure: str,
        seconds: float,
        *,
        counted: bool = True,
    ) -> None:
        self._writer.event(
            "action",
            step=self._watch.actions,
            turn=self._turn,
            call=asked.id,
            environment=tool.environment,
            action=tool.action,
            arguments=dict(call.arguments),
            value=result.value,
            error=failure,
            counted=counted,
            duration=result.duration,
            settled=result.settled,
            settle_seconds=round(result.settle_seconds, 4),
            seconds=seconds,
        )

    def _guarded(self, where: str, run: Callable[[], T], pausing: Iterable[Environment] = ()) -> T:
        """Runs agent code: what it raises ends the episode as the agent's error, and time stops it.

        A model that does not answer, or not in time, is not the agent's error. The clocks of `pausing` stand meanwhile,
        and run again before the end check asks anything.
        """
        with _paused(pausing):
            try:
                with self._watch.interrupting():
                    return run()
            except (TimeUp, ModelError) as end:
                trouble = end.__cause__ if isinstance(end, TimeUp) else end
                if isinstance(trouble, ModelError):
                    self._error(where, trouble, "infrastructure")
                    hopeless = str(trouble) if isinstance(trouble, ModelRejected) else ""
                    raise _End(Reason.ENVIRONMENT_ERROR, valid=False, hopeless=hopeless) from None
                reason = Reason.TIME_LIMIT
            except (Exception, SystemExit) as error:  # noqa: BLE001  whatever an agent raises is the agent's error
                self._error(where, error, "agent")
                reason = Reason.AGENT_ERROR
        raise self._ended(reason)

    def _error(self, where: str, error: BaseException, blame: str) -> None:
        self._writer.event("error", where=where, type=type(error).__name__, message=str(error), blame=blame)

    def _record_end(self, ending: Ending, began: float) -> None:
        if ending.valid:
            self._look_after_the_end()
        self._writer.event("trial_end", reason=ending.reason, valid=ending.valid, seconds=_since(began))

    def _look_after_the_end(self) -> None:
        try:
            self._writer.observation(0, self._observe())
        except CrabError as error:
            # The result stands; only the last picture is missing.
            self._error("last look", error, "infrastructure")


@dataclass(frozen=True)
class _Asked:
    """What the agent called a call: its id within the turn, and the tool's name."""

    id: str
    name: str


@contextmanager
def _paused(environments: Iterable[Environment]) -> Iterator[None]:
    stopped: list[Environment] = []
    try:
        for environment in environments:
            environment.pause()
            stopped.append(environment)
        yield
    finally:
        for environment in stopped:
            environment.resume()


def _since(began: float) -> float:
    return round(time.monotonic() - began, 4)
