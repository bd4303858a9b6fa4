"""The driver of many trials: one child process each, limits from outside, results written here and nowhere else."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from crab.errors import ModelRejected, RecordError, UsageError
from crab.record.reader import TrialRecord, read_document
from crab.record.schema import SCHEMA_VERSION, Reason, Result, State, Status, TrialSpec
from crab.record.trajectory import write_derived
from crab.record.writer import ESCAPED, write_atomic
from crab.run.lock import Lock, merge_lock, read_lock
from crab.run.trial import EXIT_HOPELESS

GRACE_SECONDS = 60.0
"""How long a trial may overrun its own time limit, for reset, checks and closing, before it is killed."""

TERM_SECONDS = 10.0
"""How long an interrupted trial may take to close its devices before it is killed."""

HELD_BY = ".driver"
"""File in the run directory that its driver holds locked; it says which process that is."""

RETRIABLE = (Reason.ENVIRONMENT_ERROR, Reason.EVALUATOR_ERROR, Reason.INTERRUPTED)
"""Endings that, when invalid, are tried again."""


class Watcher(Protocol):
    """Is told what happens while a suite runs; the command line draws it."""

    def queued(self, specs: Sequence[TrialSpec], done: Sequence[Result]) -> None:
        """Called once: all trials that will run, and results that are already there."""

    def event(self, spec: TrialSpec, event: dict[str, Any]) -> None:
        """Called for every event of a running trial, as it is written."""

    def finished(self, spec: TrialSpec, result: Result) -> None:
        """Called when a trial has a result."""


@dataclass
class Suite:
    """Runs trials into one run directory; running it again continues it.

    Attributes:
        directory: The run directory.
        specs: All trials; their paths must differ.
        lock: See `crab.run.lock`.
        config: What was asked for, kept in ``config.json``.
        jobs: How many trials run at the same time, at least 1.
        retries: How often an invalid trial is tried again in this run.
        watcher: Told what happens.
        command: Starts a child; followed by the spec file, the trial directory and the driver's process id.
    """

    directory: Path
    specs: Sequence[TrialSpec]
    lock: Lock
    config: dict[str, Any]
    jobs: int = 1
    retries: int = 1
    watcher: Watcher | None = None
    command: Sequence[str] = field(default_factory=lambda: (sys.executable, "-P", "-m", "crab.cli.main", "exec-trial"))

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise UsageError(f"jobs must be at least 1, not {self.jobs}")
        paths = [spec.path for spec in self.specs]
        if len(set(paths)) != len(paths):
            raise UsageError("a trial is asked for twice; each agent, task and seed counts once")

    def run(self) -> list[Result]:
        """Runs all trials that have no valid result yet.

        Returns:
            The results of all trials asked for, in their order.

        Raises:
            RecordError: The directory holds a run that was made with something else, or a trial could not even start.
            ModelRejected: A model's endpoint refuses what every trial would ask; the message names what to look at.
            KeyboardInterrupt: Interrupted; running trials are recorded as interrupted, and the run can be continued.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        self._refuse_foreign()
        with self._alone():
            self._open()
            return self._run()

    def run_here(self, trial: Callable[[Path, TrialSpec], object]) -> Result:
        """Has the one trial asked for run in this process, as a new attempt, whatever is there already.

        Args:
            trial: Runs and records it, given its directory and spec.

        Returns:
            Its result.

        Raises:
            RecordError: The directory holds a run that was made with something else.
            KeyboardInterrupt: It was interrupted, and `trial` has recorded so.
        """
        (spec,) = self.specs
        self.directory.mkdir(parents=True, exist_ok=True)
        self._refuse_foreign()
        with self._alone():
            self._open()
            try:
                trial(self.directory / spec.path, spec)
            finally:
                record = TrialRecord(self.directory / spec.path)
                if (record.directory / "events.jsonl").exists() and record.ended:
                    write_derived(record.directory)
                self._write_results()
            return record.result()

    def _refuse_foreign(self) -> None:
        others = [path for path in self.directory.iterdir() if path.name != HELD_BY]
        if others and not (self.directory / "config.json").exists():
            raise UsageError(f"{self.directory} is not empty and no run directory; name another --out")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Holds the run directory, so that no second driver writes there; the kernel lets go when this one dies."""
        with (self.directory / HELD_BY).open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                other = file.read().strip() or "unknown"
                message = f"{self.directory}: another run (process {other}) is writing here"
                raise UsageError(f"{message}; wait for it, or name another --out") from None
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield

    def _run(self) -> list[Result]:
        done = {spec.path: result for spec in self.specs if (result := self._valid_result(spec)) is not None}
        waiting = [spec for spec in self.specs if spec.path not in done]
        if self.watcher is not None:
            self.watcher.queued(waiting, list(done.values()))
        try:
            done.update(asyncio.run(self._run_all(waiting)))
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
        except ExceptionGroup as group:
            # Trials that cannot start share one reason; it is said once, not as a tree of tracebacks.
            raise group.exceptions[0] from None
        finally:
            self._write_results()
        return [done[spec.path] for spec in self.specs]

    def _open(self) -> None:
        config, lock = self.directory / "config.json", self.directory / "lock.json"
        merged = self.lock
        if lock.exists():
            merged = merge_lock(read_lock(lock), self.lock, self.directory)
        document = {"schema_version": SCHEMA_VERSION, **self.config}
        write_atomic(config, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        write_atomic(lock, json.dumps(merged, indent=2, ensure_ascii=False, sort_keys=True) + "\n")

    def _valid_result(self, spec: TrialSpec) -> Result | None:
        record = TrialRecord(self.directory / spec.path)
        if not (record.directory / "events.jsonl").exists():
            return None
        try:
            result = record.result() if record.ended else None
        except RecordError:
            # A damaged record is kept as an earlier attempt, and the trial is run again.
            return None
        return result if result is not None and result.valid else None

    async def _run_all(self, waiting: Sequence[TrialSpec]) -> dict[str, Result]:
        slots = asyncio.Semaphore(self.jobs)
        results: dict[str, Result] = {}

        async def one(spec: TrialSpec) -> None:
            async with slots:
                for attempt in range(self.retries + 1):
                    result = await self._run_child(spec)
                    if result.valid or result.reason not in RETRIABLE or attempt == self.retries:
                        break
                results[spec.path] = result
                self._append(result)
                if self.watcher is not None:
                    self.watcher.finished(spec, result)

        async with asyncio.TaskGroup() as group:
            stop = asyncio.current_task()
            loop = asyncio.get_running_loop()
            # Ctrl-C reaches asyncio.run by itself; a service manager's SIGTERM must end a run as cleanly.
            if stop is not None:
                loop.add_signal_handler(signal.SIGTERM, stop.cancel)
            for spec in waiting:
                group.create_task(one(spec))
        return results

    async def _run_child(self, spec: TrialSpec) -> Result:
        directory = self.directory / spec.path
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=self.directory, prefix=".spec-", suffix=".json"
        ) as spec_file:
            spec_file.write(spec.model_dump_json())
            spec_file.flush()
            process = await asyncio.create_subprocess_exec(
                *self.command,
                spec_file.name,
                str(directory),
                str(os.getpid()),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
                limit=64 * 1024 * 1024,
            )
            timed_out = False
            try:
                async with asyncio.timeout(spec.limits.seconds + GRACE_SECONDS):
                    complaint = await self._follow(spec, process)
            except TimeoutError:
                timed_out = True
                complaint = f"did not end within {GRACE_SECONDS:g} s of its time limit"
                # Asking it to end would have it recorded as a person's interrupt.
                _signal_group(process.pid, signal.SIGKILL)
            finally:
                await _end(process)
        return self._conclude(spec, process.returncode, complaint, timed_out=timed_out)

    async def _follow(self, spec: TrialSpec, process: asyncio.subprocess.Process) -> str:
        """Passes a child's events on until it ends; returns the end of what it wrote to standard error."""
        if process.stdout is None or process.stderr is None:
            raise RuntimeError("the child was started without pipes")
        errors = asyncio.create_task(process.stderr.read())
        try:
            async for line in process.stdout:
                if self.watcher is not None:
                    self.watcher.event(spec, json.loads(line))
            await process.wait()
            return (await errors).decode(errors="replace").strip()[-2000:]
        finally:
            errors.cancel()

    def _conclude(self, spec: TrialSpec, status: int | None, complaint: str, *, timed_out: bool) -> Result:
        directory = self.directory / spec.path
        if not (directory / "events.jsonl").exists():
            raise RecordError(f"trial {spec.path} could not start: {complaint or f'exit status {status}'}")
        record = TrialRecord(directory)
        if not record.ended:
            _close_record(record, status, complaint, timed_out=timed_out)
            record = TrialRecord(directory)
        write_derived(directory)
        if status == EXIT_HOPELESS:
            raise ModelRejected(complaint)
        return record.result()

    def _append(self, result: Result) -> None:
        with (self.directory / "results.jsonl").open("a", encoding="utf-8", errors=ESCAPED) as file:
            file.write(_line(result))

    def _write_results(self) -> None:
        """Rewrites ``results.jsonl`` and ``summary.json`` from the records: one line a trial, in a fixed order."""
        from crab.metrics.summary import summarise

        results = collect_results(self.directory)
        write_atomic(self.directory / "results.jsonl", "".join(map(_line, results)))
        summary = {"schema_version": SCHEMA_VERSION, "agents": [_as_json(entry) for entry in summarise(results)]}
        write_atomic(self.directory / "summary.json", json.dumps(summary, indent=2, ensure_ascii=False) + "\n")


