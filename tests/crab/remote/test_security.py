"""Who may ask: strangers, web pages and everything that is not a call are refused before any device hears of it."""

from __future__ import annotations

import json
import logging
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crab.errors import (
    EnvironmentFailure,
    HandshakeRefused,
    InfrastructureError,
    RequestRejected,
    Unreachable,
    UsageError,
)
from crab.remote.address import Address, new_token
from crab.remote.application import ServerLimits
from crab.remote.client import RemoteEnvironment
from crab.remote.protocol import PROTOCOL_VERSION
from crab.remote.server import HEAD_BYTES, serve, serving
from tests.crab.remote.machine import START, Machine, hosted
from tests.crab.remote.wire import Answer, connect, envelope, exchange, open_session, post, request_bytes

HELLO = {"protocol": PROTOCOL_VERSION, "crab": "test"}


@pytest.fixture(scope="module", params=["unix", "tcp"])
def standing(request: pytest.FixtureRequest) -> Iterator[tuple[Address, Machine]]:
    """A machine behind each sort of socket, for all tests that it should not hear of."""
    machine = Machine()
    with tempfile.TemporaryDirectory(prefix="crab-") as name:
        socket = Path(name) / "s" if request.param == "unix" else None
        with serving(hosted(machine), socket=socket) as address:
            yield address, machine


@pytest.fixture
def guarded(standing: tuple[Address, Machine]) -> Iterator[tuple[Address, Machine]]:
    """A served machine that has been reset; at the end it must not have heard of anything and still work."""
    address, machine = standing
    environment = RemoteEnvironment(address)
    environment.reset(0, START)
    machine.log.clear()
    yield address, machine
    assert machine.log == []
    assert environment.act("press", {"key": "a"}).value == 1
    environment.disconnect()


def refused(answer: Answer, status: int, kind: str, text: str) -> None:
    assert (answer.status, answer.error["type"]) == (status, kind)
    assert text in answer.error["message"]


WRONG_TOKENS: dict[str, str | bytes | None] = {
    "none": None,
    "empty": "",
    "no scheme": "x" * 43,
    "wrong": "Bearer " + "x" * 43,
    "short": "Bearer x",
    "long": "Bearer " + "x" * 10_000,
    "not ASCII": b"Bearer " + "ü".encode() * 43,
    "not UTF-8": b"Bearer \xff\xfe",
    "basic": "Basic dXNlcjpwYXNzd29yZA==",
}


@pytest.mark.parametrize("name", WRONG_TOKENS)
def test_without_the_token_nothing_is_answered(name: str) -> None:
    machine = Machine()
    with serving(hosted(machine)) as address:
        session = open_session(address)
        headers = {"Authorization": WRONG_TOKENS[name]}
        for path, document in (
            ("/handshake", HELLO),
            ("/call/reset", envelope(session, 1, seed=0, start_time=START, extra_actions=[])),
            ("/call/health", envelope(session, 2)),
            ("/nowhere", {}),
        ):
            refused(post(address, path, document, headers=headers), 401, "HandshakeRefused", "token")
    assert machine.log == ["close"]


def test_the_right_token_under_another_scheme_is_refused() -> None:
    with serving(hosted(Machine())) as address:
        for value in (f"Basic {address.token}", f"{address.token}", f"Bearer {address.token} x"):
            refused(post(address, "/handshake", HELLO, headers={"Authorization": value}), 401, "HandshakeRefused", "")


def test_a_token_sent_twice_is_refused() -> None:
    with serving(hosted(Machine())) as address:
        body = json.dumps(HELLO).encode()
        request = request_bytes(address, "/handshake", body)
        doubled = request.replace(
            b"Authorization:", f"Authorization: Bearer {address.token}\r\nAuthorization:".encode()
        )
        assert exchange(address, request).status == 200
        refused(exchange(address, doubled), 401, "HandshakeRefused", "token")


def test_the_client_tells_of_a_wrong_and_a_missing_token() -> None:
    with serving(hosted(Machine())) as address:
        with pytest.raises(HandshakeRefused, match="a wrong token"):
            RemoteEnvironment(str(address), token=new_token())
        with pytest.raises(HandshakeRefused, match="no token"):
            RemoteEnvironment(str(address))
        with pytest.raises(UsageError, match="32 random bytes"):
            RemoteEnvironment(str(address), token="password")
        RemoteEnvironment(str(address), token=address.token).close()


