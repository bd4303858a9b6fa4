"""A real outer sandbox with a session in it, for tests to talk to."""

from __future__ import annotations

import json
import socket
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from environments.ubuntu.sandbox.launch import OuterSandbox, launch_outer
from environments.ubuntu.sandbox.probe import probe
from tests.environments.ubuntu.waiting import until

DRIVER = "tests.environments.ubuntu.sandbox.driver"


class DriverError(Exception):
    """A call failed in the sandbox; carries the error's name and words."""


class Sandboxed:
    """The test's end of the driver in the sandbox."""

    def __init__(self, sandbox: OuterSandbox, connection: socket.socket, directory: Path) -> None:
        self.sandbox = sandbox
        self.directory = directory
        self._stream = connection.makefile("rw")

    def call(self, name: str, **arguments: Any) -> Any:
        """Make one call; raises DriverError when it failed there."""
        self._stream.write(json.dumps([name, arguments]) + "\n")
        self._stream.flush()
        line = self._stream.readline()
        if not line:
            raise DriverError(f"the driver is gone: {self.sandbox.stderr_tail()}")
        reply = json.loads(line)
        if "error" in reply:
            raise DriverError(reply["error"])
        return reply["answer"]

    def inside(self, *argv: str) -> tuple[int, str]:
        """Exit status and output of a program run in the agent's world."""
        status, output = self.call("inside", argv=list(argv))
        return status, output

    def output(self, *argv: str) -> str:
        """Output of a program of the agent's world that must succeed."""
        status, output = self.inside(*argv)
        assert status == 0, output
        return output.strip()

    def xprop(self, *arguments: str) -> str:
        """Output of xprop, run in the outer sandbox."""
        status, output = self.call("outside", argv=["xprop", *arguments])
        return output if status == 0 else ""

    def window_classes(self) -> list[str]:
        """Class of every managed window, oldest first."""
        listed = self.xprop("-root", "_NET_CLIENT_LIST").partition("#")[2]
        found = (self.xprop("-id", number.strip(), "WM_CLASS") for number in listed.split(",") if number.strip())
        return [text.rpartition('"')[0].rpartition('"')[2] for text in found]

    def wait_for_window(self, window_class: str) -> None:
        """Wait until a window of that class is managed."""
        until(lambda: window_class in self.window_classes(), f"a window of class {window_class}")

    def close(self) -> None:
        """End the sandbox."""
        self._stream.close()
        self.sandbox.close()


def need_bubblewrap() -> None:
    """Skip only where bubblewrap cannot work at all; where it can, a test that does without it must fail."""
    tried = [finding for finding in probe() if finding.name.endswith("sandbox") or finding.name == "bwrap"]
    broken = [f"{finding.name}: {finding.detail}" for finding in tried if not finding.ok]
    if broken:
        pytest.skip(f"bubblewrap does not work here: {'; '.join(broken)}")


@contextmanager
def sandboxed(
    isolation: Literal["bubblewrap", "process"] = "bubblewrap",
    command: Sequence[str] = (sys.executable, "-m", DRIVER),
    **options: Any,
) -> Iterator[Sandboxed]:
    """Start an outer sandbox whose driver owns a session with these options; the session is not started yet."""
    if isolation == "bubblewrap":
        need_bubblewrap()
    with tempfile.TemporaryDirectory(prefix="crab-test-") as name:
        directory = Path(name)
        address = directory / "driver"
        argv = [*command, str(address), json.dumps({"isolation": isolation, **options})]
        with (
            launch_outer(argv, socket_directory=directory, isolation=isolation) as sandbox,
            socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client,
        ):

            def connected() -> bool:
                assert sandbox.alive(), sandbox.stderr_tail()
                try:
                    client.connect(str(address))
                except (FileNotFoundError, ConnectionRefusedError):
                    return False
                return True

            until(connected, "the driver in the sandbox")
            world = Sandboxed(sandbox, client, directory)
            try:
                yield world
            finally:
                world.close()
