"""The driver: one child per trial, killed or interrupted at any moment, continued to the same results."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from crab.record.reader import TrialRecord
from crab.record.schema import Reason, State
from crab.run.suite import collect_results
from tests.toy_project import STEPS, WRITE_NOTE, write_project, write_task

KILLED = ("--agent", "oracle", "--tasks", "note-then-message")
"""The run that is killed at each of its steps."""

PATIENCE = 60.0
"""Seconds until a condition that should come is given up; not a measurement."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A toy project in a folder of its own."""
    return write_project(tmp_path / "project")


def crab(project: Path, *arguments: str) -> list[str]:
    """Returns the command line of ``crab`` in that project."""
    return [sys.executable, "-P", "-m", "crab.cli.main", *arguments, "--project", str(project)]


def run(project: Path, out: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs ``crab run`` to its end."""
    command = crab(project, "run", "--out", str(out), "--no-report", *arguments)
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)


def start(project: Path, out: Path, *arguments: str) -> subprocess.Popen[str]:
    """Starts ``crab run`` and returns at once."""
    command = crab(project, "run", "--out", str(out), "--no-report", *arguments)
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(condition: Callable[[], object], what: str) -> None:
    """Polls until a condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.005)


def gone(process: int) -> bool:
    """Whether a process has ended; a zombie has."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def canonical(out: Path) -> list[dict[str, Any]]:
    """Returns the canonical results of a run directory."""
    return [result.canonical() for result in collect_results(out)]


def test_oracle_solves_and_noop_does_not(project: Path, tmp_path: Path) -> None:
    """All tasks, three agents, two seeds, two at a time: the oracle has CR 1, noop and random have less."""
    out = tmp_path / "out"
    done = run(project, out, "--agent", "oracle,noop,random", "--tasks", "all", "--seeds", "2", "--jobs", "2")
    assert done.returncode == 0, done.stderr
    results = collect_results(out)
    assert len(results) == 12
    assert all(result.success == (result.agent == "oracle") for result in results)
    assert {result.reason for result in results if result.agent == "noop"} == {Reason.AGENT_COMPLETE}
    assert {result.completion_ratio for result in results if result.agent == "noop"} == {0.0}


def test_results_lines_and_derived_files_agree_with_the_events(project: Path, tmp_path: Path) -> None:
    """``results.jsonl`` and ``result.json`` say what the events say."""
    out = tmp_path / "out"
    run(project, out, "--agent", "oracle", "--seeds", "2")
    lines = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert lines == [result.model_dump(mode="json") for result in collect_results(out)]
    for line in lines:
        directory = out / "trials" / line["agent"] / line["task"] / f"s{line['seed']}"
        assert json.loads((directory / "result.json").read_text()) == line
        status = TrialRecord(directory).status
        assert status is not None
        assert status.state is State.DONE


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Canonical results of `KILLED` when nothing happens to it."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    run(write_project(folder / "project"), folder / "out", *KILLED)
    return canonical(folder / "out")


@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_trial_killed_at_any_step_resumes_to_the_same_result(
    project: Path, tmp_path: Path, uninterrupted: list[dict[str, Any]], step: int
) -> None:
    """Driver and trial are killed while action `step` runs; running again gives the uninterrupted result."""
    broken = tmp_path / "broken"
    (project / "gate").write_text(str(step))
    driver = start(project, broken, *KILLED)
    wait_for((project / "held").exists, f"action {step}")
    directory = broken / "trials/oracle/note-then-message/s0"
    status = TrialRecord(directory).status
    assert status is not None
    driver.kill()
    driver.communicate()
    wait_for(lambda: gone(status.process), "the end of the trial's process")
    (project / "gate").unlink()
    resumed = run(project, broken, *KILLED)
    assert resumed.returncode == 0, resumed.stderr
    assert [result["success"] for result in canonical(broken)] == [True]
    assert canonical(broken) == uninterrupted
    assert (directory / "attempts/1/events.jsonl").exists()


def test_killed_trial_process_is_tried_again_by_the_same_run(project: Path, tmp_path: Path) -> None:
    """Only the child dies: the driver records that and tries again; both attempts are kept."""
    out = tmp_path / "out"
    (project / "gate").write_text("3")
    driver = start(project, out, "--agent", "oracle", "--tasks", "write-note")
    wait_for((project / "held").exists, "action 3")
    directory = out / "trials/oracle/write-note/s0"
    status = TrialRecord(directory).status
    assert status is not None
    (project / "gate").unlink()
    os.kill(status.process, signal.SIGKILL)
    assert driver.wait(PATIENCE) == 0
    driver.communicate()
    [result] = collect_results(out)
    assert result.success
    assert result.attempt == 2
    first = TrialRecord(directory / "attempts/1").result()
    assert (first.valid, first.reason) == (False, Reason.ENVIRONMENT_ERROR)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_is_recorded_and_the_run_continues_later(project: Path, tmp_path: Path, number: int) -> None:
    """Ctrl-C and SIGTERM end the run with status 130, leave no process, and lose nothing."""
    out = tmp_path / "out"
    arguments = ("--agent", "oracle", "--tasks", "write-note")
    (project / "gate").write_text("2")
    driver = start(project, out, *arguments)
    wait_for((project / "held").exists, "action 2")
    record = TrialRecord(out / "trials/oracle/write-note/s0")
    assert record.status is not None
    driver.send_signal(number)
    _, errors = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 130, errors
    assert errors == "crab: interrupted; a run continues where it stopped with the same command\n"
    assert gone(record.status.process)
    interrupted = TrialRecord(record.directory)
    assert interrupted.result().reason is Reason.INTERRUPTED
    (project / "gate").unlink()
    assert run(project, out, *arguments).returncode == 0
    assert collect_results(out)[0].success


def test_a_finished_run_does_nothing_when_run_again(project: Path, tmp_path: Path) -> None:
    """Continuing a complete run starts no trial."""
    out = tmp_path / "out"
    run(project, out, "--agent", "oracle")
    before = {path: path.stat().st_mtime_ns for path in out.glob("trials/**/events.jsonl")}
    again = run(project, out, "--agent", "oracle")
    assert again.returncode == 0
    assert {path: path.stat().st_mtime_ns for path in out.glob("trials/**/events.jsonl")} == before


def test_a_run_is_extended_by_further_agents_and_seeds(project: Path, tmp_path: Path) -> None:
    """More seeds and agents are added; trials that are there stay."""
    out = tmp_path / "out"
    run(project, out, "--agent", "oracle", "--tasks", "write-note")
    extended = run(project, out, "--agent", "oracle,noop", "--tasks", "all", "--seeds", "2")
    assert extended.returncode == 0, extended.stderr
    assert len(collect_results(out)) == 8
    assert all(result.attempt == 1 for result in collect_results(out))


def test_a_changed_task_stops_a_continued_run_and_names_the_difference(project: Path, tmp_path: Path) -> None:
    """Results of two versions of a task never mix."""
    out = tmp_path / "out"
    run(project, out, "--agent", "noop", "--tasks", "write-note")
    write_task(project, {**WRITE_NOTE, "version": 2})
    changed = run(project, out, "--agent", "noop", "--tasks", "write-note")
    assert changed.returncode == 2
    assert "tasks.write-note" in changed.stderr
    assert "Traceback" not in changed.stderr


def test_changed_limits_stop_a_continued_run(project: Path, tmp_path: Path) -> None:
    """Limits are part of the lock."""
    out = tmp_path / "out"
    run(project, out, "--agent", "noop", "--tasks", "write-note")
    changed = run(project, out, "--agent", "noop", "--tasks", "write-note", "--max-actions", "7")
    assert changed.returncode == 2
    assert "shared.limits.actions: 30 → 7" in changed.stderr


def test_a_folder_with_other_files_is_not_taken_for_a_run_directory(project: Path, tmp_path: Path) -> None:
    """Nothing of a person's is mixed with records."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    refused = run(project, out, "--agent", "noop")
    assert refused.returncode == 2
    assert [path.name for path in out.iterdir()] == ["thesis.txt"]


