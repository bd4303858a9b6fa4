"""What the single agent asks, what it makes of any answer, and whose trouble each failure is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from agents.single import SingleAgent
from crab.agent import Agent
from crab.errors import UsageError
from crab.observation import ObservationRequest
from crab.record.schema import Reason
from crab.testing.agent import AgentConformance, AgentSamples
from crab.testing.chat_server import FAULTS, Answer, Body, Called, ChatServer, Reply, Script, Status, images_of
from crab.testing.toy_reader import read
from tests.agents.single.stage import play_seed, single, toy
from tests.toy_project import NOTE_THEN_MESSAGE, WRITE_NOTE

WAIT = Called("wait", {"seconds": 1})
OPEN = Called("open_application", {"name": "Notepad"})
KEY = "sk-test-0123456789abcdef"


class TestConformance(AgentConformance):
    """The single agent keeps the rules of agents, with a model that looks."""

    servers: ClassVar[list[ChatServer]] = []

    @pytest.fixture(autouse=True)
    def served(self) -> Any:
        with ChatServer(read) as server:
            self.servers.append(server)
            yield
            self.servers.pop()

    def make_agent(self) -> Agent:
        return SingleAgent(model="m", base_url=self.servers[-1].url, api_key_env=None, marks="none")


class TestConformanceWithMarks(TestConformance):
    """It keeps them too when its model names marks in place of points."""

    samples = AgentSamples(request=ObservationRequest(accessibility=True))

    def make_agent(self) -> Agent:
        return SingleAgent(model="m", base_url=self.servers[-1].url, api_key_env=None, marks="accessibility")


def messages(request: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(request)["messages"]
    return found


def tool_results(request: bytes) -> list[str]:
    return [message["content"] for message in messages(request) if message["role"] == "tool"]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("refusal", "refusal"),
        ("cut_off", "cut_off"),
        ("no_choices", "no_answer"),
        ("text_only", "malformed_call"),
        ("invalid_json", "malformed_call"),
        ("unknown_tool", "unknown_action"),
        ("wrong_types", "invalid_arguments"),
    ],
)
def test_what_a_model_does_wrong_is_told_and_counted(tmp_path: Path, fault: str, reason: str) -> None:
    """Each fault ends in its own class, the model is told, and the trial goes on."""
    with single(Script(FAULTS[fault], Answer("Better now.", (OPEN,)))) as (agent, server):
        played = play_seed(tmp_path, toy(WRITE_NOTE), agent, 1)

    told = server.requests[1].decode()
    assert [event["reason"] for event in played.of("invalid_call")] == [reason]
    assert (played.ending.reason, played.ending.valid) == (Reason.AGENT_COMPLETE, True)
    assert played.result.actions == 1
    assert "Refused: " in told


def test_what_a_model_said_in_refusing_is_recorded(tmp_path: Path) -> None:
    with single(Script(FAULTS["refusal"])) as (agent, _):
        played = play_seed(tmp_path, toy(WRITE_NOTE), agent, 1)

    assert played.of("decision")[0]["messages"][0]["text"] == "I cannot help with that."


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("rate_limited", "RateLimited"),
        ("server_error", "ModelUnavailable"),
        ("slow", "ModelUnavailable"),
        ("dropped", "ModelUnavailable"),
        ("truncated_body", "ModelUnavailable"),
        ("not_json", "ModelUnavailable"),
    ],
)
def test_what_an_endpoint_does_wrong_is_never_the_agents(tmp_path: Path, fault: str, error: str) -> None:
    """The trial is invalid, says so under the failure's class, and did what it did before."""
    script = Script(Answer("", (OPEN,)), FAULTS[fault])
    with single(script, attempts=1, timeout=5.0 if fault != "slow" else 0.2) as (agent, _):
        played = play_seed(tmp_path, toy(WRITE_NOTE), agent, 1)

    trouble = played.of("error")[-1]
    assert (played.ending.valid, trouble["type"], trouble["blame"]) == (False, error, "infrastructure")
    assert played.result.actions == 1
    assert not played.ending.hopeless


