"""Every block of every page is run, and what it shows is what comes out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture.tree import ROOT
from tests.docs.examples import run_page

ON_A_DESKTOP = {"README.md"}
"""Pages with an example on the real desktop."""

ELSEWHERE = {"docs/architecture.md", "docs/security.md"}
"""Pages with tests of their own; the pages of docs/decisions/ tell of the past."""


def pages() -> list[str]:
    """README and the pages of docs/, relative to the repository."""
    found = ["README.md", *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md")))]
    return [page for page in found if page not in ELSEWHERE and not page.startswith("docs/decisions/")]


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.desktop] if page in ON_A_DESKTOP else []) for page in pages()],
)
def test_page_shows_what_comes_out(page: str, tmp_path: Path) -> None:
    """A reader who does what the page says gets what the page shows."""
    run_page(ROOT / page, tmp_path)
