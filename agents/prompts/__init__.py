"""Prompts: text files with ``$names`` to fill in. They tell how to use the tools, never how to solve a task."""

from __future__ import annotations

from pathlib import Path
from string import Template

from crab.errors import DefinitionError

FOLDER = Path(__file__).parent


def prompt_file(name: str) -> Path:
    """Returns where a prompt lies."""
    return FOLDER / f"{name}.txt"


def fill(name: str, **values: str) -> str:
    """Returns a prompt with its names filled in; values are taken as they are, ``$`` or not.

    Args:
        name: Name of the file, without its ending.
        **values: One text for each name that the prompt has.

    Raises:
        DefinitionError: A name is left without value, a value without name, or the file has a stray ``$``.
    """
    template = Template(prompt_file(name).read_text(encoding="utf-8"))
    if not template.is_valid():
        raise DefinitionError(f"prompt {name}: a $ in it is neither a name nor $$")
    wanted = set(template.get_identifiers())
    if wanted != set(values):
        raise DefinitionError(f"prompt {name} has the names {sorted(wanted)}, but was given {sorted(values)}")
    return template.substitute(values).strip()
