"""What fits together: which subtask can follow another, and why a link cannot be made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from crab.errors import CompositionError
from crab.task import Output, Subtask


@dataclass(frozen=True)
class Fit:
    """One way in which a subtask can follow another.

    Attributes:
        subtask: What can follow.
        parameter: Name of its parameter that takes the output.
        prepared: Whether its set-up depends on that parameter. Set-up comes before the first action, so such a link is
            sound where it only places something for later, and not where it makes what the earlier subtask is to make:
            a proof on devices tells.
    """

    subtask: Subtask
    parameter: str
    prepared: bool


def followers(source: Subtask, catalogue: Iterable[Subtask]) -> tuple[Fit, ...]:
    """Returns every way in which an output can be handed on.

    Args:
        source: The earlier subtask.
        catalogue: What there is to follow it; the source itself may be among it, as another instance.

    Returns:
        Fits that need no set-up first, then by reference and order of parameters; empty without an output.
    """
    found = [
        (prepared, subtask.reference, position, Fit(subtask, parameter, prepared))
        for subtask in catalogue
        for position, parameter in enumerate(linkable(source.output, subtask))
        for prepared in [parameter in prepared_parameters(subtask)]
    ]
    return tuple(fit for *_, fit in sorted(found, key=lambda item: item[:3]))


def linkable(output: Output | None, subtask: Subtask) -> tuple[str, ...]:
    """Returns the names of a subtask's parameters that an output can feed, in their order."""
    if output is None:
        return ()
    used = used_parameters(subtask)
    return tuple(
        parameter.name
        for parameter in subtask.parameters
        if parameter.type.name == output.type.name and parameter.name in used
    )


def check_link(id: str, subtask: Subtask, name: str, source_id: str, source: Subtask) -> Output:
    """Checks one link and returns the output it carries.

    Args:
        id: Id of the part that takes the value.
        subtask: Its template.
        name: The parameter that takes it.
        source_id: Id of the part that gives it.
        source: Its template.

    Raises:
        CompositionError: The parts are the same, the source has no output, or the types differ. An unknown parameter is
            left to `Subtask.check`.
    """
    where = f"subtask {id}: {name}"
    if id == source_id:
        raise CompositionError(f"{where} cannot come from {id!r} itself; link it to another subtask or give a value")
    if source.output is None:
        raise CompositionError(f"{where} comes from {source_id!r}, which has no output")
    parameter = next((parameter for parameter in subtask.parameters if parameter.name == name), None)
    if parameter is None:
        return source.output
    if parameter.type.name != source.output.type.name:
        raise CompositionError(
            f"{where} wants a {parameter.type.name}, {source_id!r} gives a {source.output.type.name}"
        )
    return source.output


def check_use(id: str, subtask: Subtask, name: str) -> None:
    """Checks that a link to a parameter would matter. It builds the template's parts once.

    Raises:
        CompositionError: No checkpoint, set-up or output depends on the parameter.
    """
    if name not in used_parameters(subtask):
        raise CompositionError(
            f"subtask {id}: {name} is looked at by no checkpoint, set-up or output, so a link to it would be unused; "
            "give a value"
        )


def used_parameters(subtask: Subtask) -> frozenset[str]:
    """Returns the names of the parameters on which its checkpoints, its set-up or its output depend."""
    output = subtask.output
    readers: list[Callable[[Mapping[str, Any]], Any]] = [subtask.checkpoints, subtask.setup]
    if output is not None:
        readers.append(output.value)
    return frozenset().union(*(_read_by(reader, subtask) for reader in readers))


def prepared_parameters(subtask: Subtask) -> frozenset[str]:
    """Returns the names of the parameters on which its set-up depends."""
    return _read_by(subtask.setup, subtask)


class _Watched(Mapping[str, Any]):
    """Values that remember which of them were read."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _read_by(reader: Callable[[Mapping[str, Any]], Any], subtask: Subtask) -> frozenset[str]:
    values = _Watched(subtask.draw(0))
    reader(values)
    return frozenset(values.read)
