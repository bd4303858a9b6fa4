"""The chat-completions format: requests written, answers read leniently, since many servers speak dialects of it."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

from crab.agent import Usage
from crab.models.chat import ChatMessage, Image, ModelRequest, ModelResponse, StopReason, Text, ToolCall

STOP_REASONS: Mapping[str, StopReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "refusal",
}
"""What their ``finish_reason`` is here; anything else is ``other``."""

REASONING_FIELDS = ("reasoning_content", "reasoning")
"""Where servers put what a model thought; the format itself has no place for it."""


def request_body(model: str, request: ModelRequest) -> dict[str, Any]:
    """Returns the body of a request; what the request leaves open is left out."""
    body: dict[str, Any] = {"model": model, "messages": [_message(message) for message in request.messages]}
    if request.tools:
        body["tools"] = [dict(tool) for tool in request.tools]
    choices = {
        "tool_choice": request.tool_choice if request.tools else None,
        "temperature": request.temperature,
        "max_completion_tokens": request.max_tokens,
        "seed": request.seed,
    }
    return body | {name: value for name, value in choices.items() if value is not None}


def read_response(raw: Mapping[str, Any]) -> ModelResponse:
    """Reads the body of an answer; nothing that it holds or lacks is an error."""
    usage = read_usage(raw.get("usage"))
    choice = _first(raw.get("choices"))
    message = choice.get("message")
    if not isinstance(message, Mapping):
        return ModelResponse("", usage=usage, stop_reason="no_answer", raw=raw)
    calls = _calls(message.get("tool_calls"))
    content, refusal = _text(message.get("content")), _text(message.get("refusal"))
    reasoning = next((text for name in REASONING_FIELDS if (text := _text(message.get(name)))), "")
    stop = STOP_REASONS.get(str(choice.get("finish_reason")), "other")
    if refusal and not calls:
        stop = "refusal"
    elif not calls and not content and stop in ("stop", "tool_calls", "other"):
        stop = "no_answer"
    return ModelResponse(refusal or content, reasoning, calls, usage, stop, raw)


def read_usage(raw: object) -> Usage:
    """Returns the tokens of one answer; counts that are missing or no counts are 0.

    Their input includes what was cached. Their output includes what was thought, except where the total says otherwise.
    """
    if not isinstance(raw, Mapping):
        return Usage(model_calls=1)
    given = _count(raw, "prompt_tokens")
    details, thoughts = raw.get("prompt_tokens_details"), raw.get("completion_tokens_details")
    read = min(_count(details, "cached_tokens"), given)
    written = min(_count(details, "cache_write_tokens"), given - read)
    output, reasoning = _count(raw, "completion_tokens"), _count(thoughts, "reasoning_tokens")
    if reasoning and _count(raw, "total_tokens") == given + output + reasoning:
        output += reasoning
    cost: Any = raw.get("cost")
    return Usage(
        input=given - read - written,
        cache_read=read,
        cache_write=written,
        output=output,
        reasoning=min(reasoning, output),
        cost=float(cost) if type(cost) in (int, float) and 0 <= cost < float("inf") else None,
        model_calls=1,
    )


def data_url(image: Image) -> str:
    """Returns a picture as a URL that holds it."""
    return f"data:{image.media_type};base64,{base64.b64encode(image.data).decode('ascii')}"


def _message(message: ChatMessage) -> dict[str, Any]:
    parts = [_part(part) for part in message.parts]
    written: dict[str, Any] = {"role": message.role}
    if all(isinstance(part, Text) for part in message.parts):
        # The plain form is the one that every server knows.
        written["content"] = "\n".join(part["text"] for part in parts)
    else:
        written["content"] = parts
    if message.calls:
        written["tool_calls"] = [_call(call) for call in message.calls]
        written["content"] = written["content"] or None
    if message.role == "tool":
        written["tool_call_id"] = message.call_id
    return written


def _part(part: Text | Image) -> dict[str, Any]:
    if isinstance(part, Text):
        # Half a surrogate pair, which a device or a model may have written, is no text on any wire.
        return {"type": "text", "text": part.text.encode("utf-8", "replace").decode("utf-8")}
    return {"type": "image_url", "image_url": {"url": data_url(part)}}


def _call(call: ToolCall) -> dict[str, Any]:
    # Servers choke on names and arguments of earlier calls that break their rules, so malformed ones go without.
    arguments = json.dumps(dict(call.arguments))
    name = re.sub(r"[^A-Za-z0-9_-]", "_", call.name)[:64] or "unnamed"
    return {"id": call.id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _first(choices: object) -> Mapping[str, Any]:
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, Mapping) else {}


def _text(content: object) -> str:
    """Text of a string or of a list of text parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [part.get("text") for part in content if isinstance(part, Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _calls(raw: object) -> tuple[ToolCall, ...]:
    calls: list[ToolCall] = []
    for number, entry in enumerate(raw if isinstance(raw, list) else [], start=1):
        given = entry.get("id") if isinstance(entry, Mapping) else None
        id = given if isinstance(given, str) and given and given.isprintable() else f"call_{number}"
        if id in {call.id for call in calls}:
            id = f"call_{number}_{id}"
        calls.append(_read_call(id, entry))
    return tuple(calls)


def _read_call(id: str, entry: object) -> ToolCall:
    function = entry.get("function") if isinstance(entry, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(name, str) or not name:
        return ToolCall(id, "", problem="the call names no function")
    arguments = function.get("arguments")
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        arguments = {}
    problem = ""
    if isinstance(arguments, str):
        text = arguments
        try:
            arguments = json.loads(text)
            # Python reads NaN and infinite numbers, which are no JSON.
            json.dumps(arguments, allow_nan=False)
        except (ValueError, RecursionError) as error:
            arguments, problem = {}, f"the arguments are not JSON ({error}): {text[:200]!r}"
    if not isinstance(arguments, Mapping):
        arguments, problem = {}, f"the arguments are no JSON object: {str(arguments)[:200]!r}"
    return ToolCall(id, name, arguments, problem)


def _count(raw: object, name: str) -> int:
    value = raw.get(name) if isinstance(raw, Mapping) else None
    return value if type(value) is int and value > 0 else 0