def test_an_agent_that_hangs_ends_by_the_time_limit(project: Path, tmp_path: Path) -> None:
    """The trial is the agent's result, not an infrastructure error."""
    out = tmp_path / "out"
    done = run(project, out, "--agent", "slow", "--tasks", "write-note", "--max-seconds", "1")
    assert done.returncode == 0, done.stderr
    [result] = collect_results(out)
    assert (result.valid, result.reason, result.completion_ratio) == (True, Reason.TIME_LIMIT, 0.0)


def test_what_an_agent_prints_and_leaves_behind_hurts_nothing(project: Path, tmp_path: Path) -> None:
    """Prints go to the trial's log; processes it started are gone, and nobody waits for them."""
    out = tmp_path / "out"
    done = run(project, out, "--agent", "chatty", "--tasks", "all", "--jobs", "2", "--max-seconds", "600")
    assert done.returncode == 0, done.stderr
    assert [result.reason for result in collect_results(out)] == [Reason.AGENT_COMPLETE] * 2
    assert "not an event" in (out / "trials/chatty/write-note/s0/trial.log").read_text()
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if os.access(path, os.R_OK)]
    assert b"sleep\x00987\x00" not in lines


def test_a_run_directory_has_one_driver_at_a_time(project: Path, tmp_path: Path) -> None:
    """A second run into the same directory is refused at once, and the first is not disturbed."""
    out = tmp_path / "out"
    arguments = ("--agent", "oracle", "--tasks", "write-note")
    (project / "gate").write_text("2")
    first = start(project, out, *arguments)
    wait_for((project / "held").exists, "action 2")
    second = run(project, out, *arguments)
    (project / "gate").unlink()
    first.communicate(timeout=PATIENCE)
    assert (second.returncode, first.returncode) == (2, 0)
    assert f"another run (process {first.pid})" in second.stderr
    assert collect_results(out)[0].success


