"""Where generated parameter values come from: invented people, places and files, drawn from a seed.

Lines are short enough for a terminal of 80 columns and hold no typographic quotation marks, because descriptions put
those around them. Every line can be mutated: it has letters with a case and letters with a look-alike.
"""

from __future__ import annotations

import random

HOME = "/home/user"

_PEOPLE = ("Ilka Sörensen", "Tomé Araújo", "Wren O'Dowd", "Mae Lindqvist", "Zoë Hartley", "Kasimir Vogt", "Ana Bělová")
_PLACES = ("the north gate", "Café Ocean", "room 12b", "the tram depot", "Haus Ärmel", "the pier", "hall C")
_LINES = (
    "Meet {person} at {place} at {hour}:30",
    'Tell {person}: "bring the spare keys"',
    "{person} waits at {place} - call 555-01{number:02d}",
    "Parcel {number} for {person}, leave it at {place}",
    "Lunch for {number} people at {place} & cake for {person}",
    "{person} <{mail}@example.org> pays 50% of bill #{number}",
    "Don't forget: {place}, gate {number}, {hour}:15 (ask for {person})",
)
_SUBJECTS = ("visit", "parcel", "Ruth's note", "Übergabe", "reminder", "café order", "trip plan", "rota")
_LISTS = ("shopping", "packing", "to do", "Gäste", "repairs", "seeds", "Ruth's books")
_FOLDERS = ("Documents", "Downloads", "Desktop")
_VIEWS = ("harbour", "meadow", "Nordlicht", "old mill", "dunes", "vieux pont", "orchard", "ridge")
_SOURCES = ("inbox", "scans May", "from Zoë", "station", "workshop", "mixed")
_TARGETS = ("kept", "for Tomé", "sorted out", "Ablage", "archive copy", "chosen")
_WORDS = (
    "acorn",
    "barley",
    "candle",
    "drift",
    "ember",
    "fjord",
    "gravel",
    "hazel",
    "ink",
    "juniper",
    "kelp",
    "lantern",
)


def line(generator: random.Random) -> str:
    """Returns a line of text that somebody might note down."""
    person = generator.choice(_PEOPLE)
    return generator.choice(_LINES).format(
        person=person,
        place=generator.choice(_PLACES),
        hour=generator.randint(7, 20),
        number=generator.randint(2, 97),
        mail=person[:3].lower().replace("ë", "e"),
    )


def lines(generator: random.Random, count: int) -> list[str]:
    """Returns several lines, no two of them alike."""
    found: dict[str, None] = {}
    while len(found) < count:
        found[line(generator)] = None
    return list(found)


def word(generator: random.Random) -> str:
    """Returns a lower-case word."""
    return generator.choice(_WORDS)


def folder(generator: random.Random) -> str:
    """Returns the path of a folder that every home has."""
    return f"{HOME}/{generator.choice(_FOLDERS)}"


def text_file_name(generator: random.Random) -> str:
    """Returns the name of a text file."""
    return f"{generator.choice(_SUBJECTS)} {generator.randint(2, 99)}.txt"


def text_file(generator: random.Random) -> str:
    """Returns the path of a text file in a folder that every home has."""
    return f"{folder(generator)}/{text_file_name(generator)}"


def list_file(generator: random.Random) -> str:
    """Returns the path of a list in a folder that every home has."""
    return f"{folder(generator)}/{generator.choice(_LISTS)} {generator.randint(2, 99)}.txt"


def picture_file(generator: random.Random) -> str:
    """Returns the path of a picture."""
    return f"{HOME}/Pictures/{generator.choice(_VIEWS)} {generator.randint(2, 99)}.png"


def source_folder(generator: random.Random) -> str:
    """Returns the path of a folder with files of many sorts."""
    return f"{HOME}/{generator.choice(_FOLDERS[:2])}/{generator.choice(_SOURCES)}"


def target_folder(generator: random.Random) -> str:
    """Returns the path of a folder that is not there yet; it is never within a `source_folder`."""
    return f"{HOME}/{generator.choice(_FOLDERS)}/{generator.choice(_TARGETS)}"


EXTENSIONS = ("txt", "md", "csv", "log", "ini", "tex")
"""Extensions of plain text files."""
