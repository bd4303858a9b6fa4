"""The door of the package: what ``crab`` exports is what it says it exports."""

from __future__ import annotations

import inspect
from types import ModuleType

import crab


def test_all_matches_reality() -> None:
    """Every public name of ``crab`` is listed, and every listed name is there."""
    public = {name for name, value in vars(crab).items() if name[0] != "_" and not isinstance(value, ModuleType)}

    assert public == set(crab.__all__) - {"__version__"}
    assert len(crab.__all__) == len(set(crab.__all__))


def test_exports_are_documented_and_our_own() -> None:
    """Each exported class and function comes from a module of ``crab`` and says what it promises."""
    exports = [getattr(crab, name) for name in crab.__all__]
    objects = [value for value in exports if inspect.isclass(value) or inspect.isfunction(value)]

    assert [value.__name__ for value in objects if not value.__module__.startswith("crab.")] == []
    assert [value.__name__ for value in objects if not inspect.getdoc(value)] == []
