"""The toys keep every contract: in this process, behind a Unix socket and behind TCP; their subtasks are proven."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar, Literal

import pytest

from agents.noop import NoopAgent
from agents.random import RandomAgent
from crab.agent import Agent
from crab.compose.composer import Catalogue, compose
from crab.compose.document import TaskDocument
from crab.environment import Environment, EnvironmentKind
from crab.remote.client import RemoteEnvironment
from crab.remote.server import serving
from crab.task import Subtask
from crab.testing.agent import AgentConformance
from crab.testing.environment import EnvironmentConformance
from crab.testing.subtask import prove_subtask, prove_task
from crab.testing.toy import TOY_DESKTOP, TOY_PHONE
from crab.testing.toy_subtasks import TOY_SUBTASKS
from tests.crab.testing.toy_samples import DESKTOP_SAMPLES, PHONE_SAMPLES


class TestToyDesktop(EnvironmentConformance):
    samples = DESKTOP_SAMPLES

    def make_environment(self) -> Environment:
        return TOY_DESKTOP.provider().start({})


class TestToyPhone(EnvironmentConformance):
    samples = PHONE_SAMPLES

    def make_environment(self) -> Environment:
        return TOY_PHONE.provider().start({})


class Served(EnvironmentConformance):
    """Every environment has a server of its own, which ends with the class."""

    kind: ClassVar[EnvironmentKind]
    transport: ClassVar[Literal["unix", "tcp"]]
    _servers: ClassVar[ExitStack]

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def servers(cls) -> Iterator[None]:
        with ExitStack() as cls._servers:
            yield
            cls.teardown_class()

    def make_environment(self) -> Environment:
        # A short path: that of a Unix socket has 107 bytes at most.
        folder = Path(self._servers.enter_context(tempfile.TemporaryDirectory(prefix="crab-")))
        socket = folder / "s" if self.transport == "unix" else None
        address = self._servers.enter_context(serving(self.kind.provider().start({}), socket=socket))
        return RemoteEnvironment(address)


class TestToyDesktopBehindUnix(Served):
    samples = DESKTOP_SAMPLES
    kind = TOY_DESKTOP
    transport = "unix"


class TestToyDesktopBehindTcp(Served):
    samples = DESKTOP_SAMPLES
    kind = TOY_DESKTOP
    transport = "tcp"


class TestToyPhoneBehindUnix(Served):
    samples = PHONE_SAMPLES
    kind = TOY_PHONE
    transport = "unix"


class TestNoop(AgentConformance):
    def make_agent(self) -> Agent:
        return NoopAgent()


class TestRandom(AgentConformance):
    def make_agent(self) -> Agent:
        return RandomAgent()


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("subtask", TOY_SUBTASKS, ids=lambda subtask: subtask.id)
def test_every_toy_subtask_is_proven(subtask: Subtask, seed: int) -> None:
    """Fresh 0, oracle 1, each near miss fails where it says, reset 0, same seed same result."""
    proof = prove_subtask(subtask, toys(subtask.environments), seed=seed)

    assert proof.ok, str(proof)
    assert len(proof.findings) == 12 + len(subtask.near_misses)


def test_a_task_across_both_toys_is_proven(tmp_path: Path) -> None:
    """A composed task is proven with the near misses of all its parts, and keeps its records where asked."""
    composed = compose(TaskDocument.model_validate(ACROSS), Catalogue(TOY_SUBTASKS))

    proof = prove_task(composed, toys(composed.task.environments), directory=tmp_path)

    assert proof.ok, str(proof)
    assert {"near_miss note.not_saved", "near_miss message.other_number"} <= {item.name for item in proof.findings}
    assert (tmp_path / "trials/oracle/note-by-message/s0/events.jsonl").exists()


ACROSS = {
    "schema_version": 1,
    "id": "note-by-message",
    "version": 1,
    "description": 'Save a note called "list" with the text "bring bread", and send that text to 5550110.',
    "environments": {"desktop": "toy_desktop", "phone": "toy_phone"},
    "subtasks": [
        {"id": "note", "template": "write_note@1", "parameters": {"name": "list", "text": "bring bread"}},
        {
            "id": "message",
            "template": "send_message@1",
            "parameters": {"number": "5550110", "text": {"from": "note"}},
        },
    ],
    "review": {"author": "example"},
}


def toys(roles: Mapping[str, str]) -> dict[str, Environment]:
    """Starts the toys for these roles."""
    kinds = {"toy_desktop": TOY_DESKTOP, "toy_phone": TOY_PHONE}
    return {role: kinds[kind].provider().start({}) for role, kind in roles.items()}
