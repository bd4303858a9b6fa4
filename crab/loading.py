"""Finds the project and turns ids and import strings into objects; nothing else in CRAB imports by name.

A project is a folder whose ``pyproject.toml`` has a ``[tool.crab]`` table. The table says what the project offers: ids,
each with an import string and a line of help, and the folders that hold its task documents::

    [tool.crab]
    tasks = ["composed_tasks/v0"]

    [tool.crab.agents]
    noop = { object = "agents.noop:NoopAgent", help = "Does nothing." }

A name is looked up in three places, in this order: the project itself, installed packages (entry points of the group
``crab``, named ``<kind>.<id>``), and the project bundled with CRAB. Folders such as ``agents`` have names that other
distributions use too, so a module counts only when it lies where its project says; a look-alike is refused.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from crab.errors import LoadingError

__all__ = ["KINDS", "Entry", "Project", "find_project", "resolve"]

KINDS = ("environments", "subtasks", "agents", "commands")
"""The tables of ``[tool.crab]`` that map ids to import strings."""

ENTRY_POINT_GROUP = "crab"

FRAMEWORK = "crab"

_ID = re.compile(r"[a-z][a-z0-9_-]*")
_IMPORT_STRING = re.compile(r"(?P<module>[^\W\d]\w*(?:\.[^\W\d]\w*)*):(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)")


@dataclass(frozen=True)
class Entry:
    """One thing on offer.

    Attributes:
        kind: One of ``KINDS``.
        id: The name used in configurations, task documents and on the command line.
        object: Import string, ``package.module:Object``.
        help: One line for people.
        root: The root of the project that offers it; None when an installed package does.
    """

    kind: str
    id: str
    object: str
    help: str
    root: Path | None


@dataclass(frozen=True)
class Project:
    """A project: where its modules lie and what it offers, the bundled project's offers included.

    Attributes:
        root: The folder of its ``pyproject.toml``, absolute, symbolic links resolved.
        name: ``project.name`` of that file, or the folder's name.
        tables: What the project itself offers, by kind and id.
        tasks: Folders of task documents, relative to the root.
        bundled: The project bundled with CRAB; None when this is that project, or a copy of it.
    """

    root: Path
    name: str
    tables: Mapping[str, Mapping[str, Entry]]
    tasks: tuple[str, ...] = ()
    bundled: Project | None = field(default=None, repr=False)

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folders modules may come from, in the order of preference."""
        return (self.root,) if self.bundled is None else (self.root, self.bundled.root)

    def entries(self, kind: str) -> Mapping[str, Entry]:
        """What can be named: the project's own entries, then installed packages', then the bundled project's.

        Args:
            kind: One of ``KINDS``.

        Returns:
            Entries by id, sorted by id. Where an id occurs more than once, the first place wins.

        Raises:
            LoadingError: ``kind`` is unknown, or two installed packages offer the same id.
        """
        if kind not in KINDS:
            raise LoadingError(f"unknown kind {kind!r}: {_choices(kind, KINDS)}")
        bundled = {} if self.bundled is None else self.bundled.tables[kind]
        merged = {**bundled, **_installed_entries(kind), **self.tables[kind]}
        return MappingProxyType({name: merged[name] for name in sorted(merged)})

    def load(self, kind: str, reference: str) -> object:
        """The object that an id or an import string names.

        Args:
            kind: One of ``KINDS``.
            reference: An id from ``entries(kind)``, or an import string ``package.module:Object``.

        Raises:
            LoadingError: Nothing has that id, or its module is missing, broken or a look-alike.
        """
        if ":" in reference:
            return resolve(reference, self)
        entries = self.entries(kind)
        if reference not in entries:
            raise LoadingError(f"unknown id {reference!r} among the {kind}: {_choices(reference, entries)}")
        entry = entries[reference]
        return _load_object(entry.object, self, entry.root)

    def task_directories(self) -> tuple[Path, ...]:
        """The folders of task documents, the project's own first, then the bundled project's.

        Raises:
            LoadingError: A folder named under ``tasks`` is not there.
        """
        own = tuple(self.root / task for task in self.tasks)
        for folder in own:
            if not folder.is_dir():
                raise LoadingError(
                    f"{self.root / 'pyproject.toml'}: tasks names {folder}, which is not there: create it"
                )
        return own if self.bundled is None else own + self.bundled.task_directories()


