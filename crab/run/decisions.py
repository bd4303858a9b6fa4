"""What an agent handed back, checked before it is used: a foreign agent may return anything."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args

from crab.agent import Decision, Fault, Message, Usage
from crab.errors import DefinitionError, MalformedCall

NO_CALL: Mapping[Fault, str] = {
    "": "the decision holds no call; call a tool, or complete to end the task",
    "refusal": "the answer was a refusal and held no call; call a tool, or declare_infeasible to give up",
    "cut_off": "the answer was cut off before it held a call; answer more briefly, and call a tool",
    "no_answer": "the answer was empty; call a tool, or complete to end the task",
}
"""What an agent is told whose decision holds no call, by the reason it gives."""


def checked_decision(decision: object) -> Decision:
    """Returns the decision when its parts are what their annotations say; single calls are checked by the tool box.

    Raises:
        DefinitionError: It is no `Decision`, or its calls, messages or usage are something else.
    """
    if not isinstance(decision, Decision):
        raise DefinitionError(f"the agent returned {type(decision).__name__}, not a Decision")
    calls: object = decision.calls
    if not isinstance(calls, tuple | list):
        raise DefinitionError(f"the decision's calls are {type(calls).__name__}, not a tuple of Call")
    messages: object = decision.messages
    if not isinstance(messages, tuple | list) or not all(_is_message(message) for message in messages):
        raise DefinitionError("the decision's messages are not a tuple of Message made of text")
    usage: object = decision.usage
    if not isinstance(usage, Usage):
        raise DefinitionError(f"the decision's usage is {type(usage).__name__}, not Usage")
    for field in fields(usage):
        value = getattr(usage, field.name)
        if not _is_amount(value, fraction=field.name == "cost"):
            raise DefinitionError(f"the decision's usage.{field.name} is {value!r}; it is a number of at least 0")
    if decision.fault not in get_args(Fault):
        raise DefinitionError(f"the decision's fault is {decision.fault!r}; it is one of {get_args(Fault)}")
    return decision


def no_call(fault: Fault) -> MalformedCall:
    """Returns the refusal of a decision without a call, recorded under the reason the agent gives."""
    refusal = MalformedCall(NO_CALL[fault])
    refusal.reason = fault or MalformedCall.reason
    return refusal


def call_id(call: object, number: int) -> str:
    """Returns the id of the call with that number (from 0) in its decision, made up when it has none."""
    return str(getattr(call, "id", "")) or f"call_{number + 1}"


def call_record(call: object, number: int) -> dict[str, object]:
    """Returns a call as an event holds it; arguments that are not JSON are kept as they are printed."""
    asked = getattr(call, "asked", None)
    return {
        "id": call_id(call, number),
        "name": str(getattr(call, "name", "")),
        "arguments": _arguments_record(getattr(call, "arguments", None)),
        **({} if asked is None else {"asked": _arguments_record(asked)}),
    }


def _arguments_record(arguments: object) -> object:
    return dict(arguments) if isinstance(arguments, Mapping) and _is_json(arguments) else repr(arguments)


def _is_message(message: object) -> bool:
    return isinstance(message, Message) and all(
        isinstance(getattr(message, part.name), str) for part in fields(Message)
    )


def _is_amount(value: Any, *, fraction: bool) -> bool:
    if fraction:
        return value is None or (type(value) in (int, float) and math.isfinite(value) and value >= 0)
    return type(value) is int and value >= 0


def _is_json(arguments: Mapping[Any, Any]) -> bool:
    try:
        json.dumps(dict(arguments), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return all(isinstance(name, str) for name in arguments)
