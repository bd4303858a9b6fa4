"""The report in a real browser, from the file system: what one sees is what the record says."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from selenium.webdriver import Chrome

from crab.record.reader import TrialRecord
from crab.report.html import write_report
from tests.crab.report import stories
from tests.crab.report.browser import Page, browser
from tests.crab.report.fabricated import CONTACT, Story, begin_run, task_spec

pytestmark = pytest.mark.browser

NOTE_PAGE = "trials/single/save_meeting_note/s1.html"
CONTACT_PAGE = "trials/single/contact_number_to_note/s1.html"
HOSTILE = (
    "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"
    "\"'`${window.hacked=1}\u2028&lt;b&gt;"
)


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """One browser for all tests here."""
    with browser(tmp_path_factory.mktemp("profile")) as chrome:
        yield chrome


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The made-up run, with its report, in a folder whose name needs quoting."""
    directory = stories.fabricate(tmp_path_factory.mktemp("browser") / "run #1 100%")
    write_report(directory)
    return directory


def shown_bytes(picture: dict[str, Any]) -> str:
    """Digest of the file a picture shows."""
    return hashlib.sha256(Path(unquote(urlsplit(picture["address"]).path)).read_bytes()).hexdigest()


def observed(record: TrialRecord, turn: int, role: str) -> str:
    """Digest of what the agent saw in a turn, from the record."""
    (event,) = [event for event in record.events if event["event"] == "observation" and event["turn"] == turn]
    return str(event["environments"][role]["frames"][-1]["sha256"])


def ring(page: Page) -> tuple[float, float]:
    """The middle of the present action's ring, on the page."""
    x, y = page.run(
        """const box = document.querySelector(".mark.current .ring").getBoundingClientRect();
           return [box.left + box.width / 2, box.top + box.height / 2]"""
    )
    return float(x), float(y)


def legend(page: Page) -> dict[str, str]:
    """The colour of each state's frame and ground, from a node put into that state."""
    return {
        state: page.run(
            """const node = document.querySelector(".node").cloneNode(true);
               node.dataset.state = arguments[0];
               document.getElementById("graph").append(node);
               const style = getComputedStyle(node.querySelector("rect"));
               const words = style.stroke + " on " + style.fill;
               node.remove();
               return words""",
            state,
        )
        for state in "waipuf"
    }


def test_stepping_shows_the_recorded_states_pictures_and_places(driver: Chrome, run: Path) -> None:
    """At three steps, by arrow keys: colours of the checkpoints, the file shown, and where the ring is."""
    record = TrialRecord(run / "trials/single/save_meeting_note/s1")
    actions = {event["step"]: event for event in record.events if event["event"] == "action"}
    page = Page(driver, run / "report" / NOTE_PAGE)
    colours = legend(page)
    assert len(set(colours.values())) == 6
    # Start, step 1, refused call, step 2, step 3, step 4, step 5.
    for presses, step, states in ((1, 1, "aaww"), (2, 2, "aaww"), (3, 5, "ippp")):
        page.press(*["→"] * presses)
        assert page.run("return location.hash") == f"#step-{step}"
        ids = [node.id for node in record.spec.task.checkpoints]
        assert page.nodes() == {id: colours[state] for id, state in zip(ids, states, strict=True)}
        passed = {check.id for check in record.result().checkpoints if check.step is not None and check.step <= step}
        assert {id for id, state in zip(ids, states, strict=True) if state in "ip"} == passed
        (picture,) = page.pictures()
        assert shown_bytes(picture) == observed(record, actions[step]["turn"], "desktop")
        scale = picture["width"] / 1280
        x, y = actions[step]["arguments"]["x"], actions[step]["arguments"]["y"]
        assert ring(page) == pytest.approx((picture["left"] + x * scale, picture["top"] + y * scale), abs=1.0)
    assert page.complaints() == []


def test_the_ring_follows_the_picture_to_another_size(driver: Chrome, run: Path) -> None:
    """Places are right at any width of the window."""
    for width in (700, 1280, 1600):
        driver.set_window_size(width, 1000)
        page = Page(driver, run / "report" / NOTE_PAGE, "step-1")
        (picture,) = page.pictures()
        scale = picture["width"] / 1280
        expected = (picture["left"] + 214 * scale, picture["top"] + 703 * scale)
        assert ring(page) == pytest.approx(expected, abs=1.0)
    driver.set_window_size(1280, 900)


