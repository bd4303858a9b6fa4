"""Rules of a contract, as conformance suites check them: each a named promise that is kept, broken or left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar
from unittest import SkipTest

from crab.environment import Finding

S = TypeVar("S")

Rule = Callable[[S], None]
"""Checks one promise on a subject: its name is the function's, its promise the first line of the docstring."""


class RuleBroken(AssertionError):
    """Raised by a rule when the promise is not kept; the message says what happened instead."""


class LeftOut(SkipTest):
    """Raised by a rule that cannot be tried here, for example because no sample was given; test runners skip it."""


def require(condition: object, message: str) -> None:
    """Breaks the rule unless the condition holds.

    Raises:
        RuleBroken: It does not.
    """
    if not condition:
        raise RuleBroken(message)


def refuses(what: str, call: Callable[[], Any], *errors: type[Exception]) -> None:
    """Breaks the rule unless the call raises one of these errors.

    Raises:
        RuleBroken: It returned, or raised another error.
    """
    names = " or ".join(error.__name__ for error in errors)
    try:
        call()
    except errors:
        return
    except Exception as error:
        raise RuleBroken(f"{what} raised {type(error).__name__} instead of {names}: {error}") from error
    raise RuleBroken(f"{what} was accepted; it should raise {names}")


def given(sample: S | None, what: str) -> S:
    """Returns a sample.

    Raises:
        LeftOut: There is none.
    """
    if sample is None:
        raise LeftOut(f"no sample of {what} was given")
    return sample


def promise(rule: Rule[Any]) -> str:
    """Returns the promise of a rule in one line."""
    return (rule.__doc__ or rule.__name__).strip().splitlines()[0]


def check(rule: Rule[S], subject: S) -> Finding:
    """Tries one rule; whatever it raises becomes a finding.

    Returns:
        A finding named after the rule, whose detail says what is wrong, or what was promised.
    """
    name = rule.__name__
    try:
        rule(subject)
    except LeftOut as reason:
        return Finding(name, ok=True, detail=f"left out: {reason}")
    except RuleBroken as error:
        return Finding(name, ok=False, detail=str(error), fix=promise(rule))
    except Exception as error:  # noqa: BLE001  what breaks while a rule is tried breaks the rule
        return Finding(name, ok=False, detail=f"{type(error).__name__}: {error}", fix=promise(rule))
    return Finding(name, ok=True, detail=promise(rule))


def failed(findings: Iterable[Finding]) -> list[str]:
    """Returns the names of the findings that are not as promised, in order."""
    return [finding.name for finding in findings if not finding.ok]
