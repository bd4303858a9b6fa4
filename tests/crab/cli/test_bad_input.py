"""Bad input gets one line that says what, where and what to do next; never a traceback, never status 0."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.toy_project import NOTE_THEN_MESSAGE, WRITE_NOTE, write_project, write_task


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A toy project."""
    return write_project(tmp_path_factory.mktemp("bad-input") / "project")


def refused(*arguments: str, cwd: Path | None = None) -> str:
    """Runs ``crab``, checks that it refuses in one line, and returns that line."""
    command = [sys.executable, "-P", "-m", "crab.cli.main", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=cwd)
    assert done.returncode not in (0, 1), (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("crab: ")
    return lines[0]


def test_unknown_task_suggests_a_near_one(project: Path, tmp_path: Path) -> None:
    """A misspelt id is answered with the right one."""
    line = refused(
        "run", "--agent", "noop", "--tasks", "write-nota", "--out", str(tmp_path / "out"), "--project", str(project)
    )
    assert "write-nota" in line
    assert "did you mean write-note?" in line
    assert not (tmp_path / "out").exists()


def test_unknown_agent_suggests_a_near_one(project: Path, tmp_path: Path) -> None:
    """The same for agents."""
    line = refused("run", "--agent", "nop", "--out", str(tmp_path / "out"), "--project", str(project))
    assert "noop" in line


def test_unknown_command_and_option() -> None:
    """The option parser's complaints have the same form."""
    assert "run" in refused("rnu")
    assert "--out" in refused("run", "--ouw", "x")


def test_missing_required_option(project: Path) -> None:
    """It names the option."""
    assert "--agent" in refused("run", "--out", "x", "--project", str(project))


def test_project_folder_that_is_none(tmp_path: Path) -> None:
    """It names the folder."""
    assert str(tmp_path) in refused("tasks", "list", "--project", str(tmp_path))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"schema_version": 1,', "not a JSON document"),
        ("[]", "JSON object"),
        ('{"schema_version": 2}', "schema_version is 2"),
        ('{"schema_version": 1, "schema_version": 1}', "given twice"),
        ('{"schema_version": NaN}', "NaN"),
        ("{}", "schema_version is None"),
        (json.dumps({**WRITE_NOTE, "id": "bad", "colour": "red"}), "colour"),
        (json.dumps({**WRITE_NOTE, "id": "other"}), "rename the file"),
        (json.dumps({**WRITE_NOTE, "id": "bad", "version": "1"}), "version"),
        ("\udcff", "not UTF-8"),
    ],
)
def test_broken_documents(project: Path, tmp_path: Path, text: str, expected: str) -> None:
    """Each fault names the file and the place."""
    path = tmp_path / "bad.json"
    path.write_bytes(text.encode(errors="surrogateescape"))
    line = refused("tasks", "show", str(path), "--project", str(project))
    assert "bad.json" in line
    assert expected in line


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"after": {"note": ["send"]}}, "wait for one another"),
        ({"after": {"note": ["nobody"]}}, "nobody"),
        ({"environments": {"desktop": "toy_phone", "phone": "toy_phone"}}, "must be of kind 'toy_desktop'"),
        ({"environments": {"desktop": "toy_desktop"}}, "'phone'"),
    ],
)
def test_documents_that_do_not_compose(project: Path, tmp_path: Path, change: dict[str, object], expected: str) -> None:
    """A cycle, an unknown subtask, a kind that does not fit."""
    path = tmp_path / "note-then-message.json"
    path.write_text(json.dumps({**NOTE_THEN_MESSAGE, **change}), encoding="utf-8")
    assert expected in refused("tasks", "graph", str(path), "--project", str(project))


def test_wrong_parameter_type(project: Path, tmp_path: Path) -> None:
    """A number where a text belongs."""
    document = {**WRITE_NOTE, "subtasks": [{**WRITE_NOTE["subtasks"][0], "parameters": {"name": "plan", "text": 7}}]}
    path = tmp_path / "write-note.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert "text must be str" in refused("tasks", "show", str(path), "--project", str(project))


def test_unknown_template_suggests_a_near_one(project: Path, tmp_path: Path) -> None:
    """A misspelt template is answered with the right one."""
    document = {**WRITE_NOTE, "subtasks": [{**WRITE_NOTE["subtasks"][0], "template": "write_not@1"}]}
    path = tmp_path / "write-note.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert "write_note@1" in refused("tasks", "show", str(path), "--project", str(project))


def test_report_of_something_else(tmp_path: Path) -> None:
    """A folder that no run wrote."""
    assert "config.json" in refused("report", str(tmp_path))


def test_unknown_provider_and_option(project: Path, tmp_path: Path) -> None:
    """Both are refused before anything starts."""
    base = ("run", "--agent", "noop", "--tasks", "write-note", "--out", str(tmp_path / "o"), "--project", str(project))
    assert "has no provider 'vm'" in refused(*base, "--provider", "toy_desktop=vm")
    assert "NAME=VALUE" in refused(*base, "--provider", "vm")
    assert "ROLE.KEY=VALUE" in refused(*base, "--option", "theme=dark")


