"""A `Session` without sandbox: Xvfb, dbus and openbox as child processes, with a cookie and a HOME of their own."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from crab.errors import EnvironmentFailure
from environments.ubuntu.session.handle import Application, SessionHandle
from environments.ubuntu.x11.connection import open_display
from tests.environments.ubuntu.waiting import until

SCREEN = (1280, 720)
FAMILY_LOCAL = 256
DISPLAYS = range(200, 300)
NEEDED = ("Xvfb", "dbus-daemon", "openbox")


def missing_programs(names: Sequence[str] = NEEDED) -> list[str]:
    """Returns which of these programs are not installed."""
    return [name for name in names if shutil.which(name) is None]


class PlainSession:
    """Starts a bare desktop for tests of what drives it."""

    def __init__(self) -> None:
        self._root: Path | None = None
        self._processes: list[subprocess.Popen[bytes]] = []
        self._world: subprocess.Popen[bytes] | None = None

    def start(self, seed: int) -> SessionHandle:
        """Starts everything anew."""
        self.close()
        root = self._root = Path(tempfile.mkdtemp(prefix="desk"))
        for folder in ("home", "runtime"):
            (root / folder).mkdir(mode=0o700)
        display = self._start_x(root)
        address = f"unix:path={root}/runtime/bus"
        environment = self._environment(root, display, address)
        self._processes.append(
            subprocess.Popen(
                ["dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address={address}"],
                env=environment,
                stderr=subprocess.DEVNULL,
            )
        )
        until((root / "runtime/bus").exists, "the session bus")
        self._world = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("world.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=root / "home",
        )
        self.spawn(["openbox"])
        self._await_window_manager(display, root / "cookie")
        return SessionHandle(display, root / "cookie", address, root / "home", SCREEN, self._world.pid)

    def spawn(self, argv: Sequence[str]) -> None:
        """Starts a program on the display."""
        assert self._world is not None
        assert self._world.stdin is not None
        self._world.stdin.write(json.dumps(list(argv)).encode() + b"\n")
        self._world.stdin.flush()

    def applications(self) -> Mapping[str, Application]:
        """Returns the light set."""
        table = (
            ("terminal", "lxterminal", "Lxterminal"),
            ("text_editor", "mousepad", "Mousepad"),
            ("file_manager", "pcmanfm", "Pcmanfm"),
            ("image_viewer", "viewnior", "Viewnior"),
            ("calculator", "galculator", "Galculator"),
        )
        return {role: Application(role, name, (name,), look, f"{name}.desktop") for role, name, look in table}

    def health(self) -> str | None:
        """Names the first dead process."""
        for process in self._processes:
            if process.poll() is not None:
                return f"{process.args!r} ended with {process.returncode}"
        return None

    def close(self) -> None:
        """Ends everything and removes every file."""
        if self._world is not None:
            assert self._world.stdin is not None
            self._world.stdin.close()
            self._world.wait(timeout=20)
            self._world = None
        for process in reversed(self._processes):
            process.kill()
            process.wait(timeout=20)
        self._processes.clear()
        if self._root is not None:
            shutil.rmtree(self._root, ignore_errors=True)
            self._root = None

    def _start_x(self, root: Path) -> str:
        cookie = root / "cookie"
        secret = secrets.token_bytes(16)
        cookie.touch(mode=0o600)
        cookie.write_bytes(b"".join(_cookie_entry(number, secret) for number in DISPLAYS))
        for number in DISPLAYS:
            if self._serves(number, cookie):
                return f":{number}"
        raise AssertionError(f"no free display among {DISPLAYS}")

    def _serves(self, number: int, cookie: Path) -> bool:
        """Starts an X server of that number, unless it is taken.

        Not with ``-displayfd``: a server started so takes no lock, and without an abstract socket a later one of the
        same number steals the earlier one's socket.
        """
        argv = ["Xvfb", f":{number}", "-screen", "0", f"{SCREEN[0]}x{SCREEN[1]}x24"]
        argv += ["-auth", str(cookie), "-nolisten", "tcp", "-nolisten", "local", "-noreset"]
        server = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: server.poll() is not None or _accepts(number, cookie), "the X server")
        if server.returncode is not None:
            return False
        self._processes.append(server)
        return True

    def _environment(self, root: Path, display: str, address: str) -> dict[str, str]:
        return {
            "PATH": os.defpath + ":/usr/games",
            "HOME": str(root / "home"),
            "XDG_RUNTIME_DIR": str(root / "runtime"),
            "DISPLAY": display,
            "XAUTHORITY": str(root / "cookie"),
            "DBUS_SESSION_BUS_ADDRESS": address,
            "GTK_MODULES": "gail:atk-bridge",
            "GTK_CSD": "0",
            "GSETTINGS_BACKEND": "keyfile",
            "SHELL": "/bin/bash",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
        }

    def _await_window_manager(self, display: str, cookie: Path) -> None:
        opened = open_display(display, cookie)
        clients = opened.intern_atom("_NET_CLIENT_LIST")
        until(lambda: opened.screen().root.get_full_property(clients, 0) is not None, "the window manager")
        opened.close()


def _accepts(number: int, cookie: Path) -> bool:
    try:
        open_display(f":{number}", cookie).close()
    except EnvironmentFailure:
        return False
    return True


def _cookie_entry(number: int, secret: bytes) -> bytes:
    fields = (socket.gethostname().encode(), str(number).encode(), b"MIT-MAGIC-COOKIE-1", secret)
    return struct.pack(">H", FAMILY_LOCAL) + b"".join(struct.pack(">H", len(field)) + field for field in fields)
