"""Derives ``trajectory.json`` (ATIF 1.8) from the events of a trial, and writes all that is derived.

The first step is the user's: the task in words, with what the devices showed before the first turn. Every turn is one
agent step, whose observation holds what became of each call and then what the devices showed. What ATIF has no field
for (environments, coordinates, checkpoints) stands in ``extra``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from crab.record.reader import Event, TrialRecord, derive_result
from crab.record.writer import EXTENSIONS, write_atomic

ATIF_VERSION = "ATIF-v1.8"
"""What ``schema_version`` says in every trajectory."""

AFTER_THE_END = 0
"""Turn number of the look after the last action."""

Document = dict[str, Any]


def derive_trajectory(record: TrialRecord) -> Document:
    """Builds the trajectory of a trial, as far as its events go, as an ATIF 1.8 document.

    Image paths are relative to the trial directory, with forward slashes.

    Raises:
        RecordError: The record cannot be read, or does not reach the end of the trial.
    """
    spec, events = record.spec, record.events
    result = derive_result(spec, events)
    turns = [event for event in events if event["event"] == "decision"]
    looks = {event["turn"]: event for event in events if event["event"] == "observation"}
    start = datetime.fromisoformat(events[0]["time"])
    steps = [_task_step(spec.task.description, looks.get(1), start)]
    for index, decision in enumerate(turns):
        last = index + 1 == len(turns)
        after = looks.get(decision["turn"] + 1) or (looks.get(AFTER_THE_END) if last else None)
        steps.append(_agent_step(len(steps) + 1, decision, events, after, start))
    return {
        "schema_version": ATIF_VERSION,
        "session_id": f"{spec.path}/attempt-{result.attempt}",
        # Settings are kept as given: they say which model, prompt and version an agent ran with.
        "agent": {
            "name": spec.agent.id,
            "version": str(spec.agent.settings.get("version", "unknown")),
            "extra": {"reference": spec.agent.reference, "settings": spec.agent.settings},
        },
        "steps": steps,
        "final_metrics": _final_metrics(turns, len(steps)),
        "extra": {
            "task": {"id": spec.task.id, "version": spec.task.version, "family": spec.task.family},
            "environments": {role: environment.kind for role, environment in spec.environments.items()},
            "seed": spec.seed,
            "edges": [list(edge) for edge in spec.task.edges],
            "result": result.canonical(),
            "error": result.error,
        },
    }


def write_derived(directory: Path) -> None:
    """Writes ``trajectory.json`` and ``result.json`` from the events, each atomically; the same events give the same.

    Raises:
        RecordError: The record cannot be read, or does not reach the end of the trial.
    """
    record = TrialRecord(directory)
    documents = {"trajectory.json": derive_trajectory(record), "result.json": record.result().model_dump(mode="json")}
    for name, document in documents.items():
        write_atomic(directory / name, json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def _task_step(description: str, look: Event | None, start: datetime) -> Document:
    step: Document = {"step_id": 1, "source": "user", "message": description}
    if look is not None:
        images = [part for role in look["environments"] for part in _images(look, role)]
        step["message"] = [{"type": "text", "text": description}, *images]
        step["timestamp"] = _timestamp(start, look)
        step["extra"] = {"screens": {role: _screen(look, role) for role in look["environments"]}}
    return step


def _agent_step(
    number: int, decision: Event, events: Iterable[Event], after: Event | None, start: datetime
) -> Document:
    turn = decision["turn"]
    said = [message["text"] for message in decision["messages"] if message["kind"] == "text"]
    thought = [message["text"] for message in decision["messages"] if message["kind"] == "reasoning"]
    ids = _call_ids(decision["calls"])
    asked = {id: call["asked"] for id, call in zip(ids, decision["calls"], strict=True) if "asked" in call}
    step: Document = {
        "step_id": number,
        "timestamp": _timestamp(start, decision),
        "source": "agent",
        "message": "\n\n".join(said),
        "llm_call_count": decision["usage"]["model_calls"],
        "extra": {"turn": turn, "seconds": decision["seconds"], "messages": decision["messages"]},
    }
    if asked:
        # What the model gave before perception turned it into the device's coordinates, for example an element.
        step["extra"]["asked"] = asked
    if decision["calls"]:
        step["tool_calls"] = [_tool_call(id, call) for id, call in zip(ids, decision["calls"], strict=True)]
    # ATIF allows neither on a step without a model call; an agent without a model may still say what it thought.
    if decision["usage"]["model_calls"]:
        step["metrics"] = _metrics(decision["usage"])
        if thought:
            step["reasoning_content"] = "\n\n".join(thought)
    results = _call_results(turn, ids, events)
    if after is not None:
        results += [
            {"content": _images(after, role), "extra": {"environment": role, **_screen(after, role)}}
            for role in after["environments"]
        ]
    if results:
        step["observation"] = {"results": results}
    return step


def _call_ids(calls: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns the calls' ids; one that an agent used twice in a turn gets a number, for ATIF wants them unique."""
    ids: list[str] = []
    for call in calls:
        id, count = call["id"], 1
        while id in ids:
            count += 1
            id = f"{call['id']}#{count}"
        ids.append(id)
    return ids


