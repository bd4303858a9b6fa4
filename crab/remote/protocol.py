"""What crosses the wire between `crab.remote.client` and `crab.remote.server`: names and JSON, never code.

Every message is a POST with a JSON body.

``/handshake``
    ``{"protocol", "crab"}`` → ``{"protocol", "crab", "python", "kind", "operations", "session", "request_bytes"}``.
    ``operations`` is the digest of the described operations; ``session`` is made by the server and lives as long as it
    does; ``request_bytes`` is the largest request it takes.
``/call/<verb>``
    ``{"session", "request", "seconds", "parameters"}`` → ``{"result": …}``. ``request`` counts up from 1 within the
    session: a server carries out each number once and answers a repeated one with the reply it recorded.

A failure is ``{"error": {"type", "message", "fix"}}``, where ``type`` is a class of `crab.errors`. Only an observation
is not JSON: a 4-byte big-endian length, a JSON head of that length, then the bytes of its frames one after another, so
that a screenshot is neither re-coded nor grown by a third.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import struct
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from crab import errors
from crab.environment import (
    ActResult,
    EnvironmentDescription,
    OperationDescription,
    ProviderDescription,
)
from crab.errors import CrabError, DefinitionError, InfrastructureError, RemoteError
from crab.observation import AccessibilityNode, Bounds, Frame, Observation, ObservationRequest
from crab.remote.values import dump, load, require_json

PROTOCOL_VERSION = 1
"""Counts up whenever a client and a server of different versions could misunderstand one another."""

REQUEST_LIMIT = 64 * 1024 * 1024
"""Bytes in a request, at most: `prepare` carries whole files, in base64."""

REPLY_LIMIT = 256 * 1024 * 1024
"""Bytes in a reply, at most: two minutes of full frames at 2 per second fit."""

LONGEST_CALL = 24 * 3600.0
"""Seconds that a client may allow for one call, at most; longer ones are shortened to it."""

MESSAGE_LIMIT = 16_000
"""Characters of an error message that cross; what is beyond is cut."""

JSON_TYPE = "application/json"
OBSERVATION_TYPE = "application/vnd.crab.observation"

VERBS = ("describe", "reset", "observe", "act", "advance", "pause", "resume", "probe", "prepare", "close", "health")

_LENGTH = struct.Struct(">I")


@dataclass(frozen=True)
class Reply:
    """One HTTP response.

    Attributes:
        status: 200 when the call was carried out; the body tells everything else.
        content_type: `JSON_TYPE` or `OBSERVATION_TYPE`.
        body: Its bytes.
        outcome: For the log: ``ok`` or the class of the error, never its message.
    """

    status: int
    content_type: str
    body: bytes
    outcome: str = "ok"


def package_version() -> str:
    """Returns the version of the installed framework, or ``unknown`` when it runs without being installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("crab-eval")
    except PackageNotFoundError:
        return "unknown"


def encode_result(value: Any) -> Reply:
    """Makes the reply of a verb that gives JSON, already checked to be JSON.

    Raises:
        ValueError: It is not.
    """
    return Reply(200, JSON_TYPE, dump({"result": value}))


def encode_error(error: BaseException, status: int = 422) -> Reply:
    """Makes the reply of a call that failed: class, message and fix, never a traceback.

    An error of a class outside `crab.errors` travels as its nearest ancestor there, if it has one.
    """
    name = next((kind.__name__ for kind in type(error).__mro__ if kind.__module__ == errors.__name__), None)
    message, fix = str(error), ""
    if isinstance(error, InfrastructureError):
        message, fix = error.message, error.fix
    content = {"type": name or type(error).__name__, "message": message[:MESSAGE_LIMIT], "fix": fix[:MESSAGE_LIMIT]}
    return Reply(status, JSON_TYPE, dump({"error": content}), _outcome(error))


def decode_error(content: Any, label: str) -> CrabError:
    """Makes the error that a server told of.

    Args:
        content: What stands under ``error``.
        label: The call, for example ``act 'click'``; named when the class is not one of `crab.errors`.

    Returns:
        An instance of that class, or a `RemoteError` that names the class.
    """
    if not isinstance(content, dict) or not all(isinstance(content.get(key), str) for key in ("type", "message")):
        return RemoteError(f"{label}: the server told of an error in a form that is not understood")
    name, message, fix = content["type"], content["message"], content.get("fix")
    kind = getattr(errors, name, None)
    if not inspect.isclass(kind) or not issubclass(kind, CrabError):
        return RemoteError(f"{label}: the server raised {name}: {message}", fix="look at the server's log")
    if issubclass(kind, InfrastructureError):
        return kind(message, fix=fix if isinstance(fix, str) else "")
    return kind(message)


def encode_act(name: str, result: ActResult) -> Reply:
    """Makes the reply of an act.

    Raises:
        DefinitionError: The action returned something that is not JSON; it names the action.
    """
    try:
        require_json(result.value)
        rest = {"duration": result.duration, "settled": result.settled, "settle_seconds": result.settle_seconds}
        return encode_result({"value": result.value, **rest})
    except ValueError as error:
        raise DefinitionError(f"action {name} was carried out, but what it returned is not JSON: {error}") from error


