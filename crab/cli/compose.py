"""``crab compose``: one task document from choices on the command line, or from a dialogue."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from crab.cli.documents import notes, require_named, write_new
from crab.compose.authoring import AUTHOR, Describer, Part, Plan, draft, literal_of
from crab.compose.composer import Catalogue
from crab.compose.document import document_text
from crab.errors import UsageError
from crab.loading import Project, find_project, resolve
from crab.run.build import load_catalogue


@dataclass(frozen=True)
class ComposeRequest:
    """What was asked for; see ``crab compose --help``."""

    subtasks: str | None
    links: Sequence[str]
    after: Sequence[str]
    values: Sequence[str]
    roles: Sequence[str]
    seed: int
    id: str
    description: str
    describer: str | None
    author: str
    family: str
    out: Path | None
    project: Path | None

    @property
    def is_empty(self) -> bool:
        """Whether no choice was made, so that a dialogue has to make them."""
        chosen = (self.subtasks, self.links, self.after, self.values, self.roles, self.id, self.description)
        return not any(chosen)


def compose_command(request: ComposeRequest) -> None:
    """Writes the document, or prints it when no place was named.

    Raises:
        UsageError: A flag is not of its form, or there are no flags and no terminal.
        CompositionError: The choices do not fit together.
    """
    import typer

    project = find_project(explicit=request.project)
    catalogue = load_catalogue(project)
    describer = load_describer(request.describer, project)
    if request.is_empty:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError("name --subtasks, or run `crab compose` on a terminal to be asked")
        from crab.cli.dialogue import Dialogue

        folder = request.out or _task_folder(project)
        Dialogue(catalogue, ask_on_terminal, typer.echo).run(folder, request.seed, request.author, describer)
        return
    document = draft(plan_of_request(request, catalogue), catalogue, describer)
    require_named(document, catalogue)
    for note in notes(document, catalogue):
        typer.echo(f"note: {note}", err=True)
    if request.out is None:
        typer.echo(document_text(document), nl=False)
    else:
        typer.echo(write_new(document, request.out))


def plan_of_request(request: ComposeRequest, catalogue: Catalogue) -> Plan:
    """Returns the choices that flags make.

    Raises:
        UsageError: A flag is not of its form, or names a subtask that is not among ``--subtasks``.
        CompositionError: A value does not fit its parameter.
    """
    parts = [_named_part(text) for text in (request.subtasks or "").split(",") if text.strip()]
    known = [part.id for part in parts]
    if len(set(known)) < len(known):
        raise UsageError("--subtasks: two of them share an id; write ID=SUBTASK to tell them apart")
    subtasks = {part.id: catalogue.find(part.subtask) for part in parts}
    links = _by_part(request.links, "--link", "SUBTASK.PARAMETER=SUBTASK", known)
    roles = _by_part(request.roles, "--role", "SUBTASK.ROLE=NAME", known)
    texts = _by_part(request.values, "--value", "SUBTASK.PARAMETER=VALUE", known)
    values = {id: {name: literal_of(subtasks[id], name, text) for name, text in texts[id].items()} for id in known}
    after: dict[str, list[str]] = {}
    for text in request.after:
        later, earlier = _assignment(text, "--after", "SUBTASK=SUBTASK")
        after.setdefault(later, []).extend(name.strip() for name in earlier.split(","))
    id = request.id
    if not id and request.out is not None and request.out.suffix == ".json":
        id = request.out.stem
    return Plan(
        parts=[Part(part.subtask, part.id, values[part.id], links[part.id], roles[part.id]) for part in parts],
        after=after,
        seed=request.seed,
        id=id,
        description=request.description,
        author=request.author or AUTHOR,
        family=request.family,
    )


def load_describer(reference: str | None, project: Project) -> Describer | None:
    """Returns what words descriptions: the object an import string names, made by a call when it is a class.

    Raises:
        LoadingError: The string leads nowhere.
        UsageError: The object is no describer.
    """
    if reference is None:
        return None
    found = resolve(reference, project)
    if isinstance(found, type):
        found = found()
    if not callable(found) or not isinstance(getattr(found, "name", None), str):
        raise UsageError(f"--describer {reference}: it must have a `name` and take a Brief; see crab.compose.authoring")
    return cast("Describer", found)


def ask_on_terminal(question: str, default: str) -> str:
    """Asks a question and returns the answer, the default for an empty one."""
    import typer

    answer: str = typer.prompt(question, default=default, show_default=bool(default))
    return answer.strip()


def _task_folder(project: Project) -> Path:
    folder = project.task_directories()[0] if project.tasks else Path.cwd()
    return folder if project.tasks and project.bundled is not None else Path.cwd()


def _named_part(text: str) -> Part:
    id, equals, subtask = text.strip().rpartition("=")
    return Part(subtask, id=id if equals else subtask.partition("@")[0].lower().lstrip("_"))


def _assignment(text: str, option: str, form: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value:
        raise UsageError(f"{option} {text}: write {form}")
    return name.strip(), value


def _by_part(texts: Iterable[str], option: str, form: str, known: Sequence[str]) -> Mapping[str, dict[str, str]]:
    """What repeated ``PART.NAME=VALUE`` flags say, by part and name; nothing is said twice."""
    found: dict[str, dict[str, str]] = {id: {} for id in known}
    for text in texts:
        target, value = _assignment(text, option, form)
        id, dot, name = target.partition(".")
        if not dot or not name:
            raise UsageError(f"{option} {text}: write {form}")
        if id not in found:
            raise UsageError(f"{option} {text}: there is no subtask {id!r}; --subtasks names: {', '.join(known)}")
        if name in found[id]:
            raise UsageError(f"{option} {text}: {id}.{name} is given twice")
        found[id][name] = value
    return found
