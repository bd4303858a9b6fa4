"""Writes a run's report: a static site that opens from the file system, with nothing fetched from anywhere.

Everything that agents and tasks said is untrusted text. It reaches pages in two ways only: through templates that
escape it, and as JSON in script files, in which every sign that could mean something to a browser is escaped. Pages
forbid inline scripts and foreign addresses on top of that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crab.record.reader import trial_directories
from crab.record.writer import write_atomic
from crab.report.collect import Trial, read_trials
from crab.report.pages import Key, Overview, trial_page

if TYPE_CHECKING:
    import jinja2

ASSETS = ("report.css", "trial.css", "index.js", "marks.js", "trial.js")
"""Files that all pages share."""

_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&'"}


def write_report(run_directory: Path) -> Path:
    """Writes the report of a run to ``report/`` in its directory.

    A run still going on, and broken or interrupted trials, are shown as what they are. The same records give the same
    bytes. Screenshots are not copied: pages link to those in the records.

    Args:
        run_directory: What ``crab run --out`` wrote.

    Returns:
        The path of ``report/index.html``.

    Raises:
        RecordError: It is no run directory, was written by another version of CRAB, or no trial can be read.
    """
    run = Path(run_directory)
    keys: list[Key] = [(path.parts[-3], path.parts[-2], path.name) for path in trial_directories(run)]
    overview = Overview()
    site = _Site(run / "report", run.resolve().name, keys)
    for number, trial in enumerate(read_trials(run)):
        overview.add(trial)
        site.write_trial(number, trial)
    site.write_assets()
    return site.write_index(overview)


class _Site:
    """The files of one report."""

    def __init__(self, directory: Path, name: str, keys: list[Key]) -> None:
        self._directory = directory
        self._name = name
        self._keys = keys
        self._siblings: dict[str, list[Key]] = {}
        for key in keys:
            self._siblings.setdefault(key[1], []).append(key)
        self._templates = templates()

    def write_trial(self, number: int, trial: Trial) -> None:
        """Writes the page and the data of the trial with that number."""
        before = self._keys[number - 1] if number > 0 else None
        after = self._keys[number + 1] if number + 1 < len(self._keys) else None
        page = trial_page(trial, self._name, self._siblings[trial.task], before, after)
        agent, task, seed = trial.parts
        folder = self._directory / "trials" / agent / task
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / f"{seed}.html", self._templates.get_template("trial.html").render(page.context))
        write_atomic(folder / f"{seed}.js", f"window.TRIAL = {script_json(page.data)};\n")

    def write_assets(self) -> None:
        """Copies the shared files."""
        folder = self._directory / "assets"
        folder.mkdir(parents=True, exist_ok=True)
        for name in ASSETS:
            write_atomic(folder / name, _resource("assets", name))

    def write_index(self, overview: Overview) -> Path:
        """Writes the index; returns its path."""
        path = self._directory / "index.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, self._templates.get_template("index.html").render(overview.context(self._name)))
        return path


def templates() -> jinja2.Environment:
    """Returns the templates; every value is escaped, and a missing one is an error."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: _resource("templates", name)),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def script_json(value: Mapping[str, Any]) -> str:
    """Returns JSON that is also a JavaScript expression, safe in a file of any encoding and inside a page."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)


def _resource(folder: str, name: str) -> str:
    return files("crab.report").joinpath(folder, name).read_text(encoding="utf-8")
