"""The seam between the session, which starts a desktop, and the device, which drives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class SessionHandle:
    """Where a started desktop can be reached; valid until the next ``start`` or ``close``.

    Attributes:
        display: The X display, such as ``":1"``.
        xauthority: The X cookie file, as a path the server process can read.
        dbus_address: The inner world's session bus as the server process reaches it (``unix:path=...``).
        home: The agent's HOME as the server process sees it; inside the inner world it is ``/home/user``.
        screen: Width and height of the screen in pixels.
        root_pid: Process id, as the server process sees it, of the inner world's top process. The agent's processes
            are its descendants.
    """

    display: str
    xauthority: Path
    dbus_address: str
    home: Path
    screen: tuple[int, int]
    root_pid: int


@dataclass(frozen=True)
class Application:
    """One installed application and the role it plays.

    Attributes:
        role: What tasks ask for, such as ``text_editor``.
        name: The name people see in menus.
        argv: How to start it in the inner world.
        window_class: The class half of its windows' ``WM_CLASS``; empty when it manages no ordinary window.
        desktop_file: File name of its desktop entry, such as ``org.xfce.mousepad.desktop``.
    """

    role: str
    name: str
    argv: tuple[str, ...]
    window_class: str
    desktop_file: str


class Session(Protocol):
    """Starts and restarts one desktop."""

    def start(self, seed: int) -> SessionHandle:
        """Kill whatever ran before and start afresh: new X server, new HOME, new processes.

        Args:
            seed: The trial's seed. The same seed gives the same start state.

        Returns:
            The handle of a desktop that is ready for input.

        Raises:
            EnvironmentFailure: A part did not start; the message names it and carries its last words.
        """
        ...

    def spawn(self, argv: Sequence[str]) -> None:
        """Start a program in the inner world, as the agent's user, without a shell; returns at once.

        Raises:
            EnvironmentFailure: No session runs, or the inner world did not answer.
        """
        ...

    def applications(self) -> Mapping[str, Application]:
        """The applications on offer, by role."""
        ...

    def health(self) -> str | None:
        """None when all is well, else one line naming what died."""
        ...

    def close(self) -> None:
        """Kill everything and remove every file of the session; may be called twice."""
        ...
