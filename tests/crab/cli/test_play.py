"""``crab play`` as a command: what it refuses, and what an interrupt leaves."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

from crab.record.reader import TrialRecord
from crab.record.schema import Reason
from tests.crab.cli.in_process import CommandLine, crab
from tests.toy_project import write_project

__all__ = ["crab"]


def test_a_limit_ends_it_and_playing_again_adds_an_attempt(crab: CommandLine, tmp_path: Path) -> None:
    """Without a person it ends by itself; the earlier attempt is kept."""
    out = tmp_path / "run"
    command = ("play", "write-note", "--out", out, "--max-seconds", 1)

    first, second = (crab(*map(str, command)) for _ in range(2))

    assert (first.status, second.status) == (0, 0)
    assert "time limit" in second.out
    trial = out / "trials" / "human" / "write-note" / "s0"
    assert (trial / "attempts" / "1" / "trajectory.json").exists()
    assert TrialRecord(trial).result().reason == Reason.TIME_LIMIT
    assert json.loads((out / "summary.json").read_text(encoding="utf-8"))["agents"][0]["agent"] == "human"


def test_an_interrupt_is_recorded(tmp_path: Path) -> None:
    """Ctrl-C ends the trial as interrupted, and the record is whole."""
    project, out = write_project(tmp_path / "project"), tmp_path / "run"
    command = [sys.executable, "-P", "-m", "crab.cli.main", "play", "write-note"]
    command += ["--project", str(project), "--out", str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        (address,) = re.findall(r"http://\S+", process.stdout.readline())
        version, phase = 0, ""
        while phase != "turn":
            with urllib.request.urlopen(f"{address}state?after={version}", timeout=20) as answer:  # noqa: S310
                state = json.load(answer)
            version, phase = state["version"], state["phase"]
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)

    assert process.returncode == 130
    assert errors == "crab: interrupted; a run continues where it stopped with the same command\n"
    result = TrialRecord(out / "trials" / "human" / "write-note" / "s0").result()
    assert (result.reason, result.valid) == (Reason.INTERRUPTED, False)


def test_what_cannot_be_played_is_refused(crab: CommandLine, tmp_path: Path) -> None:
    """An unknown task, several tasks, and a person among the agents of a run."""
    out = str(tmp_path / "run")

    assert "did you mean write-note?" in crab.refused("play", "write-not", "--out", out)
    assert "one task at a time" in crab.refused("play", "all", "--out", out)
    assert "crab play write-note" in crab.refused("run", "--agent", "human", "--tasks", "write-note", "--out", out)
    assert not Path(out).exists()
