"""What was proven before: findings by the digest of everything they depend on, kept in a file."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from crab.compose.composer import ComposedTask
from crab.environment import Finding
from crab.errors import UsageError
from crab.loading import Project
from crab.run.build import load_kind
from crab.task import Subtask

SCHEMA_VERSION = 1

DEFAULT = Path(".crab") / "validated.json"
"""Where the file lies in a project, unless another is named."""

BESIDE_PROOFS = frozenset({"cli", "models", "play", "report"})
"""Packages of the framework on which no proof depends."""


class Proven:
    """Findings of earlier proofs; every new one is written at once, so that an interrupted validation goes on.

    Args:
        path: The file; it need not be there.
        fresh: Whether to prove everything anew, and only write.

    Raises:
        UsageError: The file is there and is none of ours, or its folder cannot be made.
    """

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._tasks = _read(path)
        self._fresh = fresh
        try:
            # Now rather than after the first proof, which may take minutes.
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._unwritable(error) from error

    def find(self, id: str, digest: str) -> tuple[Finding, ...] | None:
        """Returns the findings of a proof of the very same things in which nothing failed, else None."""
        kept = self._tasks.get(id)
        if self._fresh or kept is None or kept["digest"] != digest:
            return None
        findings = tuple(Finding(entry["name"], entry["ok"], entry["detail"]) for entry in kept["findings"])
        return findings if findings and all(finding.ok for finding in findings) else None

    def keep(self, id: str, digest: str, findings: Sequence[Finding]) -> None:
        """Writes down the findings of a proof; may be called from several threads.

        Raises:
            UsageError: The file cannot be written.
        """
        entries = [{"name": finding.name, "ok": finding.ok, "detail": finding.detail} for finding in findings]
        with self._lock:
            self._tasks[id] = {"digest": digest, "findings": entries}
            content = {"schema_version": SCHEMA_VERSION, "tasks": dict(sorted(self._tasks.items()))}
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                scratch = self.path.with_name(f"{self.path.name}.new")
                scratch.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
                os.replace(scratch, self.path)
            except OSError as error:
                raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> UsageError:
        return UsageError(f"{self.path}: cannot be written ({error.strerror}); name another file with --state")


class ProofDigests:
    """Digests of everything proofs depend on; code is read once.

    That is the document, the code of its templates and environments with the packages they lie in, the providers with
    the versions they tell, the seed, and the framework without its `BESIDE_PROOFS`. Data outside these packages and
    programs of the machine are not seen.

    Args:
        project: Where kinds of environment are looked up.
        seed: Of the proofs.
    """

    def __init__(self, project: Project, seed: int) -> None:
        self._project = project
        self._seed = seed
        self._known: dict[str, str] = {}

    def of(self, composed: ComposedTask) -> str:
        """Returns the digest of a task's proof."""
        parts: list[Any] = [SCHEMA_VERSION, self._seed, composed.document.model_dump(mode="json", by_alias=True)]
        modules = {function.__module__ for instance in composed.instances for function in _functions(instance.subtask)}
        entries = self._project.entries("environments")
        for kind in composed.task.environments.values():
            about = load_kind(self._project, kind).provider().describe()
            parts.append([kind, about.name, dict(about.versions)])
            modules.add(entries[kind].object.partition(":")[0])
        parts.extend(self._code(name) for name in sorted({*modules, "crab"}))
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()

    def _code(self, module: str) -> str:
        """Digest of the package of a module, as deep as the second level, and of the modules beside that package."""
        top, *rest = module.split(".")
        key = "crab" if top == "crab" else ".".join([top, *rest[:1]])
        if key not in self._known:
            self._known[key] = _digest(_files_of(top, rest[:1]))
        return self._known[key]


def _functions(subtask: Subtask) -> Iterable[Any]:
    yield from (subtask.checkpoints, subtask.solve, subtask.setup)
    yield from (miss.solve for miss in subtask.near_misses)
    if subtask.output is not None:
        yield subtask.output.value


def _files_of(top: str, inner: Sequence[str]) -> Iterable[Path]:
    file = getattr(sys.modules.get(top), "__file__", None)
    if file is None:
        return ()
    if Path(file).name != "__init__.py":
        return (Path(file),)
    home = Path(file).parent
    if top == "crab":
        outside = {*BESIDE_PROOFS, "bundled"}
        return (path for path in home.rglob("*") if path.relative_to(home).parts[0] not in outside)
    below = (path for name in inner if (home / name).is_dir() for path in (home / name).rglob("*"))
    return (*home.glob("*.py"), *below)


def _digest(files: Iterable[Path]) -> str:
    hash = hashlib.sha256()
    for path in sorted(files):
        if path.is_file() and "__pycache__" not in path.parts:
            hash.update(f"{path.name}\0".encode())
            hash.update(hashlib.sha256(path.read_bytes()).digest())
    return hash.hexdigest()


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        if raw["schema_version"] != SCHEMA_VERSION:
            return {}
        tasks: dict[str, dict[str, Any]] = raw["tasks"]
        for entry in tasks.values():
            for finding in entry["findings"]:
                _ = finding["name"], finding["ok"], finding["detail"], entry["digest"]
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{path}: not a file that `crab validate` wrote; remove it, or name another --state"
        ) from error
    return tasks