def decode_act(content: Mapping[str, Any]) -> ActResult:
    """Reads the result of an act."""
    return ActResult(content["value"], content["duration"], content["settled"], content["settle_seconds"])


def encode_observation(observation: Observation) -> Reply:
    """Makes the reply of an observe; the bytes of the frames are not touched.

    Raises:
        ValueError: A frame's time is not finite.
    """
    tree = observation.accessibility
    head = dump(
        {
            "frames": [
                {
                    "size": len(frame.data),
                    "media_type": frame.media_type,
                    "width": frame.width,
                    "height": frame.height,
                    "time": frame.time,
                }
                for frame in observation.frames
            ],
            "accessibility": None if tree is None else encode_tree(tree),
        }
    )
    parts = [_LENGTH.pack(len(head)), head, *(frame.data for frame in observation.frames)]
    return Reply(200, OBSERVATION_TYPE, b"".join(parts))


def decode_observation(body: bytes) -> Observation:
    """Reads the reply of an observe.

    Raises:
        ValueError: It is cut short or not well formed.
    """
    view = memoryview(body)
    if len(view) < _LENGTH.size:
        raise ValueError("an observation without a head")
    start = _LENGTH.size + _LENGTH.unpack_from(view)[0]
    head = load(view[_LENGTH.size : start])
    frames: list[Frame] = []
    for entry in head["frames"]:
        end = start + entry["size"]
        if end > len(view):
            raise ValueError("an observation that is cut short")
        data = bytes(view[start:end])
        frames.append(Frame(data, entry["media_type"], entry["width"], entry["height"], entry["time"]))
        start = end
    tree = head["accessibility"]
    return Observation(tuple(frames), None if tree is None else decode_tree(tree))


def encode_tree(root: AccessibilityNode) -> list[list[Any]]:
    """Makes a flat list of a tree, parents before children, each with the number of its children.

    Flat, so that no tree is too deep to be sent.
    """
    rows: list[list[Any]] = []
    for node in root.walk():
        bounds = node.bounds and [node.bounds.x, node.bounds.y, node.bounds.width, node.bounds.height]
        rows.append([node.role, node.name, node.text, node.states, bounds, len(node.children)])
    return rows


def decode_tree(rows: Iterable[list[Any]]) -> AccessibilityNode:
    """Makes the tree of such a list.

    Raises:
        ValueError: The list is not one tree.
    """
    complete: list[AccessibilityNode] = []
    # From the back, every node finds its children complete, the first one on top.
    for role, name, text, states, bounds, count in reversed(list(rows)):
        if count > len(complete):
            raise ValueError("an accessibility tree with children missing")
        children = tuple(complete.pop() for _ in range(count))
        place = None if bounds is None else Bounds(*bounds)
        complete.append(AccessibilityNode(role, name, text, tuple(states), place, children))
    if len(complete) != 1:
        raise ValueError("an accessibility tree with more or less than one root")
    return complete[0]


def encode_request(request: ObservationRequest) -> dict[str, Any]:
    """Makes the parameters of an observe."""
    return {"frames_per_second": request.frames_per_second, "accessibility": request.accessibility}


def encode_description(description: EnvironmentDescription) -> dict[str, Any]:
    """Makes JSON of a description."""
    provider = description.provider
    return {
        "kind": description.kind,
        "description": description.description,
        **{
            group: [{"name": item.name, "schema": dict(item.schema), "duration": item.duration} for item in items]
            for group, items in _groups(description).items()
        },
        "provider": {item.name: _plain(getattr(provider, item.name)) for item in fields(provider)},
    }


def decode_description(content: Mapping[str, Any]) -> EnvironmentDescription:
    """Reads a description."""

    def operations(group: str) -> tuple[OperationDescription, ...]:
        return tuple(OperationDescription(item["name"], item["schema"], item["duration"]) for item in content[group])

    return EnvironmentDescription(
        kind=content["kind"],
        description=content["description"],
        actions=operations("actions"),
        extra_actions=operations("extra_actions"),
        probes=operations("probes"),
        preparations=operations("preparations"),
        provider=ProviderDescription(**content["provider"]),
    )


def operations_digest(description: EnvironmentDescription) -> str:
    """Digest of all operations of an environment, as ``sha256:`` and 64 hexadecimal digits.

    Equal on both sides exactly when names, schemas and durations are; their order does not count.
    """
    groups = {
        group: sorted([item.name, json.dumps(item.schema, sort_keys=True), item.duration] for item in items)
        for group, items in _groups(description).items()
    }
    return "sha256:" + hashlib.sha256(dump(groups)).hexdigest()


def _groups(description: EnvironmentDescription) -> dict[str, tuple[OperationDescription, ...]]:
    return {
        "actions": description.actions,
        "extra_actions": description.extra_actions,
        "probes": description.probes,
        "preparations": description.preparations,
    }


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def _outcome(error: BaseException) -> str:
    name = type(error).__name__
    if isinstance(error, CrabError):
        return f"{name} from {_outcome(error.__cause__)}" if error.__cause__ is not None else name
    frames = traceback.extract_tb(error.__traceback__)
    # Not raised on purpose: say where, and leave out the message, which may quote arguments.
    return f"{name} in {frames[-1].name}, {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else name