@pytest.mark.parametrize(
    "reply", [Status(401, "Incorrect API key"), Status(404, "no such model", "model_not_found")], ids=["key", "model"]
)
def test_what_every_trial_would_meet_is_hopeless(tmp_path: Path, reply: Reply) -> None:
    """A key or model name that is refused makes the trial invalid, and says that others need not be tried."""
    with single(Script(reply)) as (agent, server):
        played = play_seed(tmp_path, toy(WRITE_NOTE), agent, 1)

    assert not played.ending.valid
    assert "check" in played.ending.hopeless
    assert len(server.requests) == 1


def test_results_are_fed_back(tmp_path: Path) -> None:
    """Each call is answered by a tool message with its id: done, failed or refused, with the words of the device."""
    first = Answer("", (OPEN, Called("write_text", {"text": "x"}), Called("click", {"x": -1, "y": 0}), WAIT))
    with single(Script(first)) as (agent, server):
        play_seed(tmp_path, toy(WRITE_NOTE), agent, 1)

    said = messages(server.requests[1])
    done, failed, refused, skipped = tool_results(server.requests[1])
    assert done == "Done."
    assert failed.startswith("Failed: no text field is focused")
    assert refused.startswith("Refused: click: argument 'x'")
    assert skipped.startswith("Refused: not carried out")
    assert [call["id"] for call in said[2]["tool_calls"]] == [message["tool_call_id"] for message in said[3:7]]
    assert said[7]["role"] == "user"


def test_only_the_first_call_is_carried_out_where_that_is_set(tmp_path: Path) -> None:
    """The others are answered as not carried out, and count for nothing."""
    with single(Script(Answer("", (OPEN, WAIT, WAIT))), calls="first") as (agent, server):
        played = play_seed(tmp_path, toy(WRITE_NOTE), agent, 1)

    assert (played.result.actions, played.result.invalid_calls) == (1, 0)
    assert tool_results(server.requests[1]) == ["Done.", *["Not carried out: only the first call of a turn is."] * 2]
    assert "Call one tool" in messages(server.requests[0])[0]["content"]


@pytest.mark.parametrize(("images", "sent"), [(1, [1, 1, 1, 1]), (2, [1, 2, 2, 2]), (4, [1, 2, 3, 4])])
def test_the_history_keeps_the_last_pictures(tmp_path: Path, images: int, sent: list[int]) -> None:
    """Older ones are replaced by a note; texts stay."""
    with single(Script(*[Answer("", (WAIT,))] * 3), images=images) as (agent, server):
        play_seed(tmp_path, toy(WRITE_NOTE), agent, 1)

    last = server.requests[-1].decode()
    assert [len(images_of(request)) for request in server.requests] == sent
    assert last.count("no longer shown") == 4 - sent[-1]
    assert last.count("Screen of desktop") == 4


def test_the_present_screens_are_always_shown(tmp_path: Path) -> None:
    """A window smaller than the number of devices still shows every device, and what is kept is the newest."""
    script = Script(Answer("", (Called("desktop__open_application", {"name": "Notepad"}),)), Answer("", (WAIT,)))
    with single(script, images=1) as (agent, server):
        play_seed(tmp_path, toy(NOTE_THEN_MESSAGE), agent, 1)

    first, second, _ = (images_of(request) for request in server.requests)
    assert (len(first), len(second)) == (2, 2)
    assert (first[0] != second[0], first[1] == second[1]) == (True, True)


def test_a_call_cut_in_two_is_left_out_and_the_rest_carried_out(tmp_path: Path) -> None:
    """At the output limit the last call may be half there; whole ones before it count."""
    cut = Answer("", (OPEN, Called("click", '{"x": 1')), finish_reason="length")
    only = Answer("", (Called("click", '{"x": 1'),), finish_reason="length")
    with single(Script(cut, only)) as (agent, _):
        played = play_seed(tmp_path, toy(WRITE_NOTE), agent, 1)

    assert played.result.actions == 1
    assert [event["reason"] for event in played.of("invalid_call")] == ["cut_off"]


@pytest.mark.parametrize(
    "reply",
    [
        Answer("Half a character: \ud83d", (Called("submit", {"answer": "\ud83d"}),)),
        Answer("", (Called("", {}), Called("a" * 500, {}), Called("héllo wörld", {}))),
        Body(b'{"choices": [{"message": {"tool_calls": [7, {"id": 3}, null]}}], "usage": {"prompt_tokens": "many"}}'),
        Body(b"{}"),
        Answer("", (Called("wait", "[1]"), Called("wait", '{"seconds": NaN}'))),
    ],
    ids=["half a character", "odd names", "no calls", "nothing", "no object"],
)
def test_no_answer_breaks_the_agent(tmp_path: Path, reply: Reply) -> None:
    """Whatever comes back, the trial goes on to its end and the next request can be sent."""
    with single(Script(reply)) as (agent, server):
        played = play_seed(tmp_path, toy(WRITE_NOTE), agent, 1)

    assert (played.ending.reason, played.ending.valid) == (Reason.AGENT_COMPLETE, True)
    assert len(server.requests) == 2


