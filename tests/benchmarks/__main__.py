"""Measures every budget, prints the table, and fails when a figure misses its budget by more than 25 %."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from crab.errors import ProviderUnavailable
from tests.benchmarks import composing, desktop, framework, reports, trials, wire
from tests.benchmarks.budget import TOLERANCE, Budget

MODULES = (framework, composing, trials, wire, desktop, reports)
BUDGETS = tuple(budget for module in MODULES for budget in module.BUDGETS)


def run(budgets: Iterable[Budget]) -> bool:
    """Measure ``budgets`` one after the other and print a line for each; whether all are met within the tolerance."""
    met = True
    print(f"{'what':<52} {'budget':>14} {'figure':>14}  verdict")
    for budget in budgets:
        try:
            figure = budget.measure()
        except ProviderUnavailable as error:
            print(f"{budget.name:<52} {in_unit(budget.limit, budget):>14} {'-':>14}  SKIP: {error}")
            continue
        verdict = "PASS" if figure <= budget.limit else "MISS"
        met = met and figure <= TOLERANCE * budget.limit
        print(
            f"{budget.name:<52} {in_unit(budget.limit, budget):>14} {in_unit(figure, budget):>14}  {verdict}",
            flush=True,
        )
    return met


def in_unit(value: float, budget: Budget) -> str:
    """``value`` with three significant digits and the budget's unit."""
    return f"{value:.3g} {budget.unit}"


if __name__ == "__main__":
    chosen = [budget for budget in BUDGETS if all(word in budget.name for word in sys.argv[1:])]
    sys.exit(0 if run(chosen) else 1)
