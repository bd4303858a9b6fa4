"""Every verb does the same in process, over a Unix socket and over TCP."""

from __future__ import annotations

import inspect
import platform
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from crab import errors
from crab.environment import ActResult, Environment
from crab.errors import (
    CrabError,
    DefinitionError,
    EnvironmentFailure,
    HandshakeRefused,
    ProbeFailure,
    RemoteError,
    UsageError,
)
from crab.hosting import HostedEnvironment
from crab.observation import Frame, Observation, ObservationRequest
from crab.remote.address import Address
from crab.remote.client import RemoteEnvironment
from crab.remote.protocol import MESSAGE_LIMIT, PROTOCOL_VERSION, operations_digest
from crab.remote.server import serving
from tests.crab.remote.conftest import Backend
from tests.crab.remote.machine import KIND, NOT_JSON, PICTURE, PROVIDER, START, TREE, Machine, hosted

ERROR_NAMES = [name for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, CrabError)]


def outcome(call: Callable[[], Any]) -> tuple[str, str]:
    """What a caller sees: the class and text of the error, or the result."""
    try:
        return "result", repr(call())
    except CrabError as error:
        return type(error).__name__, str(error)


def test_describe_gives_operations_schemas_durations_and_the_provider(backend: Backend) -> None:
    assert backend.environment.describe() == KIND.describe(PROVIDER)


def test_reset_reaches_the_device_and_enables_exactly_the_extra_actions(backend: Backend) -> None:
    backend.environment.reset(7, START, ["shout"])
    assert backend.environment.act("shout", {}).value == "!"
    backend.environment.reset(8, START)
    with pytest.raises(errors.UnknownAction):
        backend.environment.act("shout", {})
    assert backend.machine.log == [f"reset 7 {START}", f"reset 8 {START}"]


def test_act_gives_value_declared_duration_and_settlement(backend: Backend) -> None:
    backend.environment.reset(0, START)
    assert backend.environment.act("press", {"key": "ö"}) == ActResult(2, 0.0, False, 0.25)
    assert backend.environment.act("hold", {"key": "a"}).duration == 1.5
    assert backend.environment.act("hold", {"key": "a", "seconds": 90.25}).duration == 90.25


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -1.5, 2**70, "", "\x00 保存", [], {}, {"": [{"a": [None, 1.0, 1]}]}, "x" * 300_000],
    ids=lambda value: repr(value)[:20],
)
def test_json_values_arrive_as_they_were_sent(backend: Backend, value: Any) -> None:
    backend.environment.reset(0, START)
    result = backend.environment.act("echo", {"value": value}).value
    assert result == value
    assert type(result) is type(value)


def test_a_tuple_that_an_action_returns_arrives_as_a_list(backend: Backend) -> None:
    backend.environment.reset(0, START)
    assert backend.environment.act("hold", {"key": "a"}).value == ["a", 1.5]


def test_observe_keeps_the_bytes_of_every_frame(backend: Backend) -> None:
    backend.environment.reset(0, START)
    observation = backend.environment.observe()
    assert [frame.data for frame in observation.frames] == [b"", PICTURE]
    assert (observation.now.media_type, observation.now.width, observation.now.height) == ("image/webp", 640, 480)
    assert observation.now.time == 0.1 + 0.2
    assert observation.accessibility is None


def test_observe_passes_the_request_on_and_keeps_the_accessibility_tree(backend: Backend) -> None:
    backend.environment.reset(0, START)
    observation = backend.environment.observe(ObservationRequest(frames_per_second=2, accessibility=True))
    assert observation.accessibility == TREE
    assert backend.machine.log[-1] == "observe 2"


def test_prepare_and_probe_reach_the_device(backend: Backend) -> None:
    backend.environment.reset(0, START)
    backend.environment.prepare("put", {"text": "x" * 2_000_000})
    assert backend.environment.probe("log", {}) == [f"reset 0 {START}", "put 2000000"]


def test_time_verbs_reach_the_device_in_order(backend: Backend) -> None:
    backend.environment.reset(0, START)
    backend.environment.pause()
    backend.environment.advance(1_000_000)
    backend.environment.advance(0.1)
    backend.environment.resume()
    assert backend.machine.log[1:] == ["pause", "advance 1000000", "advance 0.1", "resume"]


def test_close_closes_the_device_once_and_ends_the_verbs(backend: Backend) -> None:
    backend.environment.reset(0, START)
    backend.environment.close()
    backend.environment.close()
    assert backend.machine.log.count("close") == 1
    for call in (backend.environment.observe, lambda: backend.environment.act("press", {"key": "a"})):
        with pytest.raises(EnvironmentFailure, match="machine is closed") as caught:
            call()
        assert caught.value.fix == "start a new one"


def test_health_tells_what_died(backend: Backend) -> None:
    environment: Any = backend.environment
    environment.reset(0, START)
    assert environment.health() is None
    backend.machine.illness = "the display died"
    assert environment.health() == "the display died"
    environment.close()
    assert environment.health() == "closed"


