"""A request is carried out once: also when its connection breaks, when it is sent again, and when it is replayed."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crab.errors import EnvironmentFailure, RequestRejected, Unreachable
from crab.remote.address import Address
from crab.remote.client import RemoteEnvironment
from crab.remote.ledger import KEPT_REPLIES, SESSIONS, WINDOW, Ledger
from crab.remote.protocol import JSON_TYPE, Reply
from crab.remote.server import serving
from tests.crab.remote.machine import START, Machine, hosted
from tests.crab.remote.wire import Relay, envelope, exchange, open_session, post, request_bytes


@pytest.fixture
def relayed(served: tuple[Address, Machine], directory: Path) -> Iterator[tuple[Relay, Machine]]:
    """A machine behind a relay that can break connections."""
    with Relay(served[0], directory / "relay").running() as relay:
        yield relay, served[1]


def reset_client(relay: Relay) -> RemoteEnvironment:
    environment = RemoteEnvironment(relay.address)
    environment.reset(0, START)
    return environment


@pytest.mark.parametrize("what", ["drop_requests", "drop_replies"])
def test_an_act_whose_connection_breaks_happens_exactly_once(relayed: tuple[Relay, Machine], what: str) -> None:
    """Whether the request or only the reply was lost, the caller gets the result of the one execution."""
    relay, machine = relayed
    environment = reset_client(relay)
    setattr(relay, what, 1)
    assert environment.act("press", {"key": "a"}).value == 2
    assert machine.log[1:] == ["press a"]
    assert environment.act("press", {"key": "b"}).value == 3
    environment.close()


def test_an_act_whose_connection_breaks_while_it_runs_happens_exactly_once(relayed: tuple[Relay, Machine]) -> None:
    relay, machine = relayed
    environment = reset_client(relay)
    relay.drop_replies = 1
    values: list[object] = []
    thread = threading.Thread(target=lambda: values.append(environment.act("hang", {}).value))
    thread.start()
    assert machine.entered.wait(30)
    assert relay.passed.wait(30)
    machine.release.set()
    thread.join()
    assert values == ["released"]
    assert machine.log[1:] == ["hung"]
    environment.close()


def test_a_connection_that_breaks_twice_is_a_failure_and_the_act_happened_at_most_once(
    relayed: tuple[Relay, Machine],
) -> None:
    relay, machine = relayed
    environment = reset_client(relay)
    relay.drop_replies = 2
    with pytest.raises(EnvironmentFailure, match="broke the connection twice") as caught:
        environment.act("press", {"key": "a"})
    assert isinstance(caught.value.__cause__, Unreachable)
    assert environment.act("press", {"key": "b"}).value == 3
    assert machine.log[1:] == ["press a", "press b"]
    environment.close()


def test_a_repeated_request_gets_the_recorded_reply(served: tuple[Address, Machine]) -> None:
    address, machine = served
    session = open_session(address)
    post(address, "/call/reset", envelope(session, 1, seed=0, start_time=START, extra_actions=[]))
    document = envelope(session, 2, name="press", arguments={"key": "a"})
    first = post(address, "/call/act", document)
    assert first.result["value"] == 2
    assert post(address, "/call/act", document) == first
    assert machine.log[1:] == ["press a"]


def test_a_recorded_failure_is_repeated_too(served: tuple[Address, Machine]) -> None:
    session = open_session(served[0])
    document = envelope(session, 1, name="press", arguments={"key": "a"})
    first = post(served[0], "/call/act", document)
    post(served[0], "/call/reset", envelope(session, 2, seed=0, start_time=START, extra_actions=[]))
    assert first.error["message"] == "machine: act before reset"
    assert post(served[0], "/call/act", document) == first


def test_a_number_stands_for_one_request_only(served: tuple[Address, Machine]) -> None:
    address, machine = served
    session = open_session(address)
    post(address, "/call/reset", envelope(session, 1, seed=0, start_time=START, extra_actions=[]))
    document = envelope(session, 2, name="press", arguments={"key": "a"})
    post(address, "/call/act", document)
    document["parameters"]["arguments"]["key"] = "b"
    answer = post(address, "/call/act", document)
    assert (answer.status, answer.error["type"]) == (400, "RequestRejected")
    assert post(address, "/call/probe", document).status == 400
    assert machine.log[1:] == ["press a"]


def test_a_captured_request_that_is_replayed_later_does_nothing(relayed: tuple[Relay, Machine]) -> None:
    """At once it gets the old reply; later, and for ever, it is refused; so is all that came before it."""
    relay, machine = relayed
    environment = reset_client(relay)
    environment.act("press", {"key": "a"})
    captured = [request for request in relay.captured if b"/call/" in request]
    for _ in range(KEPT_REPLIES + WINDOW):
        environment.health()
    before = list(machine.log)
    for request in captured:
        answer = exchange(relay.address, request)
        assert (answer.status, answer.error["type"]) == (400, "RequestRejected")
        assert "not carried out again" in answer.error["message"]
    assert machine.log == before
    environment.close()


def test_a_captured_request_is_refused_by_the_next_server(directory: Path) -> None:
    machine = Machine()
    with serving(hosted(Machine()), socket=directory / "s") as address:
        session = open_session(address)
        body = json.dumps(envelope(session, 1, seed=0, start_time=START, extra_actions=[])).encode()
        request = request_bytes(address, "/call/reset", body)
        assert exchange(address, request).status == 200
    with serving(hosted(machine), socket=directory / "s") as address:
        assert "does not know this session" in exchange(address, request).error["message"]
    assert machine.log == ["close"]


def test_a_client_is_told_when_its_server_was_started_anew(directory: Path) -> None:
    with serving(hosted(Machine()), socket=directory / "s") as address:
        environment = RemoteEnvironment(address)
        environment.reset(0, START)
    with serving(hosted(Machine()), socket=directory / "s"):
        with pytest.raises(RequestRejected, match="started anew") as caught:
            environment.act("press", {"key": "a"})
        assert caught.value.fix == "connect again and reset"
        environment.disconnect()


def test_two_clients_may_use_the_same_numbers(served: tuple[Address, Machine]) -> None:
    first, second = RemoteEnvironment(served[0]), RemoteEnvironment(served[0])
    first.reset(0, START)
    second.observe()
    assert [first.act("press", {"key": "a"}).value, second.act("press", {"key": "b"}).value] == [3, 4]
    first.close()
    second.disconnect()


def in_ledger(ledger: Ledger, work: Callable[[Callable[[str, int], str]], None]) -> None:
    """Runs the work with a function that claims a number and returns the reply's text."""

    async def run() -> None:
        calls = iter(range(1_000_000))

        def start() -> asyncio.Task[Reply]:
            async def carry_out() -> Reply:
                return Reply(200, JSON_TYPE, f"reply {next(calls)}".encode())

            return asyncio.get_running_loop().create_task(carry_out())

        claims: list[tuple[str, int]] = []

        def claim(session: str, number: int) -> str:
            claims.append((session, number))
            return str(id(ledger.claim(session, number, b"d", start)))

        work(claim)

    asyncio.run(run())


