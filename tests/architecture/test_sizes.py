"""Modules, functions and names keep the measure of the house; the exceptions are few, reasoned and only shrink."""

from __future__ import annotations

import ast

from tests.architecture.tree import PACKAGES, Source, sources

MODULE_LINES = 400
FUNCTION_LINES = 50

LONG_MODULES: dict[str, str] = {}
"""Modules that may be longer, each with its reason."""

LONG_FUNCTIONS: dict[str, str] = {}
"""Functions that may be longer, as ``module:name``, each with its reason."""

EMPTY_WORDS = {"common", "core", "helper", "helpers", "lib", "misc", "shared", "stuff", "util", "utils"}


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many lines a function's body takes, its docstring left out."""
    body = function.body
    if ast.get_docstring(function) is not None:
        body = body[1:]
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def long_functions(source: Source) -> dict[str, int]:
    """The functions of ``source`` over the measure, with their lines."""
    functions = (n for n in ast.walk(source.syntax) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return {f"{source.module}:{f.name}": lines_of(f) for f in functions if lines_of(f) > FUNCTION_LINES}


def test_modules_keep_the_measure() -> None:
    """A module is short enough to be read at one sitting."""
    long = {source.module: source.text.count("\n") for source in sources(*PACKAGES, "tests")}
    over = {module: lines for module, lines in long.items() if lines > MODULE_LINES}

    assert over.keys() == LONG_MODULES.keys(), f"over {MODULE_LINES} lines: {over}; excused: {sorted(LONG_MODULES)}"


def test_functions_keep_the_measure() -> None:
    """A function is short enough to be seen at one glance."""
    over = {name: lines for source in sources(*PACKAGES, "tests") for name, lines in long_functions(source).items()}

    assert over.keys() == LONG_FUNCTIONS.keys(), (
        f"over {FUNCTION_LINES} lines: {over}; excused: {sorted(LONG_FUNCTIONS)}"
    )


def test_every_module_says_what_it_is() -> None:
    """Every module has a docstring, and a name that says something."""
    everywhere = sources(*PACKAGES, "tests")

    assert not [str(source.path) for source in everywhere if not ast.get_docstring(source.syntax)]
    assert not [str(source.path) for source in everywhere if EMPTY_WORDS & set(source.module.split("."))]
