"""The static site: complete, self-contained, the same for the same records, honest about what is broken."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from crab.errors import RecordError
from crab.report.html import script_json, write_report
from tests.crab.report import stories
from tests.crab.report.fabricated import NOTE, Story, begin_run


class Links(HTMLParser):
    """Collects every address, script and style of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.inline: list[str] = []
        self._in_script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.addresses += [value for name in ("href", "src") if (value := given.get(name))]
        if tag == "option" and (value := given.get("value")) and value.endswith(".html"):
            self.addresses.append(value)
        self.inline += [f"{tag} {name}" for name in given if name.startswith("on") or name == "style"]
        if tag == "style" or (tag == "script" and "src" not in given):
            self.inline.append(tag)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the made-up run."""
    return write_report(stories.fabricate(tmp_path_factory.mktemp("html") / "spring run"))


def pages(index: Path) -> list[Path]:
    """All pages of a report."""
    return sorted(index.parent.rglob("*.html"))


def trial_data(script: Path) -> dict[str, object]:
    """The data of a trial page."""
    text = script.read_text(encoding="ascii")
    found = re.fullmatch(r"window\.TRIAL = (.*);\n", text)
    assert found
    document: dict[str, object] = json.loads(found[1])
    return document


def test_index_and_a_page_for_each_trial(index: Path) -> None:
    """Each trial has its page and its data."""
    assert index.name == "index.html"
    assert index.parent.name == "report"
    trials = [path.parent for path in (index.parent.parent / "trials").glob("*/*/s*/spec.json")]
    for trial in trials:
        base = index.parent / "trials" / trial.parts[-3] / trial.parts[-2]
        assert (base / f"{trial.name}.html").exists()
        assert (base / f"{trial.name}.js").exists()
    assert len(pages(index)) == len(trials) + 1


def test_every_link_leads_to_a_file_of_the_run(index: Path) -> None:
    """Nothing is fetched from elsewhere, and nothing is missing; pages hold no inline script, handler or style."""
    for page in pages(index):
        links = Links(page.read_text(encoding="utf-8"))
        assert not links.inline, page
        assert links.addresses
        for address in links.addresses:
            parts = urlsplit(address)
            assert (parts.scheme, parts.netloc) == ("", ""), address
            assert (page.parent / unquote(parts.path)).resolve().is_file(), (page, address)


def test_screenshots_are_the_records_own(index: Path) -> None:
    """Pages point at the bytes in the trial directory; nothing is copied."""
    for script in index.parent.glob("trials/*/*/*.js"):
        data = trial_data(script)
        folder = (script.parent / unquote(str(data["shots"]))).resolve()
        assert folder.parts[-1] == "shots"
        assert folder.is_relative_to(index.parent.parent / "trials")
        for turn in data["turns"]:  # type: ignore[attr-defined]
            for shown in turn["environments"].values():
                assert all((folder / frame["file"]).is_file() for frame in shown["frames"])
    assert not list(index.parent.rglob("*.png"))


def test_same_records_give_the_same_bytes(tmp_path: Path, index: Path) -> None:
    """Writing twice changes nothing: no clock, no order of sets or of the file system."""
    before = {path: path.read_bytes() for path in index.parent.rglob("*") if path.is_file()}

    write_report(index.parent.parent)

    assert {path: path.read_bytes() for path in index.parent.rglob("*") if path.is_file()} == before


def test_index_holds_summaries_only(tmp_path: Path) -> None:
    """What was said and done in a trial is in its own files, so that a large run opens at once."""
    run = begin_run(tmp_path / "run")
    stories.note_solved(run, "a")
    index = write_report(run)

    assert "I open the editor" not in index.read_text(encoding="utf-8")
    assert "I open the editor" in (run / "report/trials/a/save_meeting_note/s0.js").read_text(encoding="ascii")


def test_both_denominators_and_reasons_are_on_the_index(index: Path) -> None:
    """Of eight trials of the agent two are invalid: 33 % without them, 25 % with them as 0."""
    row = re.search(r'<tr data-agent="single">.*?</tr>', index.read_text(encoding="utf-8"), re.DOTALL)
    assert row
    assert all(text in row[0] for text in ("33%", "25%", "63%", "48%", "6/8", "step limit <b>2</b>"))


def test_a_run_in_progress_says_so(index: Path) -> None:
    """Trials that run or were interrupted are counted and named, and can be looked at."""
    text = index.read_text(encoding="utf-8")
    page = (index.parent / "trials/noop/quarterly_report/s2.html").read_text(encoding="utf-8")

    assert re.search(r"<b>2 trials</b>\s+did not reach the end", text)
    assert 'class="cell unfinished"' in text
    assert 'class="cell interrupted"' in text
    assert "has not reached its end" in page


def test_a_run_of_which_nothing_has_begun(tmp_path: Path) -> None:
    """An empty run directory has a report that says so."""
    assert "No trial has begun yet." in write_report(begin_run(tmp_path / "run")).read_text(encoding="utf-8")


def test_a_trial_that_has_only_begun(tmp_path: Path) -> None:
    """Only a spec, no event yet: its page shows the graph."""
    run = begin_run(tmp_path / "run")
    Story(run, "a", NOTE).leave()
    (run / "trials/a/save_meeting_note/s0/events.jsonl").write_bytes(b"")
    write_report(run)
    page = (run / "report/trials/a/save_meeting_note/s0.html").read_text(encoding="utf-8")

    assert "Nothing was recorded yet." in page
    assert 'data-id="file_saved"' in page


def test_a_torn_last_line_is_no_trouble(tmp_path: Path) -> None:
    """A killed trial is shown up to its last whole event."""
    run = begin_run(tmp_path / "run")
    Story(run, "a", NOTE).start("editor_in_front").observe(desktop=stories.EMPTY).leave()
    with (run / "trials/a/save_meeting_note/s0/events.jsonl").open("a") as file:
        file.write('{"event":"dec')
    write_report(run)

    assert len(trial_data(run / "report/trials/a/save_meeting_note/s0.js")["turns"]) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("not json", "line 2: not JSON"),
        ('{"event":"teleport","n":1,"at":0}', "unknown event &#39;teleport&#39;"),
        ('{"event":"pass","n":1,"at":0}', "event pass has no &#39;checkpoint&#39;"),
        ('{"event":"trial_end","n":1,"at":0,"reason":"bored","valid":true,"seconds":1}', "not as recorded"),
    ],
)
def test_a_broken_trial_is_named_and_the_others_are_shown(tmp_path: Path, line: str, words: str) -> None:
    """One broken file does not cost the report of the run; it says which file and what is wrong."""
    run = begin_run(tmp_path / "run")
    stories.note_solved(run, "a", 1)
    stories.note_solved(run, "a", 2)
    events = run / "trials/a/save_meeting_note/s2/events.jsonl"
    events.write_text(events.read_text(encoding="utf-8").splitlines()[0] + f"\n{line}\n", encoding="utf-8")
    text = write_report(run).read_text(encoding="utf-8")

    assert words in text
    assert "events.jsonl" in text
    assert "1 cannot be read" in text
    assert ">100</b>" in text
    assert words in (run / "report/trials/a/save_meeting_note/s2.html").read_text(encoding="utf-8")


def test_another_schema_version_is_a_clear_error(tmp_path: Path) -> None:
    """Nothing is guessed about records of a version that is not known."""
    run = begin_run(tmp_path / "run")
    (run / "config.json").write_text('{"schema_version": 99}', encoding="utf-8")

    with pytest.raises(RecordError, match=r"config\.json: schema version 99, this CRAB reads 1; use the CRAB that"):
        write_report(run)


def test_trials_of_another_schema_version_are_a_clear_error_when_there_are_no_others(tmp_path: Path) -> None:
    """A report of nothing but unreadable trials would look like a result."""
    run = begin_run(tmp_path / "run")
    stories.note_solved(run, "a")
    spec = run / "trials/a/save_meeting_note/s0/spec.json"
    spec.write_text(spec.read_text(encoding="utf-8").replace('"schema_version": 1', '"schema_version": 7'))

    with pytest.raises(RecordError, match=r"spec\.json: schema version 7"):
        write_report(run)


def test_no_run_directory_is_a_clear_error(tmp_path: Path) -> None:
    """The message says what to name instead."""
    with pytest.raises(RecordError, match="name a directory that `crab run --out` wrote"):
        write_report(tmp_path)


def test_data_scripts_are_ascii_and_hold_nothing_a_browser_could_take_for_markup() -> None:
    """Whatever agents write, it stays data: in a script file, inside a page, and in old encodings."""
    hostile = {"text": "</script><!-- <script>'\"&\u2028\u2029\x00\ud800 é", "</script>": 1}
    text = script_json(hostile)

    assert text.isascii()
    assert not set("<>&'") & set(text)
    assert json.loads(text) == hostile