def test_a_unix_socket_wants_a_token_only_when_given_one(directory: Path) -> None:
    token = new_token()
    with serving(hosted(Machine()), socket=directory / "s", token=token) as address:
        with pytest.raises(HandshakeRefused, match="no token"):
            RemoteEnvironment(f"unix:{directory}/s")
        RemoteEnvironment(address).close()
    with serving(hosted(Machine()), socket=directory / "s") as address:
        assert address.token is None
        RemoteEnvironment(address).close()


@pytest.mark.parametrize(
    "host", ["rebound.example.org", "rebound.example.org:80", "", "127.0.0.1.example.org", "[::1", None]
)
def test_another_host_name_is_refused(guarded: tuple[Address, Machine], host: str | None) -> None:
    """What a page sees whose own name was made to resolve to this machine."""
    answer = post(guarded[0], "/handshake", HELLO, headers={"Host": host})
    refused(answer, 403, "RequestRejected", "Host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:9", "[::1]:9", "192.0.2.7:80"])
def test_its_own_name_and_addresses_are_welcome(guarded: tuple[Address, Machine], host: str) -> None:
    assert post(guarded[0], "/handshake", HELLO, headers={"Host": host}).status == 200


@pytest.mark.parametrize("origin", ["https://example.org", "http://localhost", "null", ""])
def test_any_origin_is_refused(guarded: tuple[Address, Machine], origin: str) -> None:
    answer = post(guarded[0], "/handshake", HELLO, headers={"Origin": origin})
    refused(answer, 403, "RequestRejected", "Origin")
    assert b"access-control" not in answer.body.lower()


def test_preflights_get_no_leave(guarded: tuple[Address, Machine]) -> None:
    answer = post(guarded[0], "/call/act", b"", method="OPTIONS", headers={"Origin": "https://example.org"})
    assert answer.status == 403


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS"])
def test_only_posts_are_answered(guarded: tuple[Address, Machine], method: str) -> None:
    assert post(guarded[0], "/call/observe", b"", method=method).status == 405


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None]
)
def test_what_a_web_form_can_send_is_refused(guarded: tuple[Address, Machine], content_type: str | None) -> None:
    answer = post(guarded[0], "/handshake", HELLO, headers={"Content-Type": content_type})
    refused(answer, 415, "RequestRejected", "application/json")


@pytest.mark.parametrize(
    "path", ["/", "/call/", "/call/eval", "/call/__class__", "/call/act/", "/docs", "/call/%61ct/../x"]
)
def test_an_unknown_verb_is_refused_and_the_known_ones_named(guarded: tuple[Address, Machine], path: str) -> None:
    answer = post(guarded[0], path, {})
    refused(answer, 404, "RequestRejected", "describe, reset, observe, act")


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff", b'{"protocol": NaN}', b'{"protocol": 1e999}', b"[" * 100_000, b'{"a":' * 100_000, b"1" * 5000],
    ids=lambda body: repr(body[:20]),
)
def test_a_body_that_is_not_json_or_too_deep_is_refused(guarded: tuple[Address, Machine], body: bytes) -> None:
    for path in ("/handshake", "/call/act"):
        refused(post(guarded[0], path, body), 400, "RequestRejected", "not JSON")


ENVELOPES: dict[str, Any] = {
    "not an object": ([], "not a JSON object"),
    "empty": ({}, "'session' is missing"),
    "number as text": ({"request": "1"}, "'request' must be a whole number"),
    "number true": ({"request": True}, "'request' must be a whole number"),
    "number zero": ({"request": 0}, "'request' must be a whole number"),
    "number too large": ({"request": 2**53}, "'request' must be a whole number"),
    "no time": ({"seconds": 0}, "'seconds' must be a number above 0"),
    "endless": ({"seconds": 1e300}, "'seconds' must be a number above 0"),
    "unknown field": ({"code": "x"}, "unknown field 'code'"),
    "name missing": ({"parameters": {"arguments": {}}}, "act: 'name' is missing"),
    "name no text": ({"parameters": {"name": 1, "arguments": {}}}, "act: 'name' must be a string"),
    "arguments no object": ({"parameters": {"name": "press", "arguments": []}}, "act: 'arguments' must be an object"),
    "parameter unknown": ({"parameters": {"name": "press", "arguments": {}, "x": 1}}, "act: unknown field 'x'"),
}


