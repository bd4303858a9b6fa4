"""Projects are found from where people stand, and names lead to the project's own modules or to a refusal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from crab.errors import LoadingError
from crab.loading import Entry, Project, find_project, resolve

CLONE = Path(__file__).resolve().parents[2]

AGENT = 'class Agent:\n    """An agent that says whose it is."""\n\n    owner = {owner!r}\n'


def write_project(root: Path, table: str = "", name: str = "rover") -> Path:
    root.mkdir(parents=True, exist_ok=True)
    (root / "pyproject.toml").write_text(f'[project]\nname = "{name}"\n\n[tool.crab]\n{table}\n', encoding="utf-8")
    return root


def write_agents(folder: Path, owner: str) -> Path:
    package = folder / "agents"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "scout.py").write_text(AGENT.format(owner=owner), encoding="utf-8")
    return package


SCOUT = '[tool.crab.agents]\nscout = { object = "agents.scout:Agent", help = "Looks around." }'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of its own, with one agent, in a package that other distributions have too."""
    root = write_project(tmp_path / "rover", SCOUT)
    write_agents(root, "project")
    return root


def run(code: str, *, cwd: Path, path: Path | None = None) -> str:
    """What ``code`` prints in a fresh interpreter; ``path`` comes before site-packages on ``sys.path``."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(p) for p in (path, CLONE) if p is not None)}
    prelude = "from crab.errors import LoadingError\nfrom crab.loading import find_project, resolve\n"
    done = subprocess.run(
        [sys.executable, "-P", "-c", prelude + code],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


LOAD_SCOUT = """
try:
    print(find_project().load("agents", "scout").owner)
except LoadingError as error:
    print("refused:", error)
