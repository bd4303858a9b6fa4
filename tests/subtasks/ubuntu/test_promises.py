"""What is promised of the desktop's templates as a whole, counted without a device."""

from __future__ import annotations

from subtasks.ubuntu import SUBTASKS


def test_every_template_has_at_least_two_near_misses_with_names_of_their_own() -> None:
    """One mistake that is refused could be chance."""
    for subtask in SUBTASKS:
        names = [miss.name for miss in subtask.near_misses]
        assert len(set(names)) == len(names) >= 2, subtask.reference


def test_near_misses_name_checkpoints_that_exist() -> None:
    """A misspelt one would prove nothing."""
    for subtask in SUBTASKS:
        graph = subtask.checkpoints(subtask.draw(0))
        assert {miss.checkpoint for miss in subtask.near_misses} <= set(graph.order), subtask.reference


def test_at_least_half_of_the_oracles_open_no_terminal() -> None:
    """Tasks are about the desktop, not about what a shell can do in its stead."""
    without = [
        subtask for subtask in SUBTASKS if all("terminal" not in needs.roles for needs in subtask.needs.values())
    ]
    assert 2 * len(without) >= len(SUBTASKS)
