"""A small device for the tests in this folder, and a server process around it.

As a program, ``python -m tests.crab.remote.machine OPTIONS`` serves it; OPTIONS is a JSON object. It writes one JSON
line with the address when it is ready.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from crab import errors
from crab.action import action
from crab.environment import EnvironmentKind, ProviderDescription, Settlement, preparation, probe
from crab.hosting import HostedEnvironment
from crab.observation import AccessibilityNode, Bounds, Frame, Observation, ObservationRequest
from crab.remote.server import serve

START = "2031-05-06T07:08:09Z"

PICTURE = bytes(range(256)) * 600

TREE = AccessibilityNode(
    "frame",
    "Notes",
    None,
    ("active",),
    Bounds(0, 0, 640, 480),
    (
        AccessibilityNode("push button", "Söve — 保存", "", ()),
        AccessibilityNode("text", "", "a\x00b\ud800", ("focused",)),
    ),
)

NOT_JSON: dict[str, Any] = {
    "nan": float("nan"),
    "infinity": [1, {"a": float("-inf")}],
    "bytes": b"raw",
    "set": {"a": {1}},
    "object": object(),
    "large": 10**6000,
}


class Machine:
    """Notes what is done to it, and notices when two threads use it at once."""

    def __init__(self, closed: Path | None = None) -> None:
        self.log: list[str] = []
        self.illness: str | None = None
        self.entered = threading.Event()
        self.release = threading.Event()
        self.overlaps = 0
        self._busy = threading.Lock()
        self._closed = closed

    @contextmanager
    def use(self, text: str) -> Iterator[None]:
        """Notes the text while this is the only use of the machine."""
        if not self._busy.acquire(blocking=False):
            self.overlaps += 1
            yield
            return
        try:
            self.log.append(text)
            yield
        finally:
            self._busy.release()

    def reset(self, seed: int, start_time: str) -> None:
        with self.use(f"reset {seed} {start_time}"):
            pass

    def observe(self, request: ObservationRequest) -> Observation:
        with self.use(f"observe {request.frames_per_second}"):
            frames = (
                Frame(b"", "image/png", 1, 1, 0.0),
                Frame(PICTURE, "image/webp", 640, 480, 0.1 + 0.2),
            )
            return Observation(frames, TREE if request.accessibility else None)

    def settle(self) -> Settlement:
        return Settlement(settled=False, seconds=0.25)

    def advance(self, seconds: float) -> None:
        with self.use(f"advance {seconds!r}"):
            pass

    def pause(self) -> None:
        with self.use("pause"):
            pass

    def resume(self) -> None:
        with self.use("resume"):
            pass

    def health(self) -> str | None:
        return self.illness

    def close(self) -> None:
        self.log.append("close")
        self.release.set()
        if self._closed is not None:
            self._closed.write_text("closed", encoding="utf-8")


@action
def press(key: str, env: Machine) -> int:
    """Presses a key.

    Args:
        key: Its name.
    """
    with env.use(f"press {key}"):
        return len(env.log)


@action
def echo(value: Any) -> Any:
    """Returns what it is given."""
    return value


@action(duration="seconds")
def hold(key: str, seconds: float = 1.5) -> tuple[str, float]:
    """Holds a key down."""
    return key, seconds


@action
def give(what: str) -> Any:
    """Returns a thing that is not JSON."""
    return NOT_JSON[what]


@action
def fail(kind: str, message: str) -> None:
    """Raises an error of that class."""
    error: type[Exception] = getattr(errors, kind, ValueError)
    raise error(message)


@action
def hang(env: Machine) -> str:
    """Returns only when released."""
    env.entered.set()
    env.release.wait()
    with env.use("hung"):
        return "released"


@action
def die() -> None:
    """Ends the whole process at once."""
    os.kill(os.getpid(), signal.SIGKILL)


@action
def shout() -> str:
    """An extra action."""
    return "!"


@probe
def log(env: Machine) -> list[str]:
    """Returns what was done."""
    return env.log


@probe
def strange(what: str) -> Any:
    """Answers with a thing that is not JSON."""
    return NOT_JSON[what]


@probe
def broken(kind: str) -> None:
    """Raises an error of that class."""
    error: type[Exception] = getattr(errors, kind, KeyError)
    raise error("no such drawer")


@probe
def slow(env: Machine) -> str:
    """Answers only when released."""
    env.entered.set()
    env.release.wait()
    return "late"


@preparation
def put(text: str, env: Machine) -> None:
    """Puts something in."""
    with env.use(f"put {len(text)}"):
        pass


@preparation
def spoil(kind: Literal["ActionFailed", "EnvironmentFailure", "other"]) -> None:
    """Fails."""
    error: type[Exception] = getattr(errors, kind, OSError)
    raise error("no room")


KIND = EnvironmentKind(
    "machine",
    "A machine with keys.",
    actions=[press, echo, hold, give, fail, hang, die],
    extra_actions=[shout],
    probes=[log, strange, broken, slow],
    preparations=[put, spoil],
)

PROVIDER = ProviderDescription(
    "embedded", "total", "stepped", {"text_editor": "Notes"}, {"notes": "4.2"}, isolation="none"
)


def hosted(machine: Machine) -> HostedEnvironment:
    """The machine behind the verbs, in this process."""
    return HostedEnvironment(KIND, machine, PROVIDER)


def main(options: dict[str, Any]) -> None:
    """Serves a machine until told to end."""
    closed = options.pop("closed", None)
    if "socket" in options:
        options["socket"] = Path(options["socket"])

    def ready(address: Any) -> None:
        sys.stdout.write(json.dumps([str(address), address.token]) + "\n")
        sys.stdout.flush()

    serve(hosted(Machine(closed and Path(closed))), ready=ready, **options)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
