"""The benchmark table tells a budget that is met from one that is missed, and fails only on a clear miss."""

from __future__ import annotations

import pytest

from crab.errors import ProviderUnavailable
from tests.benchmarks.__main__ import BUDGETS, run
from tests.benchmarks.budget import Budget


def unavailable() -> float:
    raise ProviderUnavailable("no display here")


@pytest.mark.parametrize(
    ("figure", "verdict", "met"),
    [(80.0, "PASS", True), (100.0, "PASS", True), (120.0, "MISS", True), (130.0, "MISS", False)],
)
def test_miss_fails_only_beyond_the_tolerance(
    figure: float, verdict: str, met: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([Budget("a walk", 100.0, "ms CPU", lambda: figure)]) is met

    line = capsys.readouterr().out.splitlines()[-1]
    assert line.split() == ["a", "walk", "100", "ms", "CPU", f"{figure:g}", "ms", "CPU", verdict]


def test_later_success_does_not_hide_an_earlier_miss() -> None:
    assert not run([Budget("a climb", 1.0, "s", lambda: 2.0), Budget("a walk", 1.0, "s", lambda: 0.5)])


def test_what_cannot_be_measured_here_is_skipped_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([Budget("a dive", 1.0, "s", unavailable)])

    assert capsys.readouterr().out.splitlines()[-1].endswith("SKIP: no display here")


def test_every_budget_has_a_name_of_its_own() -> None:
    names = [budget.name for budget in BUDGETS]

    assert len(set(names)) == len(names)
