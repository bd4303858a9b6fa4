"""An environment that is somewhere else: the verbs of `crab.environment.Environment` over HTTP.

What comes back is what the environment behind the server gives, errors included, except that values are JSON (a tuple
arrives as a list) and that every call has a deadline.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from crab.environment import (
    PROBE_SECONDS,
    ActResult,
    Environment,
    EnvironmentDescription,
    OperationDescription,
)
from crab.errors import (
    DeadlineExceeded,
    EnvironmentFailure,
    HandshakeRefused,
    InvalidArguments,
    ProbeFailure,
    RemoteError,
    RequestRejected,
    Unreachable,
    UsageError,
)
from crab.observation import Observation, ObservationRequest
from crab.remote.address import Address, check_token
from crab.remote.connection import Connections, Response
from crab.remote.protocol import (
    LONGEST_CALL,
    OBSERVATION_TYPE,
    PROTOCOL_VERSION,
    REPLY_LIMIT,
    decode_act,
    decode_description,
    decode_error,
    decode_observation,
    encode_request,
    operations_digest,
    package_version,
)
from crab.remote.values import dump, load, require_json

T = TypeVar("T")

GRACE = 2.0
"""Seconds that a client waits beyond a deadline for the server to tell of it, before it gives up by itself."""


@dataclass(frozen=True)
class Deadlines:
    """Seconds that a server has for each verb.

    Attributes:
        connect: To answer the handshake, and for `describe`.
        reset: For `reset`.
        observe: For `observe`.
        act: For `act`, beside the declared duration of the action.
        advance: For `advance`, beside the seconds that are to pass.
        prepare: For `prepare`.
        close: For `close`.
        other: For `pause`, `resume` and `health`.
    """

    connect: float = 10.0
    reset: float = 120.0
    observe: float = 30.0
    act: float = 60.0
    advance: float = 30.0
    prepare: float = 60.0
    close: float = 30.0
    other: float = 10.0


@dataclass(frozen=True)
class ServerFacts:
    """What a server said of itself in the handshake.

    Attributes:
        protocol: Version of the protocol; always `PROTOCOL_VERSION`.
        crab: Version of the framework there.
        python: Version of Python there; it need not be the one here.
        kind: Kind of environment.
        operations: Digest of its operations, see `crab.remote.protocol.operations_digest`.
        request_bytes: The largest request it takes.
    """

    protocol: int
    crab: str
    python: str
    kind: str
    operations: str
    request_bytes: int


class RemoteEnvironment(Environment):
    """The environment that a server at that address serves; connects at once.

    Safe to use from several threads: the server takes calls to the device in order, and `health` and `close` are
    answered while another call hangs.

    Args:
        address: An `Address`, or text as ``unix:/path`` or ``http://host:port``.
        token: What the server wants to see; None takes the one in the address.
        kind: The kind it must be; None takes any.
        deadlines: Seconds for each verb.
        reply_limit: Bytes in a reply, at most.

    Raises:
        UsageError: The address or the token is not well formed.
        Unreachable: No server answers there.
        HandshakeRefused: It speaks another protocol version, refuses the token, or serves another kind.
    """

    def __init__(
        self,
        address: Address | str,
        *,
        token: str | None = None,
        kind: str | None = None,
        deadlines: Deadlines | None = None,
        reply_limit: int = REPLY_LIMIT,
    ) -> None:
        place = Address.parse(address) if isinstance(address, str) else address
        token = place.token if token is None else token
        if token is not None:
            check_token(token)
        self._connections = Connections(place.with_token(token), reply_limit)
        self._deadlines = deadlines or Deadlines()
        self._numbers = itertools.count(1)
        self._closed = False
        try:
            self.server, self._session = self._shake_hands()
            if kind is not None and kind != self.server.kind:
                raise HandshakeRefused(f"the server at {place} serves {self.server.kind!r}, not {kind!r}")
            self._description = self._describe()
        except BaseException:
            self._connections.close()
            raise
        self._actions = {item.name: item for item in (*self._description.actions, *self._description.extra_actions)}

    @property
    def address(self) -> Address:
        """Where the server is."""
        return self._connections.address

    def describe(self) -> EnvironmentDescription:
        """Returns what the environment offers, as told when connecting."""
        return self._description

    def reset(self, seed: int, start_time: str, extra_actions: Iterable[str] = ()) -> None:
        """Resets the device; see `Environment.reset`."""
        parameters = {"seed": seed, "start_time": start_time, "extra_actions": list(extra_actions)}
        self._call("reset", parameters, self._deadlines.reset)

    def observe(self, request: ObservationRequest | None = None) -> Observation:
        """Observes the device; see `Environment.observe`."""
        result = self._call("observe", encode_request(request or ObservationRequest()), self._deadlines.observe)
        if not isinstance(result, Observation):
            raise RemoteError("observe: the server's reply is not an observation")
        return result

    def act(self, name: str, arguments: Mapping[str, Any]) -> ActResult:
        """Acts on the device; see `Environment.act`.

        Raises:
            DefinitionError: It was carried out, but what it returned is not JSON; names the action.
        """
        values = _json_arguments(name, arguments)
        seconds = self._deadlines.act + _declared_seconds(self._actions.get(name), values)
        result = self._call("act", {"name": name, "arguments": values}, seconds, name=name)
        return _understood("act", lambda: decode_act(result))

    def advance(self, seconds: float) -> None:
        """Lets time pass; see `Environment.advance`."""
        self._call("advance", {"seconds": seconds}, self._deadlines.advance + max(0.0, seconds))

    def pause(self) -> None:
        """Pauses the device."""
        self._call("pause", {}, self._deadlines.other)

    def resume(self) -> None:
        """Resumes the device."""
        self._call("resume", {}, self._deadlines.other)

    def probe(self, name: str, arguments: Mapping[str, Any], seconds: float = PROBE_SECONDS) -> Any:
        """Asks the device; see `Environment.probe`.

        Raises:
            DeadlineExceeded: There was no answer within `seconds`.
        """
        try:
            values = _json_arguments(name, arguments)
        except InvalidArguments as error:
            raise ProbeFailure(f"probe {name}: {type(error).__name__}: {error}") from error
        if seconds <= 0:
            raise DeadlineExceeded(f"probe {name!r}: no time is left to ask")
        return self._call("probe", {"name": name, "arguments": values}, seconds, name=name)

    def prepare(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Prepares the device; see `Environment.prepare`."""
        values = _json_arguments(name, arguments)
        self._call("prepare", {"name": name, "arguments": values}, self._deadlines.prepare, name=name)

    def close(self) -> None:
        """Closes the environment behind the server, once; a server that is gone has nothing left to close."""
        if self._closed:
            return
        try:
            self._call("close", {}, self._deadlines.close)
        except EnvironmentFailure as error:
            if not isinstance(error.__cause__, Unreachable):
                raise
        finally:
            self.disconnect()

    def disconnect(self) -> None:
        """Ends the connections of this client and leaves the environment as it is, for other clients."""
        self._closed = True
        self._connections.close()

    def health(self) -> str | None:
        """Returns None when the device is well, else one line that says what died, be it the server."""
        if self._closed:
            return "closed"
        try:
            answer = self._call("health", {}, self._deadlines.other)
        except EnvironmentFailure as error:
            return error.message
        return None if answer is None else str(answer)

    def _shake_hands(self) -> tuple[ServerFacts, str]:
        body = dump({"protocol": PROTOCOL_VERSION, "crab": package_version()})
        try:
            response = self._connections.post("/handshake", body, self._deadlines.connect)
        except TimeoutError as error:
            raise Unreachable(
                f"the server at {self.address} did not answer within {self._deadlines.connect:g} s",
                fix="look whether it hangs, and start it anew",
            ) from error
        facts = self._result(response, "handshake")
        protocol = facts.get("protocol") if isinstance(facts, dict) else None
        if protocol != PROTOCOL_VERSION:
            raise HandshakeRefused(
                f"the server at {self.address} speaks protocol {str(protocol)[:20]}, this client protocol "
                f"{PROTOCOL_VERSION}",
                fix="install the same version of crab-eval on both sides",
            )
        return _understood(
            "handshake",
            lambda: (
                ServerFacts(
                    facts["protocol"],
                    facts["crab"],
                    facts["python"],
                    facts["kind"],
                    facts["operations"],
                    facts["request_bytes"],
                ),
                str(facts["session"]),
            ),
        )

    def _describe(self) -> EnvironmentDescription:
        content = self._call("describe", {}, self._deadlines.connect)
        description = _understood("describe", lambda: decode_description(content))
        if operations_digest(description) != self.server.operations:
            raise HandshakeRefused(f"the server at {self.address} describes other operations than it announced")
        return description

    def _call(self, verb: str, parameters: Mapping[str, Any], seconds: float, name: str | None = None) -> Any:
        label = verb if name is None else f"{verb} {name!r}"
        seconds = min(seconds, LONGEST_CALL)
        if self._closed:
            raise EnvironmentFailure(f"{self.server.kind} is closed", fix="start a new one")
        try:
            body = dump(
                {
                    "session": self._session,
                    "request": next(self._numbers),
                    "seconds": seconds,
                    "parameters": parameters,
                }
            )
        except ValueError as error:
            raise UsageError(f"{label}: {error}") from error
        if len(body) > self.server.request_bytes:
            raise RequestRejected(
                f"{label}: the request has {len(body)} bytes, the server takes {self.server.request_bytes}"
            )
        try:
            response = self._connections.post(f"/call/{verb}", body, seconds + GRACE)
        except TimeoutError as error:
            late = DeadlineExceeded if verb == "probe" else EnvironmentFailure
            raise late(
                f"{label}: the server at {self.address} did not answer within {seconds:g} s",
                fix="close the environment and start a new one",
            ) from error
        except Unreachable as error:
            # After the handshake a server that is gone is a device that is gone.
            gone = ProbeFailure if verb == "probe" else EnvironmentFailure
            raise gone(f"{label}: {error.message}", fix="close the environment and start a new one") from error
        return self._result(response, label)

    def _result(self, response: Response, label: str) -> Any:
        """Returns the result in a response, or raises the error in it."""
        if response.content_type == OBSERVATION_TYPE:
            return _understood(label, lambda: decode_observation(response.body))
        try:
            content = load(response.body)
        except ValueError:
            content = None
        if isinstance(content, dict) and "error" in content:
            raise decode_error(content["error"], label)
        if response.status != 200 or not isinstance(content, dict) or "result" not in content:
            raise RemoteError(
                f"{label}: what answers at {self.address} is no environment server (status {response.status})",
                fix="check the address",
            )
        return content["result"]


def _json_arguments(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    values = dict(arguments)
    try:
        require_json(values)
    except ValueError as error:
        raise InvalidArguments(f"{name}: arguments are not JSON: {error}") from error
    return values


def _declared_seconds(action: OperationDescription | None, values: Mapping[str, Any]) -> float:
    """How long the action says it takes; 0 where that cannot be told before the server has checked the arguments."""
    if action is None:
        return 0.0
    declared: Any = action.duration
    if isinstance(declared, str):
        properties = action.schema["function"]["parameters"].get("properties", {})
        declared = values.get(declared, properties.get(declared, {}).get("default"))
    return max(0.0, float(declared)) if isinstance(declared, (int, float)) else 0.0


def _understood(label: str, decode: Callable[[], T]) -> T:
    try:
        return decode()
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise RemoteError(f"{label}: the server's reply is not understood: {type(error).__name__}: {error}") from error
