"""The error tree: what its picture shows is what there is, and it says whose trouble an error is."""

from __future__ import annotations

import inspect
import re

import pytest

from crab import errors
from crab.errors import (
    ActionFailed,
    AgentFault,
    ContentError,
    CrabError,
    EnvironmentFailure,
    InfrastructureError,
    InvalidArguments,
    InvalidCall,
    MalformedCall,
    UnknownAction,
    UsageError,
    WrongEnvironment,
)


def classes() -> dict[str, type[Exception]]:
    return {
        name: value
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, Exception) and value.__module__ == errors.__name__
    }


def drawn() -> dict[str, str]:
    """Parent of every error by name, read from the picture in the module's docstring."""
    parents: dict[str, str] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"^    ((?:[│ ]   )*)(├── |└── )?([A-Z]\w+)", line)
        if found:
            depth = len(found[1]) // 4 + bool(found[2])
            path[depth:] = [found[3]]
            if depth:
                parents[found[3]] = path[depth - 1]
    return parents


def test_the_picture_shows_exactly_the_tree() -> None:
    real = {name: value.__bases__[0].__name__ for name, value in classes().items() if value is not CrabError}
    assert drawn() == real


def test_every_error_says_when_it_is_raised() -> None:
    for name, value in classes().items():
        if value is not CrabError:
            assert value.__doc__, name
            assert value.__doc__.startswith("Raised when"), name


def test_whose_trouble_it_is_can_be_told_by_class() -> None:
    """A person's, an author's, the agent's or the machine's: no error is two of them."""
    families = (UsageError, ContentError, AgentFault, InfrastructureError)
    for value in classes().values():
        if value not in (CrabError,):
            assert sum(issubclass(value, family) for family in families) == 1


def test_every_invalid_call_has_its_own_reason() -> None:
    kinds = (InvalidCall, UnknownAction, WrongEnvironment, InvalidArguments, MalformedCall)
    assert len({kind.reason for kind in kinds}) == len(kinds)
    assert not issubclass(ActionFailed, InvalidCall)


def test_infrastructure_errors_carry_what_to_do() -> None:
    error = EnvironmentFailure("the desktop died", fix="run crab doctor")
    assert (error.message, error.fix) == ("the desktop died", "run crab doctor")
    assert str(error) == "the desktop died — run crab doctor"
    assert str(EnvironmentFailure("the desktop died")) == "the desktop died"


def test_one_except_catches_everything_raised_on_purpose() -> None:
    for value in classes().values():
        with pytest.raises(CrabError):
            raise value("broken")