"""


class TestFindProject:
    def test_nearest_project_upward_wins(self, project: Path) -> None:
        inner = project / "notes" / "today"
        inner.mkdir(parents=True)
        (project / "notes" / "pyproject.toml").write_text('[project]\nname = "no-crab-table"\n', encoding="utf-8")

        assert find_project(inner).root == project

    def test_current_folder_is_the_default_start(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(project)

        assert find_project().name == "rover"

    @pytest.mark.parametrize("file", [".", "pyproject.toml"])
    def test_explicit_project_is_a_folder_or_its_file(self, project: Path, tmp_path: Path, file: str) -> None:
        assert find_project(tmp_path, explicit=project / file).root == project

    def test_explicit_folder_without_table_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(LoadingError, match=r"is no project: it needs a pyproject.toml with a \[tool.crab\] table"):
            find_project(explicit=tmp_path)

    def test_bundled_project_is_the_last_resort(self, tmp_path: Path) -> None:
        project = find_project(tmp_path)

        assert project.root == CLONE
        assert project.bundled is None

    def test_another_copy_of_the_bundled_project_replaces_it(self, tmp_path: Path) -> None:
        write_project(tmp_path, name="crab-eval")

        assert find_project(tmp_path).roots == (tmp_path,)

    @pytest.mark.parametrize(
        ("table", "complaint"),
        [
            ("= 3", "is no valid TOML"),
            ("agent = {}", "unknown key 'agent' in .*did you mean agents"),
            ("agents = { Scout = { object = 'a:B', help = 'h' } }", "'Scout' in .* is no id"),
            ("agents = { a__b = { object = 'a:B', help = 'h' } }", "'a__b' in .* is no id"),
            ("agents = { scout = 'a:B' }", "'scout' in .* must read"),
            ("agents = { scout = { object = 'a:B' } }", "'scout' in .* must read"),
            ("agents = { scout = { object = 'a:B', help = '' } }", "single lines of text"),
            ("agents = { scout = { object = 'a.B', help = 'h' } }", "'a.B' is no import string"),
            ("tasks = 'tasks'", "must be a list of folders"),
        ],
    )
    def test_malformed_project_names_file_and_fault(self, tmp_path: Path, table: str, complaint: str) -> None:
        write_project(tmp_path, table)

        with pytest.raises(LoadingError, match=complaint) as caught:
            find_project(tmp_path)
        assert "\n" not in str(caught.value)


class TestEntries:
    def test_own_entries_stand_beside_the_bundled_ones(self, project: Path) -> None:
        entries = find_project(project).entries("agents")

        assert entries["scout"] == Entry("agents", "scout", "agents.scout:Agent", "Looks around.", project)
        assert entries["noop"].root == CLONE
        assert list(entries) == sorted(entries)

    def test_own_entry_hides_the_bundled_one_of_the_same_id(self, tmp_path: Path) -> None:
        write_project(tmp_path, '[tool.crab.agents]\nnoop = { object = "mine:Agent", help = "Mine." }')

        assert find_project(tmp_path).entries("agents")["noop"].object == "mine:Agent"

    def test_unknown_kind_is_refused(self, project: Path) -> None:
        with pytest.raises(LoadingError, match="unknown kind 'agent': did you mean agents"):
            find_project(project).entries("agent")

    def test_unknown_id_suggests_near_misses(self, project: Path) -> None:
        with pytest.raises(LoadingError, match="unknown id 'scuot' among the agents: did you mean scout"):
            find_project(project).load("agents", "scuot")

    def test_unknown_id_without_near_miss_lists_what_there_is(self, project: Path) -> None:
        with pytest.raises(LoadingError, match=r"known: noop, .*scout"):
            find_project(project).load("agents", "xyzzy")


class TestTaskDirectories:
    def test_own_directories_come_before_the_bundled_ones(self, tmp_path: Path) -> None:
        bundled = Project(write_project(tmp_path / "b"), "b", {}, tasks=("t",))
        own = Project(write_project(tmp_path / "a"), "a", {}, tasks=("t", "u"), bundled=bundled)
        for folder in ("a/t", "a/u", "b/t"):
            (tmp_path / folder).mkdir()

        assert own.task_directories() == (tmp_path / "a" / "t", tmp_path / "a" / "u", tmp_path / "b" / "t")

    def test_missing_directory_is_named(self, tmp_path: Path) -> None:
        write_project(tmp_path, 'tasks = ["tasks"]')

        with pytest.raises(LoadingError, match=r"tasks names .*/tasks, which is not there"):
            find_project(tmp_path).task_directories()


class TestResolve:
    def test_id_and_import_string_lead_to_the_same_object(self, project: Path) -> None:
        code = 'p = find_project()\nprint(p.load("agents", "scout") is resolve("agents.scout:Agent", p))'

        assert run(code, cwd=project) == "True"

    def test_project_root_comes_first_for_content_that_imports_content(self, project: Path) -> None:
        code = 'import sys\nresolve("agents.scout:Agent", find_project())\nprint(sys.path[0])'

        assert run(code, cwd=project) == str(project)

    def test_finding_a_project_imports_none_of_it(self, project: Path) -> None:
        code = 'import sys\nfind_project().entries("agents")\nprint("agents" in sys.modules)'

        assert run(code, cwd=project) == "False"

    @pytest.mark.parametrize("string", ["agents.scout", "agents.scout:", ":Agent", "agents/scout.py:Agent", "a b:C"])
    def test_malformed_import_string_shows_the_form(self, project: Path, string: str) -> None:
        with pytest.raises(LoadingError, match=r"is no import string: write package.module:Object"):
            resolve(string, find_project(project))

    def test_module_outside_the_project_is_refused_though_importable(self, project: Path) -> None:
        with pytest.raises(
            LoadingError, match=r"no package or module 'json' in the project at .*name that with --project"
        ):
            resolve("json:dumps", find_project(project))

    @pytest.mark.parametrize(
        ("string", "complaint"),
        [
            ("agents.scout:Agnet", "agents.scout has no 'Agnet': did you mean Agent?"),
            ("agents.scuot:Agent", "no module agents.scuot in "),
            ("agents.needy:Agent", "agents.needy needs no_such_package, which is not installed"),
            ("agents.broken:Agent", "importing agents.broken failed with ZeroDivisionError: division by zero"),
        ],
    )
    def test_dead_end_says_where_it_ends(self, project: Path, string: str, complaint: str) -> None:
        (project / "agents" / "needy.py").write_text("import no_such_package\n", encoding="utf-8")
        (project / "agents" / "broken.py").write_text("1 / 0\n", encoding="utf-8")
        code = f"try:\n    resolve({string!r}, find_project())\nexcept LoadingError as error:\n    print(error)"

        answer = run(code, cwd=project)

        assert complaint in answer
        assert "\n" not in answer


class TestLookAlikes:
    """A package of the same name from elsewhere never stands in for the project's."""

    def test_project_wins_over_an_installed_look_alike(self, project: Path, tmp_path: Path) -> None:
        write_agents(tmp_path / "decoy", "decoy")

        assert run(LOAD_SCOUT, cwd=project, path=tmp_path / "decoy") == "project"

    def test_look_alike_already_imported_is_refused_with_both_paths(self, project: Path, tmp_path: Path) -> None:
        decoy = write_agents(tmp_path / "decoy", "decoy")

        answer = run("import agents" + LOAD_SCOUT, cwd=project, path=tmp_path / "decoy")

        assert answer.startswith("refused: another 'agents' is already imported")
        assert str(decoy / "__init__.py") in answer
        assert str(project / "agents") in answer
        assert "\n" not in answer

    def test_look_alike_in_an_environment_inside_the_project_is_refused(self, project: Path) -> None:
        inside = project / ".venv" / "site-packages"
        decoy = write_agents(inside, "decoy")

        answer = run("import agents" + LOAD_SCOUT, cwd=project, path=inside)

        assert answer.startswith("refused: ")
        assert str(decoy / "__init__.py") in answer

    def test_folder_that_any_package_would_hide_is_refused(self, project: Path, tmp_path: Path) -> None:
        write_agents(tmp_path / "decoy", "decoy")
        (project / "agents" / "__init__.py").unlink()

        answer = run(LOAD_SCOUT, cwd=project, path=tmp_path / "decoy")

        assert answer.startswith(f"refused: {project / 'agents'} has no __init__.py")

    def test_bundled_agent_hidden_by_the_projects_package_is_refused_with_both_paths(self, project: Path) -> None:
        code = 'try:\n    find_project().load("agents", "noop")\nexcept LoadingError as error:\n    print(error)'

        answer = run(code, cwd=project)

        assert str(project / "agents") in answer
        assert str(CLONE / "agents") in answer

    def test_project_without_that_package_reaches_the_bundled_one(self, tmp_path: Path) -> None:
        write_project(tmp_path, SCOUT.replace("agents.scout", "rover_agents"))

        assert find_project(tmp_path).roots == (tmp_path, CLONE)
        answer = run("print(resolve('agents:__file__', find_project()))", cwd=tmp_path)
        assert answer == str(CLONE / "agents" / "__init__.py")

    def test_empty_folder_beside_a_decoy_gets_the_bundled_package(self, tmp_path: Path) -> None:
        write_agents(tmp_path / "decoy", "decoy")
        empty = tmp_path / "empty"
        empty.mkdir()
        (tmp_path / "decoy" / "agents" / "noop.py").write_text(AGENT.format(owner="decoy"), encoding="utf-8")

        answer = run("print(resolve('agents:__file__', find_project()))", cwd=empty, path=tmp_path / "decoy")

        assert answer == str(CLONE / "agents" / "__init__.py")


