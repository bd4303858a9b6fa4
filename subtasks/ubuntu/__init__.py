"""Subtask templates for the Linux desktop: one file for each application role."""

from __future__ import annotations

from crab.task import Subtask
from subtasks.ubuntu import answer, desktop, file_manager, terminal, text_editor

SUBTASKS: tuple[Subtask, ...] = (
    *answer.SUBTASKS,
    *terminal.SUBTASKS,
    *text_editor.SUBTASKS,
    *file_manager.SUBTASKS,
    *desktop.SUBTASKS,
)
"""All of them, as ``[tool.crab.subtasks]`` names them."""
