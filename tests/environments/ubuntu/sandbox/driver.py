"""Runs inside the outer sandbox during tests: owns a session and does what it is told over a Unix socket."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from environments.ubuntu.sandbox.bubblewrap import Limits
from environments.ubuntu.session.embedded import EmbeddedSession, SessionOptions
from environments.ubuntu.session.handle import SessionHandle

_RUN = """
[ "$0" = home ] && cd "$HOME" || cd "$XDG_RUNTIME_DIR"
"$@" >.output 2>&1 </dev/null
echo $? >.status.new
mv .status.new .status
"""


class Driver:
    """The calls a test can make; each public method is one, with JSON arguments and a JSON answer."""

    def __init__(self, options: dict[str, Any]) -> None:
        limits = Limits(**options.pop("limits", {}))
        self.session = EmbeddedSession(SessionOptions(limits=limits, **options))
        self.handle: SessionHandle | None = None

    def start(self, seed: int = 1) -> dict[str, Any]:
        """Starts or resets; answers with the handle's fields."""
        self.handle = handle = self.session.start(seed)
        return {name: str(value) if isinstance(value, Path) else value for name, value in vars(handle).items()}

    def start_in_thread(self) -> None:
        """Starts from a thread that is over when this returns, as a server's worker threads are."""
        thread = threading.Thread(target=self.start)
        thread.start()
        thread.join()

    def health(self) -> str | None:
        """The session's health."""
        return self.session.health()

    def close(self) -> None:
        """Closes the session."""
        self.session.close()

    def spawn(self, argv: list[str]) -> None:
        """Starts a program in the inner world."""
        self.session.spawn(argv)

    def applications(self) -> dict[str, list[Any]]:
        """Role → argv and window class."""
        return {role: [list(a.argv), a.window_class] for role, a in self.session.applications().items()}

    def inside(self, argv: list[str], results: str = "home", seconds: float = 30.0) -> list[Any]:
        """Runs a program in the inner world to its end; answers with exit status and output.

        The two pass through HOME, or through the runtime directory when HOME is full or not as usual.
        """
        assert self.handle is not None
        runtime = Path(self.handle.dbus_address.removeprefix("unix:path=")).parent
        directory = self.handle.home if results == "home" else runtime
        status = directory / ".status"
        status.unlink(missing_ok=True)
        self.session.spawn(["sh", "-c", _RUN, results, *argv])
        deadline = time.monotonic() + seconds
        while not status.exists():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{argv} did not end within {seconds} s")
            time.sleep(0.005)
        return [int(status.read_text()), (directory / ".output").read_text(errors="replace")]

    def outside(self, argv: list[str]) -> list[Any]:
        """Runs a program in the outer sandbox, with display and cookie; answers with exit status and output."""
        assert self.handle is not None
        environment = os.environ | {"DISPLAY": self.handle.display, "XAUTHORITY": str(self.handle.xauthority)}
        done = subprocess.run(
            argv, env=environment, capture_output=True, text=True, errors="replace", timeout=30, check=False
        )
        return [done.returncode, done.stdout + done.stderr]

    def read(self, path: str) -> str | None:
        """Content of a file of HOME; null when there is none."""
        assert self.handle is not None
        file = self.handle.home / path
        return file.read_text(errors="replace") if file.exists() else None

    def kill_display(self) -> None:
        """Kills the X server."""
        server = self.session._server
        assert server is not None
        assert server._process is not None
        server._process.kill()

    def count(self) -> dict[str, int]:
        """What could pile up: processes, this process's descriptors and threads, sockets, and files."""
        files = sum(len(names) for top in ("/tmp", "/run", "/session") for _, _, names in os.walk(top))
        return {
            "processes": sum(name.isdigit() for name in os.listdir("/proc")),
            "descriptors": len(os.listdir("/proc/self/fd")),
            "threads": threading.active_count(),
            "sockets": len(Path("/proc/net/unix").read_text().splitlines()),
            "files": files,
        }


def main() -> None:
    """Serve one connection, one JSON line per call."""
    address, options = sys.argv[1:]
    driver = Driver(json.loads(options))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(address)
        listener.listen()
        connection, _ = listener.accept()
    with connection, connection.makefile("rw") as stream:
        for line in stream:
            name, arguments = json.loads(line)
            call: Callable[..., Any] = getattr(driver, name)
            try:
                answer = {"answer": call(**arguments)}
            except Exception as error:  # noqa: BLE001 - every failure is the test's to see
                answer = {"error": f"{type(error).__name__}: {error}"}
            stream.write(json.dumps(answer) + "\n")
            stream.flush()
    driver.session.close()


if __name__ == "__main__":
    main()
