"""A call that does not return wedges neither the client nor the server."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from crab.errors import DeadlineExceeded, EnvironmentFailure, HandshakeRefused, ProbeFailure, RemoteError, Unreachable
from crab.remote import application, client
from crab.remote.address import Address
from crab.remote.client import Deadlines, RemoteEnvironment
from crab.remote.server import CONNECTIONS, serving
from tests.crab.remote.conftest import Process
from tests.crab.remote.machine import START, Machine, hosted
from tests.crab.remote.wire import connect

SHORT = Deadlines(act=0.2, observe=0.2)


@contextmanager
def hanging(address: Address, machine: Machine, verb: str = "act") -> Iterator[RemoteEnvironment]:
    """Has the device in a call that does not return until released, with enough time."""
    environment = RemoteEnvironment(address)
    environment.reset(0, START)
    call = (lambda: environment.act("hang", {})) if verb == "act" else (lambda: environment.probe("slow", {}, 600))
    thread = threading.Thread(target=call)
    thread.start()
    assert machine.entered.wait(30)
    try:
        yield environment
    finally:
        machine.release.set()
        thread.join()
        environment.close()


def test_all_but_the_device_is_answered_while_a_call_runs(served: tuple[Address, Machine]) -> None:
    with hanging(*served) as environment:
        assert environment.health() is None
        second = RemoteEnvironment(served[0])
        assert second.describe() == environment.describe()
        second.disconnect()


def test_a_call_that_hangs_is_an_environment_failure_and_the_next_ones_fail_at_once(
    served: tuple[Address, Machine],
) -> None:
    address, machine = served
    environment = RemoteEnvironment(address, deadlines=SHORT)
    environment.reset(0, START)
    with pytest.raises(EnvironmentFailure, match=r"act 'hang': no answer within 0.2 s") as caught:
        environment.act("hang", {})
    assert caught.value.fix
    assert environment.health() == "act 'hang' has not returned in time"
    patient = RemoteEnvironment(address)
    with pytest.raises(EnvironmentFailure, match="observe: act 'hang' has not returned"):
        patient.observe()
    with pytest.raises(DeadlineExceeded, match="probe 'log': act 'hang' has not returned"):
        patient.probe("log", {}, 600)
    machine.release.set()
    patient.disconnect()
    environment.close()


def test_close_does_not_wait_for_a_call_that_hangs(
    served: tuple[Address, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The device is closed beside the call, which here is what ends it."""
    monkeypatch.setattr(application, "CLOSE_PATIENCE", 0.05)
    address, machine = served
    environment = RemoteEnvironment(address, deadlines=SHORT)
    environment.reset(0, START)
    with pytest.raises(EnvironmentFailure):
        environment.act("hang", {})
    environment.close()
    assert machine.log[1] == "close"


def test_a_call_whose_client_gave_up_while_it_waited_is_never_carried_out(served: tuple[Address, Machine]) -> None:
    address, machine = served
    with hanging(address, machine) as environment:
        impatient = RemoteEnvironment(address, deadlines=SHORT)
        with pytest.raises(EnvironmentFailure, match=r"not carried out within 0.2 s, the device was busy"):
            impatient.act("press", {"key": "late"})
        impatient.disconnect()
        machine.release.set()
        assert environment.act("press", {"key": "next"}).value == 3
    assert machine.log[1:3] == ["hung", "press next"]


def test_a_device_that_returns_late_can_be_used_again(served: tuple[Address, Machine]) -> None:
    address, machine = served
    environment = RemoteEnvironment(address, deadlines=SHORT)
    environment.reset(0, START)
    with pytest.raises(EnvironmentFailure):
        environment.act("hang", {})
    machine.release.set()
    deadline = time.monotonic() + 30
    while environment.health() is not None:
        assert time.monotonic() < deadline
    environment.reset(1, START)
    assert environment.act("echo", {"value": 1}).value == 1
    environment.close()


def test_a_probe_has_the_deadline_it_was_given(served: tuple[Address, Machine]) -> None:
    """It is unknown, not an environment's failure; and a probe that is slow only delays what comes after it."""
    address, machine = served
    environment = RemoteEnvironment(address)
    environment.reset(0, START)
    with pytest.raises(DeadlineExceeded, match=r"probe 'slow': no answer within 0.2 s"):
        environment.probe("slow", {}, 0.2)
    impatient = RemoteEnvironment(address, deadlines=SHORT)
    with pytest.raises(EnvironmentFailure, match=r"not carried out within 0.2 s, the device was busy"):
        impatient.act("press", {"key": "a"})
    impatient.disconnect()
    machine.release.set()
    assert environment.act("press", {"key": "b"}).value == 2
    environment.close()


