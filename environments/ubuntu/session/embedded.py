"""The embedded session: an X server and an inner world on this machine, thrown away and built anew by every start."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from crab.errors import ProviderUnavailable
from environments.ubuntu.sandbox.bubblewrap import (
    HOME,
    HOME_OUTSIDE,
    OWN_ETC,
    RUNTIME,
    SEARCH_PATH,
    USER,
    InnerWorld,
    Limits,
)
from environments.ubuntu.sandbox.probe import PACKAGES
from environments.ubuntu.session import applications, home
from environments.ubuntu.session.display import XServer
from environments.ubuntu.session.handle import Application, SessionHandle
from environments.ubuntu.session.inner import NOBODY, Inner
from environments.ubuntu.session.readiness import accepts, root_window, wait_until
from environments.ubuntu.session.scratch import make_scratch, note_display
from environments.ubuntu.session.themes import Theme
from environments.ubuntu.x11.connection import exists

_SECONDS = 20.0
_DYING_SECONDS = 0.5

# Without walls all sessions share one directory of X sockets; where each process begins to look keeps them from racing.
_FIRST_DISPLAY, _DISPLAYS, _STRIDE = 1000, 50_000, 7919
_ACCESSIBILITY = "/usr/libexec/at-spi-bus-launcher"
_MENU_ENTRIES = Path("/usr/share/applications")

# What must run for the desktop to be whole, by the name the kernel shows, with the name people know it by.
_PARTS = {
    "dbus-daemon": "the session bus (dbus-daemon)",
    "openbox": "the window manager (openbox)",
    "pcmanfm": "the desktop with its wallpaper (pcmanfm)",
    "tint2": "the panel (tint2)",
}


@dataclass(frozen=True)
class SessionOptions:
    """How a session is to be.

    Attributes:
        screen: Width and height in pixels, fixed for the session.
        theme: The look of everything.
        isolation: ``"bubblewrap"`` expects to run inside the outer sandbox; ``"process"`` has no walls.
        limits: What the agent's world may use.
    """

    screen: tuple[int, int] = (1280, 800)
    theme: Theme = "light"
    isolation: Literal["bubblewrap", "process"] = "bubblewrap"
    limits: Limits = field(default_factory=Limits)


class EmbeddedSession:
    """Implements ``Session`` on this machine. Meant to run in the outer sandbox's server process."""

    def __init__(self, options: SessionOptions | None = None) -> None:
        self._options = options or SessionOptions()
        self._base: Path | None = None
        self._server: XServer | None = None
        self._inner = Inner(self._options.isolation)
        self._runtime = RUNTIME

    def start(self, seed: int) -> SessionHandle:
        """Kill whatever ran before and build the desktop anew; returns when it is ready for input.

        Args:
            seed: The trial's seed. The start state does not depend on it.

        Returns:
            Where to reach the desktop.

        Raises:
            EnvironmentFailure: A part did not start; the message names it and carries its last words.
            ProviderUnavailable: A program is not installed, or the outer sandbox is missing.
        """
        self._stop()
        self._check_place()
        try:
            return self._build()
        except BaseException:
            self._stop()
            raise

    def spawn(self, argv: Sequence[str]) -> None:
        """Start a program in the inner world; see ``Session.spawn``."""
        self._inner.spawn(argv)

    def applications(self) -> Mapping[str, Application]:
        """The installed applications, by role."""
        return applications.installed()

    def health(self) -> str | None:
        """None when all is well, else one line naming what died."""
        if self._server is None:
            return "no session is running: start() was not called, or failed"
        programs = self._inner.programs()
        missing = [words for name, words in _PARTS.items() if name not in programs]
        # A dying X server or world drops its clients a moment before it is gone itself; the cause is what counts.
        deadline = time.monotonic() + (_DYING_SECONDS if missing else 0.0)
        while True:
            if not self._server.alive():
                return "the X server (Xvfb) died"
            if not self._inner.alive():
                return "the agent's world died (its first process is gone)"
            if time.monotonic() >= deadline:
                return f"{', '.join(missing)} died" if missing else None
            time.sleep(0.01)

    def close(self) -> None:
        """Kill everything and remove every file; may be called twice, and start() may follow."""
        self._stop()
        if self._base is not None:
            home.empty(self._base)
            self._base.rmdir()
            self._base = None

    def _check_place(self) -> None:
        """Refuse to start where a program is missing, or where walls were asked for and the outer one is not there."""
        wanted = ["Xvfb", *_PARTS, *(["bwrap"] if self._walled else [])]
        missing = [name for name in wanted if shutil.which(name) is None]
        packages = [PACKAGES[name] for name in missing]
        if not Path(_ACCESSIBILITY).exists():
            missing.append(_ACCESSIBILITY)
            packages.append("at-spi2-core")
        if missing:
            raise ProviderUnavailable(
                f"the desktop needs programs that are not installed: {', '.join(missing)}",
                fix=f"apt install {' '.join(packages)}",
            )
        if self._walled and not os.path.ismount(HOME_OUTSIDE):
            raise ProviderUnavailable(
                "the session was asked to run in bubblewrap, but this process is not in the outer sandbox",
                fix="start it through environments.ubuntu.sandbox.launch.launch_outer",
            )

    def _build(self) -> SessionHandle:
        base = self._make_base()
        number = None if self._walled else _free_number()
        if number is not None:
            note_display(base, f":{number}")
        self._server = server = XServer(self._options.screen, base / "cookie", number)
        server.begin()
        world_home, entries = self._prepare_files(base)
        display = server.wait_ready(_SECONDS)
        cookie = self._runtime / "Xauthority"
        shutil.copyfile(server.cookie_file, cookie)
        if self._walled:
            inside = HOME
        else:
            inside = world_home
            if os.geteuid() == 0:
                home.hand_over(world_home, NOBODY)
                home.hand_over(self._runtime, NOBODY)
        world = InnerWorld(
            home=world_home,
            runtime=self._runtime,
            x_socket=server.socket,
            etc=base / "etc",
            applications=entries if self._walled else None,
            environment=self._environment(display, cookie, inside, entries),
            limits=self._options.limits,
        )
        self._inner.start(world)
        self._start_parts(display, server.cookie_file)
        return SessionHandle(
            display=display,
            xauthority=server.cookie_file,
            dbus_address=f"unix:path={self._bus}",
            home=world_home,
            screen=self._options.screen,
            root_pid=self._inner.root_pid,
        )

    def _start_parts(self, display: str, cookie_file: Path) -> None:
        spawn = self._inner.spawn
        spawn(["dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address=unix:path={self._bus}"])
        spawn(["openbox", "--sm-disable"])
        with root_window(display, cookie_file) as root:
            width, height = self._options.screen
            root.park_pointer(width * 19 // 20, height // 2)
            self._wait(root.manages_windows, "openbox")
            self._wait(lambda: accepts(self._bus), "dbus-daemon")
            spawn([_ACCESSIBILITY, "--a11y=1", "--launch-immediately"])
            spawn(["pcmanfm", "--desktop"])
            spawn(["tint2"])
            self._wait(root.has_wallpaper, "pcmanfm")
            self._wait(lambda: "_NET_WM_WINDOW_TYPE_DESKTOP" in root.window_types(), "pcmanfm")
            self._wait(lambda: "_NET_WM_WINDOW_TYPE_DOCK" in root.window_types(), "tint2")
        sockets = self._runtime / "at-spi"
        # The kernel keeps 15 characters of a program's name.
        self._wait(lambda: any(accepts(path) for path in sockets.glob("bus*")), "at-spi-bus-laun")

    def _wait(self, ready: Callable[[], bool], program: str) -> None:
        wait_until(
            ready,
            _PARTS.get(program, program),
            _SECONDS,
            alive=lambda: program in self._inner.programs(),
            last_words=self._last_words,
        )

    def _last_words(self) -> str:
        try:
            return self._log.read_text(errors="replace")[-2000:].strip()
        except OSError:
            return ""

    def _prepare_files(self, base: Path) -> tuple[Path, Path]:
        """Make HOME, the runtime directory and the desktop entries; returns HOME and the directory of the entries."""
        world_home = HOME_OUTSIDE if self._walled else base / "home"
        entries = base / "applications"
        for directory in (world_home, self._runtime, entries):
            home.empty(directory)
        entries.chmod(0o755)
        shutil.copytree(OWN_ETC, base / "etc", dirs_exist_ok=True)
        applications.write_desktop_entries(entries)
        seen_as = _MENU_ENTRIES if self._walled else entries
        inside = HOME if self._walled else world_home
        home.seed(world_home, inside=inside, applications=seen_as, theme=self._options.theme)
        return world_home, entries

    def _make_base(self) -> Path:
        if self._base is None:
            self._base = make_scratch()
            if not self._walled:
                self._base.chmod(0o711)
                self._runtime = self._base / "runtime"
        return self._base

    def _environment(self, display: str, cookie: Path, inside: Path, entries: Path) -> dict[str, str]:
        data = "/usr/local/share:/usr/share"
        return {
            "PATH": SEARCH_PATH,
            "HOME": str(inside),
            "USER": USER,
            "LOGNAME": USER,
            # Terminals end at once when the account's shell is nologin and SHELL is not set.
            "SHELL": "/bin/bash",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "DISPLAY": display,
            "XAUTHORITY": str(cookie),
            "XDG_RUNTIME_DIR": str(self._runtime),
            "XDG_CURRENT_DESKTOP": "Openbox",
            "XDG_SESSION_TYPE": "x11",
            "XDG_DATA_DIRS": data if self._walled else f"{entries.parent}:{data}",
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self._bus}",
            "SESSION_LOG": str(self._log),
            # Plain files instead of a database behind a service: the same from the first start on, and readable.
            "GSETTINGS_BACKEND": "keyfile",
            "GTK_MODULES": "gail:atk-bridge",
            "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
            "SAL_USE_VCLPLUGIN": "gtk3",
            "NO_AT_BRIDGE": "0",
        }

    @property
    def _walled(self) -> bool:
        return self._options.isolation == "bubblewrap"

    @property
    def _bus(self) -> Path:
        return self._runtime / "bus"

    @property
    def _log(self) -> Path:
        return self._runtime / "session.log"

    def _stop(self) -> None:
        self._inner.close()
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._base is not None:
            for directory in (HOME_OUTSIDE if self._walled else self._base / "home", self._runtime):
                home.empty(directory)


def _free_number() -> int:
    """A display's number on which no X server listens."""
    first = os.getpid()
    numbers = (_FIRST_DISPLAY + (first + step * _STRIDE) % _DISPLAYS for step in range(_DISPLAYS))
    return next(number for number in numbers if not exists(f":{number}"))
