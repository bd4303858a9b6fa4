"""``crab serve``: an environment on a socket, for CRAB in another process or on another machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from crab.cli.run import assignments, literal
from crab.loading import find_project
from crab.run.build import load_kind

if TYPE_CHECKING:
    from crab.remote.address import Address


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

    The address is printed when calls are answered; a token made for this start is printed once, with it.

    Raises:
        CrabError: The device cannot be started, or the address cannot be bound.
    """
    import typer

    from crab.remote.address import read_token
    from crab.remote.server import serve

    token = read_token(request.token_file) if request.token_file is not None else None
    provider = load_kind(find_project(explicit=request.project), request.kind).provider(request.provider)
    options = {name: literal(value) for name, value in assignments(request.options, "--option").items()}
    environment = provider.start(options)

    def ready(address: Address) -> None:
        typer.echo(f"serving {request.kind} at {address}")
        if token is None and address.token is not None:
            typer.echo(f"token: {address.token}")

    serve(
        environment,
        socket=request.socket,
        host=request.host,
        port=request.port,
        token=token,
        insecure=request.insecure,
        ready=ready,
    )
