"""Runs the fenced blocks of a Markdown page, in order, in a folder of the page's own.

What a block is follows from its first line:

- a language and ``title="name"``: a file of that name is written;
- ``python``: the code is run; what it prints stands in a ``text`` block right below;
- ``text`` after that: compared with what was printed;
- ``console``: each line that begins with ``$`` is a command, and what follows is its output. ``status=1`` after
  ``console`` says that the last command ends with that status. ``$ make`` is looked up, not run: these tests run in it.

In an output, ``...`` stands for anything, and blanks at line ends do not count.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from sybil import Document, Example, Region
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer

from tests.architecture.tree import ROOT

SECONDS = 120
"""Until a command is given up; not a measurement."""

PROGRAMS = Path(sys.executable).parent
"""Where ``crab`` and ``python`` are, as after activating the environment."""

LEXER = RawFencedCodeBlockLexer(re.compile(r"(?P<info>[^\n]*)\n"))
TITLE = re.compile(r'title="([^"]+)"')
STATUS = re.compile(r"status=(\d+)")


class PageRunner:
    """Runs one page; use `run_page`.

    Args:
        folder: Where files are written and commands run.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._printed = ""
        self._python = PythonEvaluator()

    def parse(self, document: Document) -> Iterable[Region]:
        """Yields every fenced block of a page, so that none is left out."""
        for region in LEXER(document):
            region.parsed = region.lexemes["source"]
            region.evaluator = self.evaluate
            yield region

    def evaluate(self, example: Example) -> str | None:
        """Runs one block; returns what is wrong with it, if anything is."""
        info, source = example.region.lexemes["info"], str(example.parsed)
        language = info.split()[0] if info.split() else ""
        title = TITLE.search(info)
        if language == "text" and not title:
            printed, self._printed = self._printed, ""
            return difference(source, printed)
        if self._printed:
            return f"the block above printed something that the page does not show:\n{self._printed}"
        if title:
            path = self._folder / title[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source, encoding="utf-8")
            return None
        if language == "python":
            self._run_python(example)
            return None
        if language == "console":
            status = STATUS.search(info)
            return run_console(source, self._folder, int(status[1]) if status else 0)
        return f"a block of {language or 'nothing'!r} that is not run: give it a title, or make it console or python"

    def finish(self) -> None:
        """Checks that nothing was printed unseen by the last block."""
        assert not self._printed, f"the last block printed something that the page does not show:\n{self._printed}"

    def _run_python(self, example: Example) -> None:
        printed = io.StringIO()
        with contextlib.chdir(self._folder), contextlib.redirect_stdout(printed):
            self._python(example)
        self._printed = printed.getvalue()


def run_page(path: Path, folder: Path) -> int:
    """Runs all blocks of a page in a folder, and returns how many there are."""
    runner = PageRunner(folder)
    examples = list(Document.parse(str(path), runner.parse))
    for example in examples:
        example.evaluate()
    runner.finish()
    return len(examples)


def run_console(source: str, folder: Path, last_status: int) -> str | None:
    """Runs the commands of a console block, and returns the first thing that is not as shown."""
    commands = re.split(r"^\$ ", source, flags=re.MULTILINE)
    if commands[0].strip():
        return f"output before the first command: {commands[0]!r}"
    for number, text in enumerate(commands[1:], start=1):
        line, _, wanted = text.partition("\n")
        words = shlex.split(line, comments=True)
        if words[0] == "make":
            look_up_target(words[1])
            continue
        done = subprocess.run(
            words,
            cwd=folder,
            env=terminal(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        expected = last_status if number == len(commands) - 1 else 0
        if done.returncode != expected:
            return f"$ {line}\nended with status {done.returncode}, not {expected}:\n{done.stdout}"
        problem = difference(wanted, done.stdout)
        if problem:
            return f"$ {line}\n{problem}"
    return None


def terminal() -> dict[str, str]:
    """Returns the variables of a terminal of 80 columns in which the environment is active."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "CRAB"))}
    return {
        **kept,
        "PATH": f"{PROGRAMS}{os.pathsep}{kept.get('PATH', '')}",
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "PYTHONUTF8": "1",
    }


def look_up_target(target: str) -> None:
    """Checks that the Makefile has a target."""
    subprocess.run(["make", "--dry-run", target], cwd=ROOT, stdout=subprocess.DEVNULL, check=True, timeout=SECONDS)


def difference(wanted: str, got: str) -> str | None:
    """Returns None when an output is as shown, else both of them."""
    wanted, got = plain(wanted), plain(got)
    if doctest.OutputChecker().check_output(wanted, got, doctest.ELLIPSIS):
        return None
    return f"--- shown\n{wanted}--- real\n{got}"


def plain(output: str) -> str:
    """Returns an output without blanks at line ends and without empty lines at its ends."""
    return "\n".join(line.rstrip() for line in output.strip("\n").splitlines()).strip("\n") + "\n"
