"""The map in docs/architecture.md is the tree: nothing missing, nothing invented, every place explained."""

from __future__ import annotations

from tests.architecture.draw_map import ARCHITECTURE, FOLDERS, draw_map, split_page
from tests.architecture.tree import PACKAGES, ROOT, repository_files, sources

TOP_LEVEL = {
    ".ci",
    ".gitignore",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "pyproject.toml",
    "uv.lock",
    *FOLDERS,
}


def test_map_is_current() -> None:
    """A newcomer finds each module on the map, with what it is for, and each name on the map in the tree."""
    _, shown, _ = split_page(ARCHITECTURE.read_text(encoding="utf-8"))

    missing = sorted(set(draw_map().splitlines()) - set(shown.splitlines()))
    invented = sorted(set(shown.splitlines()) - set(draw_map().splitlines()))
    assert shown == draw_map(), (
        f"run: python -m tests.architecture.draw_map\nmissing from the map: {missing}\nnot in the tree: {invented}"
    )


def test_map_holds_every_source_file() -> None:
    """The drawing leaves out no package, however deep."""
    real = {source.path.parent.name + "/" if source.is_package else source.path.name for source in sources()}

    assert real <= {line.split()[0] for line in draw_map().splitlines()}


def test_top_level_is_fixed() -> None:
    """Nothing new appears beside the folders that everybody knows."""
    assert {path.parts[0] for path in repository_files()} <= TOP_LEVEL


def test_every_folder_with_python_is_a_package() -> None:
    """Without ``__init__.py`` a folder is invisible to the import contracts, and an installed namesake wins."""
    folders = {source.path.parent for source in sources(*PACKAGES, "tests")}

    bare = sorted(str(folder) for folder in folders if not (ROOT / folder / "__init__.py").is_file())
    assert not bare


def test_data_folders_hold_no_logic() -> None:
    """Suites, configurations and task documents are read, never run."""
    code = [source for source in sources("benchmark", "composed_tasks") if len(source.syntax.body) > 1]

    assert not [str(source.path) for source in code]
