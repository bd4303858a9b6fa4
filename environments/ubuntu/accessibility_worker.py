"""Reading the accessibility tree in a process of its own.

What comes over the accessibility bus is made by the agent's programs, and the bus itself is one of them: messages may
be huge, endless or malformed. Here they meet a process with little memory that can be killed, and what it hands on
is small. The device only ever sees that.

Usage: ``python -m environments.ubuntu.accessibility_worker SESSION_BUS_ADDRESS``, which answers each line of standard
input by one line of standard output.
"""

from __future__ import annotations

import json
import os
import resource
import select
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from typing import IO, Any

from crab.errors import EnvironmentFailure
from crab.observation import AccessibilityNode, Bounds
from environments.ubuntu.accessibility import AccessibilityReader, Limits

ROOT = AccessibilityNode("desktop frame", "main")
"""The tree when nothing on the bus answers."""

MEMORY = 512 << 20
"""Bytes of data the process may have."""

_MODULE = "environments.ubuntu.accessibility_worker"
_START_SECONDS = 20.0
_GRACE_SECONDS = 2.0
_MOST_BYTES = 16 << 20
_MOST_NODES = 10_000
_MOST_CHARACTERS = 2_000_000
_MOST_ROLE = 100
_READY = b"ready\n"


class AccessibilityProcess:
    """Reads the tree of one session's applications, whatever they do. Starts on first use. For one caller at a time.

    Args:
        session_address: The session bus, as `AccessibilityReader` has it.
    """

    def __init__(self, session_address: str) -> None:
        self._address = session_address
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None

    def read(self, limits: Limits | None = None) -> AccessibilityNode:
        """Returns the tree as `AccessibilityReader.read` does, at most 10,000 nodes and 2,000,000 characters of it.

        A bus that is dead, or does not answer in time, is something an agent can cause: then the root is all there is.

        Args:
            limits: How much to read.

        Raises:
            EnvironmentFailure: The process cannot be started.
        """
        chosen = limits or Limits()
        process = self._process or self._start()
        line = b""
        try:
            if process.stdin is not None:
                process.stdin.write(json.dumps(asdict(chosen)).encode() + b"\n")
                process.stdin.flush()
            line = self._line(process, chosen.seconds + _GRACE_SECONDS)
        except BrokenPipeError:
            pass
        if not line.endswith(b"\n"):
            self.close()
            return ROOT
        answer = json.loads(line)
        return ROOT if answer is None else _decoded(answer)

    def close(self) -> None:
        """Ends the process; may be called twice."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            # Waits, and closes both pipes.
            process.communicate()
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    def _start(self) -> subprocess.Popen[bytes]:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        self._process = process = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE, self._address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        if self._line(process, _START_SECONDS) != _READY:
            words = os.pread(self._errors.fileno(), 2000, 0).decode(errors="replace").strip()
            self.close()
            raise EnvironmentFailure(
                f"the reader of the accessibility tree did not start: {words or 'no answer'}",
                fix="pip install 'crab-eval[ubuntu]'",
            )
        return process

    def _line(self, process: subprocess.Popen[bytes], seconds: float) -> bytes:
        """Returns the next line, or what there is of it when it is too long or late, or its writer gone."""
        pieces = list[bytes]()
        size, deadline = 0, time.monotonic() + seconds
        while process.stdout is not None and size < _MOST_BYTES and not (pieces and pieces[-1].endswith(b"\n")):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
                break
            piece = os.read(process.stdout.fileno(), 1 << 16)
            if not piece:
                break
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)


@dataclass
class _Budget:
    nodes: int = _MOST_NODES
    characters: int = _MOST_CHARACTERS

    def cut(self, text: str) -> str:
        kept = text[: self.characters]
        self.characters -= len(kept)
        return kept


def _encoded(node: AccessibilityNode, budget: _Budget) -> list[Any]:
    budget.nodes -= 1
    own = [
        budget.cut(node.role[:_MOST_ROLE]),
        budget.cut(node.name),
        None if node.text is None else budget.cut(node.text),
        node.states,
        None if node.bounds is None else [node.bounds.x, node.bounds.y, node.bounds.width, node.bounds.height],
    ]
    return [*own, [_encoded(child, budget) for child in node.children if budget.nodes > 0]]


def _decoded(answer: list[Any]) -> AccessibilityNode:
    role, name, text, states, bounds, children = answer
    return AccessibilityNode(
        role,
        name,
        text,
        tuple(states),
        None if bounds is None else Bounds(*bounds),
        tuple(_decoded(child) for child in children),
    )


def main(address: str) -> None:
    """Reads the tree once for each line of standard input.

    Args:
        address: Of the session bus.
    """
    # Loaded before memory is limited: what is missing is to be told, not to look like an attack.
    import dbus_fast.aio  # noqa: F401

    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    sys.stdout.buffer.write(_READY)
    sys.stdout.buffer.flush()
    reader = AccessibilityReader(address)
    for line in sys.stdin:
        try:
            answer = _encoded(reader.read(Limits(**json.loads(line))), _Budget())
        except EnvironmentFailure:
            answer = None
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1])
