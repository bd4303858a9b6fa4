"""Backends: one machine in process, behind a Unix socket and behind TCP; and servers in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from crab.environment import Environment
from crab.remote.address import Address
from crab.remote.client import RemoteEnvironment
from crab.remote.server import serving
from tests.crab.remote.machine import Machine, hosted


@dataclass(frozen=True)
class Backend:
    """An environment with the machine it ends at; `address` is None in process."""

    environment: Environment
    machine: Machine
    address: Address | None


@pytest.fixture
def directory() -> Iterator[Path]:
    """A short-named directory: the path of a Unix socket has 107 bytes at most."""
    with tempfile.TemporaryDirectory(prefix="crab-") as name:
        yield Path(name)


@pytest.fixture(params=["in-process", "unix", "tcp"])
def backend(request: pytest.FixtureRequest, directory: Path) -> Iterator[Backend]:
    machine = Machine()
    with ExitStack() as stack:
        if request.param == "in-process":
            yield Backend(hosted(machine), machine, None)
            return
        socket = directory / "s" if request.param == "unix" else None
        address = stack.enter_context(serving(hosted(machine), socket=socket))
        environment = RemoteEnvironment(address)
        stack.callback(environment.close)
        yield Backend(environment, machine, address)


@pytest.fixture(params=["unix", "tcp"])
def served(request: pytest.FixtureRequest, directory: Path) -> Iterator[tuple[Address, Machine]]:
    """The address of a machine behind each sort of socket."""
    machine = Machine()
    socket = directory / "s" if request.param == "unix" else None
    with serving(hosted(machine), socket=socket) as address:
        yield address, machine


@dataclass(frozen=True)
class Process:
    """A server in a process of its own."""

    process: subprocess.Popen[str]
    address: Address


@pytest.fixture
def launch(directory: Path) -> Iterator[Callable[..., Process]]:
    """Starts server processes; ends those that are left."""
    processes: list[subprocess.Popen[str]] = []

    def start(**options: Any) -> Process:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.crab.remote.machine", json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        processes.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            pytest.fail(process.communicate(timeout=30)[1])
        text, token = json.loads(line)
        return Process(process, Address.parse(text).with_token(token))

    yield start
    for process in processes:
        process.kill()
        process.communicate()
