"""The dialogue of ``crab compose``: a start, what can follow, values, words, and a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from crab.cli.documents import notes, require_named, write_new
from crab.compose.authoring import AUTHOR, Describer, Part, Plan, check_id, draft, literal_of
from crab.compose.composer import Catalogue
from crab.compose.document import TaskDocument
from crab.compose.matching import followers, linkable
from crab.errors import CrabError
from crab.task import Subtask

Ask = Callable[[str, str], str]
"""Puts a question and returns the answer without blanks around it: (question, answer for an empty one) → answer."""

Say = Callable[[str], None]

T = TypeVar("T")


@dataclass(frozen=True)
class _Offer:
    """One line of the list of what can follow."""

    subtask: Subtask
    parameter: str
    source: str
    note: str


class Dialogue:
    """Composes one document with a person.

    Args:
        catalogue: What there is to choose from.
        ask: Puts a question.
        say: Shows a line.
    """

    def __init__(self, catalogue: Catalogue, ask: Ask, say: Say) -> None:
        self._catalogue = catalogue
        self._ask = ask
        self._say = say

    def run(self, folder: Path, seed: int, author: str, describer: Describer | None = None) -> Path:
        """Asks until a document is written.

        Args:
            folder: Where it goes, unless the person names another place.
            seed: Of the values that are offered.
            author: Who stands for it.
            describer: Words the description that is offered.

        Returns:
            The file.
        """
        plan = Plan((), seed=seed, author=author or AUTHOR)
        self._say("Subtasks:")
        for number, subtask in enumerate(self._catalogue, start=1):
            self._say(f"  {number:>2}  {_signature(subtask)}")
        plan = self._add(plan, Part(self._subtask("Start with (number or id)").reference))
        while (grown := self._follow(plan)) is not None:
            plan = grown
        return self._conclude(plan, folder, describer)

    def _subtask(self, question: str) -> Subtask:
        return self._until_right(lambda: self._subtask_named(self._ask(question, "")))

    def _subtask_named(self, name: str) -> Subtask:
        listed = list(self._catalogue)
        if name.isdigit() and 0 < int(name) <= len(listed):
            return listed[int(name) - 1]
        return self._catalogue.find(name)

    def _follow(self, plan: Plan) -> Plan | None:
        """Adds one more subtask; None when the person has enough."""
        offers = self._offers(plan)
        self._say("What can follow:" if offers else "No output of these subtasks fits another one.")
        for number, offer in enumerate(offers, start=1):
            self._say(f"  {number:>2}  {offer.subtask.id}, its {offer.parameter} from {offer.source}{offer.note}")
        while True:
            answer = self._ask("Add (number; id of any subtask to add it unlinked; Enter to end)", "")
            if not answer:
                return None
            try:
                if answer.isdigit() and 0 < int(answer) <= len(offers):
                    offer = offers[int(answer) - 1]
                    return self._add(plan, Part(offer.subtask.reference, links={offer.parameter: offer.source}))
                return self._add_unlinked(plan, self._catalogue.find(answer))
            except CrabError as error:
                self._say(str(error))

    def _offers(self, plan: Plan) -> list[_Offer]:
        return [
            _Offer(fit.subtask, fit.parameter, part.id, " (its set-up depends on it)" if fit.prepared else "")
            for part in plan.parts
            for fit in followers(self._catalogue.get(part.subtask), self._catalogue)
        ]

    def _add_unlinked(self, plan: Plan, subtask: Subtask) -> Plan:
        known = ", ".join(part.id for part in plan.parts)
        earlier = self._ask(f"It comes after ({known}, several with commas; Enter: any time)", "")
        names = tuple(name.strip() for name in earlier.split(",") if name.strip())
        return self._add(plan, Part(subtask.reference), names)

    def _add(self, plan: Plan, part: Part, earlier: tuple[str, ...] = ()) -> Plan:
        """Adds a part, asking for what is not linked yet; nothing is added when it does not fit."""
        subtask = self._catalogue.get(part.subtask)
        number = sum(other.subtask == part.subtask for other in plan.parts) + 1
        id = subtask.id.lower().lstrip("_")
        part = replace(part, id=id if number == 1 else f"{id}_{number}")
        after = {**plan.after, part.id: earlier} if earlier else plan.after
        tried = replace(plan, parts=(*plan.parts, part), after=after)
        drawn = draft(tried, self._catalogue).subtasks[-1].parameters
        part = self._until_right(lambda: self._filled(plan, part, subtask, drawn))
        grown = replace(tried, parts=(*plan.parts, part))
        draft(grown, self._catalogue)
        self._say(f"{part.id} is in.")
        return grown

    def _filled(self, plan: Plan, part: Part, subtask: Subtask, drawn: Mapping[str, Any]) -> Part:
        values, links = {}, dict(part.links)
        sources = {other.id: self._catalogue.get(other.subtask) for other in plan.parts}
        for parameter in subtask.parameters:
            name = parameter.name
            if name in links:
                continue
            givers = [id for id, source in sources.items() if name in linkable(source.output, subtask)]
            hint = f", or {' or '.join(f'={id}' for id in givers)} for what that leaves" if givers else ""
            answer = self._ask(f"{part.id}: {name} ({parameter.type.name}{hint})", str(drawn[name]))
            if answer.removeprefix("=") in givers and answer.startswith("="):
                links[name] = answer.removeprefix("=")
            else:
                values[name] = literal_of(subtask, name, answer)
        return replace(part, values=values, links=links)

    def _conclude(self, plan: Plan, folder: Path, describer: Describer | None) -> Path:
        document = draft(plan, self._catalogue, describer)
        self._say(f"Description:\n  {document.description}")
        for note in notes(document, self._catalogue):
            self._say(f"Note: {note}")
        document = self._until_right(lambda: self._worded(document))
        return self._until_right(lambda: self._written(document, folder))

    def _worded(self, document: TaskDocument) -> TaskDocument:
        words = self._ask("Other words for it (Enter keeps these)", "")
        if words:
            document = document.model_copy(update={"description": words})
            require_named(document, self._catalogue)
        return document

    def _written(self, document: TaskDocument, folder: Path) -> Path:
        id = self._ask("Id of the task", document.id)
        check_id(id)
        path = write_new(document.model_copy(update={"id": id}), Path(self._ask("Folder", str(folder))))
        self._say(f"{path} is written, as a draft for review; `crab validate {path}` checks it.")
        return path

    def _until_right(self, attempt: Callable[[], T]) -> T:
        while True:
            try:
                return attempt()
            except CrabError as error:
                self._say(str(error))


def _signature(subtask: Subtask) -> str:
    takes = ", ".join(f"{parameter.name}: {parameter.type.name}" for parameter in subtask.parameters)
    gives = f" → {subtask.output.type.name}" if subtask.output else ""
    return f"{subtask.id}({takes}){gives}"
