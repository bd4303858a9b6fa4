"""The X server alone, with the traps that Xvfb sets."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from crab.errors import EnvironmentFailure, ProviderUnavailable
from environments.ubuntu.session.display import SOCKETS, XServer, remove_socket
from environments.ubuntu.session.readiness import RootWindow, accepts, root_window
from tests.environments.ubuntu.waiting import until

# python3-Xlib leaves closing the cookie file, and a refused socket, to the garbage collector.
pytestmark = [
    pytest.mark.desktop,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

NUMBER = 60_000 + os.getpid() % 5_000
SECONDS = 20.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[XServer]:
    """A running X server."""
    started = XServer((640, 480), tmp_path / "cookie", NUMBER % 50_000)
    started.begin()
    started.wait_ready(SECONDS)
    yield started
    started.close()


def xprop(display: str, cookie: Path | str) -> int:
    environment = {"PATH": os.environ["PATH"], "DISPLAY": display, "XAUTHORITY": str(cookie)}
    return subprocess.run(["xprop", "-root"], env=environment, capture_output=True, timeout=30).returncode


# Writes its number as Xvfb does, in two parts; here the second comes late.
SLOW = """#!/bin/bash
printf 7 >&$2
read -t 0.3 <> <(:)
printf '\\n' >&$2 && touch "$(dirname "$0")/wrote-all"
exec sleep 60
"""


def test_its_number_is_read_to_the_end_of_the_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing the pipe after the digits would make it fail on writing the newline, and die."""
    program = tmp_path / "Xvfb"
    program.write_text(SLOW)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    slow = XServer((640, 480), tmp_path / "cookie")
    slow.begin()
    try:
        assert slow.wait_ready(SECONDS) == ":7"
        until((tmp_path / "wrote-all").exists, "the whole line")
        assert slow.alive()
    finally:
        slow.close()


def test_it_lives_on_after_it_has_told_its_number(server: XServer) -> None:
    for _ in range(20):
        assert xprop(server.display, server.cookie_file) == 0
    assert server.alive()


def test_without_the_cookie_nobody_is_let_in(server: XServer, tmp_path: Path) -> None:
    """Without -auth every local user could connect."""
    assert xprop(server.display, server.cookie_file) == 0
    assert xprop(server.display, tmp_path / "none") != 0
    assert server.cookie_file.stat().st_mode & 0o777 == 0o600


def test_it_listens_on_its_path_socket_only(server: XServer) -> None:
    """No TCP port and no abstract socket, which file permissions do not guard."""
    sockets = Path("/proc/net/unix").read_text()
    assert str(server.socket) in sockets
    assert f"@{server.socket}" not in sockets
    port = f":{6000 + int(server.display[1:]):04X}"
    listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    assert not [address for address in listening if address.endswith(port)]


def test_closing_leaves_no_file_and_can_be_repeated(server: XServer) -> None:
    socket = server.socket
    server.close()
    server.close()
    assert not socket.exists()
    assert not server.cookie_file.exists()
    assert not server.alive()


def test_a_living_servers_socket_is_never_removed(server: XServer) -> None:
    remove_socket(server.display)
    assert accepts(server.socket)


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    """Its own words are in the error, and no process is left."""
    broken = XServer((0, 0), tmp_path / "cookie")
    broken.begin()
    with pytest.raises(EnvironmentFailure, match="Xvfb did not start"):
        broken.wait_ready(SECONDS)
    assert not broken.alive()


def test_a_missing_server_is_named_with_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    absent = XServer((640, 480), tmp_path / "cookie")
    with pytest.raises(ProviderUnavailable) as caught:
        absent.begin()
    assert caught.value.fix == "apt install xvfb"
    absent.close()


def test_a_bare_server_is_not_yet_a_desktop(server: XServer, tmp_path: Path) -> None:
    """Ready means that windows are managed; a client that starts before that waits 5 s for its window."""
    environment = {"PATH": os.environ["PATH"], "DISPLAY": server.display, "HOME": str(tmp_path)}
    environment["XAUTHORITY"] = str(server.cookie_file)
    with root_window(server.display, server.cookie_file) as root:
        assert isinstance(root, RootWindow)
        assert not root.manages_windows()
        assert not root.has_wallpaper()
        assert root.window_types() == set()
        manager = subprocess.Popen(["openbox", "--sm-disable"], env=environment, stderr=subprocess.DEVNULL)
        try:
            until(root.manages_windows, "the window manager")
        finally:
            manager.kill()
            manager.wait()


def test_connecting_does_not_change_the_environment(server: XServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XAUTHORITY", "/nowhere")
    with root_window(server.display, server.cookie_file):
        assert os.environ["XAUTHORITY"] == "/nowhere"


def test_a_server_that_is_gone_is_an_environment_failure(server: XServer) -> None:
    display, cookie = server.display, server.cookie_file
    server.close()
    with pytest.raises(EnvironmentFailure), root_window(display, cookie):
        pass
    assert SOCKETS.is_dir()
