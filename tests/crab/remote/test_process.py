"""A server as a process: how it begins, how it ends, what it says and what it needs."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from crab.errors import EnvironmentFailure
from crab.remote.client import RemoteEnvironment
from crab.remote.server import serve, serving
from tests.crab.remote.conftest import Process
from tests.crab.remote.machine import KIND, PROVIDER, START, Machine, hosted
from tests.crab.remote.wire import exchange

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_closes_the_environment_and_ends_the_process_cleanly_and_silently(
    launch: Callable[..., Process], directory: Path, number: signal.Signals
) -> None:
    started = launch(socket=str(directory / "s"), closed=str(directory / "closed"))
    environment = RemoteEnvironment(started.address)
    environment.reset(0, START)
    exchange(started.address, b"not http\r\n\r\n")
    started.process.send_signal(number)
    output, errors = started.process.communicate(timeout=60)
    assert (started.process.returncode, output, errors) == (0, "", "")
    assert (directory / "closed").read_text(encoding="utf-8") == "closed"
    assert not (directory / "s").exists()
    environment.disconnect()


def test_a_signal_ends_the_process_even_when_the_device_hangs(launch: Callable[..., Process], directory: Path) -> None:
    started = launch(socket=str(directory / "s"), closed=str(directory / "closed"))
    environment = RemoteEnvironment(started.address)
    environment.reset(0, START)
    failures: list[Exception] = []

    def act() -> None:
        try:
            environment.act("hang", {})
        except EnvironmentFailure as error:
            failures.append(error)

    thread = threading.Thread(target=act)
    thread.start()
    other = RemoteEnvironment(started.address)
    started.process.send_signal(signal.SIGTERM)
    assert started.process.wait(timeout=60) == 0
    thread.join()
    assert (directory / "closed").exists()
    other.disconnect()
    environment.disconnect()


def test_it_ends_with_its_parent_when_asked(launch: Callable[..., Process], directory: Path) -> None:
    started = launch(exit_with_parent=True, closed=str(directory / "closed"))
    assert started.process.stdin is not None
    started.process.stdin.write("a line means nothing\n")
    started.process.stdin.flush()
    RemoteEnvironment(started.address).disconnect()
    started.process.stdin.close()
    started.process.stdin = None
    assert started.process.wait(timeout=60) == 0
    assert (directory / "closed").exists()


PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-m", "tests.crab.remote.machine", sys.argv[1]], stdin=subprocess.PIPE)
child.wait()
"""


def test_it_ends_when_its_parent_is_killed(directory: Path) -> None:
    options = f'{{"exit_with_parent": true, "closed": "{directory}/closed"}}'
    parent = subprocess.Popen([sys.executable, "-c", PARENT, options], stdout=subprocess.PIPE, cwd=ROOT)
    assert parent.stdout is not None
    assert parent.stdout.readline()
    parent.kill()
    parent.wait()
    # The child holds the other end of the pipe, which ends when the child does.
    assert parent.stdout.read() == b""
    parent.stdout.close()
    assert (directory / "closed").exists()


def test_ending_with_the_parent_needs_a_pipe(directory: Path) -> None:
    code = (
        "from crab.remote.server import serve\n"
        "from tests.crab.remote.machine import Machine, hosted\n"
        "from pathlib import Path\n"
        f"serve(hosted(Machine(Path({str(directory / 'closed')!r}))), exit_with_parent=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=ROOT, timeout=60
    )
    assert "UsageError: ending with the parent needs a pipe as standard input" in done.stderr
    assert (directory / "closed").exists()


@pytest.mark.parametrize("module", ["uvicorn", "httptools"])
def test_without_the_extra_the_error_names_it(module: str) -> None:
    code = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from crab.errors import UsageError\n"
        "from crab.remote.server import serve\n"
        "from tests.crab.remote.machine import Machine, hosted\n"
        "try:\n    serve(hosted(Machine()))\n"
        "except UsageError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.stdout == (
        f"an environment server needs {module}, which is not installed: pip install 'crab-eval[server]'\n"
    )


def test_importing_loads_no_http_library_and_no_extra() -> None:
    code = (
        "import sys\n"
        "import crab.remote.client, crab.remote.server\n"
        "heavy = {'httpx', 'http.client', 'uvicorn', 'starlette', 'httptools', 'pydantic', 'numpy'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.stdout == "[]\n"


def test_an_environment_that_cannot_be_described_is_closed_and_the_error_told() -> None:
    class Mute(type(hosted(Machine()))):  # type: ignore[misc]
        def describe(self) -> None:
            raise EnvironmentFailure("no description")

    machine = Machine()
    environment = Mute(KIND, machine, PROVIDER)
    with pytest.raises(EnvironmentFailure, match="no description"), serving(environment):
        pytest.fail("it was served")
    with pytest.raises(EnvironmentFailure, match="no description"):
        serve(environment)
    assert machine.log == ["close"]


def test_an_error_while_closing_reaches_whoever_serves(directory: Path) -> None:
    class Stuck(Machine):
        def close(self) -> None:
            raise EnvironmentFailure("the lid is stuck", fix="pull")

    def serve_a_moment() -> None:
        with serving(hosted(Stuck()), socket=directory / "s") as address:
            RemoteEnvironment(address).disconnect()

    with pytest.raises(EnvironmentFailure, match="the lid is stuck"):
        serve_a_moment()
    assert not (directory / "s").exists()
