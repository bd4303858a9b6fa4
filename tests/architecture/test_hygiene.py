"""Nothing in the repository is bound to one machine, one mirror or one trick."""

from __future__ import annotations

import ast
import re
import tomllib
from itertools import chain

import pytest

from tests.architecture.tree import PACKAGES, ROOT, Source, repository_files, sources

# Spelled in halves, so that this file keeps its own rule.
REGISTRY_HOSTS = (
    "pypi" + ".org",
    "python" + "hosted.org",
    "npm" + "js.org",
    "deb" + ".debian.org",
    "archive" + ".ubuntu",
)
MACHINE_PATHS = re.compile(r"(?<![\w.])/(?:ro" + r"ot|wo" + r"rk|Us" + r"ers)/[\w.-]+")

# The lock format has no other way to say where a package comes from: docs/decisions/0002.
NAMES_REGISTRIES = {"uv.lock"}


def text_files() -> dict[str, str]:
    """The repository's text files, by path."""
    found: dict[str, str] = {}
    for path in repository_files():
        try:
            found[str(path)] = (ROOT / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    return found


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """The repository's text files, read once."""
    return text_files()


def test_no_registry_is_named_outside_the_lock_file(texts: dict[str, str]) -> None:
    """Where packages come from is the machine's setting, not the repository's."""
    naming = {path for path, text in texts.items() for host in REGISTRY_HOSTS if host in text}

    assert naming <= NAMES_REGISTRIES


def test_no_file_knows_the_machine_it_was_written_on(texts: dict[str, str]) -> None:
    """No absolute path of somebody's home or work folder is left in a file."""
    found = {path: match[0] for path, text in texts.items() if (match := MACHINE_PATHS.search(text))}

    assert not found


def test_lock_file_covers_what_the_project_asks_for() -> None:
    """A dependency added to pyproject.toml is in uv.lock too."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lock = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    wanted = chain(project["project"]["dependencies"], *extras.values(), project["dependency-groups"]["dev"])
    names = {re.split(r"[^\w.-]", requirement)[0] for requirement in wanted}
    locked = {package["name"]: package for package in lock["package"]}

    assert names <= locked.keys(), "run: uv lock"
    assert set(locked["crab-eval"]["optional-dependencies"]) == set(extras), "run: uv lock"


def test_no_wildcard_hides_where_a_name_comes_from() -> None:
    """Every imported name is spelled out."""
    assert not [str(source.path) for source in sources(*PACKAGES, "tests") if imports_wildcard(source)]


def imports_wildcard(source: Source) -> bool:
    """Whether ``source`` has an ``import *``."""
    imports = (node for node in ast.walk(source.syntax) if isinstance(node, ast.ImportFrom))
    return any(alias.name == "*" for node in imports for alias in node.names)