def _line(result: Result) -> str:
    # Not pydantic's own JSON, which refuses half a surrogate pair: an agent's error may quote one.
    return json.dumps(result.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":")) + "\n"


def collect_results(directory: Path) -> list[Result]:
    """Returns the result of every ended, readable trial of a run directory, sorted by agent, task and seed."""
    results: list[Result] = []
    for path in (directory / "trials").glob("*/*/s*/events.jsonl"):
        record = TrialRecord(path.parent)
        try:
            if record.ended:
                results.append(record.result())
        except RecordError:
            # The report names damaged records; they have no result to collect.
            continue
    return sorted(results, key=lambda result: (result.agent, result.task, result.seed))


def _as_json(summary: object) -> Any:
    from dataclasses import asdict

    return json.loads(json.dumps(asdict(summary)))  # type: ignore[call-overload]  # every summary is a dataclass


def _close_record(record: TrialRecord, status: int | None, complaint: str, *, timed_out: bool) -> None:
    """Ends the record of a child that could not do so itself: killed, crashed, or hung beyond its limit."""
    events = record.events
    at = events[-1]["at"] if events else 0.0
    # After an observation it was the agent's turn; anything else that hangs is not its doing.
    agents = timed_out and events[-1]["event"] == "observation"
    blame = "agent" if agents else "infrastructure"
    reason = Reason.TIME_LIMIT if agents else Reason.ENVIRONMENT_ERROR
    message = complaint or f"the trial's process ended with status {status}; trial.log holds its last words"
    endings: list[dict[str, Any]] = [
        {"event": "error", "where": "driver", "type": "TrialProcessEnded", "message": message, "blame": blame},
        {"event": "trial_end", "reason": reason, "valid": agents, "seconds": at},
    ]
    path = record.directory / "events.jsonl"
    whole = path.read_bytes()
    with path.open("r+b") as file:
        # A torn last line would glue itself to ours.
        file.truncate(whole.rfind(b"\n") + 1)
        file.seek(0, os.SEEK_END)
        for number, ending in enumerate(endings, start=len(events)):
            numbered = {"event": ending.pop("event"), "n": number, "at": at, **ending}
            file.write(json.dumps(numbered, ensure_ascii=False, separators=(",", ":")).encode(errors=ESCAPED) + b"\n")
    status_path = record.directory / "status.json"
    if status_path.exists():
        old = read_document(status_path, Status)
        state = State.DONE if agents else State.INVALID
        write_atomic(status_path, old.model_copy(update={"state": state}).model_dump_json() + "\n")


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ends a child's whole process group: asks first, then kills."""
    if process.returncode is None:
        _signal_group(process.pid, signal.SIGTERM)
        try:
            async with asyncio.timeout(TERM_SECONDS):
                await process.wait()
        except TimeoutError:
            pass
    _signal_group(process.pid, signal.SIGKILL)
    await process.wait()


def _signal_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return