def test_each_device_has_its_screenshot_and_only_the_one_acted_on_a_mark(driver: Chrome, run: Path) -> None:
    """Two devices, side by side at the same height; a tap on the phone is drawn on the phone."""
    record = TrialRecord(run / "trials/single/contact_number_to_note/s1")
    page = Page(driver, run / "report" / CONTACT_PAGE, "step-3")
    pictures = {picture["role"]: picture for picture in page.pictures()}

    assert {role: shown_bytes(picture) for role, picture in pictures.items()} == {
        role: observed(record, 3, role) for role in ("desktop", "phone")
    }
    assert pictures["desktop"]["height"] == pytest.approx(pictures["phone"]["height"], abs=2)
    assert page.run(
        'return Array.from(document.querySelectorAll(".mark"), (m) => m.closest("figure").dataset.environment)'
    ) == ["phone"]


def test_after_shows_the_next_observation_without_marks(driver: Chrome, run: Path) -> None:
    """The picture after an action is the one of the next turn; after the last one, the look after the end."""
    record = TrialRecord(run / "trials/single/save_meeting_note/s1")
    page = Page(driver, run / "report" / NOTE_PAGE, "step-1")
    page.press("a")
    assert shown_bytes(page.pictures()[0]) == observed(record, 2, "desktop")
    assert page.run('return document.querySelectorAll(".mark").length') == 0

    page.press("End", "←")
    assert page.run("return location.hash") == "#step-5"
    assert shown_bytes(page.pictures()[0]) == observed(record, 0, "desktop")
    page.press("a")
    assert shown_bytes(page.pictures()[0]) == observed(record, 5, "desktop")


def test_home_end_clicks_and_permalinks_lead_to_steps(driver: Chrome, run: Path) -> None:
    """Keys, a click on a step, a click on a passed checkpoint, and an address lead to the same places."""
    page = Page(driver, run / "report" / NOTE_PAGE, "step-4")
    at = "return document.querySelector('.stop.current').dataset.stop"
    assert page.run(at) == "step-4"
    page.press("Home")
    assert page.run(at) == "start"
    page.press("←")
    assert page.run(at) == "start"
    page.press("End", "→")
    assert page.run(at) == "end"
    page.run("document.querySelector('#stop-step-2 .head').click()")
    assert page.run(at) == "step-2"
    page.run("document.querySelector('.node[data-id=text_written]').dispatchEvent(new Event('click'))")
    assert page.run(at) == "step-3"
    page.run("location.hash = 'refused-1'")
    assert (
        page.run(
            "return new Promise((done) => setTimeout(() => done(document.querySelector('.stop.current').dataset.stop)))"
        )
        == "refused-1"
    )


def test_typed_text_and_keys_are_captions(driver: Chrome, run: Path) -> None:
    """What was typed is readable on the screenshot; a drag is an arrow."""
    page = Page(driver, run / "report" / NOTE_PAGE, "step-3")
    typed = "return document.querySelector('.typed').hidden ? null : document.querySelector('.typed').textContent"
    assert page.run(typed) == "types Ship on Friday, call Dana Whitfield"
    page.press("→")
    assert page.run(typed) == "ctrl + s"
    page.press("m")
    assert page.run(typed) is None

    page = Page(driver, run / "report/trials/single/sort_the_inbox/s1.html", "step-3")
    assert page.run('return document.querySelectorAll(".mark.current.drag line").length') == 2


def test_index_filters_and_links_to_trials(driver: Chrome, run: Path) -> None:
    """Search and filters narrow the matrix; a cell leads to its trial."""
    page = Page(driver, run / "report/index.html")
    rows = "return Array.from(document.querySelectorAll('#matrix tbody tr:not([hidden])'), (row) => row.dataset.task)"
    assert len(page.run(rows)) == 4
    page.press("/", "phone")
    assert page.run(rows) == ["contact_number_to_note"]
    assert page.run("return document.getElementById('shown').textContent") == "1 task · 4 trials"
    page.fill("search", "nothing like it")
    assert page.run(rows) == []
    page.run("document.getElementById('clear').click()")
    page.fill("outcome", "success")
    assert page.run(rows) == ["save_meeting_note"]
    assert page.run("return document.querySelectorAll('a.cell:not(.dimmed)').length") == 3
    assert page.complaints() == []
    page.run("document.querySelector('a.cell.cr10').click()")
    assert page.run("return document.querySelector('h1').textContent") == "save_meeting_note"


