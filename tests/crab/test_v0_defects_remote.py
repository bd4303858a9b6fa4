"""Defects of CRAB v0 in remote environments (numbers as in the list of its defects), each shown to be none of ours."""

from __future__ import annotations

import base64
import json
import logging
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Literal

import pytest

from crab.action import action
from crab.agent import Call
from crab.environment import EnvironmentKind, probe
from crab.errors import (
    ActionFailed,
    DefinitionError,
    HandshakeRefused,
    InfrastructureError,
    InvalidArguments,
    ProbeFailure,
    UnknownAction,
    UsageError,
)
from crab.evaluator import submitted
from crab.graph import chain, checkpoint
from crab.hosting import HostedEnvironment
from crab.record.schema import Reason
from crab.remote.address import Address, new_token
from crab.remote.client import RemoteEnvironment
from crab.remote.server import serve, serving
from tests.crab.lamp import EMBEDDED, START, Lamp, colour, paint, shine, unscrew
from tests.crab.scripted import Stage, lamp_task, shines


@action
def give(env: Lamp, what: Literal["nan", "bytes", "set", "tuple"]) -> Any:
    """Returns what is no plain JSON."""
    env.note(f"give {what}")
    return {"nan": float("nan"), "bytes": b"x", "set": {1}, "tuple": (1, 2)}[what]


@action
def break_down(env: Lamp) -> None:
    """Is written wrong."""
    raise KeyError("action_returns")


@action
def hang(env: Lamp) -> None:
    """Returns when the lamp is told to go on."""
    HANGS.set()
    GO_ON.wait(timeout=60)


@probe
def not_json(env: Lamp) -> Any:
    """Answers what is no JSON."""
    return {1, 2}


HANGS = threading.Event()
GO_ON = threading.Event()

KIND = EnvironmentKind(
    "lamp",
    "A lamp.",
    actions=[shine, unscrew, give, break_down, hang],
    probes=[colour, not_json],
    preparations=[paint],
)


@pytest.fixture
def lamp() -> Lamp:
    return Lamp()


@pytest.fixture
def address(lamp: Lamp) -> Iterator[Address]:
    """A lamp served on loopback."""
    HANGS.clear()
    GO_ON.clear()
    with serving(HostedEnvironment(KIND, lamp, EMBEDDED)) as place:
        yield place
        GO_ON.set()


@pytest.fixture
def remote(address: Address, lamp: Lamp) -> Iterator[RemoteEnvironment]:
    """A client of that lamp, right after a reset."""
    environment = RemoteEnvironment(address)
    environment.reset(7, START)
    lamp.log.clear()
    yield environment
    GO_ON.set()
    environment.close()