def find_project(start: Path | None = None, explicit: Path | None = None) -> Project:
    """The project to work in.

    Args:
        start: Where to look first; its parents follow. Default: the current folder.
        explicit: The project's folder or its ``pyproject.toml``, as given by ``--project``. Nothing else is looked at.

    Returns:
        The project of the nearest ``pyproject.toml`` with a ``[tool.crab]`` table, else the bundled project.

    Raises:
        LoadingError: ``explicit`` is no project, or a project file is malformed.
    """
    bundled = _read_bundled()
    if explicit is not None:
        file = explicit if explicit.name == "pyproject.toml" else explicit / "pyproject.toml"
        project = _read_project(file, bundled)
        if project is None:
            raise LoadingError(f"{explicit} is no project: it needs a pyproject.toml with a [tool.crab] table")
        return project
    folder = (start or Path.cwd()).resolve()
    for candidate in (folder, *folder.parents):
        project = _read_project(candidate / "pyproject.toml", bundled)
        if project is not None:
            return project
    return bundled


def resolve(import_string: str, project: Project) -> object:
    """The object an import string names, from the project, an installed package on offer, or the bundled project.

    The roots are put first on ``sys.path``, for content that imports other content.

    Args:
        import_string: ``package.module:Object``; the object may be dotted.
        project: The project to look in.

    Raises:
        LoadingError: The string is malformed, or its module is missing, broken, a look-alike or lacks the object.
    """
    top = _split(import_string)[0].partition(".")[0]
    if top == FRAMEWORK:
        return _load_object(import_string, project, None)
    for root in project.roots:
        if _home(root, top) is not None:
            return _load_object(import_string, project, root)
    for kind in KINDS:
        if any(_split(entry.object)[0].partition(".")[0] == top for entry in _installed_entries(kind).values()):
            return _load_object(import_string, project, None)
    raise LoadingError(
        f"{import_string!r}: no package or module {top!r} in the project at {project.root}: "
        "go to the project that holds it, or name that with --project"
    )


def _load_object(import_string: str, project: Project, root: Path | None) -> object:
    module_name, name = _split(import_string)
    if module_name.partition(".")[0] == FRAMEWORK:
        # The framework's own toys may be named by any project; there is only the one that is running.
        root = None
    _put_first(project.roots)
    if root is not None:
        _refuse_look_alike(module_name.partition(".")[0], root)
    module = _import(module_name, import_string)
    if root is not None and not _lies_in(module, root, module_name.partition(".")[0]):
        raise LoadingError(
            f"{import_string!r}: {module_name} comes from {getattr(module, '__file__', None)}, "
            f"not from the project at {root}: rename one of the two"
        )
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise LoadingError(f"{import_string!r}: {module_name} has no {name!r}: {_choices(part, _public(found))}")
        found = getattr(found, part)
    return found


def _split(import_string: str) -> tuple[str, str]:
    match = _IMPORT_STRING.fullmatch(import_string)
    if match is None:
        raise LoadingError(f"{import_string!r} is no import string: write package.module:Object")
    return match["module"], match["name"]


def _put_first(roots: Iterable[Path]) -> None:
    wanted = [str(root) for root in roots]
    if sys.path[: len(wanted)] != wanted:
        sys.path[:] = wanted + [path for path in sys.path if path not in wanted]
    importlib.invalidate_caches()


def _home(root: Path, top: str) -> Path | None:
    """Where the project at ``root`` keeps its top-level package or module ``top``; None when it has none."""
    package, module = root / top, root / f"{top}.py"
    if package.is_dir():
        return package
    return module if module.is_file() else None


def _refuse_look_alike(top: str, root: Path) -> None:
    home = _home(root, top)
    if home is None:
        raise LoadingError(f"the project at {root} has no package or module {top!r}: correct its [tool.crab] table")
    if home.is_dir() and not (home / "__init__.py").is_file():
        raise LoadingError(f"{home} has no __init__.py, so any package called {top!r} would hide it: add an empty one")
    loaded = sys.modules.get(top)
    if loaded is not None:
        if not _lies_in(loaded, root, top):
            raise LoadingError(
                f"another {top!r} is already imported, from {_origin(loaded.__spec__)}, so the project's {home} cannot "
                "be: run the other one in a process of its own, or rename one of the two"
            )
        return
    spec = importlib.util.find_spec(top)
    origin = None if spec is None else spec.origin
    if origin is None or not _within(Path(origin), home):
        raise LoadingError(
            f"{top!r} is found at {_origin(spec)}, not at the project's {home}: rename or uninstall one of the two"
        )


def _lies_in(module: ModuleType, root: Path, top: str) -> bool:
    home, file = _home(root, top), getattr(module, "__file__", None)
    return home is not None and file is not None and _within(Path(file), home)


