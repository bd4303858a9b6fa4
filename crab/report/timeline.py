"""The story of one trial as the viewer tells it: turns, and within them the stops one can stand on.

A stop is the start, an executed action, a refused call, a decision of which nothing was carried out, or the end. Each
stop knows the state of every checkpoint once everything that belongs to it has happened.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from crab.record.reader import Event
from crab.record.schema import TaskSpec, TrialSpec
from crab.record.writer import EXTENSIONS
from crab.report.layout import layer_of
from crab.report.marks import Point, mark_of

Stop = dict[str, Any]
"""JSON object of one stop; see `Timeline.document`."""

WAITING, ACTIVE, PASSED, IMPLIED, UNKNOWN, FAILED = "w", "a", "p", "i", "u", "f"
"""States of a checkpoint: not yet asked; asked and not (yet) true; passed; passed because a later one did; its
evaluator could not tell; asked and still not true at the end."""

TEXT_LIMIT = 4000
"""Characters of one text that a page shows; the record holds the rest."""

ITEM_LIMIT = 100
"""Items of one list or object that a page shows."""


class Timeline:
    """Builds the story from the events of one trial."""

    def __init__(self, spec: TrialSpec, events: Iterable[Event]) -> None:
        self._checkpoints = _Checkpoints(spec.task)
        self._turns: list[dict[str, Any]] = []
        self._final: dict[str, Any] | None = None
        self._start = self._stop("start", "start", -1, title="Start", setup=[])
        self._stops: list[Stop] = [self._start]
        self._pointers: dict[str, Point] = {}
        self._ended: Event | None = None
        self._errors: list[dict[str, Any]] = []
        for event in events:
            handler = getattr(self, f"_on_{event['event']}", None)
            if handler is not None:
                handler(event)
        self._finish()

    @property
    def document(self) -> dict[str, Any]:
        """What a trial page is made of, as JSON.

        ``turns``: {number, environments, messages, calls, usage, seconds}; ``final``: environments of the look after
        the end, or null; ``stops``: {id, kind, turn (index into turns or -1), title, environment, action, arguments,
        value, error, counted, mark, states (a letter for each checkpoint), checks, passes, probes, …}.
        """
        return {
            "nodes": [node.id for node in self._checkpoints.nodes],
            "turns": self._turns,
            "final": self._final,
            "stops": self._stops,
        }

    def _stop(self, id: str, kind: str, turn: int, **fields: Any) -> Stop:
        return {"id": id, "kind": kind, "turn": turn, "checks": [], "passes": [], "probes": [], **fields}

    def _add(self, stop: Stop) -> None:
        self._settle()
        self._stops.append(stop)

    def _settle(self) -> None:
        """Everything that belongs to the last stop has happened: notes the checkpoints' states in it."""
        self._stops[-1]["states"] = self._checkpoints.states()

    # What came before the agent.

    def _on_environment_start(self, event: Event) -> None:
        provider = event["provider"]
        more = {key: value for key, value in provider.items() if value and key != "name"}
        self._prepared(event, f"{provider['name']} ready", more)

    def _on_reset(self, event: Event) -> None:
        self._prepared(event, "reset")

    def _on_prepare(self, event: Event) -> None:
        self._prepared(event, event["name"], event["arguments"])

    def _prepared(self, event: Event, words: str, arguments: Mapping[str, Any] | None = None) -> None:
        entry = {"text": f"{event['environment']}: {words}", "seconds": event["seconds"]}
        if arguments:
            entry["arguments"] = clipped(arguments)
        self._start["setup"].append(entry)

    # Turns.

    def _on_observation(self, event: Event) -> None:
        environments = {role: _shown(shown) for role, shown in event["environments"].items()}
        if event["turn"] == 0:
            self._final = environments
            return
        self._close_turn()
        self._turns.append({"number": event["turn"], "environments": environments, "messages": [], "calls": []})

    def _on_decision(self, event: Event) -> None:
        if not self._turns or self._turns[-1]["number"] != event["turn"]:
            self._turns.append({"number": event["turn"], "environments": {}})
        self._turns[-1].update(
            messages=clipped(event["messages"]),
            calls=clipped(event["calls"]),
            usage=clipped(event["usage"]),
            seconds=event["seconds"],
            decided=True,
        )

    def _on_action(self, event: Event) -> None:
        role, arguments = event["environment"], event["arguments"]
        mark = mark_of(event["action"], arguments, self._pointers.get(role))
        if mark is not None and mark.leaves_pointer_at is not None:
            self._pointers[role] = mark.leaves_pointer_at
        shown = {
            name: clipped(event[name])
            for name in ("step", "call", "environment", "action", "arguments", "value", "error", "counted")
        }
        timing = {name: event[name] for name in ("duration", "settled", "settle_seconds", "seconds")}
        self._add(
            self._stop(
                f"step-{event['step']}" if event["counted"] else event["action"],
                "action",
                self._turn_index(),
                title=event["action"],
                mark=asdict(mark) if mark is not None else None,
                **shown,
                **timing,
            )
        )

    def _on_invalid_call(self, event: Event) -> None:
        refused = {"call": event["call"], "title": clipped(event["name"]), "error": clipped(event["message"])}
        if event["reason"] == "skipped" and self._stops[-1]["kind"] == "refused":
            self._stops[-1]["skipped"].append(refused)
            return
        number = 1 + sum(1 for stop in self._stops if stop["kind"] == "refused")
        self._add(
            self._stop(
                f"refused-{number}",
                "refused",
                self._turn_index(),
                reason=event["reason"],
                arguments=self._asked(event["call"]),
                skipped=[],
                **refused,
            )
        )

    def _asked(self, call: str) -> Any:
        calls = self._turns[-1]["calls"] if self._turns else []
        return next((asked["arguments"] for asked in calls if asked["id"] == call), {})

    def _turn_index(self) -> int:
        return len(self._turns) - 1

    def _close_turn(self) -> None:
        """A decision of which nothing was carried out gets a stop of its own, so that it is not overlooked."""
        last = self._turn_index()
        if last < 0 or not self._turns[last].get("decided") or any(stop["turn"] == last for stop in self._stops):
            return
        number = self._turns[last]["number"]
        self._add(self._stop(f"turn-{number}", "decision", last, title="Nothing carried out"))

    # Checkpoints.

    def _on_check(self, event: Event) -> None:
        self._asking(event)["checks"].append({name: clipped(event[name]) for name in ("checkpoint", "value", "reason")})
        self._checkpoints.checked(event["checkpoint"], event["value"])

    def _on_probe(self, event: Event) -> None:
        names = ("checkpoint", "environment", "name", "arguments", "answer", "error", "seconds")
        self._asking(event)["probes"].append({name: clipped(event[name]) for name in names})

    def _on_pass(self, event: Event) -> None:
        stop = self._stops[-1]
        stop["passes"].append({"checkpoint": event["checkpoint"], "implied_by": event["implied_by"]})
        self._checkpoints.passed(event["checkpoint"], event["implied_by"])

    def _asking(self, event: Event) -> Stop:
        """Returns the stop a question belongs to: an action asks each checkpoint once, what comes then is the end's."""
        stop = self._stops[-1]
        asked = {check["checkpoint"] for check in stop["checks"]}
        own = stop["kind"] == "start" or (stop["kind"] == "action" and stop["counted"])
        if stop["kind"] == "end" or (own and stop["turn"] == self._turn_index() and event["checkpoint"] not in asked):
            return stop
        return self._open_end()

    def _open_end(self) -> Stop:
        self._close_turn()
        end = self._stop("end", "end", -1, title="End")
        self._add(end)
        return end

    # The end.

    def _on_error(self, event: Event) -> None:
        self._errors.append({name: clipped(event[name]) for name in ("where", "type", "message", "blame")})

    def _on_trial_end(self, event: Event) -> None:
        self._ended = event
        self._close_turn()
        if self._stops[-1]["kind"] != "end":
            self._open_end()
        self._stops[-1].update(reason=event["reason"], valid=event["valid"], seconds=event["seconds"])

    def _finish(self) -> None:
        self._close_turn()
        self._settle()
        self._stops[-1]["errors"] = self._errors
        if self._ended is not None and self._ended["valid"]:
            self._stops[-1]["states"] = self._stops[-1]["states"].replace(ACTIVE, FAILED)


