"""What pages point to is there, and pages keep their measure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, repository_files

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)

README_LINES = 150
TUTORIAL_LINES = 60
IMAGE_BYTES = 300_000

PAGES = [path.as_posix() for path in repository_files() if path.suffix == ".md" and path.parts[0] != "tests"]


def links(page: str) -> list[str]:
    """Targets of all links and pictures of a page, outside its blocks."""
    return LINK.findall(FENCE.sub("", (ROOT / page).read_text(encoding="utf-8")))


def anchors(path: Path) -> set[str]:
    """What a link into a page may name: its headings, as GitHub spells them."""
    titles = HEADING.findall(FENCE.sub("", path.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def problem(page: str, link: str) -> str | None:
    """What is wrong with a link to somewhere in the repository; None when it leads there."""
    if "://" in link:
        return None
    name, _, anchor = link.partition("#")
    target = ((ROOT / page).parent / name).resolve() if name else ROOT / page
    if not target.exists():
        return f"{link}: no such file"
    if anchor and anchor not in anchors(target):
        return f"{link}: no such heading; there are {sorted(anchors(target))}"
    return None


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    """A reader who follows a link arrives."""
    assert [found for link in links(page) if (found := problem(page, link))] == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    """No page of docs/ is for those only who know its name; decisions are found by their folder."""
    reached, pending = {"README.md"}, ["README.md"]
    while pending:
        page = pending.pop()
        targets = (((ROOT / page).parent / link.partition("#")[0]).resolve() for link in links(page))
        found = {path.relative_to(ROOT).as_posix() for path in targets if path.suffix == ".md" and path.exists()}
        pending += sorted(found - reached)
        reached |= found

    wanted = {page for page in PAGES if page.startswith("docs/") and not page.startswith("docs/decisions/")}
    assert wanted - reached == set()


def test_pictures_are_shown_and_small() -> None:
    """A clone stays light, and no picture is left behind by a page that no longer shows it."""
    kept = {path for path in repository_files() if path.parts[:2] == ("docs", "images")}
    shown = {((ROOT / page).parent / link).resolve().relative_to(ROOT) for page in PAGES for link in pictures(page)}

    assert kept == shown
    assert [path for path in kept if (ROOT / path).stat().st_size > IMAGE_BYTES] == []


def pictures(page: str) -> list[str]:
    """Targets of the pictures of a page."""
    return [link for link in links(page) if link.endswith(".png")]


def test_readme_is_short() -> None:
    """A newcomer reads it to the end."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < README_LINES


def test_tutorial_keeps_its_word() -> None:
    """An environment, a subtask, a task and an agent take 60 lines of code, docstrings and empty lines apart."""
    page = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
    code = page.partition('title="lamp.py"\n')[2].partition("```")[0]
    lines = [line for line in code.splitlines() if line.strip() and not line.strip().startswith('"""')]

    assert 0 < len(lines) <= TUTORIAL_LINES
