"""Budgets of the wire between a trial and an environment's server."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.budget import ROOT, Budget, median_wall

SERVER = """
import sys
from pathlib import Path
from crab.remote.server import serve
from crab.testing.toy import TOY_DESKTOP

environment = TOY_DESKTOP.provider().start({})
serve(environment, socket=Path(sys.argv[1]), exit_with_parent=True, ready=lambda address: print("ready", flush=True))
"""


def remote_call() -> float:
    """The median wall milliseconds of a small probe, answered by a server in another process over a Unix socket."""
    from crab.remote.client import RemoteEnvironment

    with tempfile.TemporaryDirectory() as folder:
        socket = Path(folder, "server.sock")
        server = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(socket)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with server:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            environment = RemoteEnvironment(f"unix:{socket}")
            environment.reset(0, "2030-01-07T09:00:00Z")
            median = median_wall(lambda: environment.probe("application", {}), calls=1_000)
            environment.close()
            server.communicate(timeout=30)
    return 1e3 * median


BUDGETS = (Budget("remote call, small JSON", 1.0, "ms median", remote_call),)
