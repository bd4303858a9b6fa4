"""How figures and endings are put into words, the same in the terminal and in the browser."""

from __future__ import annotations

from crab.record.schema import Reason, Result

NONE = "–"
"""Stands for a figure that does not exist."""

REASON_WORDS = {
    Reason.SUCCESS: "success",
    Reason.AGENT_COMPLETE: "false completion",
    Reason.DECLARED_INFEASIBLE: "declared infeasible",
    Reason.STEP_LIMIT: "step limit",
    Reason.TIME_LIMIT: "time limit",
    Reason.TOKEN_LIMIT: "token limit",
    Reason.COST_LIMIT: "cost limit",
    Reason.INVALID_ACTION: "invalid calls",
    Reason.AGENT_ERROR: "agent error",
    Reason.ENVIRONMENT_ERROR: "environment error",
    Reason.EVALUATOR_ERROR: "evaluator error",
    Reason.INTERRUPTED: "interrupted",
}
"""Why an episode ended, for people. An agent that ends with everything done has succeeded, so the other is false."""

_THOUSAND = 1000
_MINUTE = 60
_HOUR = 60


def outcome(result: Result) -> str:
    """Returns how a trial ended, in a few words; an invalid one says so first."""
    words = REASON_WORDS[result.reason]
    return words if result.valid else f"invalid: {words}"


def percent(ratio: float | None) -> str:
    """Returns a ratio in [0, 1] as whole percent; 100 % only when it is whole, 0 % only when it is nothing."""
    if ratio is None:
        return NONE
    rounded = round(100 * ratio)
    if rounded in (0, 100) and ratio not in (0.0, 1.0):
        return "<1%" if rounded == 0 else ">99%"
    return f"{rounded}%"


def decimal(value: float | None) -> str:
    """Returns a small figure with three significant digits."""
    if value is None:
        return NONE
    return "0" if value == 0 else f"{value:.3g}"


def per_thousand(value: float | None) -> str:
    """Returns a figure per thousand of its unit (tokens) with three significant digits."""
    return decimal(None if value is None else value * _THOUSAND)


def count(number: float) -> str:
    """Returns a count in at most five characters: 950, 1.2k, 34k, 5.6M."""
    for factor, sign in ((_THOUSAND**3, "G"), (_THOUSAND**2, "M"), (_THOUSAND, "k")):
        if number >= factor:
            scaled = number / factor
            return f"{scaled:.0f}{sign}" if scaled >= 10 else f"{scaled:.1f}{sign}"
    return f"{number:.0f}"


def money(dollars: float | None) -> str:
    """Returns US dollars, with four decimals below ten cents."""
    if dollars is None:
        return NONE
    if dollars == 0:
        return "$0"
    return f"${dollars:.4f}" if dollars < 0.1 else f"${dollars:,.2f}"


def duration(seconds: float) -> str:
    """Returns a time span: 3.2s, 61s as 1m 01s, or 2h 05m."""
    if seconds < _MINUTE:
        return f"{seconds:.1f}s" if seconds < 10 else f"{seconds:.0f}s"
    minutes, rest = divmod(round(seconds), _MINUTE)
    if minutes < _HOUR:
        return f"{minutes}m {rest:02d}s"
    hours, minutes = divmod(minutes, _HOUR)
    return f"{hours}h {minutes:02d}m"