TOO_LONG = Status(400, "too long", "context_length_exceeded")


def test_a_conversation_that_is_too_long_is_shortened(tmp_path: Path) -> None:
    """The older half of the turns is left out and said to be, until the endpoint takes it."""
    script = Script(*[Answer("", (WAIT,))] * 4, TOO_LONG, TOO_LONG, Answer("", (OPEN,)))
    with single(script) as (agent, server):
        played = play_seed(tmp_path, toy(WRITE_NOTE), agent, 1)

    turns = [sum(message["role"] == "assistant" for message in messages(request)) for request in server.requests]
    assert (played.ending.reason, played.result.actions) == (Reason.AGENT_COMPLETE, 5)
    assert turns == [0, 1, 2, 3, 4, 2, 1, 2]
    assert "(3 earlier turns are left out here)" in server.requests[-1].decode()


def test_a_turn_that_is_too_long_by_itself_is_the_agents(tmp_path: Path) -> None:
    with single(Script(TOO_LONG)) as (agent, _):
        played = play_seed(tmp_path, toy(WRITE_NOTE), agent, 1)

    assert (played.ending.reason, played.ending.valid) == (Reason.AGENT_ERROR, True)


def test_time_that_runs_out_while_an_endpoint_makes_it_wait_is_not_the_agents(tmp_path: Path) -> None:
    """A trial that is over before its model answered again is invalid; one whose agent was slow counts."""
    with single(Script(*[FAULTS["rate_limited"]] * 2)) as (agent, _):
        played = play_seed(tmp_path / "throttled", toy(WRITE_NOTE), agent, 1, seconds=0.5)
    with single(Script(FAULTS["slow"])) as (agent, _):
        slow = play_seed(tmp_path / "slow", toy(WRITE_NOTE), agent, 1, seconds=0.5)

    assert (played.ending.valid, played.of("error")[-1]["type"]) == (False, "RateLimited")
    assert (slow.ending.reason, slow.ending.valid) == (Reason.TIME_LIMIT, True)


def test_settings_reach_the_wire(tmp_path: Path) -> None:
    """What is set is sent; what is not set is left to the endpoint."""
    settings = {
        "temperature": 0.5,
        "max_tokens": 99,
        "send_seed": True,
        "tool_choice": "required",
        "extra_body": {"k": 1},
    }
    with single(Script(), **settings) as (agent, server):
        play_seed(tmp_path, toy(WRITE_NOTE), agent, 5)
    with single(Script()) as (agent, plain):
        play_seed(tmp_path / "plain", toy(WRITE_NOTE), agent, 5)

    sent, default = json.loads(server.requests[0]), json.loads(plain.requests[0])
    wanted = {"temperature": 0.5, "max_completion_tokens": 99, "seed": 5, "tool_choice": "required", "k": 1}
    assert {name: sent[name] for name in wanted} == wanted
    assert set(default) == {"model", "messages", "tools"}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({}, "single.model: is missing"),
        ({"model": "m", "api_key": KEY}, "single.api_key: is no setting"),
        ({"model": "m", "images": "many"}, "single.images"),
        ({"model": "m", "calls": "some"}, "single.calls"),
        ({"model": "m", "marks": "some"}, "single.marks"),
        ({"model": "m", "timeout": 0}, "single.timeout"),
        ({"model": "m", "base_url": "nowhere"}, "base_url"),
        ({"model": "m", "api_key_env": KEY}, "api_key_env names the environment variable"),
        ({"model": "m", "api_key_env": "NO_SUCH_KEY"}, "NO_SUCH_KEY is not set"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_wrong_settings_are_named_before_anything_starts(settings: dict[str, Any], says: str) -> None:
    """One line names the setting, and a key in the wrong place is not repeated."""
    with pytest.raises(UsageError, match=says) as caught:
        SingleAgent(**settings)

    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)
