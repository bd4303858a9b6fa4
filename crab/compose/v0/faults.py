"""Every fault a task file of CRAB v0 can have, with what it means for whoever attempts the task."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Severity(IntEnum):
    """How bad a fault is; the worst comes first."""

    UNREADABLE = 0
    """No task document can be made of the file."""
    BLOCKS = 1
    """Whoever does what the description says does not pass."""
    MISLEADS = 2
    """The description, the data and the check do not say the same."""
    NOTE = 3
    """Worth knowing; the task can be done as it stands."""


CLASSES: dict[str, tuple[Severity, str]] = {
    "not_json": (Severity.UNREADABLE, "the file is no JSON object"),
    "missing_key": (Severity.UNREADABLE, "a key that every file has is missing, or its value has the wrong type"),
    "unknown_subtask": (Severity.UNREADABLE, "no template has that id"),
    "bad_adjacency": (Severity.UNREADABLE, "the adjacency list is not made of numbers of subtasks"),
    "cycle": (Severity.UNREADABLE, "subtasks wait for one another"),
    "missing_attribute": (Severity.UNREADABLE, "the template has an attribute that the file gives no value"),
    "unknown_attribute": (Severity.MISLEADS, "the file gives a value to an attribute that the template does not have"),
    "stray_key": (Severity.NOTE, "a key that no other file has"),
    "bad_id": (Severity.NOTE, "the id is no UUID, or not the file's name"),
    "missing_node": (Severity.MISLEADS, "a subtask is not in the adjacency list, so CRAB v0 leaves it out"),
    "out_of_order": (
        Severity.NOTE,
        "an edge leads to a subtask that is listed earlier; CRAB v0 turns such edges around",
    ),
    "misread_graph": (Severity.NOTE, "CRAB v0 reads the adjacency list without direction and gets other edges here"),
    "wrong_order": (Severity.BLOCKS, "a subtask comes before the one whose output it needs"),
    "unfilled_blank": (Severity.BLOCKS, "the description still has a blank in braces"),
    "value_not_named": (Severity.BLOCKS, "the description does not name a value that the check wants"),
    "other_value": (Severity.BLOCKS, "the description names a value that the file does not have"),
    "spelling": (Severity.BLOCKS, "the description spells a value otherwise than the check"),
    "punctuation": (Severity.BLOCKS, "the description and the check differ in signs or blanks within a value"),
    "mangled_value": (Severity.BLOCKS, "a value was cut or damaged, and has to be found or typed like that"),
    "cut_word": (Severity.MISLEADS, "a value starts in the middle of a word"),
    "letter_case": (Severity.MISLEADS, "the description and the check differ in capital letters"),
    "date_form": (Severity.MISLEADS, "the description writes a date in another form than the check"),
    "partial_path": (Severity.MISLEADS, "the description has only the file's name, the check wants the whole path"),
    "part_of_word": (Severity.NOTE, "a value stands in the description only as part of a longer word"),
    "misspelt_name": (Severity.MISLEADS, "the name of a place or country is misspelt"),
    "name_and_mail": (Severity.MISLEADS, "a name and its mail address are almost, but not, spelt the same"),
    "unclosed_quote": (Severity.MISLEADS, "a quotation mark has no partner"),
    "comma_in_quotes": (Severity.MISLEADS, "a comma or full stop of the sentence stands within the quotation marks"),
    "blank_at_end": (Severity.NOTE, "a text begins or ends with a blank"),
    "empty_output": (Severity.NOTE, "the output is an empty text where other files have null"),
    "stray_output": (Severity.NOTE, "an output is stored although the template leaves none"),
    "application_not_named": (
        Severity.BLOCKS,
        "the description does not name the application, or act, that is checked",
    ),
    "not_checked": (Severity.MISLEADS, "the description asks for something that the check does not look at"),
    "output_not_used": (Severity.MISLEADS, "the output of a subtask is not what feeds the next one"),
    "part_passed": (Severity.NOTE, "the output of a subtask is only a part of what the next one takes"),
    "type_mismatch": (Severity.MISLEADS, "a value is handed on between two types"),
    "nothing_passed": (Severity.NOTE, "a subtask follows another without taking a value from it"),
    "cross_device": (Severity.NOTE, "a value has to be carried from one device to another"),
    "jpeg_as_png": (Severity.MISLEADS, "a picture is saved under the ending of another format"),
    "other_extension": (Severity.MISLEADS, "other files know this picture under another ending"),
    "contradiction": (Severity.MISLEADS, "two files give different outputs for the same subtask and values"),
    "template_blocks": (Severity.BLOCKS, "the template's own check lets nothing pass"),
    "template_defect": (Severity.NOTE, "the template itself has a fault"),
    "ageing": (Severity.NOTE, "the result depends on the date or on live pages"),
    "foreign": (Severity.NOTE, "this project has no such template"),
}
"""Code → how bad it is, and what it means."""


@dataclass(frozen=True)
class Fault:
    """One fault of a file.

    Attributes:
        code: One of `CLASSES`.
        message: Where it is and what is wrong, with the texts concerned.
    """

    code: str
    message: str

    def __post_init__(self) -> None:
        if self.code not in CLASSES:
            raise ValueError(f"{self.code} is no class of faults")

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return CLASSES[self.code][0]

    def __str__(self) -> str:
        """Severity, class and message in one line."""
        return f"{self.severity.name.lower()}: {self.code}: {self.message}"
