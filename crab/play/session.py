"""What the person's page and the running trial share: what is to be seen, and what is to be done next."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from crab.agent import Call, TaskView, Tool
from crab.errors import UsageError
from crab.evaluator import ROOT
from crab.observation import CallResult, Frame, Observation
from crab.play.gestures import Gesture, call_for, offered

WAITING_CALLS = 16
"""Calls that may wait for their turn, at most: a person may type ahead, but not run away from the device."""

SHOWN_STEPS = 200
"""How many of the latest steps the page lists."""


class Session:
    """One person at one task; used by the trial's thread and the page's thread at the same time.

    Args:
        task: Id of the task.
        description: The task in words.
        checkpoints: Id and label of each checkpoint, when the person may see them; None keeps them closed.
    """

    def __init__(self, task: str, description: str, checkpoints: Sequence[tuple[str, str]] | None = None) -> None:
        self._lock = threading.Condition()
        self._task = {"id": task, "description": description}
        self._checkpoints = None if checkpoints is None else {id: [label, "waiting"] for id, label in checkpoints}
        self._environments: Mapping[str, str] = {}
        self._tools: tuple[Tool, ...] = ()
        self._frames: dict[str, Frame] = {}
        self._pictures: deque[Frame] = deque(maxlen=16)
        self._calls: deque[Call] = deque()
        self._steps: deque[dict[str, Any]] = deque(maxlen=SHOWN_STEPS)
        self._phase = "starting"
        self._ending: dict[str, Any] | None = None
        self._version = 1
        self._listener: Callable[[], None] = lambda: None
        self.opened = False
        """Whether a page has asked."""
        self.told = threading.Event()
        """Set as soon as a page shows how it ended, pictures included."""

    @property
    def version(self) -> int:
        """Grows with every change that the page shows."""
        return self._version

    def listen(self, listener: Callable[[], None]) -> None:
        """Has a function called after every change, on the thread that made it."""
        self._listener = listener

    def begin(self, view: TaskView) -> None:
        """Gives the page the devices and tools."""
        with self._lock:
            self._environments = view.environments
            self._tools = view.tools
        self._changed()

    def show(self, observations: Mapping[str, Observation]) -> None:
        """Shows the devices as they are now; says nothing where no picture has changed."""
        changed = False
        with self._lock:
            for role, observation in observations.items():
                if role not in self._frames or self._frames[role].sha256 != observation.now.sha256:
                    self._frames[role] = observation.now
                    self._pictures.append(observation.now)
                    changed = True
        if changed:
            self._changed()

    def ask(self, results: Sequence[CallResult]) -> None:
        """Says that it is the person's turn, and what became of the last call."""
        with self._lock:
            self._phase = "turn"
            for result in results:
                if result.value is not None:
                    self._steps.append({"kind": "answer", "text": f"{result.name} answered {result.value!r}"[:500]})
        self._changed()

    def next_call(self, seconds: float) -> Call | None:
        """Waits for the person's next call; returns None when none has come after so many seconds."""
        with self._lock:
            if not self._calls:
                self._lock.wait(seconds)
            if not self._calls:
                return None
            call = self._calls.popleft()
            self._phase = "busy"
        self._changed()
        return call

    def act(self, gesture: Gesture) -> None:
        """Takes what the person did; it is carried out in its turn.

        Raises:
            UsageError: The task has ended or not begun, too much is waiting, or no tool of the environment can do it.
        """
        with self._lock:
            if self._phase not in ("turn", "busy"):
                raise UsageError("the task has ended" if self._phase == "ended" else "the devices are not ready yet")
            if len(self._calls) >= WAITING_CALLS:
                raise UsageError("the device has not caught up; wait a moment")
            self._calls.append(call_for(gesture, self._tools))
            self._lock.notify_all()

    def event(self, event: Mapping[str, Any]) -> None:
        """Takes an event of the trial's record: steps are listed, open checkpoints tick."""
        with self._lock:
            match event["event"]:
                case "action":
                    names = ("step", "environment", "action", "arguments", "error")
                    self._steps.append({"kind": "action", **{name: event[name] for name in names}})
                case "invalid_call":
                    self._steps.append({"kind": "refused", "text": event["message"]})
                    # What was done after it was meant for a device in another state.
                    self._calls.clear()
                case "check" if self._checkpoints is not None and event["value"] is not True:
                    self._checkpoints[event["checkpoint"]][1] = "active" if event["value"] is False else "unknown"
                case "pass" if self._checkpoints is not None:
                    self._checkpoints[event["checkpoint"]][1] = "passed"
                case _:
                    return
        self._changed()

    def end(self, title: str, text: str, *, success: bool) -> None:
        """Says how the trial ended."""
        with self._lock:
            self._phase = "ended"
            self._calls.clear()
            self._ending = {"title": title, "text": text, "success": success}
        self._changed()

    def picture(self, digest: str) -> Frame | None:
        """Returns one of the latest pictures by its SHA-256, or None."""
        with self._lock:
            return next((frame for frame in self._pictures if frame.sha256 == digest), None)

    def document(self) -> dict[str, Any]:
        """Returns everything the page shows, as JSON values."""
        with self._lock:
            roles = self._environments or dict.fromkeys(self._frames, "")
            checkpoints = self._checkpoints
            return {
                "version": self._version,
                "phase": self._phase,
                "task": self._task,
                "devices": [self._device(role, text) for role, text in roles.items()],
                "tools": [_tool(tool) for tool in self._tools],
                "steps": list(self._steps),
                "checkpoints": None
                if checkpoints is None
                else [{"id": id, "label": label, "state": state} for id, (label, state) in checkpoints.items()],
                "ending": self._ending,
            }

    def _device(self, role: str, description: str) -> dict[str, Any]:
        frame = self._frames.get(role)
        shown = frame and {"sha256": frame.sha256, "width": frame.width, "height": frame.height}
        return {
            "role": role,
            "description": description,
            "frame": shown,
            "gestures": offered(role, self._tools),
        }

    def _changed(self) -> None:
        with self._lock:
            self._version += 1
        self._listener()


def _tool(tool: Tool) -> dict[str, Any]:
    function = tool.schema["function"]
    return {
        "name": tool.name,
        "environment": tool.environment,
        "action": tool.action,
        "root": tool.environment == ROOT,
        "description": function.get("description", ""),
        "parameters": function["parameters"],
    }
