"""The real desktop keeps the environment contract: in this process, over a Unix socket, and served over TCP."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from crab.environment import Environment, ProviderDescription
from crab.hosting import HostedEnvironment
from crab.remote.address import new_token, write_token
from crab.remote.client import RemoteEnvironment
from crab.testing.environment import EnvironmentConformance
from environments.ubuntu import UBUNTU
from environments.ubuntu.desktop import Desktop
from environments.ubuntu.session.embedded import EmbeddedSession, SessionOptions
from tests.environments.ubuntu.sandbox.sandboxed import need_bubblewrap
from tests.environments.ubuntu.steady import SAMPLES, Steady

pytestmark = pytest.mark.desktop


class TestInProcess(EnvironmentConformance):
    """Without walls, which has to be asked for by name, and without a wire."""

    samples = SAMPLES

    def make_environment(self) -> Environment:
        session = EmbeddedSession(SessionOptions(isolation="process"))
        provider = ProviderDescription("embedded", "total", "real", isolation="process")
        return Steady(HostedEnvironment(UBUNTU, Desktop(session), provider))


class TestOverUnixSocket(EnvironmentConformance):
    """As a runner starts it: behind two sandboxes."""

    samples = SAMPLES

    def make_environment(self) -> Environment:
        need_bubblewrap()
        environment = UBUNTU.provider().start({})
        assert environment.describe().provider.isolation == "bubblewrap"
        return Steady(environment)


class Served(RemoteEnvironment):
    """A desktop on a TCP port, whose server ends with it."""

    def __init__(self) -> None:
        self._token = tempfile.TemporaryDirectory()
        path = Path(self._token.name, "token")
        token = new_token()
        write_token(path, token)
        argv = [sys.executable, "-m", "crab.cli.main", "serve", "ubuntu", "--port", "0", "--token-file", str(path)]
        self._server = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        assert self._server.stdout is not None
        address = self._server.stdout.readline().rpartition(" ")[2].strip()
        assert address.startswith("http://127.0.0.1:")
        super().__init__(address, token=token, kind="ubuntu")

    def close(self) -> None:
        """Closes the desktop and ends its server."""
        try:
            super().close()
        finally:
            self._server.terminate()
            self._server.communicate(timeout=60)
            self._token.cleanup()


class TestOverTcp(EnvironmentConformance):
    """As ``crab serve ubuntu`` offers it to others, with a token."""

    samples = SAMPLES

    def make_environment(self) -> Environment:
        need_bubblewrap()
        return Steady(Served())
