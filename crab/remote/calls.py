"""Verbs on the server's side: what a request may say, and what is done with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from crab.environment import Environment
from crab.errors import DefinitionError, ProbeFailure, RequestRejected
from crab.observation import ObservationRequest
from crab.remote.protocol import (
    LONGEST_CALL,
    Reply,
    encode_act,
    encode_description,
    encode_error,
    encode_observation,
    encode_result,
)
from crab.remote.values import require_json

LARGEST_NUMBER = 2**53
"""Request numbers stay below this, so that they survive in any JSON reader."""


@runtime_checkable
class HasHealth(Protocol):
    """An environment that can tell whether its device lives."""

    def health(self) -> str | None:
        """Returns None when all is well, else one line that says what died."""


@dataclass(frozen=True)
class ServerCall:
    """One request that is well formed.

    Attributes:
        verb: One of `crab.remote.protocol.VERBS`.
        parameters: Its parameters; all there, each of its type.
        session: As the client gave it; not yet known to exist.
        number: The client's number of this request, from 1.
        seconds: How long the client waits for the reply, above 0.
    """

    verb: str
    parameters: Mapping[str, Any]
    session: str
    number: int
    seconds: float

    @property
    def label(self) -> str:
        """The verb and, where it has one, the name of the operation, fit for a message or a log line."""
        name = self.parameters.get("name")
        return self.verb if name is None else f"{self.verb} {name[:64]!r}"


def read_call(verb: str, document: Any) -> ServerCall:
    """Checks what a request says.

    Args:
        verb: A known verb.
        document: The decoded body.

    Raises:
        RequestRejected: Naming what is missing, unknown or of the wrong type.
    """
    fields = _checked(document, _ENVELOPE, "the request")
    parameters = _checked(fields["parameters"], _PARAMETERS[verb], verb)
    return ServerCall(verb, parameters, fields["session"], fields["request"], float(fields["seconds"]))


def perform(environment: Environment, call: ServerCall, seconds: float) -> Reply:
    """Carries out a call on the environment and makes the reply; runs on the device's thread and never raises.

    Args:
        environment: The one that is served.
        call: What to do.
        seconds: What is left of the call's time; handed to a probe.
    """
    try:
        return _PERFORM[call.verb](environment, call.parameters, seconds)
    except BaseException as error:  # noqa: BLE001 - whatever a device raises is an answer, and the thread lives on
        return encode_error(error)


def _describe(environment: Environment, _: Mapping[str, Any], __: float) -> Reply:
    return encode_result(encode_description(environment.describe()))


def _health(environment: Environment, _: Mapping[str, Any], __: float) -> Reply:
    return encode_result(environment.health() if isinstance(environment, HasHealth) else None)


def _reset(environment: Environment, parameters: Mapping[str, Any], _: float) -> Reply:
    environment.reset(parameters["seed"], parameters["start_time"], parameters["extra_actions"])
    return encode_result(None)


def _observe(environment: Environment, parameters: Mapping[str, Any], _: float) -> Reply:
    request = ObservationRequest(parameters["frames_per_second"], parameters["accessibility"])
    observation = environment.observe(request)
    try:
        return encode_observation(observation)
    except ValueError as error:
        raise DefinitionError(f"the observation cannot be sent: {error}") from error


def _act(environment: Environment, parameters: Mapping[str, Any], _: float) -> Reply:
    name = parameters["name"]
    return encode_act(name, environment.act(name, parameters["arguments"]))


def _probe(environment: Environment, parameters: Mapping[str, Any], seconds: float) -> Reply:
    name = parameters["name"]
    answer = environment.probe(name, parameters["arguments"], seconds)
    try:
        require_json(answer)
        return encode_result(answer)
    except ValueError as error:
        raise ProbeFailure(f"probe {name}: what it answered is not JSON: {error}") from error


def _prepare(environment: Environment, parameters: Mapping[str, Any], _: float) -> Reply:
    environment.prepare(parameters["name"], parameters["arguments"])
    return encode_result(None)


def _advance(environment: Environment, parameters: Mapping[str, Any], _: float) -> Reply:
    environment.advance(parameters["seconds"])
    return encode_result(None)


def _pause(environment: Environment, _: Mapping[str, Any], __: float) -> Reply:
    environment.pause()
    return encode_result(None)


def _resume(environment: Environment, _: Mapping[str, Any], __: float) -> Reply:
    environment.resume()
    return encode_result(None)


def _close(environment: Environment, _: Mapping[str, Any], __: float) -> Reply:
    environment.close()
    return encode_result(None)


_PERFORM: Mapping[str, Callable[[Environment, Mapping[str, Any], float], Reply]] = {
    "describe": _describe,
    "reset": _reset,
    "observe": _observe,
    "act": _act,
    "advance": _advance,
    "pause": _pause,
    "resume": _resume,
    "probe": _probe,
    "prepare": _prepare,
    "close": _close,
    "health": _health,
}


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_number_or_null(value: Any) -> bool:
    return value is None or _is_number(value)


def _is_patience(value: Any) -> bool:
    return _is_number(value) and 0 < value <= LONGEST_CALL


def _is_request_number(value: Any) -> bool:
    return _is_integer(value) and 0 < value < LARGEST_NUMBER


_Field = tuple[Callable[[Any], bool], str]

_TEXT: _Field = (_is_text, "a string")
_OBJECT: _Field = (_is_object, "an object")
_OPERATION: Mapping[str, _Field] = {"name": _TEXT, "arguments": _OBJECT}

_ENVELOPE: Mapping[str, _Field] = {
    "session": _TEXT,
    "request": (_is_request_number, "a whole number from 1"),
    "seconds": (_is_patience, f"a number above 0, at most {LONGEST_CALL:.0f}"),
    "parameters": _OBJECT,
}

_PARAMETERS: Mapping[str, Mapping[str, _Field]] = {
    "describe": {},
    "reset": {
        "seed": (_is_integer, "a whole number"),
        "start_time": _TEXT,
        "extra_actions": (_is_texts, "a list of strings"),
    },
    "observe": {
        "frames_per_second": (_is_number_or_null, "a number or null"),
        "accessibility": (_is_bool, "true or false"),
    },
    "act": _OPERATION,
    "advance": {"seconds": (_is_number, "a number")},
    "pause": {},
    "resume": {},
    "probe": _OPERATION,
    "prepare": _OPERATION,
    "close": {},
    "health": {},
}


def _checked(content: Any, fields: Mapping[str, _Field], where: str) -> Mapping[str, Any]:
    if not isinstance(content, dict):
        raise RequestRejected(f"{where}: not a JSON object")
    for name, (fits, expected) in fields.items():
        if name not in content:
            raise RequestRejected(f"{where}: {name!r} is missing")
        if not fits(content[name]):
            raise RequestRejected(f"{where}: {name!r} must be {expected}")
    unknown = sorted(set(content) - set(fields))
    if unknown:
        raise RequestRejected(f"{where}: unknown field {unknown[0][:64]!r}")
    return content
