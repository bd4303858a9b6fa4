"""Submitting an answer; no application is needed."""

from __future__ import annotations

from crab.evaluator import submitted
from crab.graph import chain, checkpoint
from crab.task import NearMiss, Parameter, Solution, Subtask, Values, submit
from subtasks.types import TEXT
from subtasks.ubuntu.mutations import look_alike, shortened, swapped_case
from subtasks.ubuntu.pools import line


def _submit(answer: str) -> Solution:
    yield submit(answer)


def _solve(values: Values) -> Solution:
    return _submit(values["text"])


def _submit_nothing(values: Values) -> Solution:
    yield None


SUBMIT_TEXT = Subtask(
    id="submit_text",
    version=1,
    description="Submit exactly this text as your answer, without the quotation marks around it: “{text}”.",
    environments={"desktop": "ubuntu"},
    parameters=(Parameter("text", TEXT, line, "The answer."),),
    checkpoints=lambda values: chain(checkpoint("text_submitted", submitted(values["text"]))),
    solve=_solve,
    near_misses=(
        NearMiss("other_letter_case", "text_submitted", lambda values: _submit(swapped_case(values["text"]))),
        NearMiss("look_alike_letters", "text_submitted", lambda values: _submit(look_alike(values["text"]))),
        NearMiss("last_character_missing", "text_submitted", lambda values: _submit(shortened(values["text"]))),
        NearMiss("words_around_it", "text_submitted", lambda values: _submit(f"The text is: {values['text']}")),
        NearMiss("empty", "text_submitted", lambda values: _submit("")),
        NearMiss("not_submitted", "text_submitted", _submit_nothing),
    ),
    tags=("answer",),
    clause="submit {text} as your answer, letter for letter",
)
"""Submit a text that is given.

One checkpoint: the one submission equals the text after the stated normalisation (white space around the whole and the
Unicode form do not count; letter case and everything else do). With a link, the text is what an earlier subtask found.
"""

SUBTASKS = (SUBMIT_TEXT,)
