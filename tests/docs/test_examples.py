"""The runner of pages finds what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest
from sybil.example import SybilFailure

from tests.docs.examples import run_page

GOOD = """\
# A page

```python title="greeting.py"
TEXT = "hello"
```

```python
print("one", "two")
```

```text
one ...
```

```console
$ python -c "import greeting; print(greeting.TEXT)"
hello
$ make test
```

```console status=3
$ python -c "raise SystemExit(3)"
```
"""

BROKEN = {
    "an output that is not shown": ("```text\none ...\n```\n", "", "does not show"),
    "an output that is another": ("one ...", "three", "--- real\none two"),
    "a command that prints something else": ("hello\n$ make", "goodbye\n$ make", "--- real\nhello"),
    "a command that fails": ("greeting; print", "farewell; print", "ended with status 1"),
    "a command that does not fail": ("status=3", "status=4", "ended with status 3, not 4"),
    "a block that is not run": ("```console\n", "```sh\n", "not run"),
    "code that raises": ('print("one", "two")', "one", "NameError"),
    "a target that is not there": ("$ make test", "$ make tea", "make"),
}


def page(folder: Path, text: str) -> Path:
    """Writes a page."""
    path = folder / "page.md"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_page_that_is_right_passes(tmp_path: Path) -> None:
    """All its blocks are run."""
    assert run_page(page(tmp_path, GOOD), tmp_path) == 5


@pytest.mark.parametrize(("old", "new", "complaint"), BROKEN.values(), ids=BROKEN)
def test_a_page_with_one_thing_wrong_fails(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    """Each kind of untruth is found, and said."""
    assert GOOD.count(old) == 1
    with pytest.raises(Exception) as caught:  # noqa: PT011  what a page's own code raises comes out as it is
        run_page(page(tmp_path, GOOD.replace(old, new)), tmp_path)
    assert complaint in f"{caught.type.__name__} {caught.value}"


def test_a_failure_names_the_line(tmp_path: Path) -> None:
    """An author finds the place."""
    with pytest.raises(SybilFailure, match="line 11"):
        run_page(page(tmp_path, GOOD.replace("one ...", "three")), tmp_path)
