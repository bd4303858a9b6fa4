"""What is known of the subtask templates of CRAB v0, and which of ours asks for the same."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOREIGN = "v0_"
"""How the ids of templates begin that this project does not have."""

_FILE = Path(__file__).with_name("templates.toml")


@dataclass(frozen=True)
class Defect:
    """A fault of a template itself.

    Attributes:
        text: What is wrong.
        blocks: Whether no solution passes.
        attribute: The attribute on whose value it depends, or empty.
        pattern: Regular expression that finds the values concerned.
    """

    text: str
    blocks: bool = False
    attribute: str = ""
    pattern: str = ""


@dataclass(frozen=True)
class Counterpart:
    """The template of this project that asks for the same.

    Attributes:
        template: Its reference.
        parameters: Attribute by parameter; ``folder of x`` and ``name of x`` are parts of a path.
    """

    template: str
    parameters: Mapping[str, str]


@dataclass(frozen=True)
class V0Template:
    """One subtask template of CRAB v0; see ``templates.toml`` for the attributes."""

    id: str
    name: str
    kind: str
    attributes: Mapping[str, tuple[str, ...]]
    output: str
    named: tuple[tuple[str, ...], ...]
    unchecked: tuple[str, ...]
    live: bool
    root: bool
    defects: tuple[Defect, ...]
    ours: Counterpart | None
    near: str

    @property
    def reference(self) -> str:
        """How a task document names it: our counterpart, or its own name where there is none."""
        return self.ours.template if self.ours else f"{FOREIGN}{self.name}@1"


@dataclass(frozen=True)
class Table:
    """Everything in ``templates.toml``.

    Attributes:
        templates: By id.
        home: Home folder of the virtual machine, and ours.
        types: What CRAB v0 calls our types, where it has another word.
        given: Files that task files take as given.
        places: Names of places as they are written.
        countries: Names of countries as they are written.
    """

    templates: Mapping[str, V0Template]
    home: tuple[str, str]
    types: Mapping[str, str]
    given: tuple[str, ...]
    places: tuple[str, ...]
    countries: tuple[str, ...]

    def to_ours(self, text: str) -> str:
        """Returns a text with our home folder in place of the virtual machine's."""
        return text.replace(self.home[0], self.home[1])

    def to_v0(self, text: str) -> str:
        """Returns a text with the virtual machine's home folder in place of ours."""
        return text.replace(self.home[1], self.home[0])

    def by_reference(self, reference: str) -> V0Template | None:
        """Returns the template that a task document names so, or None."""
        return next((found for found in self.templates.values() if found.reference == reference), None)


@cache
def read_table() -> Table:
    """Returns the table; the file is read once."""
    raw = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return Table(
        templates={entry["id"]: _template(entry) for entry in raw["templates"]},
        home=(raw["home"]["v0"], raw["home"]["ours"]),
        types=raw["types"],
        given=tuple(raw["given"]["files"]),
        places=tuple(raw["names"]["places"]),
        countries=tuple(raw["names"]["countries"]),
    )


def _template(entry: Mapping[str, Any]) -> V0Template:
    ours = entry.get("ours")
    return V0Template(
        id=entry["id"],
        name=entry["name"],
        kind=entry["kind"],
        attributes={name: tuple(types) for name, types in entry["attributes"].items()},
        output=entry["output"],
        named=tuple(tuple(words) for words in entry["named"]),
        unchecked=tuple(entry.get("unchecked", ())),
        live=entry.get("live", False),
        root=entry.get("root", False),
        defects=tuple(Defect(**defect) for defect in entry.get("defects", ())),
        ours=Counterpart(ours["template"], ours["parameters"]) if ours else None,
        near=entry.get("near", ""),
    )
