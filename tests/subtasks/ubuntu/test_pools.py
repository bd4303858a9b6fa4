"""What is drawn can be told from what is nearly the same, and repeats on every machine."""

from __future__ import annotations

import io
import random
import unicodedata

import pytest
from PIL import Image

from subtasks.ubuntu import pools
from subtasks.ubuntu.file_manager import wanted_files
from subtasks.ubuntu.mutations import look_alike, shortened, swapped_case, with_blank_at_end
from subtasks.ubuntu.pictures import HEIGHT, WIDTH, landscape
from subtasks.ubuntu.terminal import slip

TERMINAL_COLUMNS = 80


@pytest.fixture(scope="module")
def lines() -> list[str]:
    generator = random.Random(1)
    return [pools.line(generator) for _ in range(1000)]


def test_every_mutation_changes_every_line(lines: list[str]) -> None:
    """A near miss is never the right text by accident."""
    for line in lines:
        for mutate in (look_alike, shortened, swapped_case, with_blank_at_end):
            assert mutate(line) != line


def test_lines_are_what_descriptions_and_terminals_can_hold(lines: list[str]) -> None:
    """One line each, composed Unicode, no white space around, no typographic quotation marks, short enough."""
    for line in lines:
        assert line == line.strip()
        assert line.isprintable()
        assert unicodedata.normalize("NFC", line) == line
        assert not {"“", "”"} & set(line)
        assert len(line) <= TERMINAL_COLUMNS


def test_the_output_of_showing_a_file_is_in_no_other_line_of_it() -> None:
    """Whoever submits another line, or the whole file, submits something else."""
    generator = random.Random(2)
    for _ in range(300):
        lines = slip(pools.text_file(generator))
        assert len(set(lines)) == len(lines)


def test_files_to_copy_differ_in_content() -> None:
    """One file under the name of another does not pass for it."""
    generator = random.Random(3)
    for _ in range(100):
        files = wanted_files(pools.source_folder(generator), generator.choice(pools.EXTENSIONS))
        assert len(files) == 3
        assert len(set(files.values())) == 3


def test_pictures_are_pictures_and_differ() -> None:
    """Each seed gives a readable picture of its own, and the same bytes every time."""
    generator = random.Random(4)
    paths = sorted({pools.picture_file(generator) for _ in range(50)})
    pictures = [landscape(path) for path in paths]
    with Image.open(io.BytesIO(pictures[0])) as opened:
        opened.load()

        assert opened.size == (WIDTH, HEIGHT)
    assert len(set(pictures)) == len(paths)
    landscape.cache_clear()
    assert [landscape(path) for path in paths] == pictures
