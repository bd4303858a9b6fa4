"""``crab run`` with a model agent: settings reach it, tokens reach the table, and keys reach nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from crab.record.schema import TrialSpec
from crab.testing.chat_server import ChatServer
from crab.testing.toy_reader import read
from tests.toy_project import write_project

KEY = "sk-test-0123456789abcdef"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A toy project."""
    return write_project(tmp_path_factory.mktemp("agent-options") / "project")


def crab_run(project: Path, out: Path, *arguments: str, key: str = KEY) -> subprocess.CompletedProcess[str]:
    """Runs the single agent on the shorter task, with a key in the environment."""
    command = [sys.executable, "-P", "-m", "crab.cli.main", "run", "--tasks", "write-note", "--project", str(project)]
    environment = {**os.environ, "COLUMNS": "150", "TOY_KEY": key}
    words = [*command, "--agent", "single", "--out", str(out), *arguments]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, env=environment)


def settings(**values: str) -> list[str]:
    """Settings of the single agent as options."""
    return [word for name, value in values.items() for word in ("--agent-option", f"single.{name}={value}")]


def everything(folder: Path) -> bytes:
    """All that was written anywhere in a folder."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_run_with_a_key_leaves_no_trace_of_it(project: Path, tmp_path: Path) -> None:
    """The task is solved, settings are in the spec, tokens, EE and CE in the result, and the key is nowhere."""
    with ChatServer(read, key=KEY, models=["toy-reader"]) as server:
        options = settings(model="toy-reader", base_url=server.url, api_key_env="TOY_KEY", images="2", marks="none")
        done = crab_run(project, tmp_path / "run", *options)

    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "run" / "results.jsonl").read_text(encoding="utf-8"))
    spec = TrialSpec.model_validate_json(next((tmp_path / "run").rglob("spec.json")).read_text(encoding="utf-8"))
    assert (result["reason"], result["tokens"], result["actions"]) == ("success", 660, 6)
    assert (result["execution_efficiency"], result["cost_efficiency"]) == (pytest.approx(1 / 6), pytest.approx(1 / 660))
    assert spec.agent.settings["images"] == 2
    assert spec.agent.settings["api_key_env"] == "TOY_KEY"
    assert "660" in done.stdout
    assert KEY.encode() not in everything(tmp_path) + done.stdout.encode() + done.stderr.encode()


@pytest.mark.parametrize(
    ("model", "key", "named"),
    [("toy-reader", "sk-wrong-9876543210", "api_key_env"), ("toy-raeder", KEY, "model 'toy-raeder'")],
    ids=["key", "model"],
)
def test_what_no_trial_can_get_past_stops_the_run(
    project: Path, tmp_path: Path, model: str, key: str, named: str
) -> None:
    """A refused key or an unknown model ends the run at the first trial with one line that names the setting."""
    with ChatServer(read, key=KEY, models=["toy-reader"]) as server:
        options = settings(model=model, base_url=server.url, api_key_env="TOY_KEY", marks="none")
        done = crab_run(project, tmp_path / "run", "--seeds", "3", *options, key=key)

    line = done.stderr.strip()
    assert done.returncode == 3
    assert line.startswith("crab: ")
    assert "\n" not in line
    assert named in line
    assert len(server.requests) == 1
    assert key.encode() not in everything(tmp_path) + done.stdout.encode() + done.stderr.encode()
    assert json.loads((tmp_path / "run" / "results.jsonl").read_text(encoding="utf-8"))["valid"] is False


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (settings(model="m", api_key=KEY), "environment variable"),
        (settings(model="m", password=KEY), "environment variable"),
        (settings(model="m", api_key_env=KEY), "never holds the key itself"),
        (settings(model="m", base_url=f"https://me:{KEY}@example.org/v1"), "no password"),
        (settings(model="m", api_key_env="NO_SUCH_KEY"), "NO_SUCH_KEY is not set"),
        (settings(api_key_env="TOY_KEY"), "single.model: is missing"),
        (settings(model="m", api_key_env="TOY_KEY", pictures="3"), "single.pictures: is no setting"),
        (["--agent-option", "other.model=m"], "no such agent"),
        (["--agent-option", "model"], "AGENT.KEY=VALUE"),
        (["--agent-option", f"model={KEY}"], "AGENT.KEY=VALUE"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_settings_that_cannot_be_are_refused_before_anything_is_written(
    project: Path, tmp_path: Path, options: list[str], says: str
) -> None:
    """One line says which, a key in the wrong place is not repeated, and no run directory is left."""
    done = crab_run(project, tmp_path / "run", *options)

    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert KEY not in done.stderr + done.stdout
    assert not (tmp_path / "run").exists()


def test_a_command_runs_beside_its_endpoint(project: Path, tmp_path: Path) -> None:
    """The endpoint's own command line serves while a command runs, and ends with that command's status."""
    serve = [sys.executable, "-m", "crab.testing.chat_server", "crab.testing.toy_reader:read"]
    check = "import sys, urllib.request as r; print(sys.argv[1]); sys.exit(7)"

    done = subprocess.run(
        [*serve, "--", sys.executable, "-c", check, "{url}"], capture_output=True, text=True, timeout=60
    )
    wrong = subprocess.run([*serve, "crab"], capture_output=True, text=True, timeout=60)

    assert (done.returncode, done.stdout.startswith("http://127.0.0.1:")) == (7, True)
    assert (wrong.returncode, "usage" in wrong.stderr) == (2, True)