def test_option_of_a_provider_that_takes_none_leaves_no_directory(project: Path, tmp_path: Path) -> None:
    """It is refused before the run begins, so the corrected command meets no trace of it."""
    out = tmp_path / "out"
    base = ("run", "--agent", "noop", "--tasks", "write-note", "--out", str(out), "--project", str(project))
    assert "takes no options" in refused(*base, "--option", "toy_desktop.theme=dark")
    assert not out.exists()


@pytest.mark.parametrize("out", ["{file}", "{file}/below", "/proc/crab", "/dev/null/x"])
def test_out_directory_that_cannot_be(project: Path, tmp_path: Path, out: str) -> None:
    """A file, a path below a file, a place where nothing can be made: named, with what to look at."""
    file = tmp_path / "file"
    file.write_text("mine")
    path = out.format(file=file)
    line = refused("run", "--agent", "noop", "--tasks", "write-note", "--out", path, "--project", str(project))
    assert path.rpartition("/below")[0] in line or path in line
    assert file.read_text() == "mine"


def test_damaged_lock(project: Path, tmp_path: Path) -> None:
    """It is named, and what to do."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "config.json").write_text('{"schema_version": 1}')
    (out / "lock.json").write_text("{")
    line = refused("run", "--agent", "noop", "--tasks", "write-note", "--out", str(out), "--project", str(project))
    assert "lock.json" in line
    assert "--out" in line


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_terminal_that_cannot_show_every_sign(project: Path, tmp_path: Path, encoding: str) -> None:
    """The run goes well, with other signs on the screen."""
    command = [sys.executable, "-P", "-m", "crab.cli.main", "run", "--agent", "oracle", "--tasks", "write-note"]
    command += ["--out", str(tmp_path / "out"), "--project", str(project)]
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    done = subprocess.run(command, capture_output=True, check=False, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr


def test_reader_that_goes_away(project: Path, tmp_path: Path) -> None:
    """`crab run | head -1` ends without a traceback, and the trials are done."""
    out = tmp_path / "out"
    command = [sys.executable, "-P", "-m", "crab.cli.main", "run", "--agent", "noop", "--seeds", "3"]
    command += ["--out", str(out), "--project", str(project), "--no-report"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
    assert b"Traceback" not in errors
    assert len(list(out.glob("trials/noop/*/s*/result.json"))) == 6


def test_port_in_use(project: Path) -> None:
    """The port is named, and what to do."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        line = refused("serve", "toy_desktop", "--port", port, "--project", str(project))
    assert port in line


def test_address_that_others_can_reach_needs_token_and_consent(project: Path, tmp_path: Path) -> None:
    """Nothing is opened to the network by accident: first a token is missing, then consent."""
    command = ("serve", "toy_desktop", "--host", "0.0.0.0", "--project", str(project))  # noqa: S104  refused
    assert "token" in refused(*command)
    token = tmp_path / "token"
    token.write_text("0123456789abcdef" * 4)
    token.chmod(0o600)
    assert "insecure" in refused(*command, "--token-file", str(token))


def test_bad_token_file(project: Path, tmp_path: Path) -> None:
    """A token that is too short, and a file that is not there."""
    short = tmp_path / "token"
    short.write_text("secret")
    short.chmod(0o600)
    assert "token" in refused("serve", "toy_desktop", "--token-file", str(short), "--project", str(project))
    missing = str(tmp_path / "missing")
    assert "missing" in refused("serve", "toy_desktop", "--token-file", missing, "--project", str(project))


def test_validate_reports_each_fault_and_fails(project: Path, tmp_path: Path) -> None:
    """Faulty documents are findings: status 1, a line each, the right ones counted."""
    good, bad = write_task_in(tmp_path, WRITE_NOTE), tmp_path / "broken.json"
    bad.write_text("{", encoding="utf-8")
    command = [sys.executable, "-P", "-m", "crab.cli.main", "validate", str(good), str(bad), "--project", str(project)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "1 of 2 tasks are right" in done.stdout
    assert "broken.json: not a JSON document" in done.stdout
    assert "Traceback" not in done.stderr


def test_validate_finds_values_that_the_description_does_not_name(project: Path, tmp_path: Path) -> None:
    """Nobody could know such a value."""
    path = write_task_in(tmp_path, {**WRITE_NOTE, "description": "Save a note."})
    command = [sys.executable, "-P", "-m", "crab.cli.main", "validate", str(path), "--project", str(project)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "does not name text = 'call at noon'" in done.stdout


def write_task_in(folder: Path, document: object) -> Path:
    """Writes a document into a folder's ``tasks``."""
    (folder / "tasks").mkdir(exist_ok=True)
    assert isinstance(document, dict)
    return write_task(folder, document)