def _within(file: Path, home: Path) -> bool:
    return file.resolve().is_relative_to(home.resolve())


def _origin(spec: Any) -> str:
    if spec is None:
        return "no file"
    return str(spec.origin or next(iter(spec.submodule_search_locations or ["no file"])))


def _import(module_name: str, import_string: str) -> ModuleType:
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or module_name
        if module_name == missing or module_name.startswith(f"{missing}."):
            parent = sys.modules.get(missing.rpartition(".")[0])
            where = "" if parent is None else f" in {_origin(parent.__spec__)}"
            raise LoadingError(f"{import_string!r}: no module {missing}{where}: correct the name") from error
        raise LoadingError(f"{import_string!r}: {module_name} needs {missing}, which is not installed") from error
    except LoadingError:
        raise
    except Exception as error:  # a project's module may raise anything when it is run
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise LoadingError(
            f"{import_string!r}: importing {module_name} failed with {reason}: mend the module"
        ) from error


def _public(found: object) -> list[str]:
    return sorted(name for name in dir(found) if not name.startswith("_"))


def _choices(wrong: str, known: Iterable[str]) -> str:
    names = sorted(known)
    close = difflib.get_close_matches(wrong, names, n=3)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known: {', '.join(names[:20]) or 'none'}"


def _installed_entries(kind: str) -> dict[str, Entry]:
    from importlib.metadata import entry_points

    found: dict[str, Entry] = {}
    owners: dict[str, str] = {}
    for point in entry_points(group=ENTRY_POINT_GROUP):
        owner = point.dist.name if point.dist is not None else "an installed package"
        point_kind, _, name = point.name.partition(".")
        if point_kind != kind:
            continue
        if name in found and owners[name] != owner:
            raise LoadingError(f"{owners[name]} and {owner} both offer {name!r} among the {kind}: uninstall one")
        found[name] = Entry(kind, name, point.value, f"From the installed package {owner}.", None)
        owners[name] = owner
    return found


def _read_bundled() -> Project:
    package = Path(__file__).resolve().parent
    # A wheel carries the content inside the package; in a clone it lies beside it.
    for root in (package / "bundled", package.parent):
        project = _read_project(root / "pyproject.toml", None)
        if project is not None:
            return project
    raise LoadingError(f"the project bundled with CRAB is missing under {package}: install crab-eval again")


def _read_project(file: Path, bundled: Project | None) -> Project | None:
    """The project that ``file`` describes; None when there is no such file or it has no ``[tool.crab]`` table."""
    if not file.is_file():
        return None
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LoadingError(f"{file} is no valid TOML: {error}") from error
    table = document.get("tool", {}).get("crab")
    if table is None:
        return None
    root = file.resolve().parent
    name = document.get("project", {}).get("name", root.name)
    if bundled is not None and bundled.name == name:
        bundled = None
    return Project(root, name, _read_tables(file, table), _read_tasks(file, table), bundled)


def _read_tables(file: Path, table: Mapping[str, Any]) -> Mapping[str, Mapping[str, Entry]]:
    for key in table:
        if key not in (*KINDS, "tasks"):
            raise LoadingError(f"{file}: unknown key {key!r} in [tool.crab]: {_choices(key, (*KINDS, 'tasks'))}")
    tables = {}
    for kind in KINDS:
        entries = {name: _read_entry(file, kind, name, value) for name, value in table.get(kind, {}).items()}
        tables[kind] = MappingProxyType(entries)
    return MappingProxyType(tables)


def _read_entry(file: Path, kind: str, name: str, value: object) -> Entry:
    where = f"{file}: {name!r} in [tool.crab.{kind}]"
    if not _ID.fullmatch(name) or "__" in name:
        raise LoadingError(f"{where} is no id: use lower-case letters, digits, '-' and single '_', a letter first")
    if not isinstance(value, dict) or set(value) != {"object", "help"}:
        raise LoadingError(f'{where} must read {{ object = "package.module:Object", help = "One line." }}')
    if not all(isinstance(part, str) and part and "\n" not in part for part in value.values()):
        raise LoadingError(f"{where}: object and help must be single lines of text")
    _split(value["object"])
    return Entry(kind, name, value["object"], value["help"], file.resolve().parent)


def _read_tasks(file: Path, table: Mapping[str, Any]) -> tuple[str, ...]:
    tasks = table.get("tasks", [])
    if not isinstance(tasks, list) or not all(isinstance(task, str) and task for task in tasks):
        raise LoadingError(f"{file}: tasks in [tool.crab] must be a list of folders, relative to the project")
    return tuple(tasks)
