"""The device: one desktop session, and everything that drives and reads it."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from crab.environment import Settlement
from crab.errors import ActionFailed, EnvironmentFailure
from crab.observation import Observation, ObservationRequest
from environments.ubuntu.accessibility_worker import AccessibilityProcess
from environments.ubuntu.files import AGENT_HOME, HomeFiles
from environments.ubuntu.recorder import Recorder
from environments.ubuntu.session.handle import Application, Session, SessionHandle
from environments.ubuntu.warden import MEMORY, Warden
from environments.ubuntu.x11.barrier import FocusBarrier
from environments.ubuntu.x11.clipboard import Clipboard
from environments.ubuntu.x11.connection import Connection
from environments.ubuntu.x11.keyboard import Keyboard
from environments.ubuntu.x11.keymap import Keymap
from environments.ubuntu.x11.pointer import Pointer
from environments.ubuntu.x11.screen import SETTLE_CAP_SECONDS, Screen
from environments.ubuntu.x11.typist import Typist
from environments.ubuntu.x11.watch import Watch
from environments.ubuntu.x11.windows import Window, Windows

_WINDOW_SECONDS = 15.0
_RAISED_SECONDS = 3.0
_FOCUS_SECONDS = 1.0
_POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Controls:
    """What is bound to one started session; a reset makes all of it anew.

    Attributes:
        handle: Where the session is reached.
        connection: The X connection that pointer, keyboard, typist and windows share.
        barrier: Waits for the focused application to have read its input.
        pointer: The pointer.
        keyboard: Keys and combinations.
        typist: Text.
        screen: Pixels.
        recorder: Frames.
        windows: What the window manager manages.
        clipboard: The clipboard.
        files: The agent's HOME.
        accessibility: The accessibility tree.
        warden: Keeps the agent's programs within their limits.
    """

    handle: SessionHandle
    connection: Connection
    barrier: FocusBarrier
    pointer: Pointer
    keyboard: Keyboard
    typist: Typist
    screen: Screen
    recorder: Recorder
    windows: Windows
    clipboard: Clipboard
    files: HomeFiles
    accessibility: AccessibilityProcess
    warden: Warden

    def close(self) -> None:
        """Closes every connection."""
        self.recorder.close()
        self.clipboard.close()
        self.accessibility.close()
        self.screen.close()
        self.connection.close()
        self.warden.close()


class Desktop:
    """Drives one desktop. Not for several callers at a time.

    Args:
        session: Starts the desktop; closed with this device.
        memory: Bytes that all programs of the agent's world together may use; beyond, the largest is ended.
    """

    def __init__(self, session: Session, *, memory: int = MEMORY) -> None:
        self._session = session
        self._memory = memory
        self._controls: Controls | None = None
        self._began = 0.0

    @property
    def controls(self) -> Controls:
        """What is bound to the running session.

        Raises:
            EnvironmentFailure: No session runs.
        """
        if self._controls is None:
            raise EnvironmentFailure("the desktop is not running", fix="reset it first")
        return self._controls

    @property
    def home_inside(self) -> str:
        """HOME as programs started in the session see it: ``/home/user``, unless nothing stands between them and us."""
        handle = self.controls.handle
        return AGENT_HOME if _walled(handle.root_pid) else str(handle.home)

    def begin_action(self) -> Controls:
        """Notes that an action begins, so that frames count from here, and returns the controls."""
        self.controls.recorder.begin()
        return self.controls

    def reset(self, seed: int, start_time: str) -> None:
        """Starts the session afresh, binds everything to it and waits until the screen stands still.

        Nothing of before is left.

        Args:
            seed: The same seed gives the same start state.
            start_time: Not shown by this device: its clock is the machine's, and no check depends on it.

        Raises:
            EnvironmentFailure: The session did not start.
        """
        self._unbind()
        handle = self._session.start(seed)
        self._began = time.monotonic()
        self._controls = self._bind(handle)
        # Panel and icons may still be drawing; the start state is what stands still.
        self._controls.screen.settle()

    def observe(self, request: ObservationRequest) -> Observation:
        """Returns the screen as it is now, the pointer drawn in.

        Frames since the last action are there when a rate is asked for; recording begins with the first such request.

        Raises:
            EnvironmentFailure: Display or accessibility bus is gone.
        """
        controls = self.controls
        earlier = controls.recorder.taken() if request.frames_per_second else ()
        controls.recorder.record(request.frames_per_second)
        frames = (*earlier, controls.recorder.frame())
        return Observation(frames, controls.accessibility.read() if request.accessibility else None)

    def settle(self) -> Settlement:
        """Waits for the focused application to read its input and the screen to stand still for 100 ms; at most 2 s.

        Raises:
            EnvironmentFailure: The display is gone.
        """
        began = time.monotonic()
        self.controls.barrier.ask(SETTLE_CAP_SECONDS)
        stillness = self.controls.screen.settle(cap=SETTLE_CAP_SECONDS - (time.monotonic() - began))
        return Settlement(stillness.settled, time.monotonic() - began)

    def advance(self, seconds: float) -> None:
        """Waits: time is real here."""
        time.sleep(seconds)

    def pause(self) -> None:
        """Does nothing: a real desktop's clock cannot be stopped."""

    def resume(self) -> None:
        """Does nothing: a real desktop's clock was not stopped."""

    def health(self) -> str | None:
        """Returns None when all is well, else one line that says what died."""
        trouble = self._session.health()
        if trouble is None and self._controls is not None:
            try:
                self._controls.pointer.position()
            except EnvironmentFailure as failure:
                return str(failure)
        return trouble

    def close(self) -> None:
        """Ends the session and every connection to it; may be called twice."""
        self._unbind()
        self._session.close()

    def application(self, name: str) -> Application:
        """Returns the application of that role, name, program or desktop file, whatever its case.

        Raises:
            ActionFailed: There is none; the message lists what there is.
        """
        wanted = name.strip().lower()
        applications = self._session.applications()
        for application in applications.values():
            known = (application.role, application.role.replace("_", " "), application.name, application.argv[0])
            if wanted in {word.lower() for word in (*known, application.desktop_file)}:
                return application
        names = sorted(f"{application.name} ({role})" for role, application in applications.items())
        raise ActionFailed(f"there is no application {name[:60]!r}; there are: {', '.join(names)}")

    def open(self, application: Application, arguments: tuple[str, ...] = ()) -> None:
        """Starts an application and returns when its window is there and has the keyboard.

        Args:
            application: One of the session's.
            arguments: Added to its command line.

        Raises:
            ActionFailed: No window appeared within 15 s.
        """
        before = {window.id for window in self.controls.windows.all()}
        self._session.spawn([*application.argv, *arguments])
        if not application.window_class:
            return
        window = self._await_window(application, before)
        if not self._await_focus(window):
            # A program that runs already opens its window without the user's time stamp, so it stays behind others.
            self.controls.windows.activate(window.id)
            self._await_focus(window)

    def _await_window(self, application: Application, before: set[int]) -> Window:
        """Returns the new window, or an old one brought to the front by an application that has only one."""
        began = time.monotonic()
        while time.monotonic() - began < _WINDOW_SECONDS:
            own = [window for window in self.controls.windows.all() if _belongs(window, application)]
            new = [window for window in own if window.id not in before]
            if new:
                return new[-1]
            focused = self.controls.windows.focused()
            if time.monotonic() - began > _RAISED_SECONDS and focused is not None and _belongs(focused, application):
                return focused
            time.sleep(_POLL_SECONDS)
        raise ActionFailed(f"{application.name} was started, but no window of it appeared within {_WINDOW_SECONDS:g} s")

    def _await_focus(self, window: Window) -> bool:
        """Waits up to a second for a window to have the keyboard, and tells whether it has."""
        deadline = time.monotonic() + _FOCUS_SECONDS
        while time.monotonic() < deadline:
            focused = self.controls.windows.focused()
            if focused is not None and focused.id == window.id:
                return True
            time.sleep(_POLL_SECONDS)
        return False

    def _bind(self, handle: SessionHandle) -> Controls:
        watch = Watch()
        connection = Connection(handle.display, handle.xauthority, watch)
        keymap, barrier = Keymap(connection), FocusBarrier(connection)
        screen = Screen(handle.display, handle.xauthority, handle.screen, watch)
        return Controls(
            handle=handle,
            connection=connection,
            barrier=barrier,
            pointer=Pointer(connection, handle.screen),
            keyboard=Keyboard(connection, keymap, barrier),
            typist=Typist(connection, keymap, barrier),
            screen=screen,
            recorder=Recorder(screen, self._clock),
            windows=Windows(connection),
            clipboard=Clipboard(handle.display, handle.xauthority, watch),
            files=HomeFiles(handle.home),
            accessibility=AccessibilityProcess(handle.dbus_address),
            warden=Warden(handle.root_pid, watch, self._memory, walled=_walled(handle.root_pid)),
        )

    def _unbind(self) -> None:
        controls, self._controls = self._controls, None
        if controls is not None:
            controls.close()

    def _clock(self) -> float:
        return time.monotonic() - self._began


def _walled(root_pid: int) -> bool:
    """Tells whether the session's programs see another file system than this process."""
    try:
        return os.readlink(f"/proc/{root_pid}/ns/mnt") != os.readlink("/proc/self/ns/mnt")
    except PermissionError:
        return True


def _belongs(window: Window, application: Application) -> bool:
    # The file manager may also be the one that draws the desktop.
    return window.kind != "desktop" and window.window_class.lower() == application.window_class.lower()
