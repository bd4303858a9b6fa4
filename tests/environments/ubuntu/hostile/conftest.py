"""One desktop for all attacks, started through the provider; after each the host is looked at."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from environments.ubuntu import UBUNTU
from tests.environments.ubuntu import host
from tests.environments.ubuntu.hostile.agent import HostileAgent
from tests.environments.ubuntu.sandbox.sandboxed import need_bubblewrap
from tests.environments.ubuntu.waiting import until

SECRET_VARIABLE = "CRAB_TEST_SECRET"


@dataclass(frozen=True)
class Runner:
    """What the runner holds that the agent must not get at.

    Attributes:
        directory: Its temporary files; the desktop's are among them.
        answer: The expected answer; the runner's environment has it too.
    """

    directory: Path
    answer: str


@pytest.fixture(scope="package")
def runner() -> Iterator[Runner]:
    """A runner with a secret in its memory and environment, and a directory of its own for temporary files."""
    need_bubblewrap()
    directory = Path(tempfile.mkdtemp(prefix="hostile-"))
    answer = f"answer-{os.urandom(12).hex()}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SECRET_VARIABLE, answer)
        yield Runner(directory, answer)
    shutil.rmtree(directory)


@pytest.fixture(scope="package")
def running_agent(runner: Runner) -> Iterator[HostileAgent]:
    """An agent whose desktop ends without leaving a process, mount or file."""
    before = set(host.descendants())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(runner.directory))
        environment = UBUNTU.provider().start({})
    assert environment.describe().provider.isolation == "bubblewrap"
    agent = HostileAgent(environment)
    yield agent
    agent.assert_recovers()
    environment.close()
    until(lambda: set(host.descendants()) <= before, "the end of every process")
    assert list(runner.directory.iterdir()) == []


@pytest.fixture
def agent(running_agent: HostileAgent, runner: Runner) -> Iterator[HostileAgent]:
    """That agent, for one attack, after which the host is as before."""
    yield running_agent
    assert not [line for line in host.mounts() if runner.directory.name in line or "/session" in line]
    (sockets,) = runner.directory.iterdir()
    assert [path.name for path in sockets.iterdir()] == ["server.sock"]