def test_nothing_is_clipped_sideways(driver: Chrome, run: Path) -> None:
    """At the widths people have, neither page is wider than the window, nor is a control outside of it."""
    for width in (1280, 1600):
        driver.set_window_size(width, 900)
        for name in ("index.html", NOTE_PAGE, CONTACT_PAGE, "trials/single/quarterly_report/s1.html"):
            page = Page(driver, run / "report" / name)
            assert page.run("return document.documentElement.scrollWidth <= window.innerWidth"), (name, width)
            labels = """return Array.from(document.querySelectorAll('.node')).filter((node) => {
              const box = node.querySelector('rect').getBoundingClientRect();
              return Array.from(node.querySelectorAll('text')).some((text) => {
                const { left, right, top, bottom, width } = text.getBoundingClientRect();
                return width && (left < box.left || right > box.right || top < box.top || bottom > box.bottom);
              });
            }).map((node) => node.dataset.id)"""
            assert page.run(labels) == [], (name, width)
    driver.set_window_size(1280, 900)


def test_all_pages_open_without_a_complaint(driver: Chrome, run: Path) -> None:
    """Running, interrupted, invalid, short and long trials alike; every script runs, every file is found."""
    for path in sorted((run / "report").rglob("*.html")):
        page = Page(driver, path)
        pictures = page.pictures()
        page.press("End")
        assert page.complaints() == [], path
        assert all(picture["natural"] > 0 for picture in pictures), path


def hostile_run(directory: Path) -> Path:
    """A run in which everything an agent or a task can write is an attack."""
    run = begin_run(directory / 'r"><img src=x>')
    agent = "a'\"><img src=x onerror=hacked()>#?%41"
    nodes = {"n.<b>x</b>\"'&": "desktop", "n.ok": "desktop"}
    task = task_spec(
        "t<script>", nodes, [("n.<b>x</b>\"'&", "n.ok")], description=HOSTILE, family=HOSTILE, tags=[HOSTILE]
    )
    story = Story(run, agent, task, 1).observe(desktop=stories.EMPTY)
    story.decide((HOSTILE, {HOSTILE: HOSTILE, "__proto__": 1}), ("b", {}), say=HOSTILE, think=HOSTILE)
    story.act("desktop", HOSTILE, {"text": HOSTILE, "x": 5, "y": 5}, value={HOSTILE: HOSTILE}, error=HOSTILE)
    story.refuse(HOSTILE, "unknown_action", HOSTILE)
    story.passed("n.ok", "n.<b>x</b>\"'&")
    story.fault(HOSTILE, HOSTILE, "agent")
    story.observe(0, desktop=stories.EMPTY).end("agent_error")
    return run


def test_hostile_content_stays_text(driver: Chrome, tmp_path: Path) -> None:
    """Markup, scripts and quotes in everything untrusted are shown as they are, and do nothing."""
    index = write_report(hostile_run(tmp_path))
    page = Page(driver, index)
    assert page.run("return [window.hacked ?? null, document.images.length, document.scripts.length]") == [None, 0, 1]
    assert page.run("return document.querySelector('.task').title") == HOSTILE
    page.run("document.querySelector('a.cell').click()")
    assert page.run("return document.querySelector('.lede').textContent") == HOSTILE
    page.press("→", "→", "End", "Home", "→")
    assert [picture["natural"] for picture in page.pictures()] == [1280]
    assert page.run("return [window.hacked ?? null, document.images.length, document.scripts.length]") == [None, 1, 3]
    assert page.run("return document.querySelector('.message.reasoning span').textContent") == HOSTILE
    assert page.run("return document.querySelector('.typed').textContent").endswith(HOSTILE[:150])
    assert page.run("return document.querySelector('.node').dataset.id") == "n.<b>x</b>\"'&"
    assert page.complaints() == []


def test_contrast_of_the_mark_does_not_depend_on_the_picture() -> None:
    """A mark has a white halo below its colour, so that it is seen on dark and on light pixels."""
    from importlib.resources import files

    css = files("crab.report").joinpath("assets/trial.css").read_text(encoding="utf-8")
    assert "stroke: #fff" in css.split(".mark .halo")[1].split("}")[0]


def test_large_run_opens_with_summaries_only(driver: Chrome, tmp_path: Path) -> None:
    """The index of many trials loads its own style and script and no trial's data, and a trial adds little to it."""
    run = begin_run(tmp_path / "run")
    for seed in range(40):
        stories.idle(run, "a", CONTACT, "find.contact_open", seed)
    index = write_report(run)
    page = Page(driver, index)

    assert page.run("return Array.from(document.scripts, (s) => s.getAttribute('src'))") == ["assets/index.js"]
    assert page.run("return document.querySelectorAll('a.cell').length") == 40
    assert index.stat().st_size < 10_000 + 40 * 500
