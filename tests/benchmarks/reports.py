"""Budgets of reports: a large run opens in the browser without waiting."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from crab.errors import ProviderUnavailable
from crab.hosting import HostedEnvironment
from crab.record.schema import SCHEMA_VERSION, LimitsSpec
from crab.record.writer import TrialWriter
from crab.report.html import write_report
from crab.run.episode import Episode, EpisodeSettings
from crab.testing.toy import TOY_DESKTOP
from tests.benchmarks.budget import Budget
from tests.benchmarks.trials import Clicker, StillDesktop, spec, task

TRIALS = 500
TASKS = 25
ACTIONS = 15


def record_run(directory: Path) -> None:
    """Record a run of ``TRIALS`` trials, spread over ``TASKS`` tasks."""
    (directory / "config.json").write_text(json.dumps({"schema_version": SCHEMA_VERSION}), encoding="utf-8")
    plain = spec()
    limits = LimitsSpec(actions=ACTIONS)
    for number in range(TRIALS):
        resolved = plain.task.model_copy(update={"id": f"task-{number % TASKS}"})
        described = plain.model_copy(update={"task": resolved, "seed": number // TASKS, "limits": limits})
        environment = HostedEnvironment(TOY_DESKTOP, StillDesktop(), TOY_DESKTOP.provider().describe())
        settings = EpisodeSettings(described.seed, described.start_time, limits)
        with TrialWriter(directory / described.path, described) as writer:
            Episode(task(), Clicker(), {"desktop": environment}, writer, settings).run()


@contextmanager
def browser() -> Iterator[Chrome]:
    """A browser without a window."""
    program, driver = shutil.which("chromium") or shutil.which("chromium-browser"), shutil.which("chromedriver")
    if program is None or driver is None:
        raise ProviderUnavailable("chromium and its driver are not installed", fix="make setup")
    options = ChromeOptions()
    options.binary_location = program
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    opened = Chrome(options=options, service=Service(driver))
    try:
        yield opened
    finally:
        opened.quit()


def open_report() -> float:
    """Wall seconds from following the link to the index of a report of ``TRIALS`` trials until it is loaded."""
    with tempfile.TemporaryDirectory() as folder, browser() as opened:
        record_run(Path(folder))
        opened.get(write_report(Path(folder)).as_uri())
        script = "return performance.getEntriesByType('navigation')[0].loadEventEnd"
        return float(opened.execute_script(script)) / 1e3


BUDGETS = (Budget(f"report of {TRIALS} trials opens", 2.0, "s", open_report),)
