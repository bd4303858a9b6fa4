"""The shapes of everything in a run directory.

A run directory holds ``config.json``, ``lock.json``, ``results.jsonl``, ``summary.json``, ``report/`` and
``trials/<agent>/<task>/s<seed>/``. A trial directory holds ``spec.json``, ``status.json``, ``events.jsonl``,
``shots/``, ``trial.log``, the derived ``trajectory.json`` and ``result.json``, and earlier tries in ``attempts/<n>/``.

``events.jsonl`` is the only truth: one JSON object a line, each with ``event`` (its sort), ``n`` (its number from 0)
and ``at`` (seconds since the trial began, on the monotonic clock). `EVENT_FIELDS` lists what else each sort holds.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = 1
"""Of every file in a run directory; grows when a reader of the old version would misread the new one."""

EVENT_FIELDS: dict[str, tuple[str, ...]] = {
    # The trial begins: schema_version, attempt number, wall-clock time in ISO 8601 UTC.
    "trial_start": ("schema_version", "attempt", "time"),
    # An environment is ready; provider and applications as it describes itself.
    "environment_start": ("environment", "provider", "seconds"),
    "reset": ("environment", "seconds"),
    "prepare": ("environment", "name", "arguments", "seconds"),
    # What an agent was shown: {role: {"frames": [{"sha256", "media_type", "width", "height", "time"}],
    # "accessibility": sha256 of a JSON file in shots/ or null}}. `turn` 0 is the look after the end.
    "observation": ("turn", "environments"),
    # What it answered: messages [{"sender", "text", "recipient", "kind"}], calls [{"id", "name", "arguments"}]
    # (and "asked", what the model gave, where perception turned it into the arguments: an element into a point),
    # usage {"input", "cache_read", "cache_write", "output", "reasoning", "cost", "model_calls"}.
    "decision": ("turn", "messages", "calls", "usage", "seconds"),
    # A call that was refused; `reason` is one of unknown_action, wrong_environment, invalid_arguments,
    # malformed_call, skipped (an earlier call of the turn was refused), or, where the whole decision held no call:
    # refusal, cut_off, no_answer.
    "invalid_call": ("turn", "call", "name", "reason", "message"),
    # An executed call; `step` counts from 1; `counted` is false for root's `complete`.
    "action": (
        "step",
        "turn",
        "call",
        "environment",
        "action",
        "arguments",
        "value",
        "error",
        "counted",
        "duration",
        "settled",
        "settle_seconds",
        "seconds",
    ),
    # A probe question and its answer; `error` is empty when it was answered. `step` 0 is the start check.
    "probe": ("step", "checkpoint", "environment", "name", "arguments", "answer", "error", "seconds"),
    # What a checkpoint's evaluator said; `value` is true, false or null (unknown), `memoised` says no probe was asked.
    "check": ("step", "checkpoint", "value", "reason"),
    # A checkpoint passed; `implied_by` names the successor that a transient one passed with.
    "pass": ("step", "checkpoint", "implied_by"),
    # Trouble that ended the trial; `blame` is agent or infrastructure.
    "error": ("where", "type", "message", "blame"),
    "trial_end": ("reason", "valid", "seconds"),
}
"""Fields of each sort of event beside ``event``, ``n`` and ``at``."""


class Reason(StrEnum):
    """Why an episode ended."""

    SUCCESS = "success"
    AGENT_COMPLETE = "agent_complete"
    DECLARED_INFEASIBLE = "declared_infeasible"
    STEP_LIMIT = "step_limit"
    TIME_LIMIT = "time_limit"
    TOKEN_LIMIT = "token_limit"  # noqa: S105  language-model tokens, not a password
    COST_LIMIT = "cost_limit"
    INVALID_ACTION = "invalid_action"
    AGENT_ERROR = "agent_error"
    ENVIRONMENT_ERROR = "environment_error"
    EVALUATOR_ERROR = "evaluator_error"
    INTERRUPTED = "interrupted"


class State(StrEnum):
    """How far a trial is, in ``status.json``."""

    RUNNING = "running"
    DONE = "done"
    INVALID = "invalid"
    INTERRUPTED = "interrupted"


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LimitsSpec(_Document):
    """What ends a trial: executed actions, wall-clock seconds, invalid calls in a row, tokens, US dollars."""

    actions: int = Field(default=30, ge=1)
    seconds: float = Field(default=600.0, gt=0)
    invalid_calls: int = Field(default=5, ge=0)
    tokens: int | None = Field(default=None, ge=1)
    cost: float | None = Field(default=None, gt=0)


class AgentSpec(_Document):
    """The agent of a trial: its id, the reference it was given by, and its settings."""

    id: str
    reference: str
    settings: dict[str, Any] = Field(default_factory=dict)


class EnvironmentSpec(_Document):
    """One environment of a trial: its kind, the reference it was given by, the provider and its options."""

    kind: str
    reference: str
    provider: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)


class CheckpointSpec(_Document):
    """One node of the resolved graph, as the report draws it."""

    id: str
    label: str
    evaluator: str
    environments: tuple[str, ...]
    transient: bool = False


class TaskSpec(_Document):
    """The resolved task of a trial; `document` is the task document it was built from."""

    id: str
    version: int
    description: str
    family: str
    tags: tuple[str, ...] = ()
    document: dict[str, Any]
    checkpoints: tuple[CheckpointSpec, ...]
    edges: tuple[tuple[str, str], ...]


class TrialSpec(_Document):
    """``spec.json``: everything a child process needs to run one trial, and the report needs to show it."""

    schema_version: int = SCHEMA_VERSION
    project: str
    task: TaskSpec
    agent: AgentSpec
    environments: dict[str, EnvironmentSpec]
    seed: int
    start_time: str
    limits: LimitsSpec = LimitsSpec()
    tracks: tuple[str, ...] = ()
    frames_per_second: float | None = None

    @property
    def path(self) -> str:
        """Where the trial lies below the run directory, with forward slashes."""
        return f"trials/{self.agent.id}/{self.task.id}/s{self.seed}"


class Status(_Document):
    """``status.json``, replaced atomically."""

    schema_version: int = SCHEMA_VERSION
    state: State
    attempt: int
    process: int
    """Id of the process that runs or ran it."""


class CheckpointResult(_Document):
    """Whether and when a checkpoint passed; `step` is the number of executed actions then."""

    id: str
    passed: bool
    step: int | None = None
    implied_by: str | None = None


class Result(_Document):
    """``result.json`` and a line of ``results.jsonl``; rebuilt from the events.

    Ratios are null where their denominator is 0. `canonical` leaves out what may differ between two equal runs.
    """

    schema_version: int = SCHEMA_VERSION
    agent: str
    task: str
    seed: int
    family: str
    attempt: int
    reason: Reason
    valid: bool
    success: bool
    completion_ratio: float
    execution_efficiency: float | None
    cost_efficiency: float | None
    actions: int
    turns: int
    invalid_calls: int
    tokens: int
    cost: float | None
    model_calls: int
    seconds: float
    tracks: tuple[str, ...]
    checkpoints: tuple[CheckpointResult, ...]
    error: str = ""

    def canonical(self) -> dict[str, Any]:
        """Returns the result without attempt, wall time and the words of an error."""
        return self.model_dump(mode="json", exclude={"attempt", "seconds", "error"})
