"""What a run prints at its end."""

from __future__ import annotations

from typing import Any

import pytest

from crab.record.reader import TrialRecord, trial_directories
from crab.record.schema import Result
from crab.report.tables import DETAILED_TRIALS, agents_table, checkpoint_lines, results_table, trials_table
from tests.crab.metrics.test_summary import result
from tests.crab.report.stories import fabricate


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    """Results of the made-up run."""
    run = fabricate(tmp_path_factory.mktemp("tables") / "run")
    records = [TrialRecord(path) for path in trial_directories(run)]
    return [record.result() for record in records if record.ended]


def printed(renderable: Any, width: int) -> str:
    """What a terminal of that width shows."""
    import io

    from rich.console import Console

    buffer = io.StringIO()
    Console(file=buffer, width=width, color_system=None).print(renderable)
    return buffer.getvalue()


def test_at_100_columns_no_figure_and_no_common_name_is_cut(results: list[Result]) -> None:
    """Every column is there, and lines do not wrap."""
    text = printed(results_table(results), 100)

    assert max(map(len, text.splitlines())) <= 100
    assert all(word in text for word in ("save_meeting_note", "false completion", "by_function", "1m 02s", "$0.0210"))
    assert all(word in text for word in ("SR₀", "CE/1k", "tokens", "time", "5/10", "6/8"))


@pytest.mark.parametrize("width", [80, 60, 40])
def test_narrow_terminals_lose_columns_and_ends_of_names_but_no_figure(results: list[Result], width: int) -> None:
    """At 80 columns everything that is shown is whole; below, lines still fit."""
    text = printed(results_table(results), width)

    assert max(map(len, text.splitlines())) <= width
    if width == 80:
        row = next(line for line in text.splitlines() if line.split()[:2] == ["single", "save_meeting_note"])
        assert row.split() == ["single", "save_meeting_note", "1", "100%", "4/4", "5", "success"]
        assert any(line.split()[:4] == ["single", "6/8", "33%", "63%"] for line in text.splitlines())


def test_large_figures_are_whole_at_80_columns() -> None:
    """A run of thousands of trials with millions of tokens does not burst the table."""
    trials = [result(f"t{number}", tokens=12_345_678, actions=999, seconds=40_000.0) for number in range(1200)]
    text = printed(agents_table(trials), 80)

    assert "1200/1200" in text
    assert "…" not in text.replace("1,000", "")


def test_many_trials_are_summed_up_instead_of_listed() -> None:
    """A table of 500 rows helps nobody at the end of a run."""
    trials = [result(f"task_{number}") for number in range(DETAILED_TRIALS + 1)]

    assert "task_1" not in printed(results_table(trials), 100)
    assert "task_1" in printed(results_table(trials[:-1]), 100)


def test_an_invalid_trial_is_marked_as_such(results: list[Result]) -> None:
    """It cannot be taken for the agent's failure."""
    text = printed(trials_table([trial for trial in results if not trial.valid]), 100)

    assert "! environment e" in text
    assert "! invalid" in text


def test_markup_and_control_characters_of_names_mean_nothing() -> None:
    """An agent called [red] is printed as [red], and cannot move the cursor."""
    text = printed(results_table([result(agent="[red]x", task="a\x1b[2Jb")]), 120)

    assert "[red]x" in text
    assert "\x1b" not in text


def test_no_results_is_an_empty_table_not_an_error() -> None:
    """A run of which nothing has ended prints headers."""
    assert "agent" in printed(results_table([]), 80)


def test_checkpoint_lines_say_when_and_how(results: list[Result]) -> None:
    """Passed with its step, implied with its cause, open without."""
    (solved,) = [
        trial for trial in results if (trial.agent, trial.task, trial.seed) == ("single", "save_meeting_note", 1)
    ]
    lines = [line.plain for line in checkpoint_lines(solved)]
    (open_line, *_) = [line.plain for line in checkpoint_lines(result(passed=0))]

    assert lines[:2] == ["◐ editor_in_front  step 3, with text_written", "● text_written  step 3"]
    assert open_line == "○ c0"
