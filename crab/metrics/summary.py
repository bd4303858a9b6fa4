"""Per agent: how much was reached, at what price, and why episodes ended.

The unit is the task: seeds of one task are averaged first, so that a task tried more often weighs no more. Every ratio
comes twice, with invalid trials left out and with invalid trials counted as 0, because either alone can flatter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from crab.record.schema import Reason, Result


@dataclass(frozen=True)
class Rates:
    """Mean ratios over tasks; each is None when there is nothing to average.

    Attributes:
        tasks: Number of tasks averaged over.
        trials: Number of trials in them.
        success_rate: SR, the share of trials with every checkpoint passed, in [0, 1].
        completion_ratio: CR = C / N, in [0, 1].
        execution_efficiency: EE = CR / A, per executed action.
        cost_efficiency: CE = CR / T, per token.
    """

    tasks: int
    trials: int
    success_rate: float | None
    completion_ratio: float | None
    execution_efficiency: float | None
    cost_efficiency: float | None


@dataclass(frozen=True)
class AgentSummary:
    """What one agent achieved, and what it took.

    Attributes:
        agent: Its id.
        trials: Number of trials, invalid ones included.
        invalid: How many of them were invalid.
        without_invalid: Rates over the valid trials only; a task without any is left out.
        invalid_as_zero: Rates over all trials, where an invalid one reached nothing.
        pooled_execution_efficiency: Sum of CR over sum of actions of the valid trials; None without an action.
        pooled_cost_efficiency: Sum of CR over sum of tokens of the valid trials; None without a token.
        reasons: Why its episodes ended, with counts; the most frequent first, then in the order of `Reason`.
        actions: Executed actions, in total; like all that follows, of all trials.
        turns: Decisions, in total.
        invalid_calls: Refused calls, in total.
        tokens: Input and output tokens, in total.
        model_calls: Requests to models, in total.
        cost: US dollars in total, or None when that of any trial is unknown.
        seconds: Wall time of the trials, added up.
    """

    agent: str
    trials: int
    invalid: int
    without_invalid: Rates
    invalid_as_zero: Rates
    pooled_execution_efficiency: float | None
    pooled_cost_efficiency: float | None
    reasons: tuple[tuple[Reason, int], ...]
    actions: int
    turns: int
    invalid_calls: int
    tokens: int
    model_calls: int
    cost: float | None
    seconds: float

    @property
    def valid(self) -> int:
        """Number of valid trials."""
        return self.trials - self.invalid


Value = Callable[[Result], float | None]
"""Reads one figure from a result."""


def summarise(results: Iterable[Result]) -> tuple[AgentSummary, ...]:
    """Returns a summary of each agent, sorted by agent.

    Args:
        results: One result for each trial, in any order; the order does not matter.
    """
    by_agent: dict[str, list[Result]] = {}
    for result in results:
        by_agent.setdefault(result.agent, []).append(result)
    return tuple(_summary(agent, by_agent[agent]) for agent in sorted(by_agent))


def rates(results: Sequence[Result], *, invalid_as_zero: bool = False) -> Rates:
    """Averages the results of one agent: over the seeds of each task, then over tasks.

    A quotient without denominator (no action, no token) counts as 0 when nothing was reached, so that giving up early
    does not raise a mean; otherwise it is left out. It is None throughout when no trial has a denominator.

    Args:
        results: Results of one agent.
        invalid_as_zero: Whether invalid trials count as having reached nothing; otherwise they are left out.
    """
    counted = [result for result in results if result.valid or invalid_as_zero]
    return Rates(
        tasks=len({result.task for result in counted}),
        trials=len(counted),
        success_rate=task_mean(counted, lambda result: float(result.valid and result.success)),
        completion_ratio=task_mean(counted, lambda result: result.completion_ratio if result.valid else 0.0),
        execution_efficiency=_mean_quotient(counted, lambda result: result.execution_efficiency),
        cost_efficiency=_mean_quotient(counted, lambda result: result.cost_efficiency),
    )


def task_mean(results: Iterable[Result], value: Value) -> float | None:
    """Returns the mean over tasks of the mean over seeds, or None when no result has a value.

    Args:
        results: Results of one agent.
        value: Reads the figure; results for which it is None are left out.
    """
    by_task: dict[str, list[float]] = {}
    for result in results:
        figure = value(result)
        if figure is not None:
            by_task.setdefault(result.task, []).append(figure)
    # Sorted, because floating-point sums depend on their order.
    means = [fmean(sorted(figures)) for _, figures in sorted(by_task.items())]
    return fmean(means) if means else None


def _mean_quotient(results: Sequence[Result], value: Value) -> float | None:
    if all(value(result) is None for result in results):
        return None

    def figure(result: Result) -> float | None:
        if not result.valid or result.completion_ratio == 0:
            return 0.0
        return value(result)

    return task_mean(results, figure)


def _summary(agent: str, results: list[Result]) -> AgentSummary:
    valid = [result for result in results if result.valid]
    reached = sum(sorted(result.completion_ratio for result in valid))
    actions, tokens = sum(result.actions for result in valid), sum(result.tokens for result in valid)
    costs = [result.cost for result in results]
    known = sorted(cost for cost in costs if cost is not None)
    return AgentSummary(
        agent=agent,
        trials=len(results),
        invalid=len(results) - len(valid),
        without_invalid=rates(results),
        invalid_as_zero=rates(results, invalid_as_zero=True),
        pooled_execution_efficiency=reached / actions if actions else None,
        pooled_cost_efficiency=reached / tokens if tokens else None,
        reasons=reason_counts(results),
        actions=sum(result.actions for result in results),
        turns=sum(result.turns for result in results),
        invalid_calls=sum(result.invalid_calls for result in results),
        tokens=sum(result.tokens for result in results),
        model_calls=sum(result.model_calls for result in results),
        cost=sum(known) if len(known) == len(costs) else None,
        seconds=sum(sorted(result.seconds for result in results)),
    )


def reason_counts(results: Iterable[Result]) -> tuple[tuple[Reason, int], ...]:
    """Counts why episodes ended: the most frequent reason first, equal ones in the order of `Reason`."""
    counts = Counter(result.reason for result in results)
    rank = {reason: index for index, reason in enumerate(Reason)}
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], rank[item[0]])))
