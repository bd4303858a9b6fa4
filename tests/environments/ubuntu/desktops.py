"""What the tests of the desktop start: a session, a device on it, and the verbs over the device."""

from __future__ import annotations

import os
from collections.abc import Callable

from crab.environment import ProviderDescription
from crab.hosting import HostedEnvironment
from environments.ubuntu import UBUNTU
from environments.ubuntu.desktop import Desktop
from environments.ubuntu.session.handle import Session
from tests.environments.ubuntu.plain_session import PlainSession
from tests.environments.ubuntu.waiting import until

SEED = 7
START_TIME = "2026-01-05T09:00:00Z"
PROVIDER = ProviderDescription("plain", "total", "real")


def make_session() -> Session:
    """Returns the session to test on: a plain one, or with CRAB_TEST_SESSION=process the embedded one without walls."""
    if os.environ.get("CRAB_TEST_SESSION") == "process":
        from environments.ubuntu.session.embedded import EmbeddedSession, SessionOptions

        return EmbeddedSession(SessionOptions(isolation="process"))
    return PlainSession()


def hosted(desktop: Desktop) -> HostedEnvironment:
    """Returns the verbs over a device, reset and ready."""
    environment = HostedEnvironment(UBUNTU, desktop, PROVIDER)
    environment.reset(SEED, START_TIME)
    return environment


def open_role(desktop: Desktop, role: str) -> None:
    """Opens an application and waits until it has come to rest."""
    desktop.open(desktop.application(role))
    until(lambda: (focused := desktop.controls.windows.focused()) and focused.window_class, f"{role} in front")
    desktop.settle()


def open_terminal(desktop: Desktop) -> None:
    """Opens a terminal and waits until its shell takes commands."""
    open_role(desktop, "terminal")
    desktop.controls.typist.write("touch .ready\n")
    until(lambda: desktop.controls.files.stat("~/.ready")["exists"], "the shell")
    desktop.settle()


def title_in_front(desktop: Desktop) -> str:
    """Returns the title of the window that has the keyboard."""
    focused = desktop.controls.windows.focused()
    return "" if focused is None else focused.title


def await_title(desktop: Desktop, holds: Callable[[str], bool], what: str) -> None:
    """Waits until the title in front is as wanted."""
    until(lambda: holds(title_in_front(desktop)), what)
