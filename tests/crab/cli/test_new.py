"""``crab new``: what is generated works as it stands, outside of CRAB's own project, and others find it installed."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from crab.cli.new import KINDS
from crab.loading import find_project
from tests.crab.cli.in_process import CommandLine, Done, crab
from tests.toy_project import write_project

__all__ = ["crab"]

PYTHON = Path(sys.executable)


def crab_new(*arguments: str, cwd: Path) -> Done:
    """Runs ``crab new`` as a user does."""
    return command(sys.executable, "-P", "-m", "crab.cli.main", "new", *arguments, cwd=cwd)


def command(*words: str, cwd: Path, path: Path | None = None) -> Done:
    """Runs a program; nothing of this test's surroundings steers its Python."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=150)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one project of each kind."""
    folder = tmp_path_factory.mktemp("new")
    for kind in KINDS:
        done = crab_new(kind, f"my-{kind}", cwd=folder)
        assert done.status == 0, done
        assert f"Next: cd {folder / f'my-{kind}'} && pytest" in done.out
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_its_tests_pass_as_generated(made: Path, kind: str) -> None:
    """The contract's own suite runs in the new project, and passes."""
    done = command(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=made / f"my-{kind}")

    assert done.status == 0, done.out
    assert " passed" in done.out


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_generated_is_in_style(made: Path, kind: str) -> None:
    """Sorted, formatted, free of what the linter of this repository finds, and with every blank filled in."""
    ruff, settings = str(PYTHON.with_name("ruff")), str(Path(__file__).resolve().parents[3] / "pyproject.toml")
    project = made / f"my-{kind}"

    for check in (["check"], ["format", "--check"]):
        done = command(ruff, *check, "--no-cache", "--config", settings, ".", cwd=project)
        assert done.status == 0, done.out
    assert not [path for path in project.rglob("*") if path.is_file() and "$" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_a_project(made: Path, kind: str) -> None:
    """Its entries load by name, and its tasks are right."""
    project = find_project(explicit=made / f"my-{kind}")

    assert project.name == f"my-{kind}"
    assert kind == "task" or f"my_{kind}" in project.tables[f"{kind}s"]
    if kind in ("task", "agent"):
        checked = command(sys.executable, "-P", "-m", "crab.cli.main", "validate", cwd=project.root)
        assert "1 of 1 tasks are right" in checked.out


@pytest.fixture
def site(made: Path, tmp_path: Path) -> Path:
    """A folder on the module path in which the generated packages are installed."""
    folder = tmp_path / "site"
    for kind in ("environment", "subtask", "agent"):
        source = made / f"my-{kind}"
        project = tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        about = folder / f"my_{kind}-{project['version']}.dist-info"
        about.mkdir(parents=True)
        (folder / f"my_{kind}.py").write_bytes((source / f"my_{kind}.py").read_bytes())
        metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        (about / "METADATA").write_text(metadata, encoding="utf-8")
        lines = [f"{name} = {target}" for name, target in project["entry-points"]["crab"].items()]
        (about / "entry_points.txt").write_text("\n".join(["[crab]", *lines, ""]), encoding="utf-8")
    return folder


def test_installed_packages_are_found(site: Path, tmp_path: Path) -> None:
    """Another project names environments, subtasks and agents of installed packages as its own, by entry points."""
    project = write_project(tmp_path / "other")
    crab = (sys.executable, "-P", "-m", "crab.cli.main")
    flags = {"cwd": project, "path": site}

    assert "my_environment/memory" in command(*crab, "doctor", **flags).out
    composed = command(*crab, "compose", "--subtasks", "my_subtask", "--out", "tasks", **flags)
    assert composed.status == 0, composed.err
    run = command(
        *(*crab, "run", "--agent", "my_agent", "--tasks", "my-subtask-0,write-note", "--out", "out", "--no-report"),
        **flags,
    )
    assert run.status == 0, (run.out, run.err)
    assert "my_agent" in run.out
    oracle = command(*crab, "run", "--agent", "oracle", "--tasks", "my-subtask-0", "--out", "o", "--no-report", **flags)
    assert "100" in oracle.out
    missing = command(*crab, "run", "--agent", "my_agent", "--tasks", "write-note", "--out", "n", cwd=project)
    assert missing.status == 2
    assert "unknown id 'my_agent'" in missing.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("planet", "mars"), "there are environment, subtask, task, agent"),
        (("agent", "My Agent"), "use lower-case letters"),
        (("agent", "my--agent"), "use lower-case letters"),
        (("agent", "../agent"), "use lower-case letters"),
        (("agent", "json"), "there is a Python module json already"),
        (("agent", "crab"), "there is a Python module crab already"),
        (("agent", "pytest"), "there is a Python module pytest already"),
    ],
)
def test_names_that_would_not_work_are_refused(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """Nothing is written then."""
    done = crab_new(*arguments, cwd=tmp_path)

    assert done.status == 2
    assert said in done.err
    assert not list(tmp_path.iterdir())


def test_folders_that_are_in_use_are_refused(tmp_path: Path) -> None:
    """A folder that holds something is left alone, an empty one is filled; CRAB's own project is no place."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    (tmp_path / "empty").mkdir()
    inside = Path(__file__).resolve().parent / "my-agent"

    assert "is there already" in crab_new("agent", "a-b", "--dir", "full", cwd=tmp_path).err
    assert crab_new("agent", "a-b", "--dir", "empty", cwd=tmp_path).status == 0
    assert (tmp_path / "empty" / "a_b.py").is_file()
    assert "within CRAB's own project" in crab_new("agent", "a-b", "--dir", str(inside), cwd=tmp_path).err
    assert not inside.exists()


def test_the_whole_way(crab: CommandLine, made: Path) -> None:
    """Tasks are generated from a generated subtask, and proven."""
    crab.project = made / "my-subtask"
    out = made / "generated"

    assert crab("tasks", "generate", "--template", "my_subtask", "--seeds", "4", "--out", out).status == 0
    done = crab("validate", "--prove", "--state", made / "state.json", out)
    assert done.status == 0, done.out
    assert done.out.count("7/7 rules kept, 2/2 near misses refused") == len(list(out.iterdir())) > 1
