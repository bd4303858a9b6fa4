"""Probes as evaluators see them: recorded, memoised within a step, and handed a deadline."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Mapping
from typing import Any

from crab.environment import Environment
from crab.errors import CrabError, DeadlineExceeded, ProbeFailure
from crab.evaluator import EVALUATION_SECONDS, Probes, ProbeSource, Verdict
from crab.graph import Checkpoint
from crab.record.writer import TrialWriter
from crab.run.limits import TimeUp, ringing_at

HANGING_SECONDS = 2.0
"""How long a checker may overrun its deadline, for a probe on its way back, before it is given up."""


class StepProbes:
    """Answers the questions of one step: a question asked twice is answered once, so all checkpoints see one state.

    Args:
        environments: By role, root included.
        writer: Every question that reaches a device is recorded.
        step: Number of executed actions, for the record.
    """

    def __init__(self, environments: Mapping[str, Environment], writer: TrialWriter, step: int) -> None:
        self._environments = environments
        self._writer = writer
        self._step = step
        self._answers: dict[str, tuple[Any, CrabError | None]] = {}

    def ask(self, checkpoint: Checkpoint) -> Verdict:
        """Answers one checkpoint and records the verdict."""

        def source(role: str, deadline: float) -> Probes:
            return _RoleProbes(self, checkpoint.id, role, deadline)

        verdict = self._within_time(checkpoint, source)
        self._writer.event(
            "check", step=self._step, checkpoint=checkpoint.id, value=verdict.value, reason=verdict.reason
        )
        return verdict

    def _within_time(self, checkpoint: Checkpoint, source: ProbeSource) -> Verdict:
        """Evaluates, and gives up on a checker that hangs: then the answer is unknown."""
        seconds = EVALUATION_SECONDS * checkpoint.evaluator.leaves + HANGING_SECONDS
        try:
            with ringing_at(time.monotonic() + seconds):
                return checkpoint.evaluator.evaluate(source)
        except TimeUp:
            return Verdict(None, f"{checkpoint.evaluator.name}: did not answer within {seconds:g} s")

    def answer(self, checkpoint: str, role: str, deadline: float, name: str, arguments: Mapping[str, Any]) -> Any:
        """Returns the answer to one question, from memory when it was asked before in this step."""
        key = json.dumps([role, name, arguments], sort_keys=True)
        if key not in self._answers:
            self._answers[key] = self._ask_device(checkpoint, role, deadline, name, arguments)
        answer, error = self._answers[key]
        if error is not None:
            raise error
        # Two evaluators must not see each other's changes to one answer.
        return copy.deepcopy(answer)

    def _ask_device(
        self, checkpoint: str, role: str, deadline: float, name: str, arguments: Mapping[str, Any]
    ) -> tuple[Any, CrabError | None]:
        began = time.monotonic()
        answer: Any = None
        error: CrabError | None = None
        try:
            if role not in self._environments:
                raise ProbeFailure(f"the task has no environment {role!r}")
            if deadline <= began:
                raise DeadlineExceeded(f"no time left for probe {name}")
            answer = self._environments[role].probe(name, arguments, deadline - began)
        except CrabError as failure:
            error = failure
        self._writer.event(
            "probe",
            step=self._step,
            checkpoint=checkpoint,
            environment=role,
            name=name,
            arguments=dict(arguments),
            answer=self._writer.large(answer),
            error=f"{type(error).__name__}: {error}" if error else "",
            seconds=round(time.monotonic() - began, 4),
        )
        return answer, error


class _RoleProbes:
    """`crab.evaluator.Probes` of one environment for one leaf."""

    def __init__(self, step: StepProbes, checkpoint: str, role: str, deadline: float) -> None:
        self._step = step
        self._checkpoint = checkpoint
        self._role = role
        self._deadline = deadline

    def probe(self, name: str, /, **arguments: Any) -> Any:
        """Asks one question; see `crab.evaluator.Probes`."""
        return self._step.answer(self._checkpoint, self._role, self._deadline, name, arguments)