def test_a_damaged_record_is_set_aside_and_its_trial_run_again(project: Path, tmp_path: Path) -> None:
    """One broken file does not stop a run; what was there is kept."""
    out = tmp_path / "out"
    run(project, out, "--agent", "oracle", "--tasks", "write-note")
    events = out / "trials/oracle/write-note/s0/events.jsonl"
    events.write_text("garbage\n")
    again = run(project, out, "--agent", "oracle", "--tasks", "write-note")
    assert again.returncode == 0, again.stderr
    assert collect_results(out)[0].success
    assert (events.parent / "attempts/1/events.jsonl").read_text() == "garbage\n"


def test_a_trial_process_that_dies_is_invalid_after_its_retries(project: Path, tmp_path: Path) -> None:
    """A process that ends itself cannot be told from a machine that ended it; it never becomes a zero."""
    out = tmp_path / "out"
    done = run(project, out, "--agent", "crashing", "--tasks", "write-note")
    assert done.returncode == 1
    [result] = collect_results(out)
    assert (result.valid, result.attempt) == (False, 2)
    assert "invalid" in done.stdout


def test_an_agent_that_cannot_be_made_stops_the_run_with_its_reason_in_one_line(project: Path, tmp_path: Path) -> None:
    """A missing key is for a person to set: it is no result of the agent's, and no traceback."""
    done = run(project, tmp_path / "out", "--agent", "unmade", "--jobs", "2")
    assert done.returncode == 2
    assert "'unmade' cannot be made: RuntimeError: no key is set" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_projects_own_tasks_are_what_all_means(project: Path) -> None:
    """The bundled benchmark's tasks do not slip into a project's own runs."""
    command: Sequence[str] = crab(project, "tasks", "list", "--json")
    listed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert [json.loads(line)["id"] for line in listed.stdout.splitlines()] == ["note-then-message", "write-note"]
