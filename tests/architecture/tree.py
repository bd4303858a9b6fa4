"""The source tree as the architecture tests see it."""

from __future__ import annotations

import ast
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]

PACKAGES = ("crab", "environments", "subtasks", "agents")
"""The top-level folders that hold source code."""


class Source(NamedTuple):
    """One Python file of the repository."""

    path: Path
    """Where it lies, relative to the root."""

    @property
    def module(self) -> str:
        """Its dotted name."""
        parts = self.path.with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def is_package(self) -> bool:
        """Whether it is a package's ``__init__.py``."""
        return self.path.name == "__init__.py"

    @property
    def text(self) -> str:
        """What it says."""
        return (ROOT / self.path).read_text(encoding="utf-8")

    @property
    def syntax(self) -> ast.Module:
        """What it says, parsed."""
        return ast.parse(self.text, filename=str(self.path))


@cache
def sources(*folders: str) -> tuple[Source, ...]:
    """The Python files under the top-level ``folders``, sorted; those of ``PACKAGES`` when none is named."""
    found = (path for folder in folders or PACKAGES for path in (ROOT / folder).rglob("*.py"))
    return tuple(Source(path.relative_to(ROOT)) for path in sorted(found) if "__pycache__" not in path.parts)


@cache
def repository_files() -> tuple[Path, ...]:
    """Every file of the repository that Git does not ignore, relative to the root, sorted.

    Outside a Git work tree (an unpacked source distribution) the files of the known folders stand in.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode == 0 and listed.stdout:
        names = {Path(name) for name in listed.stdout.split("\0") if name}
    else:
        skipped = {".venv", "__pycache__", "dist", "build"}
        names = {path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file() and not skipped & set(path.parts)}
    return tuple(sorted(name for name in names if (ROOT / name).is_file() and not (ROOT / name).is_symlink()))