@pytest.mark.parametrize("name", ENVELOPES)
def test_a_call_that_is_not_well_formed_is_refused(guarded: tuple[Address, Machine], name: str) -> None:
    changes, text = ENVELOPES[name]
    document = envelope(open_session(guarded[0]), 1, name="press", arguments={"key": "a"})
    if name in ("not an object", "empty"):
        document = changes
    else:
        document.update(changes)
    refused(post(guarded[0], "/call/act", document), 400, "RequestRejected", text)


def test_a_call_without_a_handshake_is_refused(guarded: tuple[Address, Machine]) -> None:
    answer = post(guarded[0], "/call/act", envelope("made-up", 1, name="press", arguments={"key": "a"}))
    refused(answer, 400, "RequestRejected", "does not know this session")


def test_a_request_that_is_too_large_is_refused_by_both_sides() -> None:
    machine = Machine()
    with serving(hosted(machine), limits=ServerLimits(request_bytes=10_000)) as address:
        session = open_session(address)
        environment = RemoteEnvironment(address)
        environment.reset(0, START)
        with pytest.raises(
            RequestRejected, match=r"prepare 'put': the request has 2.... bytes, the server takes 10000"
        ):
            environment.prepare("put", {"text": "x" * 20_000})
        document = envelope(session, 1, name="put", arguments={"text": "x" * 20_000})
        refused(post(address, "/call/prepare", document), 413, "RequestRejected", "more than 10000 bytes")
        environment.prepare("put", {"text": "x" * 9_000})
        environment.close()
    assert machine.log[1] == "put 9000"


def test_a_huge_request_is_refused_before_it_is_sent(guarded: tuple[Address, Machine]) -> None:
    head = request_bytes(guarded[0], "/call/act", b"", headers={"Content-Length": str(10**12)})
    refused(exchange(guarded[0], head), 413, "RequestRejected", "more than")


def test_a_chunked_request_cannot_get_round_the_limit() -> None:
    with serving(hosted(Machine()), limits=ServerLimits(request_bytes=10_000)) as address:
        headers = {"Content-Length": None, "Transfer-Encoding": "chunked"}
        head = request_bytes(address, "/handshake", b"", headers=headers)
        refused(exchange(address, head + b"3000\r\n" + b" " * 0x3000), 413, "RequestRejected", "more than 10000")


