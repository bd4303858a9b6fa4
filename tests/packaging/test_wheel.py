"""The wheel carries one package, and works alone: no clone, no extras, whatever else is installed.

Nothing is downloaded: the new environment sees exactly the core dependencies of the one that runs the tests.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]

DECOY = 'raise RuntimeError("the decoy was imported")\n'

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution and the wheel built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)], cwd=folder)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    """The wheel."""
    (path,) = built.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new virtual environment with the wheel, its core dependencies, and a look-alike called ``agents``."""
    home = tmp_path_factory.mktemp("installed")
    run([sys.executable, "-m", "venv", str(home)], cwd=home)
    python = home / "bin" / "python"
    run([str(python), "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", str(wheel)], cwd=home)
    (site,) = home.glob("lib/python*/site-packages")
    for name in core_dependencies("crab-eval"):
        for entry in top_level_entries(name):
            if not (site / entry.name).exists():
                (site / entry.name).symlink_to(entry)
    (site / "agents").mkdir()
    (site / "agents" / "__init__.py").write_text(DECOY, encoding="utf-8")
    return home


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with no project in sight, beside a folder that happens to be called ``agents``."""
    folder = tmp_path / "desk"
    (folder / "agents").mkdir(parents=True)
    (folder / "agents" / "__init__.py").write_text(DECOY, encoding="utf-8")
    return folder


def run(command: list[str], *, cwd: Path) -> str:
    """What ``command`` prints; it must succeed. Variables that steer Python are kept from it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    environment["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def core_dependencies(name: str) -> set[str]:
    """The distributions that ``name`` needs when it is installed without extras, and those that they need."""
    found: set[str] = set()
    waiting = [Requirement(name)]
    while waiting:
        requirement = waiting.pop()
        for line in distribution(requirement.name).requires or ():
            needed = Requirement(line)
            extras = requirement.extras or {""}
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
                if canonicalize_name(needed.name) not in found:
                    waiting.append(needed)
                found.add(canonicalize_name(needed.name))
    return found


def top_level_entries(name: str) -> Iterator[Path]:
    """What a distribution put directly into site-packages: packages, modules and its metadata."""
    installed = distribution(name)
    names = {file.parts[0] for file in installed.files or () if file.parts[0] not in ("..", "__pycache__")}
    return (Path(str(installed.locate_file(name))) for name in sorted(names))


def test_wheel_has_one_top_level_package(wheel: Path) -> None:
    """Installing CRAB takes one name and no other."""
    names = zipfile.ZipFile(wheel).namelist()
    top_level = {name.split("/")[0] for name in names}

    assert {name for name in top_level if not name.endswith(".dist-info")} == {"crab"}


def test_wheel_carries_the_bundled_project(wheel: Path) -> None:
    """Every tracked file of the content travels with the package."""
    names = set(zipfile.ZipFile(wheel).namelist())
    listed = run(["git", "ls-files", "environments", "subtasks", "agents", "benchmark", "composed_tasks"], cwd=ROOT)

    missing = [name for name in [*listed.split("\n"), "pyproject.toml"] if name and f"crab/bundled/{name}" not in names]
    assert not missing


def test_wheel_carries_no_leftovers(wheel: Path) -> None:
    """No tests, caches or results are installed."""
    # Templates of `crab new` have tests in them, which are product.
    names = [name for name in zipfile.ZipFile(wheel).namelist() if not name.startswith("crab/cli/scaffolds/")]

    assert not [name for name in names if "__pycache__" in name or "/tests/" in name or name.endswith(".pyc")]


def test_source_distribution_holds_what_it_is_built_and_tested_from(built: Path) -> None:
    """Somebody without Git can run the checks."""
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {Path(*Path(name).parts[1:]) for name in opened.getnames()}

    assert {Path("Makefile"), Path("uv.lock"), Path("tests/packaging/test_wheel.py"), Path(".ci/run")} <= names


def test_modules_import_without_extras(installed: Path, desk: Path) -> None:
    """Every module of the framework can be imported with the core dependencies only."""
    code = (
        "import crab, importlib, pkgutil\n"
        "for found in pkgutil.walk_packages(crab.__path__, 'crab.'):\n"
        "    if not found.name.startswith('crab.bundled') and not found.name.endswith('__main__'):\n"
        "        importlib.import_module(found.name)\n"
        "print(crab.__file__)\n"
    )

    assert run([str(installed / "bin" / "python"), "-c", code], cwd=desk).startswith(str(installed))


def test_bundled_content_loads_beside_a_look_alike(installed: Path, desk: Path) -> None:
    """Every environment, agent and set of subtasks on offer comes from the wheel, not from what shares its name."""
    code = (
        "from crab.loading import KINDS, find_project\n"
        "project = find_project()\n"
        "for kind in KINDS:\n"
        "    for name in project.entries(kind):\n"
        "        project.load(kind, name)\n"
        "print(project.root)\n"
    )

    root = run([str(installed / "bin" / "python"), "-c", code], cwd=desk).strip()

    assert root.startswith(str(installed))
    assert root.endswith("crab/bundled")


def test_command_lists_tasks_from_an_empty_folder(installed: Path, desk: Path) -> None:
    """``pip install`` alone gives a command that knows the tasks."""
    listed = run([str(installed / "bin" / "crab"), "tasks", "list"], cwd=desk)

    documents = sorted(path.stem for path in (ROOT / "composed_tasks").rglob("v0/**/*.json"))
    assert documents
    assert [name for name in documents if name not in listed] == []


def test_command_validates_the_bundled_project_from_an_empty_folder(installed: Path, desk: Path) -> None:
    """``pip install`` alone gives a command that finds nothing wrong with what it brought."""
    run([str(installed / "bin" / "crab"), "validate"], cwd=desk)
