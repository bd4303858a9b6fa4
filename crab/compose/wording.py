"""Descriptions of composed tasks, joined from their templates' sentences."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from crab.compose.composer import ComposedTask, Instance, predecessors
from crab.compose.document import Link

_QUOTES_ARE_OURS = "The quotation marks “ ” around values are not part of them."


def describe(composed: ComposedTask) -> str:
    """Returns a description of a task in English, made from its templates alone.

    Every literal value is named; a linked value is referred to by the phrase of the output it comes from and so is not
    given away. A template without a clause speaks in its own description, where ``[NAME]`` stands for a linked value.
    """
    words = _Words(composed)
    steps = [words.step(instance) for instance in composed.instances]
    if len(steps) == 1:
        return steps[0].alone
    before = predecessors(composed.document)
    ids = [instance.id for instance in composed.instances]
    if all(earlier in before[later] for earlier, later in pairwise(ids)):
        text = _one_after_another(steps)
    elif not any(before.values()):
        text = _in_any_order(steps)
    else:
        text = _numbered(steps, [[ids.index(earlier) + 1 for earlier in before[id]] for id in ids])
    return f"{text} {_QUOTES_ARE_OURS}" if words.quoted else text


class _Step:
    """What one part asks for: a clause, or sentences of its own."""

    def __init__(self, clause: str, sentences: str) -> None:
        self.clause = clause
        self.alone = sentences

    def after(self, word: str) -> str:
        """The step as a sentence, or sentences, that a word such as ``Then`` opens."""
        return f"{word} {self.clause}." if self.clause else f"{word} do this: {self.alone}"

    def numbered(self, opening: str) -> str:
        """The step after an opening that ends in a colon."""
        return f"{opening} {self.clause[:1].upper()}{self.clause[1:]}." if self.clause else f"{opening} {self.alone}"


class _Words:
    """Puts values and phrases into the texts of templates."""

    def __init__(self, composed: ComposedTask) -> None:
        self._instances = {instance.id: instance for instance in composed.instances}
        self._parameters = {part.id: part.parameters for part in composed.document.subtasks}
        self._names: set[str] = set()
        self.quoted = False

    def phrase(self, id: str) -> str:
        """The words for the output of a part."""
        instance = self._instances[id]
        output = instance.subtask.output
        return output.phrase.format_map(self._said(id, instance.values)) if output else f"the result of {id}"

    def step(self, instance: Instance) -> _Step:
        """What a part asks for."""
        subtask = instance.subtask
        if len(self._instances) > 1 and subtask.clause:
            return _Step(subtask.clause.format_map(self._noun_phrases(instance)), "")
        said = dict(instance.values)
        explained = []
        for name, value in self._parameters[instance.id].items():
            if isinstance(value, Link):
                said[name] = self._stand_in(name)
                explained.append(f"{said[name]} stands for {self.phrase(value.source)}.")
        return _Step("", " ".join([subtask.describe(said), *explained]))

    def _said(self, id: str, values: Mapping[str, Any]) -> dict[str, Any]:
        links = {name: value for name, value in self._parameters[id].items() if isinstance(value, Link)}
        return {**values, **{name: self.phrase(link.source) for name, link in links.items()}}

    def _noun_phrases(self, instance: Instance) -> dict[str, str]:
        said = self._said(instance.id, instance.values)
        for name, value in self._parameters[instance.id].items():
            if isinstance(value, str):
                said[name] = f"“{value}”"
                self.quoted = True
        return said

    def _stand_in(self, name: str) -> str:
        word = name.upper().replace("_", " ")
        number = 1
        found = word
        while found in self._names:
            number += 1
            found = f"{word} {number}"
        self._names.add(found)
        return f"[{found}]"


def _one_after_another(steps: list[_Step]) -> str:
    last = len(steps) - 1
    words = ["First" if n == 0 else "At last" if n == last > 1 else "Then" for n in range(len(steps))]
    return " ".join(step.after(word) for step, word in zip(steps, words, strict=True))


def _in_any_order(steps: list[_Step]) -> str:
    listed = (step.numbered(f"({number})") for number, step in enumerate(steps, start=1))
    return " ".join([f"Do these {len(steps)} things, in any order.", *listed])


def _numbered(steps: list[_Step], before: list[list[int]]) -> str:
    listed = []
    for number, (step, earlier) in enumerate(zip(steps, before, strict=True), start=1):
        condition = f", once {_counted(earlier)} done" if earlier else ""
        listed.append(step.numbered(f"Step {number}{condition}:"))
    opening = f"There are {len(steps)} steps; where none waits for another, their order is free."
    return " ".join([opening, *listed])


def _counted(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"step {numbers[0]} is"
    return f"steps {', '.join(map(str, numbers[:-1]))} and {numbers[-1]} are"
