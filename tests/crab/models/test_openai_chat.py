"""The client of chat completions against an endpoint on this machine, over real HTTP."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from crab.errors import (
    ContextExceeded,
    CrabError,
    ModelRejected,
    ModelUnavailable,
    RateLimited,
    UsageError,
)
from crab.models.chat import ChatMessage, ModelRequest, Text
from crab.models.openai_chat import ChatSettings, OpenAIChat, retry_after
from crab.models.retry import RetryPolicy
from crab.testing.chat_server import FAULTS, Answer, Body, Broken, Called, ChatServer, Reply, Script, Status

KEY = "sk-test-0123456789abcdef"
REQUEST = ModelRequest((ChatMessage("user", (Text("Hello"),)),))
YES = Answer("Yes.", reasoning="Hm.")
ONCE = RetryPolicy(attempts=1)


@contextmanager
def asked(*replies: Reply, server: dict[str, Any] | None = None, **settings: Any) -> Iterator[tuple[OpenAIChat, Any]]:
    """A model whose endpoint gives these replies, with the list of its waits on the server object."""
    waits: list[float] = []
    with ChatServer(Script(*replies), **(server or {})) as endpoint:
        settings = {"model": "m", "base_url": endpoint.url, "api_key_env": None, **settings}
        model = OpenAIChat(ChatSettings(**settings), sleep=waits.append)
        try:
            yield model, (endpoint, waits)
        finally:
            model.close()


def failure(*replies: Reply, server: dict[str, Any] | None = None, **settings: Any) -> CrabError:
    """How a request to such an endpoint fails."""
    with (
        asked(*replies, server=server, **{"retry": ONCE, **settings}) as (model, _),
        pytest.raises(CrabError) as caught,
    ):
        model.complete(REQUEST)
    return caught.value


def test_an_answer_is_read() -> None:
    """Text, thoughts, calls and tokens of a real exchange."""
    answer = Answer("On it.", (Called("wait", {"seconds": 1}), Called("complete")), reasoning="Hm.")
    with asked(answer, extra_body={"top_k": 4}) as (model, (endpoint, _)):
        response = model.complete(REQUEST)

    assert (response.content, response.reasoning, response.stop_reason) == ("On it.", "Hm.", "tool_calls")
    assert [(call.name, call.arguments) for call in response.calls] == [("wait", {"seconds": 1}), ("complete", {})]
    assert (response.usage.input, response.usage.cache_read, response.usage.total) == (60, 40, 110)
    assert json.loads(endpoint.requests[0]) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hello"}],
        "top_k": 4,
    }


@pytest.mark.parametrize("fault", ["rate_limited", "server_error", "dropped", "truncated_body", "not_json"])
def test_what_may_pass_is_asked_again(fault: str) -> None:
    """After one failure the answer comes, and the endpoint was asked twice."""
    with asked(FAULTS[fault], YES) as (model, (endpoint, waits)):
        assert model.complete(REQUEST).content == "Yes."

    assert len(endpoint.requests) == 2
    assert len(waits) == 1
    assert (waits[0] >= 7) == (fault == "rate_limited"), "Retry-After counts"


def test_an_endpoint_that_never_answers_is_left_in_time() -> None:
    error = failure(Broken("silent"), timeout=0.05)

    assert isinstance(error, ModelUnavailable)
    assert "within 0.05 s" in str(error)


@pytest.mark.parametrize(
    ("reply", "kind", "says"),
    [
        (FAULTS["rate_limited"], RateLimited, "429"),
        (Status(429, "You exceeded your quota", "insufficient_quota"), ModelRejected, "no credit"),
        (FAULTS["server_error"], ModelUnavailable, "500"),
        (FAULTS["dropped"], ModelUnavailable, "cannot be reached"),
        (FAULTS["truncated_body"], ModelUnavailable, "cannot be reached"),
        (FAULTS["not_json"], ModelUnavailable, "no JSON object: '<html>"),
        (Body(b"[]"), ModelUnavailable, "no JSON object"),
        (Status(404, "no such model"), ModelRejected, "check `model` and `base_url`"),
        (Status(403, "not yours"), ModelRejected, "api_key_env"),
        (Status(422, "seed: extra inputs are not permitted"), ModelRejected, "seed: extra inputs"),
        (Status(400, "This model's maximum context length is 8192 tokens"), ContextExceeded, "fewer pictures"),
        (Status(400, "too long", "context_length_exceeded"), ContextExceeded, "fewer pictures"),
    ],
    ids=lambda value: getattr(value, "__name__", None) or repr(value)[:40],
)
def test_each_failure_has_its_class(reply: Reply, kind: type[CrabError], says: str) -> None:
    """Asked to wait, failing for now, refused for good, too long: told apart, with what to do next."""
    error = failure(reply)

    assert type(error) is kind
    assert says in str(error)


def test_nobody_there() -> None:
    """A wrong address is told as that."""
    with ChatServer(Script()) as gone:
        url = gone.url
    model = OpenAIChat(ChatSettings("m", url, None, retry=ONCE))
    with pytest.raises(ModelUnavailable, match="check `base_url`"):
        model.complete(REQUEST)
    model.close()


def test_a_request_declined_for_what_it_says_is_a_refusal() -> None:
    """Some endpoints refuse with an error status; that is an answer, not a failure."""
    with asked(Status(400, "flagged as harmful", "content_filter")) as (model, _):
        response = model.complete(REQUEST)

    assert (response.stop_reason, response.content) == ("refusal", "flagged as harmful")


def test_the_key_is_shown_nowhere(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """With everything logged and an endpoint that repeats the key, it is in no log, message, traceback or repr."""
    import traceback

    monkeypatch.setenv("TEST_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    with asked(Status(500, f"worker failed for {KEY}"), server={"key": KEY}, api_key_env="TEST_KEY") as (model, _):
        model.complete(REQUEST)
        seen = [repr(model), repr(model.settings), repr(vars(model.settings)), str(model)]
    error = failure(server={"key": f"{KEY}2"}, api_key_env="TEST_KEY")
    seen += [str(error), repr(error), *traceback.format_exception(error), caplog.text]

    assert isinstance(error, ModelRejected)
    assert "api_key_env" in str(error)
    assert "worker failed for [key]" in caplog.text
    assert not [text for text in seen if KEY[:10] in text or KEY[-10:] in text]


def test_the_key_is_read_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making a model needs no key; asking it does, and says which variable is missing."""
    monkeypatch.delenv("TEST_KEY", raising=False)
    with asked(YES, server={"key": KEY}, api_key_env="TEST_KEY") as (model, (endpoint, _)):
        with pytest.raises(UsageError, match="TEST_KEY is not set"):
            model.complete(REQUEST)
        assert endpoint.requests == []
        monkeypatch.setenv("TEST_KEY", KEY)
        assert model.complete(REQUEST).content == "Yes."


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"model": ""}, "name the model"),
        ({"base_url": "localhost:8000"}, "no http"),
        ({"base_url": "https://me:secret@example.org/v1"}, "no password"),
        ({"base_url": "https://example.org/v1?key=secret"}, "no query"),
        ({"base_url": "me:secret@example.org"}, "no http"),
        ({"timeout": 0}, "timeout"),
        ({"retry": RetryPolicy(attempts=0)}, "attempts"),
    ],
)
def test_settings_that_cannot_work_are_refused_without_secrets(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        ChatSettings(**{"model": "m", **settings})

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Wed, 01 May 2030 10:00:30 GMT", "date": "Wed, 01 May 2030 10:00:00 GMT"}, 30.0),
        ({"retry-after": "Wed, 01 May 2030 09:00:30 GMT", "date": "Wed, 01 May 2030 10:00:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 01 May 2030 10:00:30 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_without_the_package_the_extra_is_named() -> None:
    """Where ``openai`` is not installed, the message says how to get it; importing our module works all the same."""
    program = (
        "import sys; sys.modules['openai'] = None\n"
        "from crab.models.openai_chat import ChatSettings, OpenAIChat\n"
        "try: OpenAIChat(ChatSettings('m', api_key_env=None)).check()\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert "UsageError" in done.stdout
    assert "crab-eval[openai]" in done.stdout
