"""``crab serve``: an environment on a socket, for CRAB in another process or on another machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crab.cli.run import assignments, literal
from crab.loading import find_project
from crab.run.build import load_kind


@dataclass(frozen=True)
class ServeRequest:
    """What was asked for; see ``crab serve --help``."""

    kind: str
    provider: str | None
    options: Sequence[str]
    socket: Path | None
    host: str
    port: int
    token_file: Path | None
    insecure: bool
    project: Path | None


def serve_command(request: ServeRequest) -> None:
    """Starts the device and serves it until interrupted.

    Raises:
        CrabError: The device cannot be started, or the address cannot be bound.
    """
