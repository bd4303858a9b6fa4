"""Any server that speaks OpenAI's chat completions, through the ``openai`` package."""

from __future__ import annotations

import json
import logging
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from crab.errors import ContextExceeded, ModelError, ModelRejected, ModelUnavailable, RateLimited, UsageError
from crab.models.chat import ModelRequest, ModelResponse
from crab.models.openai_wire import read_response, request_body
from crab.models.retry import Retrier, RetryPolicy, Sleep
from crab.models.secrets import read_key, scrub

if TYPE_CHECKING:
    import openai

BASE_URL = "https://api.openai.com/v1"
"""Where requests go when nothing else is said."""

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})

TOO_LONG = ("context_length_exceeded", "context length", "context window", "maximum context", "prompt is too long")
"""How servers say that a request is too long."""

FILTERED = frozenset({"content_filter", "content_policy_violation"})
"""Codes of a request that was declined for what it says, which is a refusal and no fault of the request's form."""

SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""Codes of an empty account; waiting does not fill it."""

PASSING = frozenset({408, 409, 425})
"""Statuses below 500 that may be another one on the next try."""

SETTINGS: Mapping[int, str] = {
    400: "check the model's settings against what this endpoint takes",
    401: "the key in the variable that `api_key_env` names is not accepted; check it and `base_url`",
    402: "the account has no credit left",
    403: "the key in the variable that `api_key_env` names may not use this model; check it and `model`",
    404: "check `model` and `base_url`",
}
"""What to look at, by status."""


@dataclass(frozen=True)
class ChatSettings:
    """Where a model is and how it is asked; holds no key, so it can be recorded as it is.

    Attributes:
        model: Its name, as the endpoint knows it.
        base_url: Address up to and without ``/chat/completions``.
        api_key_env: Name of the environment variable that holds the key; None for an endpoint without keys.
        timeout: Seconds one request may take to answer.
        retry: When a failed request is made again.
        extra_body: Further fields of every request, over all others.
    """

    model: str
    base_url: str = BASE_URL
    api_key_env: str | None = "OPENAI_API_KEY"
    timeout: float = 120.0
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    extra_body: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.model:
            raise UsageError("model: name the model, as its endpoint knows it")
        address = urlsplit(self.base_url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise UsageError(f"base_url: {scrub_address(self.base_url)!r} is no http:// or https:// address")
        if address.username or address.password or address.query:
            raise UsageError("base_url must hold no password and no query, since settings are recorded")
        if self.timeout <= 0 or self.retry.attempts < 1:
            raise UsageError("timeout must be more than 0 seconds, and attempts at least 1")


class OpenAIChat:
    """A model behind an endpoint of chat completions; see `crab.models.chat.Model`.

    Making one reads no key and opens no connection; both happen with the first request.

    Args:
        settings: Where it is and how it is asked.
        sleep: Waits between two requests.
        seed: Of the waits' jitter.
    """

    def __init__(self, settings: ChatSettings, *, sleep: Sleep = time.sleep, seed: int = 0) -> None:
        self.name = settings.model
        self.settings = settings
        self._retrier = Retrier(settings.retry, sleep, random.Random(seed))
        self._client: openai.OpenAI | None = None
        self._key = ""

    def check(self) -> None:
        """Looks whether the first request could be sent.

        Raises:
            UsageError: The ``openai`` package or the key is missing.
        """
        _import_openai()
        self._read_key()

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Asks the model; see `crab.models.chat.Model`.

        Raises:
            UsageError: The ``openai`` package or the key is missing.
        """
        body = {**request_body(self.settings.model, request), **self.settings.extra_body}
        return self._retrier.run(lambda: self._ask(body))

    def close(self) -> None:
        """Frees the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _read_key(self) -> str:
        variable = self.settings.api_key_env
        return "" if variable is None else read_key(variable, "api_key_env")

    def _connected(self) -> openai.OpenAI:
        if self._client is None:
            sdk = _import_openai()
            self._key = self._read_key()
            # A proxy is no way to this machine.
            direct = urlsplit(self.settings.base_url).hostname in LOOPBACK
            self._client = sdk.OpenAI(
                api_key=self._key or "none",
                base_url=self.settings.base_url,
                timeout=self.settings.timeout,
                max_retries=0,
                http_client=sdk.DefaultHttpxClient(trust_env=False) if direct else None,
            )
        return self._client

    def _ask(self, body: Mapping[str, Any]) -> ModelResponse:
        """Makes one request."""
        client = self._connected()
        sdk = _import_openai()
        # Handed over as they are, since servers know fields that the package does not.
        rest = {name: value for name, value in body.items() if name not in ("model", "messages")}
        try:
            answer = client.chat.completions.with_raw_response.create(
                model=body["model"], messages=body["messages"], extra_body=rest
            )
        except sdk.APIStatusError as error:
            if error.code in FILTERED:
                return ModelResponse(self._shown(_message_of(error.body)), stop_reason="refusal")
            # Tracebacks would show what the endpoint said before it is cleaned.
            raise self._refused(error) from None
        except sdk.APITimeoutError:
            where = self.settings.base_url
            raise ModelUnavailable(f"{where} did not answer within {self.settings.timeout:g} s") from None
        except sdk.APIConnectionError as error:
            cause = self._shown(str(error.__cause__ or error))
            fix = "check `base_url`, and that the server runs"
            raise ModelUnavailable(f"{self.settings.base_url} cannot be reached: {cause}", fix=fix) from None
        return self._read(answer.content)

    def _read(self, content: bytes) -> ModelResponse:
        try:
            raw = json.loads(content)
        except (ValueError, RecursionError):
            raw = None
        if not isinstance(raw, dict):
            start = self._shown(content[:80].decode("utf-8", "replace"))
            raise ModelUnavailable(
                f"{self.settings.base_url} answered no JSON object: {start!r}", fix="check `base_url`"
            )
        response = read_response(raw)
        if response.usage.total == 0:
            logging.getLogger(__name__).warning("%s does not say how many tokens it used", self.settings.base_url)
        return response

    def _refused(self, error: openai.APIStatusError) -> ModelError | ContextExceeded:
        """Says whose trouble a status is, and whether asking again can help."""
        status, said = error.status_code, self._shown(_message_of(error.body))
        message = f"{self.settings.base_url}, model {self.settings.model!r}, answered {status}: {said or 'nothing'}"
        after = retry_after(error.response.headers)
        if status == 429 and error.code not in SPENT:
            return RateLimited(message, retry_after=after)
        if status >= 500 or status in PASSING:
            return ModelUnavailable(message, retry_after=after)
        if status in (400, 413, 422) and any(sign in f"{error.code} {said}".lower() for sign in TOO_LONG):
            return ContextExceeded(f"{message}; show fewer pictures, or take a model that reads more")
        return ModelRejected(message, fix=SETTINGS.get(402 if status == 429 else status, SETTINGS[400]))

    def _shown(self, text: str) -> str:
        return " ".join(scrub(text, self._key).split())[:400]


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Returns how many seconds an answer asks to wait, or None; a date is read against the answer's own date."""
    from email.utils import parsedate_to_datetime

    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        asked, now = (parsedate_to_datetime(headers.get(name, "")) for name in ("retry-after", "date"))
        return max(0.0, (asked - now).total_seconds())
    except (TypeError, ValueError):
        return None


def scrub_address(address: str) -> str:
    """Returns an address without what stands before an ``@``."""
    before, at, after = address.rpartition("@")
    return f"…@{after}" if at and before else address


def _message_of(body: object) -> str:
    """What an endpoint says is wrong, in any of the shapes that are about."""
    for name in ("error", "message", "detail"):
        if isinstance(body, Mapping) and name in body:
            return _message_of(body[name])
    return body if isinstance(body, str) else "" if body is None else json.dumps(body, default=str)


def _import_openai() -> Any:
    try:
        import openai
    except ImportError as error:
        raise UsageError("models over chat completions need the extra `openai`: pip install 'crab-eval[openai]'") from (
            error
        )
    return openai