def test_the_ledger_takes_numbers_out_of_order_within_its_window_and_each_once() -> None:
    ledger = Ledger()
    session = ledger.open()

    def work(claim: Callable[[str, int], str]) -> None:
        high = 10 * WINDOW
        claim(session, high)
        claim(session, high - WINDOW + 1)
        assert claim(session, high) == claim(session, high)
        with pytest.raises(RequestRejected, match="not carried out again"):
            claim(session, high - WINDOW)

    in_ledger(ledger, work)


def test_the_ledger_forgets_the_client_that_was_silent_longest() -> None:
    ledger = Ledger()
    first, second = ledger.open(), ledger.open()

    def work(claim: Callable[[str, int], str]) -> None:
        for _ in range(SESSIONS - 2):
            ledger.open()
        claim(first, 1)
        ledger.open()
        claim(first, 2)
        with pytest.raises(RequestRejected, match="forgotten an idle client"):
            claim(second, 1)

    in_ledger(ledger, work)


def test_the_ledger_keeps_few_bytes_but_always_the_newest_reply() -> None:
    ledger = Ledger(kept_bytes=20)
    session = ledger.open()

    async def run() -> None:
        async def carry_out(size: int) -> Reply:
            return Reply(200, JSON_TYPE, b"x" * size)

        def claim(number: int, size: int) -> asyncio.Task[Reply]:
            return ledger.claim(session, number, b"d", lambda: asyncio.get_running_loop().create_task(carry_out(size)))

        for number, size in ((1, 10), (2, 10), (3, 1000)):
            await claim(number, size)
            assert len((await claim(number, 0)).body) == size
        for number in (1, 2):
            with pytest.raises(RequestRejected):
                claim(number, 0)
        await claim(4, 1)
        with pytest.raises(RequestRejected):
            claim(3, 0)

    asyncio.run(run())