class _Checkpoints:
    """What is known of each checkpoint at one moment."""

    def __init__(self, task: TaskSpec) -> None:
        self.nodes = task.checkpoints
        known = {node.id for node in task.checkpoints}
        self._before: dict[str, list[str]] = {node.id: [] for node in task.checkpoints}
        self._transient = {node.id for node in task.checkpoints if node.transient}
        for source, target in task.edges:
            if source in known and target in known:
                self._before[target].append(source)
        ids = [node.id for node in task.checkpoints]
        layers = layer_of(ids, [(source, target) for target, sources in self._before.items() for source in sources])
        self._order = sorted(ids, key=layers.__getitem__)
        self._passed: dict[str, str] = {}
        self._unknown: set[str] = set()

    def checked(self, id: str, value: bool | None) -> None:
        """Notes what an evaluator said."""
        if value is None:
            self._unknown.add(id)
        else:
            self._unknown.discard(id)

    def passed(self, id: str, implied_by: str | None) -> None:
        """Notes a pass."""
        self._passed[id] = PASSED if implied_by is None else IMPLIED
        self._unknown.discard(id)

    def states(self) -> str:
        """Returns one letter for each checkpoint, in the order of the task."""
        active: set[str] = set()
        for id in self._order:
            open_before = [other for other in self._before[id] if other not in self._passed]
            if all(other in self._transient and other in active for other in open_before):
                active.add(id)
        return "".join(self._state(node.id, active) for node in self.nodes)

    def _state(self, id: str, active: set[str]) -> str:
        if id in self._passed:
            return self._passed[id]
        if id in self._unknown:
            return UNKNOWN
        return ACTIVE if id in active else WAITING


def _shown(shown: Mapping[str, Any]) -> dict[str, Any]:
    frames = [
        {
            "file": f"{frame['sha256']}.{EXTENSIONS.get(frame['media_type'], 'bin')}",
            "width": frame["width"],
            "height": frame["height"],
            "time": frame["time"],
        }
        for frame in shown["frames"]
    ]
    tree = shown["accessibility"]
    return {"frames": frames, "accessibility": f"{tree}.json" if tree else None}


def clipped(value: Any) -> Any:
    """Returns a JSON value with long texts and long lists cut, and a word on what was left out."""
    if isinstance(value, str):
        if len(value) <= TEXT_LIMIT:
            return value
        return f"{value[:TEXT_LIMIT]}… ({len(value) - TEXT_LIMIT} more characters in the record)"
    if isinstance(value, list | tuple):
        items = [clipped(item) for item in value[:ITEM_LIMIT]]
        return items if len(value) <= ITEM_LIMIT else [*items, f"… ({len(value) - ITEM_LIMIT} more in the record)"]
    if isinstance(value, dict):
        pairs = list(value.items())[:ITEM_LIMIT]
        kept = {str(clipped(key)): clipped(item) for key, item in pairs}
        return kept if len(value) <= ITEM_LIMIT else {**kept, "…": f"{len(value) - ITEM_LIMIT} more in the record"}
    if isinstance(value, float) and not math.isfinite(value):
        # Not JSON, although Python reads and writes it.
        return str(value)
    return value
