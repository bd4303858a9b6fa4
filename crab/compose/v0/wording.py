"""Whether a CRAB v0 description says what the attributes say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from difflib import SequenceMatcher, get_close_matches

from crab.compose.v0.faults import Fault
from crab.compose.v0.form import V0Subtask, V0Task
from crab.compose.v0.table import Table, V0Template

_NEAR = 0.75
"""How alike two texts are, from 0 to 1, that count as one text spelt in two ways."""

_QUOTED = re.compile(r'"([^"]+)"')
_BLANK = re.compile(r"\{(\w+)\}")
_MONTHS: tuple[str, ...] = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DATES = (
    rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?:of )?(?P<month>{'|'.join(_MONTHS)}),? (?P<year>\d{{4}})",
    rf"(?P<month>{'|'.join(_MONTHS)}) (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}})",
)


def wording_faults(
    task: V0Task, templates: list[V0Template], table: Table, linked: set[tuple[int, str]]
) -> list[Fault]:
    """Returns what is wrong between the description and the data.

    Args:
        task: The file.
        templates: Of its subtasks.
        table: Names as they are written.
        linked: Attributes (index of the subtask, name) whose value an earlier subtask gives; the description need not
            name them.
    """
    faults = [*_description_faults(task.description)]
    blanks = set(_BLANK.findall(task.description))
    said = [Fault("unfilled_blank", f"the description holds {{{name}}}") for name in sorted(blanks)]
    near: set[str] = set()
    unnamed: list[tuple[str, str]] = []
    for index, (part, template) in enumerate(zip(task.tasks, templates, strict=True)):
        where = f"subtask {index} ({template.name})"
        faults += [*_value_faults(where, part, template, table)]
        faults += [*_template_words(where, task.description, template)]
        for name, value in part.attribute.items():
            if (index, name) in linked or name in blanks:
                continue
            kind = next(iter(template.attributes.get(name, ("",))))
            fault, alike = _named(f"{where}: {name}", value, kind, task.description)
            said += [fault] if fault else []
            near.update([alike] if alike else [])
            if fault and fault.code == "value_not_named":
                unnamed.append((kind, value))
    return [*said, *_other_values(task, near, unnamed, table), *faults]


def _named(where: str, value: str, kind: str, description: str) -> tuple[Fault | None, str]:
    """The fault in how a value is named, or None; and what the description has in its place, where that is alike."""
    if re.search(rf"(?<!\w){re.escape(value)}(?!\w)", description):
        return None, ""
    folder, _, name = value.rpartition("/")
    if folder and name and folder in description and name in description:
        return None, name
    if re.search(rf"\w{re.escape(value)}(?!\w)", description):
        return Fault("cut_word", f"{where} is {value!r}, which begins within a word of the description"), ""
    if value in description:
        return Fault("part_of_word", f"{where} is {value!r}, which stands only within a longer word"), ""
    return _named_otherwise(f"{where} is {value!r}", value, kind, description)


def _named_otherwise(what: str, value: str, kind: str, description: str) -> tuple[Fault, str]:
    """The same for a value that does not stand in the description letter for letter."""
    folded = description.casefold()
    if value.casefold() in folded:
        return Fault("letter_case", f"{what}, the description has other capitals"), value
    if kind == "date" and (other := _same_date(value, description)):
        return Fault("date_form", f"{what}, the description says {other!r}"), other
    if len(_bare(value)) > 3 and _bare(value) in _bare(description):
        return Fault("punctuation", f"{what}, the description has other signs or blanks in it"), value
    folder, _, name = value.rpartition("/")
    if folder and name and re.search(rf"(?<![\w/]){re.escape(name)}(?!\w)", description):
        return Fault("partial_path", f"{what}, the description only says {name!r}"), name
    first = value.casefold().split(" ")[0]
    if len(first) > 1 and re.search(rf"\w{re.escape(first)}\b", folded):
        return Fault("cut_word", f"{what}, whose first word is part of one in the description"), ""
    if alike := _alike(value, description):
        return Fault("spelling", f"{what}, the description says {alike!r}"), alike
    return Fault("value_not_named", f"{what}, of which the description says nothing"), ""


def _other_values(task: V0Task, near: set[str], unnamed: list[tuple[str, str]], table: Table) -> Iterator[Fault]:
    """Values that only the description has: quoted paths and numbers, and countries in place of another one."""
    known = {value for part in task.tasks for value in (*part.attribute.values(), part.output) if value}
    if task.description.count('"') % 2 == 0:
        for quoted in map(_trimmed, _QUOTED.findall(task.description)):
            alike = quoted in near or any(quoted in value or value in quoted for value in known)
            if re.search(r"[\d/]", quoted) and not alike and _bare(quoted) not in map(_bare, known):
                yield Fault("other_value", f"the description names {quoted!r}, which no attribute has")
    for kind, value in unnamed:
        if kind == "country":
            found = [name for name in table.countries if re.search(rf"\b{name}\b", task.description)]
            yield from (Fault("other_value", f"the description names {name!r} in place of {value!r}") for name in found)


def _description_faults(description: str) -> Iterator[Fault]:
    if description.count('"') % 2 or description.count("“") != description.count("”"):
        yield Fault("unclosed_quote", "a quotation mark of the description has no partner")
    else:
        for quoted in _QUOTED.findall(description):
            if quoted.rstrip().endswith((",", ".")):
                yield Fault("comma_in_quotes", f"{quoted!r} has a sign of the sentence within its quotation marks")
            if quoted != quoted.strip():
                yield Fault("blank_at_end", f"{quoted!r} begins or ends with a blank within its quotation marks")
    if description != description.strip():
        yield Fault("blank_at_end", "the description begins or ends with a blank")


def _value_faults(where: str, part: V0Subtask, template: V0Template, table: Table) -> Iterator[Fault]:
    texts: dict[str, str] = {**part.attribute, **({"output": part.output} if part.output else {})}
    for name, value in texts.items():
        if value != value.strip():
            yield Fault("blank_at_end", f"{where}: {name} is {value!r}")
        if value.count('"') % 2 or value.count("“") != value.count("”"):
            yield Fault("unclosed_quote", f"{where}: a quotation mark in {name} has no partner")
        # A state of the United States, and then fewer than five digits.
        if re.search(r"\b[A-Z]{2} \d{1,4}\b(?!\d)", value) and "," in value:
            yield Fault("mangled_value", f"{where}: {name} is {value!r}, an address whose postal code was cut")
        kind = next(iter(template.attributes.get(name, ("",))))
        names = table.countries if kind == "country" else table.places if kind.startswith("place_name") else ()
        if right := _misspelt(value, names):
            yield Fault("misspelt_name", f"{where}: {name} is {value!r}, which is written {right!r}")
    person, mail = part.attribute.get("name", ""), part.attribute.get("mail", part.output or "")
    if "@" in mail:
        yield from _name_and_mail(where, person, mail)
    url, path = part.attribute.get("url", ""), part.attribute.get("file_path", "")
    formats = _picture_format(url.partition("?")[0]), _picture_format(path)
    if all(formats) and formats[0] != formats[1]:
        yield Fault("jpeg_as_png", f"{where}: a {formats[0]} file is saved as {path!r}")


def _template_words(where: str, description: str, template: V0Template) -> Iterator[Fault]:
    text = description.casefold()
    for words in template.named:
        if not any(word in text for word in words):
            yield Fault("application_not_named", f"{where}: the check wants {' or '.join(words)}")
    for word in template.unchecked:
        if re.search(rf"\b{word}\b", text):
            yield Fault("not_checked", f"{where}: the description speaks of a {word}, the check looks elsewhere")


def _name_and_mail(where: str, name: str, mail: str) -> Iterator[Fault]:
    pieces = re.split(r"[^a-z]+", mail.partition("@")[0].casefold())
    for word in name.casefold().split():
        close = get_close_matches(word, pieces, n=1, cutoff=_NEAR)
        if close and close[0] != word:
            yield Fault("name_and_mail", f"{where}: {name!r} and {mail!r} are spelt in two ways")


def _misspelt(value: str, names: tuple[str, ...]) -> str:
    if value in names:
        return ""
    folded = {name.casefold(): name for name in names}
    close = get_close_matches(value.casefold(), folded, n=1, cutoff=0.84)
    return folded[close[0]] if close else ""


def _same_date(value: str, description: str) -> str:
    wanted = next(_dates(value), None)
    return next((text for date, text in _dates(description) if wanted and date == wanted[0]), "")


def _dates(text: str) -> Iterator[tuple[datetime, str]]:
    for pattern in _DATES:
        for match in re.finditer(pattern, text):
            day, month, year = int(match["day"]), _MONTHS.index(match["month"]) + 1, int(match["year"])
            if 0 < day < 29:
                yield datetime(year, month, day), match[0]  # noqa: DTZ001  a date on a page has no time zone


def _alike(value: str, description: str) -> str:
    """The words of the description that are most like a value, or an empty text when none are alike."""
    words = description.split()
    count = len(value.split())
    windows = [_trimmed(" ".join(words[start : start + count])) for start in range(len(words) - count + 1)]
    ratio, best = max(((SequenceMatcher(None, value, window).ratio(), window) for window in windows), default=(0.0, ""))
    return best if ratio >= _NEAR else ""


def _trimmed(text: str) -> str:
    return text.strip(" \"'“”,.;:()")


def _bare(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def _picture_format(path: str) -> str:
    ending = path.rpartition(".")[2].casefold() if "." in path else ""
    return {"jpg": "JPEG", "jpeg": "JPEG", "png": "PNG", "gif": "GIF", "webp": "WebP"}.get(ending, "")
