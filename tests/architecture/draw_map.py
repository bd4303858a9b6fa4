"""Draws the map in docs/architecture.md from the tree and the first sentence of each module's docstring.

``python -m tests.architecture.draw_map`` writes it anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.tree import PACKAGES, ROOT

ARCHITECTURE = ROOT / "docs" / "architecture.md"

FOLDERS = {
    "crab": "the framework",
    "environments": "devices: actions, probes, preparations and providers",
    "subtasks": "templates with oracle and near misses, one file per application role",
    "agents": "agents that come with CRAB",
    "composed_tasks": "task documents and their schema: data only",
    "benchmark": "suites, configurations and published baselines: data only",
    "tests": "mirrors the tree; architecture, packaging, docs and benchmarks beside it",
    "docs": "pages for people; decisions/ says why things are as they are",
}
"""What the folders of the top level are for."""

OPENING, CLOSING = "## The map", "```"
COLUMN = 30


def draw_map() -> str:
    """The map: one line for each package and module, its name indented by depth, then what it is for."""
    lines: list[tuple[int, str, str]] = []
    for name, text in FOLDERS.items():
        lines.append((0, f"{name}/", text))
        if name in PACKAGES:
            lines += inside(ROOT / name, 1)
    return "\n".join(f"{'  ' * depth + name:<{COLUMN}}  {text}" for depth, name, text in lines)


def inside(folder: Path, depth: int) -> Iterator[tuple[int, str, str]]:
    """Depth, name and purpose of everything in a package: its modules, then the packages in it."""
    for module in sorted(folder.glob("*.py")):
        if module.name != "__init__.py":
            yield depth, module.name, first_sentence(module)
    for package in sorted(path.parent for path in folder.glob("*/__init__.py")):
        yield depth, f"{package.name}/", first_sentence(package / "__init__.py")
        yield from inside(package, depth + 1)


def first_sentence(module: Path) -> str:
    """What a module's docstring says first, without the full stop."""
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or "no docstring"
    paragraph = " ".join(docstring.partition("\n\n")[0].split())
    return paragraph.partition(". ")[0].removesuffix(".")


def split_page(page: str) -> tuple[str, str, str]:
    """The page before the map, the map, and the page after it."""
    start = page.index("\n", page.index(CLOSING, page.index(OPENING))) + 1
    end = page.index(CLOSING, start)
    return page[:start], page[start:end].rstrip("\n"), page[end:]


if __name__ == "__main__":
    before, _, after = split_page(ARCHITECTURE.read_text(encoding="utf-8"))
    ARCHITECTURE.write_text(f"{before}{draw_map()}\n{after}", encoding="utf-8")
