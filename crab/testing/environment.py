"""Conformance suite of environments: every implementation and provider keeps these rules.

Call `check_environment` anywhere, or inherit `EnvironmentConformance` in a pytest module::

    class TestMyDesktop(EnvironmentConformance):
        samples = EnvironmentSamples(action=Example("click", {"x": 10, "y": 20}), probes=(Example("windows"),))

        def make_environment(self) -> Environment:
            return MY_DESKTOP.provider().start({})
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar, Protocol

from crab.environment import Environment, Finding
from crab.testing.bench import Bench, EnvironmentSamples, Example
from crab.testing.environment_rules import RULES
from crab.testing.rules import LeftOut

__all__ = ["RULES", "EnvironmentConformance", "EnvironmentSamples", "Example", "check_environment"]


def check_environment(make: Callable[[], Environment], samples: EnvironmentSamples) -> tuple[Finding, ...]:
    """Tries all rules of the environment contract.

    Args:
        make: Starts a new environment; called several times.
        samples: What is tried on it.

    Returns:
        One finding for each rule, in a fixed order.
    """
    bench = Bench(make, samples)
    try:
        return tuple(bench.check(rule) for rule in RULES)
    finally:
        bench.close()


class Metafunc(Protocol):
    """The part of pytest's object that `EnvironmentConformance` uses; crab itself does not need pytest."""

    fixturenames: list[str]

    def parametrize(self, argnames: str, argvalues: Iterable[object]) -> None:
        """Runs the test once for each value."""


class EnvironmentConformance:
    """A pytest class with one test for each rule: inherit it, set `samples`, override `make_environment`."""

    samples: ClassVar[EnvironmentSamples]
    _bench: ClassVar[Bench | None] = None

    def make_environment(self) -> Environment:
        """Starts a new environment; called several times.

        Raises:
            NotImplementedError: It is not overridden.
        """
        raise NotImplementedError(f"{type(self).__name__} must override make_environment")

    @classmethod
    def teardown_class(cls) -> None:
        """Closes what the tests shared."""
        if cls._bench is not None:
            cls._bench.close()
            cls._bench = None

    def pytest_generate_tests(self, metafunc: Metafunc) -> None:
        """Makes one test of each rule."""
        if "rule" in metafunc.fixturenames:
            metafunc.parametrize("rule", [rule.__name__ for rule in RULES])

    def test_keeps(self, rule: str) -> None:
        """The environment keeps the rule; see ``crab.testing.environment_rules``."""
        cls = type(self)
        if cls._bench is None:
            cls._bench = Bench(self.make_environment, self.samples)
        function = next(function for function in RULES if function.__name__ == rule)
        finding = cls._bench.check(function)
        if finding.detail.startswith("left out"):
            raise LeftOut(finding.detail)
        assert finding.ok, f"{finding.detail}\npromised: {finding.fix}"