CALLS: dict[str, Callable[[Environment], Any]] = {
    "unknown action": lambda environment: environment.act("fly", {}),
    "action not enabled": lambda environment: environment.act("shout", {}),
    "argument missing": lambda environment: environment.act("press", {}),
    "argument unknown": lambda environment: environment.act("press", {"key": "a", "how": "hard"}),
    "argument of a wrong type": lambda environment: environment.act("press", {"key": 3}),
    "unknown probe": lambda environment: environment.probe("taste", {}),
    "probe's argument missing": lambda environment: environment.probe("strange", {}),
    "probe that raises": lambda environment: environment.probe("broken", {"kind": "?"}),
    "probe that raises an error of ours": lambda environment: environment.probe("broken", {"kind": "UsageError"}),
    "probe that fails on purpose": lambda environment: environment.probe("broken", {"kind": "ProbeFailure"}),
    "probe without time": lambda environment: (environment.probe("log", {}, 0), None)[1],
    "unknown preparation": lambda environment: environment.prepare("steal", {}),
    "preparation's argument wrong": lambda environment: environment.prepare("put", {"text": None}),
    "preparation that is answered no": lambda environment: environment.prepare("spoil", {"kind": "ActionFailed"}),
    "preparation that raises": lambda environment: environment.prepare("spoil", {"kind": "other"}),
    "unknown extra action": lambda environment: environment.reset(0, START, ["sing"]),
    "action that raises": lambda environment: environment.act("fail", {"kind": "?", "message": "a\nb"}),
    "prepare after act": lambda environment: (
        environment.act("echo", {"value": 1}),
        environment.prepare("put", {"text": ""}),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_errors_are_those_of_the_environment_in_process(backend: Backend, name: str) -> None:
    """Same class, same words; and the call after it works."""
    reference = hosted(Machine())
    for environment in (reference, backend.environment):
        environment.reset(0, START)
    if name == "probe without time":
        with pytest.raises(errors.DeadlineExceeded):
            CALLS[name](backend.environment)
    else:
        assert outcome(lambda: CALLS[name](backend.environment)) == outcome(lambda: CALLS[name](reference))
    backend.environment.reset(0, START)
    assert backend.environment.act("echo", {"value": "still here"}).value == "still here"


@pytest.mark.parametrize("verb", ["observe", "act", "probe", "prepare", "advance", "pause", "resume"])
def test_verbs_before_reset_are_refused_alike(backend: Backend, verb: str) -> None:
    arguments: dict[str, tuple[Any, ...]] = {
        "act": ("press", {"key": "a"}),
        "probe": ("log", {}),
        "prepare": ("put", {"text": ""}),
        "advance": (1.0,),
    }
    with pytest.raises(UsageError, match=f"machine: {verb} before reset"):
        getattr(backend.environment, verb)(*arguments.get(verb, ()))


def test_every_error_of_the_tree_keeps_class_and_message(backend: Backend) -> None:
    backend.environment.reset(0, START)
    for name in ERROR_NAMES:
        with pytest.raises(getattr(errors, name)) as caught:
            backend.environment.act("fail", {"kind": name, "message": "drawer is stuck — ü\n"})
        assert type(caught.value).__name__ == name
        assert str(caught.value) == "drawer is stuck — ü\n"


@pytest.mark.parametrize("what", NOT_JSON)
def test_a_result_that_is_not_json_is_an_error_that_names_the_action(backend: Backend, what: str) -> None:
    """NaN, bytes or a set end neither the connection nor the server; the next call works."""
    backend.environment.reset(0, START)
    with pytest.raises(DefinitionError, match="action give was carried out, but what it returned is not JSON"):
        backend.environment.act("give", {"what": what})
    with pytest.raises(ProbeFailure, match=r"probe strange.* is not JSON"):
        backend.environment.probe("strange", {"what": what})
    assert backend.environment.act("echo", {"value": 1}).value == 1


@pytest.mark.parametrize("what", NOT_JSON)
def test_arguments_that_are_not_json_are_refused(backend: Backend, what: str) -> None:
    backend.environment.reset(0, START)
    with pytest.raises(errors.InvalidArguments, match="echo: arguments are not JSON"):
        backend.environment.act("echo", {"value": NOT_JSON[what]})
    with pytest.raises(ProbeFailure, match="arguments are not JSON"):
        backend.environment.probe("strange", {"what": NOT_JSON[what]})
    assert backend.environment.act("echo", {"value": 1}).value == 1


class DrawerStuck(EnvironmentFailure):
    """An error class that only this environment knows."""


class Moody(HostedEnvironment):
    """An environment of somebody else's, which raises from `pause` what it was given."""

    mood: BaseException

    def pause(self) -> None:
        raise self.mood


@pytest.fixture
def moody(served_by: Callable[[Environment], RemoteEnvironment]) -> tuple[Moody, RemoteEnvironment]:
    environment = Moody(KIND, Machine(), PROVIDER)
    return environment, served_by(environment)


@pytest.fixture
def served_by() -> Iterator[Callable[[Environment], RemoteEnvironment]]:
    with ExitStack() as stack:

        def start(environment: Environment) -> RemoteEnvironment:
            remote = RemoteEnvironment(stack.enter_context(serving(environment)))
            stack.callback(remote.close)
            return remote

        yield start


def test_a_fix_crosses_the_wire(moody: tuple[Moody, RemoteEnvironment]) -> None:
    moody[0].mood = EnvironmentFailure("the disk is full", fix="empty it")
    with pytest.raises(EnvironmentFailure) as caught:
        moody[1].pause()
    assert (caught.value.message, caught.value.fix) == ("the disk is full", "empty it")
    assert str(caught.value) == "the disk is full — empty it"


def test_an_error_class_of_others_arrives_as_its_nearest_ancestor_in_the_tree(
    moody: tuple[Moody, RemoteEnvironment],
) -> None:
    moody[0].mood = DrawerStuck("stuck")
    with pytest.raises(EnvironmentFailure, match="stuck") as caught:
        moody[1].pause()
    assert type(caught.value) is EnvironmentFailure


@pytest.mark.parametrize("mood", [ValueError("no"), SystemExit("no"), KeyboardInterrupt("no"), StopIteration("no")])
def test_an_unknown_error_is_a_remote_error_that_names_it_and_shows_no_traceback(
    moody: tuple[Moody, RemoteEnvironment], mood: BaseException
) -> None:
    moody[0].mood = mood
    with pytest.raises(RemoteError) as caught:
        moody[1].pause()
    assert caught.value.message == f"pause: the server raised {type(mood).__name__}: no"
    moody[1].reset(0, START)
    assert moody[1].act("echo", {"value": 1}).value == 1


def test_an_endless_message_is_cut(moody: tuple[Moody, RemoteEnvironment]) -> None:
    moody[0].mood = EnvironmentFailure("x" * 10_000_000)
    with pytest.raises(EnvironmentFailure) as caught:
        moody[1].pause()
    assert len(caught.value.message) == MESSAGE_LIMIT


@pytest.mark.parametrize("what", NOT_JSON)
def test_the_server_itself_checks_what_an_environment_returns(
    served_by: Callable[[Environment], RemoteEnvironment], what: str
) -> None:
    """Environments of others need not be as strict as the one in process."""

    class Loose(HostedEnvironment):
        def act(self, name: str, arguments: Mapping[str, Any]) -> ActResult:
            return ActResult(NOT_JSON[what])

        def probe(self, name: str, arguments: Mapping[str, Any], seconds: float = 10.0) -> Any:
            return NOT_JSON[what]

    environment = served_by(Loose(KIND, Machine(), PROVIDER))
    with pytest.raises(DefinitionError, match="action give was carried out, but what it returned is not JSON"):
        environment.act("give", {})
    with pytest.raises(ProbeFailure, match="probe strange: what it answered is not JSON"):
        environment.probe("strange", {})
    assert environment.health() is None


def test_an_observation_that_cannot_be_sent_is_an_error(
    served_by: Callable[[Environment], RemoteEnvironment],
) -> None:
    class Blurred(HostedEnvironment):
        def observe(self, request: ObservationRequest | None = None) -> Observation:
            return Observation((Frame(b"", "image/png", 1, 1, float("nan")),))

    with pytest.raises(DefinitionError, match="the observation cannot be sent"):
        served_by(Blurred(KIND, Machine(), PROVIDER)).observe()


def test_calls_of_many_threads_and_clients_use_the_device_one_at_a_time(served: tuple[Address, Machine]) -> None:
    """Each thread's calls happen in its order, none is lost, none overlaps another."""
    address, machine = served
    clients = [RemoteEnvironment(address) for _ in range(3)]
    clients[0].reset(0, START)

    def work(index: int) -> None:
        for step in range(25):
            clients[index % 3].act("press", {"key": f"{index}-{step}"})

    threads = [threading.Thread(target=work, args=(index,)) for index in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for client in clients:
        client.close()
    assert machine.overlaps == 0
    for index in range(6):
        mine = [entry for entry in machine.log if entry.startswith(f"press {index}-")]
        assert mine == [f"press {index}-{step}" for step in range(25)]


def test_a_second_client_finds_the_environment_closed_by_the_first(served: tuple[Address, Machine]) -> None:
    first, second = RemoteEnvironment(served[0]), RemoteEnvironment(served[0])
    first.reset(0, START)
    first.close()
    assert second.health() == "closed"
    with pytest.raises(EnvironmentFailure, match="machine is closed"):
        second.observe()
    second.close()
    assert served[1].log.count("close") == 1


def test_what_the_server_says_of_itself(served: tuple[Address, Machine]) -> None:
    environment = RemoteEnvironment(served[0], kind="machine")
    facts = environment.server
    assert (facts.protocol, facts.kind) == (PROTOCOL_VERSION, "machine")
    assert facts.python == platform.python_version()
    assert facts.operations == operations_digest(KIND.describe(PROVIDER))
    assert str(environment.address) == str(served[0])
    environment.close()


def test_another_kind_than_the_expected_one_is_refused(served: tuple[Address, Machine]) -> None:
    with pytest.raises(HandshakeRefused, match="serves 'machine', not 'ubuntu'"):
        RemoteEnvironment(served[0], kind="ubuntu")
