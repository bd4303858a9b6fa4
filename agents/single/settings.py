"""What can be set about the single agent."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from crab.errors import UsageError
from crab.models.chat import ToolChoice
from crab.models.openai_chat import BASE_URL, ChatSettings
from crab.models.retry import RetryPolicy
from crab.perception.sources import MarkSource


class SingleSettings(BaseModel):
    """Settings of the single agent. They are recorded, so none of them is a key.

    Attributes:
        model: Name of the model, as its endpoint knows it.
        base_url: Address of the endpoint, up to and without ``/chat/completions``.
        api_key_env: Name of the environment variable that holds the key; null for an endpoint without keys.
        temperature: None leaves it to the endpoint.
        max_tokens: Bound on one answer, reasoning included; None leaves it to the endpoint.
        send_seed: Whether the trial's seed is sent; some endpoints refuse it.
        tool_choice: ``required`` forces a call in each answer, where the endpoint can.
        calls: Whether all calls of an answer are carried out, or only the first.
        marks: What is marked with numbers on the pictures, to be named in place of a point: what the screenshot alone
            shows, what the accessibility tree knows (a privileged track), both, or nothing.
        images: Pictures in one request, at most; those of the present turn are always sent.
        timeout: Seconds one request may take.
        attempts: Requests in all when an endpoint fails or asks to wait.
        extra_body: Further fields of every request.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    model: str = Field(min_length=1)
    base_url: str = BASE_URL
    api_key_env: str | None = "OPENAI_API_KEY"
    temperature: float | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=1)
    send_seed: bool = False
    tool_choice: ToolChoice | None = None
    calls: Literal["all", "first"] = "all"
    marks: MarkSource = "visual"
    images: int = Field(default=4, ge=1)
    timeout: float = Field(default=120.0, gt=0)
    attempts: int = Field(default=6, ge=1)
    extra_body: dict[str, Any] = Field(default_factory=dict)

    def chat(self) -> ChatSettings:
        """Returns the part that the model's client needs.

        Raises:
            UsageError: It cannot work, for example because the address is none.
        """
        return ChatSettings(
            model=self.model,
            base_url=self.base_url,
            api_key_env=self.api_key_env,
            timeout=self.timeout,
            retry=RetryPolicy(attempts=self.attempts),
            extra_body=self.extra_body,
        )


def read_settings(settings: dict[str, Any]) -> SingleSettings:
    """Returns checked settings.

    Raises:
        UsageError: Naming the first setting that is missing, unknown or wrong; its value is not repeated.
    """
    try:
        return SingleSettings(**settings)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = ".".join(map(str, first["loc"]))
        problems = {"missing": "is missing", "extra_forbidden": "is no setting"}
        problem = problems.get(first["type"]) or f"{first['msg'][:1].lower()}{first['msg'][1:]}"
        known = ", ".join(SingleSettings.model_fields)
        raise UsageError(f"single.{name}: {problem}; settings are: {known}") from None