def test_a_head_without_end_is_cut_off(guarded: tuple[Address, Machine]) -> None:
    with connect(guarded[0]) as sock:
        sock.sendall(b"POST /handshake HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
        received: bytes | None = None
        try:
            for _ in range(1000):
                sock.sendall(b"x" * (HEAD_BYTES // 8))
            received = sock.recv(1)
        except ConnectionError:
            received = b""
        assert received == b""


def test_garbage_ends_only_its_own_connection(guarded: tuple[Address, Machine]) -> None:
    assert exchange(guarded[0], b"\x16\x03\x01 not http\r\n\r\n").status == 400


def test_a_reply_that_is_too_large_is_an_error_on_either_side(directory: Path) -> None:
    with serving(hosted(Machine()), limits=ServerLimits(reply_bytes=50_000)) as address:
        environment = RemoteEnvironment(address)
        environment.reset(0, START)
        with pytest.raises(RequestRejected, match=r"observe: the reply has .* bytes, more than 50000"):
            environment.observe()
        assert environment.act("echo", {"value": 1}).value == 1
        environment.close()
    with serving(hosted(Machine()), socket=directory / "s") as address:
        environment = RemoteEnvironment(address, reply_limit=50_000)
        environment.reset(0, START)
        with pytest.raises(RequestRejected, match="bytes, more than 50000"):
            environment.observe()
        assert environment.act("echo", {"value": 1}).value == 1
        environment.close()


@pytest.mark.parametrize("protocol", [0, PROTOCOL_VERSION + 1, "1", None, [1]])
def test_the_server_refuses_another_protocol_version_and_names_both(
    guarded: tuple[Address, Machine], protocol: object
) -> None:
    answer = post(guarded[0], "/handshake", {"protocol": protocol, "crab": "9.9"})
    refused(answer, 409, "HandshakeRefused", f"the client speaks protocol {protocol}, the server protocol 1")


def test_where_no_server_is_the_client_says_so(directory: Path) -> None:
    with pytest.raises(Unreachable, match=f"no server answers at unix:{directory}/s: No such file") as caught:
        RemoteEnvironment(f"unix:{directory}/s")
    assert caught.value.fix
    with serving(hosted(Machine())) as address:
        pass
    with pytest.raises(Unreachable, match="Connection refused"):
        RemoteEnvironment(address)


def test_the_socket_is_private(directory: Path) -> None:
    path = directory / "inner" / "s"
    with serving(hosted(Machine()), socket=path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not path.exists()


def test_no_socket_is_put_where_others_may_enter(directory: Path) -> None:
    directory.chmod(0o750)
    machine = Machine()
    with pytest.raises(UsageError, match=f"chmod 700 {directory}"):
        serve(hosted(machine), socket=directory / "s")
    assert machine.log == ["close"]


def test_a_stale_socket_is_replaced_and_a_used_one_is_not(directory: Path) -> None:
    path = directory / "s"
    with connectable(path):
        pass
    with serving(hosted(Machine()), socket=path) as address:
        with pytest.raises(UsageError, match=r"a server listens on .* already"):
            serve(hosted(Machine()), socket=path)
        RemoteEnvironment(address).close()
    path.write_text("a file of somebody's", encoding="utf-8")
    with pytest.raises(UsageError, match="exists and is not a socket"):
        serve(hosted(Machine()), socket=path)
    assert path.read_text(encoding="utf-8") == "a file of somebody's"


def connectable(path: Path) -> Any:
    """Binds a socket and leaves its file behind when closed, as a killed server does."""
    import socket

    sock = socket.socket(socket.AF_UNIX)
    sock.bind(str(path))
    return sock


def test_a_path_that_is_too_long_for_a_socket_is_refused(directory: Path) -> None:
    with pytest.raises(UsageError, match="at most 107 bytes"):
        serve(hosted(Machine()), socket=directory / ("x" * 120))


def test_a_port_in_use_is_one_line_that_says_what_to_do() -> None:
    machine = Machine()
    with serving(hosted(Machine())) as address, pytest.raises(UsageError) as caught:
        serve(hosted(machine), port=address.port)
    text = str(caught.value)
    assert text == (
        f"cannot listen on 127.0.0.1 port {address.port}: the port is in use; choose another one, or 0 for any free one"
    )
    assert machine.log == ["close"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "device.example.org"])  # noqa: S104 - to be refused
def test_other_machines_are_let_in_only_with_a_token_and_open_eyes(host: str) -> None:
    with pytest.raises(UsageError, match="set a token"):
        serve(hosted(Machine()), host=host, insecure=True)
    with pytest.raises(UsageError, match=r"no TLS here.*insecure=True"):
        serve(hosted(Machine()), host=host, token=new_token())
    with pytest.raises(UsageError, match="32 random bytes"):
        serve(hosted(Machine()), host=host, token="short", insecure=True)


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(UsageError, match="this machine does not have that address"):
        serve(hosted(Machine()), host="192.0.2.7", token=new_token(), insecure=True)


def test_the_log_has_one_line_per_call_without_arguments_and_secrets(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="crab.remote.server"), serving(hosted(Machine())) as address:
        environment = RemoteEnvironment(address)
        environment.reset(0, START)
        environment.act("press", {"key": "private-word"})
        with pytest.raises(InfrastructureError, match="private-message"):
            environment.act("fail", {"kind": "?", "message": "private-message"})
        with pytest.raises(EnvironmentFailure):
            environment.act("fail", {"kind": "EnvironmentFailure", "message": "private-message"})
        post(address, "/call/act", {"private-word": 1})
        environment.close()
    lines = [record.getMessage() for record in caplog.records if record.name == "crab.remote.server"]
    text = "\n".join(lines)
    verbs = [line.split(": ")[1] for line in lines if line.startswith("client 1: ")]
    assert verbs == ["describe", "reset", "act 'press'", "act 'fail'", "act 'fail'", "close"]
    assert "ValueError in fail, machine.py:" in text
    assert "refused: RequestRejected" in text
    assert "private" not in text
    assert address.token is not None
    assert address.token not in text
