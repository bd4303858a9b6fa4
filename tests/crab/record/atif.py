"""A strict checker of ATIF 1.8, written from its field rules: what it does not name is refused."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

AGENT_ONLY = ("model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ImageSource(_Strict):
    media_type: Literal["image/jpeg", "image/png", "image/gif", "image/webp"]
    path: str = Field(min_length=1, max_length=300, pattern=r"^[^:]*$")


class Part(_Strict):
    type: Literal["text", "image"]
    text: str | None = None
    source: ImageSource | None = None

    @model_validator(mode="after")
    def holds_what_it_says(self) -> Self:
        if (self.text is None) == (self.type == "text") or (self.source is None) == (self.type == "image"):
            raise ValueError(f"a part of type {self.type} holds exactly that")
        return self


class ToolCall(_Strict):
    tool_call_id: str
    function_name: str
    arguments: dict[str, Any]


class CallOutcome(_Strict):
    source_call_id: str | None = None
    content: str | list[Part] | None = None
    extra: dict[str, Any] | None = None


class StepObservation(_Strict):
    results: list[CallOutcome]


class Metrics(_Strict):
    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    cost_usd: float | None = Field(default=None, ge=0)
    extra: dict[str, Any] | None = None

    @model_validator(mode="after")
    def prompt_includes_the_cache(self) -> Self:
        if self.cached_tokens > self.prompt_tokens:
            raise ValueError("prompt tokens include the cached ones")
        return self


class Step(_Strict):
    step_id: int = Field(ge=1)
    timestamp: str | None = None
    source: Literal["system", "user", "agent"]
    message: str | list[Part]
    model_name: str | None = None
    reasoning_effort: str | float | None = None
    reasoning_content: str | None = None
    tool_calls: list[ToolCall] | None = None
    observation: StepObservation | None = None
    metrics: Metrics | None = None
    llm_call_count: int | None = Field(default=None, ge=0)
    extra: dict[str, Any] | None = None

    @model_validator(mode="after")
    def keeps_the_rules(self) -> Self:
        if self.timestamp is not None:
            datetime.fromisoformat(self.timestamp)
        given = [name for name in AGENT_ONLY if getattr(self, name) is not None]
        if self.source != "agent" and given:
            raise ValueError(f"{given[0]} is for agent steps only")
        if self.source == "agent" and self.llm_call_count == 0 and (self.metrics or self.reasoning_content):
            raise ValueError("without a model call there are no metrics and no reasoning")
        calls = [call.tool_call_id for call in self.tool_calls or ()]
        if len(set(calls)) != len(calls):
            raise ValueError(f"call ids are unique in a step, got {calls}")
        for result in self.observation.results if self.observation else ():
            if result.source_call_id is not None and result.source_call_id not in calls:
                raise ValueError(f"source_call_id {result.source_call_id!r} is no call of this step")
        return self


class AgentPart(_Strict):
    name: str
    version: str
    model_name: str | None = None
    tool_definitions: list[dict[str, Any]] | None = None
    extra: dict[str, Any] | None = None


class FinalMetrics(_Strict):
    total_prompt_tokens: int | None = Field(default=None, ge=0)
    total_completion_tokens: int | None = Field(default=None, ge=0)
    total_cached_tokens: int | None = Field(default=None, ge=0)
    total_cost_usd: float | None = Field(default=None, ge=0)
    total_steps: int | None = Field(default=None, ge=0)
    extra: dict[str, Any] | None = None


class Trajectory(_Strict):
    schema_version: Literal["ATIF-v1.8"]
    session_id: str | None = None
    trajectory_id: str | None = None
    agent: AgentPart
    steps: list[Step] = Field(min_length=1)
    notes: str | None = None
    final_metrics: FinalMetrics | None = None
    extra: dict[str, Any] | None = None

    @model_validator(mode="after")
    def counts_its_steps(self) -> Self:
        if [step.step_id for step in self.steps] != list(range(1, len(self.steps) + 1)):
            raise ValueError("step ids run from 1 without a gap")
        return self

    def pictures(self) -> list[str]:
        """Paths of all pictures, in order."""
        contents = [content for step in self.steps for content in _contents(step)]
        return [part.source.path for parts in contents for part in parts if part.source is not None]


def _contents(step: Step) -> list[list[Part]]:
    results = step.observation.results if step.observation else []
    return [content for content in (step.message, *(result.content for result in results)) if isinstance(content, list)]


def check(document: dict[str, Any], directory: Path) -> Trajectory:
    """Checks a document and that its pictures are files below the directory.

    Raises:
        ValueError: It breaks a rule.
    """
    trajectory = Trajectory.model_validate(document)
    for path in trajectory.pictures():
        if Path(path).is_absolute() or ".." in Path(path).parts or not (directory / path).is_file():
            raise ValueError(f"no picture at {path!r}")
    return trajectory