class TestInstalledPackages:
    def test_entry_point_offers_its_object_by_id(self, project: Path, tmp_path: Path) -> None:
        self.install(tmp_path / "site", "rover-agents", "agents.digger = rover_agents:Digger")
        code = 'p = find_project()\nprint(p.entries("agents")["digger"].help)\nprint(p.load("agents", "digger").owner)'

        assert (
            run(code, cwd=project, path=tmp_path / "site") == "From the installed package rover-agents.\nrover-agents"
        )

    def test_import_string_reaches_a_package_on_offer(self, project: Path, tmp_path: Path) -> None:
        self.install(tmp_path / "site", "rover-agents", "agents.digger = rover_agents:Digger")
        code = 'print(resolve("rover_agents:Digger", find_project()).owner)'

        assert run(code, cwd=project, path=tmp_path / "site") == "rover-agents"

    def test_two_packages_offering_one_id_are_both_named(self, project: Path, tmp_path: Path) -> None:
        self.install(tmp_path / "site", "rover-agents", "agents.digger = rover_agents:Digger")
        self.install(tmp_path / "site", "other-agents", "agents.digger = other_agents:Digger")
        code = 'try:\n    find_project().entries("agents")\nexcept LoadingError as error:\n    print(error)'

        answer = run(code, cwd=project, path=tmp_path / "site")

        assert "rover-agents" in answer
        assert "other-agents" in answer

    @staticmethod
    def install(site: Path, name: str, entry_point: str) -> None:
        module = name.replace("-", "_")
        info = site / f"{module}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[crab]\n{entry_point}\n", encoding="utf-8")
        (site / f"{module}.py").write_text(f"class Digger:\n    owner = {name!r}\n", encoding="utf-8")
