"""The one request and the one response that every chat model takes and gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from crab.agent import Usage

Role = Literal["system", "user", "assistant", "tool"]
ToolChoice = Literal["auto", "required", "none"]

StopReason = Literal["stop", "tool_calls", "length", "refusal", "no_answer", "other"]
"""Why a model stopped: done, calls made, output limit reached, it declined, or it answered nothing at all."""


@dataclass(frozen=True)
class Text:
    """A piece of text in a message."""

    text: str


@dataclass(frozen=True)
class Image:
    """A picture in a message.

    Attributes:
        data: The encoded picture.
        media_type: What it is encoded as, for example ``image/png``.
    """

    data: bytes = field(repr=False)
    media_type: str


@dataclass(frozen=True)
class ToolCall:
    """One call a model made.

    Attributes:
        id: Unique within its answer, never empty.
        name: Name of the tool, as the model wrote it.
        arguments: By parameter; empty when `problem` says why they could not be read.
        problem: Empty, or one line on why this is no call, for example arguments that are not JSON.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True)
class ChatMessage:
    """One message of a conversation.

    Attributes:
        role: Who speaks. Only ``user`` messages may hold images.
        parts: Texts and images, in order.
        calls: Calls of an ``assistant`` message; each is answered by a ``tool`` message.
        call_id: The id of the call that a ``tool`` message answers.
    """

    role: Role
    parts: tuple[Text | Image, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""


@dataclass(frozen=True)
class ModelRequest:
    """What a model is asked.

    Attributes:
        messages: The conversation so far, oldest first.
        tools: What it may call, in the OpenAI function form.
        tool_choice: Whether it may, must or must not call a tool; None leaves it to the endpoint.
        temperature: At least 0; None leaves it to the endpoint.
        max_tokens: Bound on the output, reasoning included; None leaves it to the endpoint.
        seed: For endpoints that take one; None sends none.
    """

    messages: tuple[ChatMessage, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: ToolChoice | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None


@dataclass(frozen=True)
class ModelResponse:
    """What a model answered.

    Attributes:
        content: Its text; its reason when it refused; may be empty.
        reasoning: What it thought, where the endpoint tells.
        calls: The calls it made, in order.
        usage: Tokens and money, normalised.
        stop_reason: Why it stopped.
        raw: The answer as it came, for those who need more.
    """

    content: str
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=lambda: Usage(model_calls=1))
    stop_reason: StopReason = "stop"
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)


class Model(Protocol):
    """A chat model. Making one costs nothing and reaches nothing."""

    name: str
    """As tables show it."""

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Asks the model once, trying again where that helps.

        Raises:
            RateLimited: The endpoint asked to wait, and kept asking.
            ModelUnavailable: It failed in a way that may pass, and kept failing.
            ModelRejected: It refuses what every request would repeat.
            ContextExceeded: The request is longer than the model can read.
        """

    def close(self) -> None:
        """Frees connections; safe to call twice."""
