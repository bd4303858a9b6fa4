"""The chat-completions format: what is written, and what is read of whatever comes back."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crab.models.chat import ChatMessage, Image, ModelRequest, Text, ToolCall
from crab.models.openai_wire import read_response, read_usage, request_body

TOOL = {"type": "function", "function": {"name": "wait", "parameters": {"type": "object", "properties": {}}}}


def answer(message: Any, finish_reason: str = "stop", **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": finish_reason}], **more}


def called(arguments: Any, name: Any = "wait", id: Any = "a") -> dict[str, Any]:
    return {
        "role": "assistant",
        "tool_calls": [{"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}],
    }


def test_a_request_is_written_as_the_format_says() -> None:
    """Texts are strings, pictures are data URLs of their own type, calls and results belong together by id."""
    request = ModelRequest(
        messages=(
            ChatMessage("system", (Text("Do it."),)),
            ChatMessage("user", (Text("Screen:"), Image(b"\x89PNG", "image/png"), Image(b"\xff\xd8", "image/jpeg"))),
            ChatMessage("assistant", (), (ToolCall("a", "wait", {"seconds": 1}),)),
            ChatMessage("tool", (Text("Done."),), call_id="a"),
        ),
        tools=(TOOL,),
        tool_choice="required",
        temperature=0.0,
        max_tokens=50,
        seed=3,
    )

    body = request_body("some-model", request)

    pictures = [part["image_url"]["url"] for part in body["messages"][1]["content"][1:]]
    assert body["messages"][0] == {"role": "system", "content": "Do it."}
    assert pictures == [
        "data:image/png;base64," + base64.b64encode(b"\x89PNG").decode(),
        "data:image/jpeg;base64," + base64.b64encode(b"\xff\xd8").decode(),
    ]
    assert body["messages"][2]["tool_calls"][0]["function"] == {"name": "wait", "arguments": '{"seconds": 1}'}
    assert body["messages"][3] == {"role": "tool", "content": "Done.", "tool_call_id": "a"}
    assert {name: body[name] for name in ("model", "tools", "tool_choice", "temperature", "seed")} == {
        "model": "some-model",
        "tools": [TOOL],
        "tool_choice": "required",
        "temperature": 0.0,
        "seed": 3,
    }
    assert body["max_completion_tokens"] == 50


def test_what_is_left_open_is_not_sent() -> None:
    """Endpoints refuse fields they do not know, so only what was asked for is sent; no tool choice without tools."""
    body = request_body("m", ModelRequest((ChatMessage("user", (Text("Hi"),)),), tool_choice="auto"))

    assert set(body) == {"model", "messages"}


def test_malformed_calls_do_not_come_back_malformed() -> None:
    """Names and arguments that break an endpoint's rules are not sent to it again, and half characters are replaced."""
    call = ToolCall("a", "click the\ud800 button!", {}, problem="the arguments are not JSON")
    messages = (
        ChatMessage("assistant", (Text("Hm\ud800"),), (call,)),
        ChatMessage("assistant", (), (ToolCall("b", ""),)),
    )

    first, second = request_body("m", ModelRequest(messages))["messages"]

    assert first["tool_calls"][0]["function"] == {"name": "click_the__button_", "arguments": "{}"}
    assert second["tool_calls"][0]["function"]["name"] == "unnamed"
    json.dumps(first, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("raw", "stop_reason"),
    [
        (answer({"content": "Done."}), "stop"),
        (answer({"content": "Fir"}, "length"), "length"),
        (answer({"content": None}, "length"), "length"),
        (answer(called("{}"), "tool_calls"), "tool_calls"),
        (answer({"content": None, "refusal": "No."}), "refusal"),
        (answer({"content": None}, "content_filter"), "refusal"),
        (answer({"content": None}), "no_answer"),
        (answer({"content": "x"}, "flux"), "other"),
        ({"choices": []}, "no_answer"),
        ({"choices": None}, "no_answer"),
        ({"choices": ["x"]}, "no_answer"),
        ({"choices": [{}]}, "no_answer"),
        ({}, "no_answer"),
    ],
)
def test_every_answer_has_a_reason_to_stop(raw: dict[str, Any], stop_reason: str) -> None:
    """Refused, cut off, nothing said: told apart."""
    assert read_response(raw).stop_reason == stop_reason


@pytest.mark.parametrize(
    ("arguments", "read", "problem"),
    [
        ('{"seconds": 1}', {"seconds": 1}, ""),
        ({"seconds": 1}, {"seconds": 1}, ""),
        ("", {}, ""),
        (None, {}, ""),
        ('{"seconds": 1', {}, "not JSON"),
        ('{"seconds": NaN}', {}, "not JSON"),
        ('{"seconds": 1e999}', {}, "not JSON"),
        ("[" * 100_000, {}, "not JSON"),
        ("[1]", {}, "no JSON object"),
        (7, {}, "no JSON object"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_arguments_are_read_or_their_problem_is_told(arguments: Any, read: dict[str, Any], problem: str) -> None:
    """Arguments that are no JSON object leave a call with its problem, not an exception."""
    (call,) = read_response(answer(called(arguments))).calls

    assert (call.name, call.arguments) == ("wait", read)
    assert problem in call.problem
    assert bool(problem) == bool(call.problem)


def test_calls_have_ids_of_their_own() -> None:
    """Ids that are missing or given twice are replaced, so that each call has one result."""
    entries = [called("{}", id=id)["tool_calls"][0] for id in ("a", "a", None, "", 3)]

    ids = [call.id for call in read_response(answer({"tool_calls": [*entries, "no call", {}]})).calls]

    assert ids[0] == "a"
    assert len(set(ids)) == 7
    assert all(ids)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thoughts_are_found_where_servers_put_them(field: str) -> None:
    assert read_response(answer({"content": "x", field: "Let me see."})).reasoning == "Let me see."


def test_usage_is_normalised() -> None:
    """Cached and written tokens are taken out of the input; the sum stays what the endpoint counted."""
    usage = read_usage(
        {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
            "completion_tokens_details": {"reasoning_tokens": 5},
            "cost": 0.25,
        }
    )

    assert (usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning) == (30, 60, 10, 20, 5)
    assert (usage.total, usage.cost, usage.model_calls) == (120, 0.25, 1)


def test_thoughts_counted_apart_are_added_to_the_output() -> None:
    """Some servers leave reasoning out of the output and count it in the total only; tokens are not lost."""
    usage = read_usage(
        {
            "prompt_tokens": 10,
            "completion_tokens": 2,
            "total_tokens": 19,
            "completion_tokens_details": {"reasoning_tokens": 7},
        }
    )

    assert (usage.output, usage.reasoning, usage.total) == (9, 7, 19)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["choices", "usage"]), JSON), JSON, JSON, JSON)
def test_no_answer_breaks_the_reader(rest: dict[str, Any], message: Any, calls: Any, usage: Any) -> None:
    """Whatever JSON an endpoint sends is read as an answer with sound usage."""
    for raw in (rest, answer(message, usage=usage), answer({"content": message, "tool_calls": calls})):
        response = read_response(raw)
        counts = response.usage
        assert min(counts.input, counts.cache_read, counts.cache_write, counts.output, counts.reasoning) >= 0
        assert counts.reasoning <= counts.output
        assert counts.cost is None or counts.cost >= 0