def _tool_call(id: str, call: Mapping[str, Any]) -> Document:
    arguments = call["arguments"]
    # What was no object at all is kept as text: ATIF's arguments are always an object.
    return {
        "tool_call_id": id,
        "function_name": call["name"],
        "arguments": arguments if isinstance(arguments, dict) else {"not_an_object": arguments},
    }


def _call_results(turn: int, ids: list[str], events: Iterable[Event]) -> list[Document]:
    """Returns what became of the calls of a turn; calls after one that ended the trial have no result."""
    results: list[Document] = []
    in_turn = False
    for event in events:
        if event["event"] in ("action", "invalid_call"):
            in_turn = event["turn"] == turn
            if in_turn:
                result = _executed(event) if event["event"] == "action" else _refused(event)
                if len(results) < len(ids):
                    result["source_call_id"] = ids[len(results)]
                results.append(result)
        elif event["event"] == "decision":
            in_turn = False
        elif event["event"] == "pass" and in_turn:
            passed = {"checkpoint": event["checkpoint"], "implied_by": event["implied_by"]}
            results[-1]["extra"].setdefault("checkpoints_passed", []).append(passed)
    return results


def _executed(event: Event) -> Document:
    fields = ("environment", "action", "arguments", "step", "counted", "duration", "settled", "settle_seconds")
    extra = {field: event[field] for field in fields}
    return {"content": event["error"] or _text(event["value"]), "extra": {"executed": True, **extra}}


def _refused(event: Event) -> Document:
    return {"content": event["message"], "extra": {"executed": False, "reason": event["reason"]}}


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _images(look: Event, role: str) -> list[Document]:
    return [
        {"type": "image", "source": {"media_type": frame["media_type"], "path": _shot(frame)}}
        for frame in look["environments"][role]["frames"]
        # ATIF knows no other pictures; those stand in `extra` alone.
        if frame["media_type"] in EXTENSIONS
    ]


def _screen(look: Event, role: str) -> Document:
    shown = look["environments"][role]
    tree = shown["accessibility"]
    return {
        "frames": [
            {"path": _shot(frame), **{key: frame[key] for key in ("width", "height", "time")}}
            for frame in shown["frames"]
        ],
        "accessibility": None if tree is None else f"shots/{tree}.json",
    }


def _shot(frame: Mapping[str, Any]) -> str:
    return f"shots/{frame['sha256']}.{EXTENSIONS.get(frame['media_type'], 'bin')}"


def _metrics(usage: Mapping[str, Any]) -> Document:
    metrics: Document = {
        "prompt_tokens": usage["input"] + usage["cache_read"] + usage["cache_write"],
        "completion_tokens": usage["output"],
        "cached_tokens": usage["cache_read"],
        "extra": {"cache_write_tokens": usage["cache_write"], "reasoning_tokens": usage["reasoning"]},
    }
    if usage["cost"] is not None:
        metrics["cost_usd"] = usage["cost"]
    return metrics


def _final_metrics(turns: Iterable[Event], steps: int) -> Document:
    usages = [event["usage"] for event in turns]
    totals: Document = {
        "total_prompt_tokens": sum(usage["input"] + usage["cache_read"] + usage["cache_write"] for usage in usages),
        "total_completion_tokens": sum(usage["output"] for usage in usages),
        "total_cached_tokens": sum(usage["cache_read"] for usage in usages),
        "total_steps": steps,
    }
    if all(usage["cost"] is not None for usage in usages):
        totals["total_cost_usd"] = sum(usage["cost"] for usage in usages)
    return totals


def _timestamp(start: datetime, event: Event) -> str:
    return (start + timedelta(seconds=event["at"])).isoformat(timespec="milliseconds")