def test_an_action_gets_its_declared_duration_on_top_of_the_deadline(served: tuple[Address, Machine]) -> None:
    environment = RemoteEnvironment(served[0], deadlines=Deadlines(act=0.0))
    environment.reset(0, START)
    assert environment.act("hold", {"key": "a", "seconds": 30.0}).duration == 30.0
    assert environment.act("hold", {"key": "a", "seconds": 1e9}).duration == 1e9
    environment.advance(1e9)
    environment.close()


def test_a_server_that_is_frozen_ends_no_client(
    launch: Callable[..., Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "GRACE", 0.1)
    started = launch()
    environment = RemoteEnvironment(started.address, deadlines=Deadlines(act=0.2, observe=0.2, other=0.2))
    environment.reset(0, START)
    started.process.send_signal(signal.SIGSTOP)
    with pytest.raises(EnvironmentFailure, match=r"did not answer within 0.2 s"):
        environment.act("press", {"key": "a"})
    with pytest.raises(DeadlineExceeded, match=r"did not answer within 0.1 s"):
        environment.probe("log", {}, 0.1)
    assert "did not answer" in (environment.health() or "")
    with pytest.raises(Unreachable, match=r"did not answer within 0.2 s"):
        RemoteEnvironment(started.address, deadlines=Deadlines(connect=0.2))
    started.process.send_signal(signal.SIGCONT)
    patient = RemoteEnvironment(started.address)
    assert patient.observe().frames
    patient.close()
    environment.disconnect()


@pytest.mark.parametrize("where", ["unix", "tcp"])
def test_a_server_that_dies_during_a_call_is_an_environment_failure(
    launch: Callable[..., Process], directory: Any, where: str
) -> None:
    started = launch(**({"socket": str(directory / "s")} if where == "unix" else {}))
    environment = RemoteEnvironment(started.address)
    environment.reset(0, START)
    with pytest.raises(EnvironmentFailure, match="act 'die'") as caught:
        environment.act("die", {})
    assert isinstance(caught.value.__cause__, Unreachable)
    with pytest.raises(EnvironmentFailure, match="no server answers"):
        environment.observe()
    with pytest.raises(ProbeFailure, match="no server answers"):
        environment.probe("log", {})
    assert "no server answers" in (environment.health() or "")
    environment.close()
    environment.close()


def test_a_server_that_ends_in_the_middle_of_a_call_says_so() -> None:
    machine = Machine()
    failures: list[Exception] = []
    with serving(hosted(machine)) as address:
        environment = RemoteEnvironment(address)
        environment.reset(0, START)

        def act() -> None:
            try:
                environment.act("hang", {})
            except EnvironmentFailure as error:
                failures.append(error)

        thread = threading.Thread(target=act)
        thread.start()
        assert machine.entered.wait(30)
    thread.join()
    assert len(failures) == 1
    assert "close" in machine.log
    environment.close()


class Foreign:
    """Something else that speaks HTTP, and answers every request with these bytes."""

    def __init__(self, *answers: bytes) -> None:
        import socket

        self._answers = answers
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = Address(port=self._listener.getsockname()[1], token="x" * 43)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        for answer in self._answers:
            connection, _ = self._listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

    def close(self) -> None:
        self._thread.join()
        self._listener.close()


def http(body: bytes, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def test_a_server_of_another_protocol_version_is_refused_and_both_versions_named() -> None:
    foreign = Foreign(http(b'{"result": {"protocol": 99, "crab": "9.0"}}'))
    with pytest.raises(HandshakeRefused, match="speaks protocol 99, this client protocol 1") as caught:
        RemoteEnvironment(foreign.address)
    assert caught.value.fix == "install the same version of crab-eval on both sides"
    foreign.close()


@pytest.mark.parametrize(
    "answer",
    [
        http(b"<html>"),
        http(b"[]"),
        http(b'{"detail": "not found"}', "404 Not Found"),
        http(b'{"result": {"protocol": 1}}'),
        http(b'{"error": 3}'),
        b"HTTP/1.1 200 OK\r\n\r\nendless",
    ],
)
def test_what_is_no_environment_server_is_told_as_such(answer: bytes) -> None:
    foreign = Foreign(answer)
    with pytest.raises(RemoteError, match=r"is no environment server|not understood") as caught:
        RemoteEnvironment(foreign.address)
    assert type(caught.value) is RemoteError
    foreign.close()


def test_a_reply_that_is_cut_short_twice_is_unreachable() -> None:
    cut = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    foreign = Foreign(cut, cut)
    with pytest.raises(Unreachable, match="broke the connection twice"):
        RemoteEnvironment(foreign.address)
    foreign.close()


def test_a_crowd_of_strangers_does_not_shut_out_who_is_connected() -> None:
    with serving(hosted(Machine())) as address, ExitStack() as strangers:
        environment = RemoteEnvironment(address)
        environment.reset(0, START)
        for _ in range(CONNECTIONS):
            strangers.enter_context(connect(address))
        with pytest.raises(Unreachable):
            RemoteEnvironment(address)
        assert environment.act("echo", {"value": 1}).value == 1
        environment.close()
