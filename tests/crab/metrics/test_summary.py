"""What the figures over results promise."""

from __future__ import annotations

import random
from typing import Any

import pytest

from crab.metrics.summary import rates, summarise, task_mean
from crab.record.schema import CheckpointResult, Reason, Result


def result(
    task: str = "note", seed: int = 0, passed: int = 4, *, agent: str = "a", valid: bool = True, **changes: Any
) -> Result:
    """A result of a task with four checkpoints."""
    actions, tokens = changes.pop("actions", 10), changes.pop("tokens", 1000)
    ratio = passed / 4
    fields: dict[str, Any] = {
        "family": task,
        "attempt": 1,
        "reason": Reason.SUCCESS if passed == 4 else Reason.STEP_LIMIT,
        "turns": actions,
        "invalid_calls": 0,
        "cost": 0.01,
        "model_calls": actions,
        "seconds": 5.0,
        "tracks": (),
    }
    return Result(
        agent=agent,
        task=task,
        seed=seed,
        valid=valid,
        success=valid and passed == 4,
        completion_ratio=ratio,
        execution_efficiency=ratio / actions if actions else None,
        cost_efficiency=ratio / tokens if tokens else None,
        actions=actions,
        tokens=tokens,
        checkpoints=tuple(CheckpointResult(id=f"c{index}", passed=index < passed) for index in range(4)),
        **{**fields, **changes},
    )


def test_seeds_of_a_task_are_averaged_before_tasks() -> None:
    """A task tried three times weighs as much as one tried once: 1 and 0, not 3 and 1."""
    trials = [result("easy", seed) for seed in range(3)] + [result("hard", 0, 0)]

    figures = rates(trials)

    assert figures.success_rate == 0.5
    assert figures.completion_ratio == 0.5
    assert (figures.tasks, figures.trials) == (2, 4)


def test_invalid_trials_are_left_out_of_one_denominator_and_zero_in_the_other() -> None:
    """Neither hides the other: an agent with a broken environment has both figures shown."""
    trials = [result("note", 0), result("note", 1, valid=False, reason=Reason.ENVIRONMENT_ERROR)]

    (summary,) = summarise(trials)

    assert summary.without_invalid.success_rate == 1.0
    assert summary.without_invalid.execution_efficiency == pytest.approx(0.1)
    assert summary.invalid_as_zero.success_rate == 0.5
    assert summary.invalid_as_zero.completion_ratio == 0.5
    assert summary.invalid_as_zero.execution_efficiency == pytest.approx(0.05)
    assert (summary.trials, summary.valid, summary.invalid) == (2, 1, 1)


def test_a_task_with_only_invalid_trials_is_no_task_of_the_first_denominator() -> None:
    """It says nothing about the agent, so it neither helps nor harms."""
    figures = rates([result("note"), result("mail", valid=False)])

    assert figures.tasks == 1
    assert figures.completion_ratio == 1.0


def test_all_invalid_has_no_rate_rather_than_zero() -> None:
    """Nothing was measured, so nothing is said; counted as 0 it is 0."""
    (summary,) = summarise([result(valid=False)])

    assert summary.without_invalid.success_rate is None
    assert summary.without_invalid.completion_ratio is None
    assert summary.invalid_as_zero.success_rate == 0.0
    assert summary.pooled_cost_efficiency is None


def test_no_results_have_no_summary() -> None:
    """An empty run is no error."""
    assert summarise([]) == ()
    assert rates([]).completion_ratio is None


def test_failed_tasks_count_as_zero_efficiency() -> None:
    """Dropping them would reward failing on dear tasks."""
    figures = rates([result("note", passed=4), result("mail", passed=0)])

    assert figures.execution_efficiency == pytest.approx(0.05)
    assert figures.cost_efficiency == pytest.approx(0.0005)


def test_giving_up_without_an_action_does_not_raise_the_mean() -> None:
    """No action and nothing reached is 0 in the mean, although the trial's own quotient is undefined."""
    figures = rates([result("note"), result("mail", passed=0, actions=0, tokens=0)])

    assert figures.execution_efficiency == pytest.approx(0.05)
    assert figures.cost_efficiency == pytest.approx(0.0005)


def test_an_agent_without_tokens_has_no_cost_efficiency() -> None:
    """A scripted agent is not infinitely efficient, nor 0."""
    (summary,) = summarise([result(tokens=0), result("mail", passed=0, tokens=0)])

    assert summary.without_invalid.cost_efficiency is None
    assert summary.pooled_cost_efficiency is None


def test_pooled_efficiency_is_the_ratio_of_sums() -> None:
    """One long failure weighs by its length here, unlike in the mean of ratios."""
    (summary,) = summarise([result("note", passed=4, actions=10), result("mail", passed=2, actions=90)])

    assert summary.pooled_execution_efficiency == pytest.approx(1.5 / 100)


def test_partial_completion_of_the_last_checkpoint_is_no_success() -> None:
    """SR counts whole tasks, CR counts checkpoints."""
    figures = rates([result(passed=3)])

    assert figures.success_rate == 0.0
    assert figures.completion_ratio == 0.75


def test_totals_are_of_all_trials_and_unknown_cost_stays_unknown() -> None:
    """What an invalid trial cost was spent all the same; a total with an unknown part would be too low."""
    known, unknown = summarise(
        [
            result(agent="known", cost=0.25),
            result("mail", agent="known", cost=0.5, valid=False, invalid_calls=3),
            result(agent="unknown", cost=0.25),
            result("mail", agent="unknown", cost=None),
        ]
    )

    assert known.cost == 0.75
    assert (known.actions, known.tokens, known.invalid_calls, known.seconds) == (20, 2000, 3, 10.0)
    assert unknown.cost is None


def test_reasons_are_counted_most_frequent_first() -> None:
    """The table says at a glance how an agent fails."""
    reasons = [Reason.TIME_LIMIT, Reason.SUCCESS, Reason.STEP_LIMIT, Reason.STEP_LIMIT]
    (summary,) = summarise(result(f"t{index}", reason=reason) for index, reason in enumerate(reasons))

    assert summary.reasons == ((Reason.STEP_LIMIT, 2), (Reason.SUCCESS, 1), (Reason.TIME_LIMIT, 1))


def test_order_of_results_does_not_matter() -> None:
    """The same trials give the same bytes, whichever finished first."""
    generator = random.Random(5)
    trials = [
        result(f"t{task}", seed, generator.randrange(5), agent=agent, actions=1 + generator.randrange(30), cost=0.1 / 3)
        for agent in ("b", "a")
        for task in range(7)
        for seed in range(3)
    ]
    expected = summarise(trials)

    for _ in range(5):
        generator.shuffle(trials)
        assert summarise(trials) == expected
    assert [summary.agent for summary in expected] == ["a", "b"]


def test_task_mean_leaves_out_what_has_no_value() -> None:
    """A figure that exists for some trials only is averaged over those."""
    trials = [result("note", 0, cost=1.0), result("note", 1, cost=None), result("mail", cost=3.0)]

    assert task_mean(trials, lambda trial: trial.cost) == 2.0
