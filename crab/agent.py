"""The agent contract: told a task, shown observations, answering with decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from crab.errors import InvalidCall
from crab.observation import Observations


@dataclass(frozen=True)
class Tool:
    """One callable of the flat tool list.

    Attributes:
        name: ``action`` where the task has one device, ``environment__action`` otherwise and for none of root's.
        environment: Role of the environment it acts on, or ``root``.
        action: Name of the action there.
        schema: OpenAI function form, under `name`.
    """

    name: str
    environment: str
    action: str
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class TaskView:
    """All an agent is told about its task; it holds no answer.

    Attributes:
        description: The task in words.
        environments: Description of each environment by role.
        tools: The flat tool list.
        seed: For agents that draw random numbers.
    """

    description: str
    environments: Mapping[str, str]
    tools: tuple[Tool, ...]
    seed: int = 0


@dataclass(frozen=True)
class Call:
    """One call of a tool.

    Attributes:
        name: Name of the tool.
        arguments: JSON values by parameter.
        id: Unique within the decision; made up when empty.
        problem: Why it is no call, where the agent could not make one of what its model sent: it is refused, and the
            calls after it are left out. Words refuse it as malformed, an error as what that says.
        asked: The arguments as the model gave them, where they were turned into the device's (see
            `crab.perception.grounding`); None where they are the same. Kept in the record.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    problem: str | InvalidCall = ""
    asked: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Message:
    """Something said on the way to a decision, for the record.

    Attributes:
        sender: Which of the agent's parts said it.
        text: What it said.
        recipient: To whom; empty for everybody.
        kind: ``text`` for what was said, ``reasoning`` for what was thought.
    """

    sender: str
    text: str
    recipient: str = ""
    kind: Literal["text", "reasoning"] = "text"


@dataclass(frozen=True)
class Usage:
    """Tokens and money of one decision; all counts are at least 0.

    Attributes:
        input: Input tokens that were not cached.
        cache_read: Input tokens read from a cache.
        cache_write: Input tokens written to a cache.
        output: Output tokens, reasoning included.
        reasoning: Part of `output` that was reasoning.
        cost: US dollars, or None when unknown.
        model_calls: Number of requests to a model.
    """

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0
    cost: float | None = None
    model_calls: int = 0

    @property
    def total(self) -> int:
        """All input and output tokens, cached and reasoning included."""
        return self.input + self.cache_read + self.cache_write + self.output


Fault = Literal["", "refusal", "cut_off", "no_answer"]
"""Why a decision holds no call: no reason known, the model declined, ran out of output tokens, or said nothing."""


@dataclass(frozen=True)
class Decision:
    """What an agent wants done.

    Attributes:
        calls: Carried out in order; an empty tuple is an invalid call, since it does nothing.
        messages: What was said and thought.
        usage: What it took.
        fault: Why there is no call, which records tell apart; of no meaning where there is one.
    """

    calls: tuple[Call, ...]
    messages: tuple[Message, ...] = ()
    usage: Usage = field(default_factory=Usage)
    fault: Fault = ""


class Agent(Protocol):
    """Anything that decides. Made anew for each trial; every implementation passes ``crab.testing.agent``.

    A class whose decisions depend on more files than its own, such as prompts, may list their paths in a class
    attribute ``files``: a run that is continued notices when they have changed. A class that needs a privileged track,
    such as the accessibility tree, may say so by a static method ``tracks``, which is given the agent's settings and
    returns the names of tracks: they are switched on for its trials, and their records name them.
    """

    name: str
    """Readable; in records and tables."""

    def start(self, view: TaskView) -> None:
        """Begins a task."""

    def decide(self, observations: Observations) -> Decision:
        """Decides what to do next, given what is to be seen and what became of the last calls."""

    def close(self) -> None:
        """Frees what the agent holds; safe to call twice."""
