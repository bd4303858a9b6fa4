"""What a run depends on, as digests, so that a continued run cannot silently mix two versions of anything."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from crab.compose.composer import ComposedTask
from crab.errors import RecordError
from crab.loading import Project
from crab.record.schema import SCHEMA_VERSION, TrialSpec
from crab.run.build import HUMAN, ORACLE, load_kind

Lock = dict[str, Any]
"""``lock.json``: ``schema_version``, ``crab``, ``shared``, and digests in ``tasks``, ``agents``, ``environments``."""

EXTENDABLE = ("tasks", "agents", "environments")
"""Parts that a later run of the same directory may add to, but not change."""


def make_lock(project: Project, trials: Iterable[tuple[TrialSpec, ComposedTask]]) -> Lock:
    """Returns the lock of a run's trials.

    Args:
        project: Where the content comes from.
        trials: Every trial with its task.
    """
    lock: Lock = {"schema_version": SCHEMA_VERSION, "crab": version("crab-eval"), "shared": {}}
    for part in EXTENDABLE:
        lock[part] = {}
    for spec, composed in trials:
        if spec.task.id not in lock["tasks"]:
            lock["tasks"][spec.task.id] = _task_digest(spec, composed)
        if spec.agent.id not in lock["agents"]:
            lock["agents"][spec.agent.id] = _agent_digest(project, spec)
        for environment in spec.environments.values():
            if environment.kind not in lock["environments"]:
                lock["environments"][environment.kind] = _environment_lock(project, environment)
        lock["shared"] = {
            "limits": spec.limits.model_dump(mode="json"),
            "start_time": spec.start_time,
            "frames_per_second": spec.frames_per_second,
        }
    return lock


def read_lock(path: Path) -> Lock:
    """Reads a ``lock.json``.

    Raises:
        RecordError: It is damaged.
    """
    try:
        lock = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RecordError(f"{path}: damaged ({error}); restore it, or use a new --out") from error
    if not isinstance(lock, dict):
        raise RecordError(f"{path}: damaged (not a JSON object); restore it, or use a new --out")
    return lock


def merge_lock(old: Lock, new: Lock, where: Path) -> Lock:
    """Returns the lock of a continued run: the old one, extended.

    Raises:
        RecordError: Something both locks name has changed; the message lists what.
    """
    changes = [
        f"{part}: {old.get(part)} → {new[part]}" for part in ("schema_version", "crab") if old.get(part) != new[part]
    ]
    changes += _changes("shared", old.get("shared", {}), new["shared"])
    merged = {**new}
    for part in EXTENDABLE:
        before = old.get(part, {})
        both = [key for key in new[part] if key in before]
        changes += _changes(part, {key: before[key] for key in both}, {key: new[part][key] for key in both})
        merged[part] = {**before, **new[part]}
    if changes:
        listed = "; ".join(changes)
        raise RecordError(f"{where} was made with something else ({listed}); use a new --out, or undo the change")
    return merged


def digest(value: Any) -> str:
    """Returns the SHA-256 of a JSON value in canonical form, in hexadecimal."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _changes(where: str, old: Any, new: Any) -> list[str]:
    """Names every value that differs by its path, so that one sees which of many it is."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        keys = dict.fromkeys([*new, *(key for key in old if key not in new)])
        return [change for key in keys for change in _changes(f"{where}.{key}", old.get(key), new.get(key))]
    return [] if old == new else [f"{where}: {_short(old)} → {_short(new)}"]


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text[:12] if len(text) == 64 else text[:80]


def _task_digest(spec: TrialSpec, composed: ComposedTask) -> str:
    sources = {
        instance.subtask.reference: _source_digest(instance.subtask.checkpoints) for instance in composed.instances
    }
    return digest({"document": spec.task.document, "templates": sources})


def _agent_digest(project: Project, spec: TrialSpec) -> str:
    source: Any = ""
    if spec.agent.reference not in (ORACLE, HUMAN):
        agent = project.load("agents", spec.agent.reference)
        files = sorted(Path(file) for file in getattr(agent, "files", ()))
        source = [_source_digest(agent), *(hashlib.sha256(file.read_bytes()).hexdigest() for file in files)]
    return digest({"settings": spec.agent.settings, "tracks": spec.tracks, "source": source})


def _environment_lock(project: Project, environment: Any) -> dict[str, Any]:
    kind = load_kind(project, environment.kind)
    provider = kind.provider(environment.provider).describe()
    description = kind.describe(provider)
    operations = [
        (operation.name, operation.schema)
        for group in (description.actions, description.extra_actions, description.probes, description.preparations)
        for operation in group
    ]
    return {
        "provider": provider.name,
        "options": dict(environment.options),
        "operations": digest(operations),
        "versions": dict(provider.versions),
    }


def _source_digest(function: Callable[..., Any] | object) -> str:
    """Digest of the file that defines an object; empty where there is no source."""
    try:
        file = inspect.getsourcefile(inspect.unwrap(function))  # type: ignore[arg-type]  # raises TypeError itself
    except TypeError:
        file = None
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""
