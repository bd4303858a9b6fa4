"""``crab new``: a project outside of CRAB's own, with an example and the tests of its contract."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from string import Template

from crab.cli.documents import write_text
from crab.errors import UsageError
from crab.loading import find_project

KINDS = {"environment": "An environment", "subtask": "Subtasks", "task": "Tasks", "agent": "An agent"}
"""What a project can be made for, and what its description begins with."""

_SCAFFOLDS = Path(__file__).with_name("scaffolds")

_ENDING = ".in"
"""Of the files that become a project's; without it they would be taken for code of CRAB."""


def new_command(kind: str, name: str, folder: Path | None) -> None:
    """Writes the project and says what to do next.

    Args:
        kind: One of `KINDS`.
        name: Lower-case letters, digits, hyphens and underscores; its module has underscores.
        folder: Where the project goes; a folder called like it, here, when None.

    Raises:
        UsageError: The kind or the name is none, the name is taken, or the folder is not empty or within CRAB's.
    """
    import typer

    if kind not in KINDS:
        raise UsageError(f"crab new {kind}: there are {', '.join(KINDS)}")
    module = _module(name, importable=kind != "task")
    target = (folder or Path(name)).resolve()
    _check_target(target)
    title = name.replace("-", " ").replace("_", " ").capitalize()
    words = {
        "name": name,
        "module": module,
        "constant": module.upper(),
        "class_name": "".join(part.capitalize() for part in module.split("_")),
        "id": name.replace("_", "-"),
        "title": title,
        "what": KINDS[kind],
    }
    files = dict(_files(kind, words))
    for path, text in files.items():
        write_text(target / path, text)
    for path in files:
        typer.echo(f"{target / path}")
    typer.echo(f"Next: cd {target} && pytest")


def _files(kind: str, words: dict[str, str]) -> Iterable[tuple[Path, str]]:
    """Path below the project and text of every file."""
    home = _SCAFFOLDS / kind
    for source in sorted(home.rglob(f"*{_ENDING}")):
        name = source.name.removesuffix(_ENDING).replace("module", words["module"])
        name = f"{words['id']}.json" if name == "task.json" else name
        text = source.read_text(encoding="utf-8")
        yield source.relative_to(home).with_name(name), Template(text).substitute(words).rstrip() + "\n"


def _module(name: str, *, importable: bool) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*", name):
        raise UsageError(f"{name!r}: use lower-case letters and digits, with single '-' or '_' between, a letter first")
    module = name.replace("-", "_")
    if importable and (module in sys.stdlib_module_names or find_spec(module) is not None):
        raise UsageError(
            f"{name!r}: there is a Python module {module} already, which would hide it; choose another name"
        )
    return module


def _check_target(target: Path) -> None:
    bundled = find_project(Path("/"))
    if target.is_relative_to(bundled.root):
        raise UsageError(f"{target} lies within CRAB's own project; go elsewhere, or name a folder with --dir")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is there already; name another folder with --dir")