def post(address: Address, path: str, document: Any, token: str | None = None) -> tuple[int, dict[str, Any]]:
    """Sends one request that no client of ours would send; returns status and document."""
    connection = HTTPConnection(address.host, address.port, timeout=30)
    headers = {"Content-Type": "application/json", "Host": "localhost"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    try:
        connection.request("POST", path, json.dumps(document), headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def session(address: Address) -> str:
    status, document = post(address, "/handshake", {"protocol": 1, "crab": "test"}, address.token)
    assert status == 200
    return str(document["result"]["session"])


def call(session: str, number: int, **parameters: Any) -> dict[str, Any]:
    return {"session": session, "request": number, "seconds": 30, "parameters": parameters}


def test_v0_07_a_wrong_type_is_refused_remotely_as_it_is_locally(remote: RemoteEnvironment, lamp: Lamp) -> None:
    with pytest.raises(InvalidArguments) as far:
        remote.act("shine", {"colour": 3})
    with pytest.raises(InvalidArguments) as near:
        shine.run({"colour": 3}, lamp)
    assert str(far.value) == str(near.value)
    assert lamp.log == []


def test_v0_07_an_action_with_a_preset_value_can_be_called_remotely(lamp: Lamp) -> None:
    kind = EnvironmentKind("lamp", "", actions=[shine.bind(colour="red", seconds=2.0)])
    with serving(HostedEnvironment(kind, lamp, EMBEDDED)) as address:
        environment = RemoteEnvironment(address)
        environment.reset(7, START)
        result = environment.act("shine", {})
        assert (result.value, result.duration, lamp.light) == ("was red", 2.0, "red")
        environment.close()


def test_v0_18_code_that_arrives_is_not_run(address: Address, lamp: Lamp, tmp_path: Path) -> None:
    """v0's own request: a pickled function under ``/raw_action``. Here a call is a name, looked up in a table."""
    trap = tmp_path / "trap"
    # What a pickle that writes the file would look like; nothing of ours ever loads one.
    pickled = b"cbuiltins\nexec\n(S'open(%r, \"w\")'\ntR." % str(trap)
    entry = base64.b64encode(pickled).decode()
    body = {"action": {"name": "shine", "dumped_entry": entry, "kept_params": []}, "parameters": {}}
    status, document = post(address, "/raw_action", body, address.token)
    assert (status, document["error"]["type"]) == (404, "RequestRejected")
    name = session(address)
    for number, wrong in enumerate((entry, "__import__('os')", "lamp.note", "note", "reset", "paint"), start=1):
        status, document = post(
            address, "/call/act", call(name, number, name=wrong, arguments={"colour": "red"}), address.token
        )
        assert document["error"]["type"] in ("UnknownAction", "UsageError")
    assert not trap.exists()
    assert lamp.log == []


@pytest.mark.parametrize("token", [None, "", "x" * 43, new_token()], ids=["none", "empty", "made up", "another's"])
def test_v0_18_nobody_gets_in_without_the_token(address: Address, lamp: Lamp, token: str | None) -> None:
    for path, body in (
        ("/handshake", {"protocol": 1, "crab": "test"}),
        ("/call/act", call("x", 1, name="shine", arguments={"colour": "red"})),
    ):
        status, document = post(address, path, body, token)
        assert (status, document["error"]["type"]) == (401, "HandshakeRefused")
    assert lamp.log == []


def test_v0_18_a_server_listens_on_loopback_unless_told_otherwise(address: Address, lamp: Lamp) -> None:
    assert address.host == "127.0.0.1"
    assert address.token is not None
    # That it refuses to listen everywhere is the point.
    for token, problem in ((None, "set a token"), (new_token(), "insecure")):
        with pytest.raises(UsageError, match=problem):
            serve(HostedEnvironment(KIND, Lamp(), EMBEDDED), host="0.0.0.0", token=token)  # noqa: S104


def test_v0_18_there_are_no_open_pages(address: Address) -> None:
    for path in ("/docs", "/redoc", "/openapi.json", "/", "/raw_action"):
        assert post(address, path, {}, address.token)[0] == 404
        assert post(address, path, {})[0] == 401


def test_v0_19_a_request_that_is_sent_again_is_not_carried_out_again(address: Address, lamp: Lamp) -> None:
    name = session(address)
    post(address, "/call/reset", call(name, 1, seed=7, start_time=START, extra_actions=[]), address.token)
    captured = call(name, 2, name="shine", arguments={"colour": "red"})
    first = post(address, "/call/act", captured, address.token)
    assert first[0] == 200
    assert post(address, "/call/act", captured, address.token) == first
    assert lamp.log.count("shine red") == 1
    changed = call(name, 2, name="shine", arguments={"colour": "blue"})
    status, document = post(address, "/call/act", changed, address.token)
    assert (status, document["error"]["type"]) == (400, "RequestRejected")
    assert lamp.light == "red"


def test_v0_19_a_request_of_another_server_means_nothing(address: Address, lamp: Lamp) -> None:
    with serving(HostedEnvironment(KIND, Lamp(), EMBEDDED), token=address.token) as other:
        captured = call(session(other), 1, seed=7, start_time=START, extra_actions=[])
        assert post(other, "/call/reset", captured, other.token)[0] == 200
    status, document = post(address, "/call/reset", captured, address.token)
    assert (status, document["error"]["type"]) == (400, "RequestRejected")
    assert lamp.log == []


def test_v0_19_a_token_is_random_and_long() -> None:
    assert len({new_token() for _ in range(50)}) == 50
    assert all(len(new_token()) >= 43 for _ in range(50))
    with pytest.raises(UsageError, match="token"):
        RemoteEnvironment("http://127.0.0.1:1", token="passphrase")


def test_v0_20_a_failure_arrives_as_what_it_was(remote: RemoteEnvironment) -> None:
    with pytest.raises(ActionFailed, match=r"^the bulb is stuck$"):
        remote.act("unscrew", {})
    with pytest.raises(UnknownAction, match="lamp has no action 'dance'"):
        remote.act("dance", {})
    with pytest.raises(InfrastructureError, match="action break_down: KeyError: 'action_returns'"):
        remote.act("break_down", {})
    with pytest.raises(UsageError, match="after the first act"):
        remote.prepare("paint", {"colour": "red"})


@pytest.mark.parametrize("what", ["nan", "bytes", "set"])
def test_v0_20_a_result_that_is_no_json_is_reported_and_not_lost(
    remote: RemoteEnvironment, lamp: Lamp, what: str
) -> None:
    with pytest.raises(DefinitionError, match="give was carried out, but what it returned is not JSON"):
        remote.act("give", {"what": what})
    assert remote.act("shine", {"colour": "red"}).value == "was red"
    assert remote.probe("colour", {}) == "red"


def test_v0_20_a_result_is_the_same_near_and_far(remote: RemoteEnvironment, lamp: Lamp) -> None:
    near = HostedEnvironment(KIND, lamp, EMBEDDED)
    near.reset(7, START)
    assert remote.act("give", {"what": "tuple"}).value == near.act("give", {"what": "tuple"}).value == [1, 2]


def test_v0_20_an_answer_that_is_no_json_is_unknown(remote: RemoteEnvironment) -> None:
    with pytest.raises(ProbeFailure, match="not_json"):
        remote.probe("not_json", {})


def test_v0_20_the_call_after_a_failure_works(remote: RemoteEnvironment) -> None:
    """v0's client found its connection reset 21 times in 30."""
    for _ in range(30):
        with pytest.raises(ActionFailed):
            remote.act("unscrew", {})
        assert remote.act("shine", {"colour": "red"}).value == "was red"


def test_v0_21_an_action_that_takes_its_time_does_not_stop_the_server(remote: RemoteEnvironment, lamp: Lamp) -> None:
    thread = threading.Thread(target=lambda: remote.act("hang", {}))
    thread.start()
    try:
        assert HANGS.wait(timeout=30)
        # Were actions run where requests are answered, this would wait for the one that hangs until it gives up.
        assert remote.health() is None
        assert thread.is_alive()
    finally:
        GO_ON.set()
        thread.join()
    assert remote.act("shine", {"colour": "red"}).value == "was red"


def test_v0_21_a_wrong_token_is_named_as_such(address: Address) -> None:
    for token, message in ((new_token(), "wrong token"), (None, "no token")):
        with pytest.raises(HandshakeRefused, match=message):
            RemoteEnvironment(address.with_token(token))


def test_v0_21_failures_do_not_fill_the_log(
    remote: RemoteEnvironment, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """v0 wrote 0.6 MB into ``info.log`` in the working directory for 60 failures."""
    monkeypatch.chdir(tmp_path)
    with caplog.at_level(logging.DEBUG, logger="crab"):
        for _ in range(60):
            with pytest.raises(InfrastructureError):
                remote.act("break_down", {})
    assert len(caplog.text) < 60 * 500
    assert list(tmp_path.iterdir()) == []


def test_v0_22_a_submission_is_seen_whatever_is_remote(remote: RemoteEnvironment, tmp_path: Path) -> None:
    """What the agent did is known where the trial runs, so no check has to be marked as local."""
    graph = chain(
        checkpoint("red", shines.bind(colour="red").on("desk")),
        checkpoint("answered", submitted("it is red")),
        checkpoint("both", shines.bind(colour="red").on("desk") & submitted("it is red")),
    )
    stage = Stage(tmp_path, {"desk": remote})
    played = stage.play(lamp_task(graph), [Call("shine", {"colour": "red"})], [Call("submit", {"answer": "it is red"})])
    assert (played.ending.reason, played.result.completion_ratio) == (Reason.SUCCESS, 1)
