"""A person's hands on the page, in a real browser: what is clicked and typed is done, recorded and scored."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from crab.observation import ObservationRequest
from crab.record.reader import TrialRecord
from crab.report.html import write_report
from crab.testing.toy import ToyDesktop
from tests.crab.report.browser import browser
from tests.toy_project import write_project

pytestmark = pytest.mark.browser

SECONDS = 20
"""Until something that must come is given up; not a measurement."""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """One browser for all tests here."""
    with browser(tmp_path_factory.mktemp("profile")) as chrome:
        yield chrome


@contextmanager
def playing(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """``crab play`` on the toy project: its process, and the address it prints."""
    command = [sys.executable, "-P", "-m", "crab.cli.main", "play", *arguments]
    project = write_project(folder / "project")
    with subprocess.Popen(
        [*command, "--project", str(project), "--out", str(folder / "run")], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process, re.findall(r"http://\S+", process.stdout.readline())[0]
        finally:
            process.kill()


class PlayPage:
    """The page, used with a mouse and a keyboard."""

    def __init__(self, driver: Chrome, address: str) -> None:
        self.driver = driver
        driver.get_log("browser")  # type: ignore[no-untyped-call]
        driver.get(address)

    def until(self, script: str) -> Any:
        """Waits until a script's value is true, and returns it."""
        return WebDriverWait(self.driver, SECONDS, poll_frequency=0.02).until(
            lambda driver: driver.execute_script(f"return {script}")
        )

    def steps(self, count: int) -> None:
        """Waits until so many actions are done and it is the person's turn again."""
        done = "state.steps.filter(({ kind }) => kind === 'action').length"
        self.until(f"state && ['turn', 'ended'].includes(state.phase) && {done} >= {count}")

    def hands(self, role: str, x: int, y: int) -> ActionChains:
        """Moves the mouse to a pixel of a device's screen."""
        image = self.driver.find_element(By.CSS_SELECTOR, f'img[alt="Screen of {role}"]')
        self.until(f"""document.querySelector('img[alt="Screen of {role}"]').complete""")
        width, frame = image.size["width"], self.driver.execute_script(f"return devices.get('{role}').frame")
        scale = width / frame["width"]
        left, top = x * scale - width / 2, y * scale - image.size["height"] / 2
        return ActionChains(self.driver, duration=0).move_to_element_with_offset(image, int(left), int(top))

    def checkpoints(self) -> dict[str, str]:
        """State of each checkpoint as drawn."""
        items = self.driver.find_elements(By.CSS_SELECTOR, "#checkpoints li")
        return {str(item.get_attribute("data-id")): str(item.get_attribute("data-state")) for item in items}


def places() -> dict[str, tuple[int, int]]:
    """Middles of the toy desktop's elements at seed 0."""
    desktop = ToyDesktop()
    desktop.reset(0, "2030-01-07T09:00:00Z")
    icon = {element.name: element.bounds.center for element in desktop.elements()}
    desktop.open("Notepad")
    assert desktop.observe(ObservationRequest()).now.width == 320
    return {**icon, **{element.name: element.bounds.center for element in desktop.elements()}}


def test_a_task_is_done_by_hand(driver: Chrome, tmp_path: Path) -> None:
    """Clicks and keys on the page solve a task; checkpoints tick; record, trajectory and report are there."""
    at = places()
    with playing(tmp_path, "write-note", "--open") as (process, address):
        page = PlayPage(driver, address)
        page.steps(0)
        assert "call at noon" in driver.find_element(By.ID, "description").text
        assert page.checkpoints() == {"note.notepad_open": "active", "note.note_saved": "active"}
        page.hands("desktop", *at["Notepad"]).click().perform()
        page.steps(1)
        page.hands("desktop", *at["Name"]).click().send_keys("plan").perform()
        # The text that waits for a pause goes before the next click.
        page.hands("desktop", *at["Text"]).click().send_keys("call at noon").perform()
        page.steps(5)
        page.hands("desktop", *at["Save"]).click().perform()
        page.until("state.ending && !document.getElementById('ending').hidden")
        assert set(page.checkpoints().values()) == {"passed"}
        assert driver.get_log("browser") == []  # type: ignore[no-untyped-call]
        printed, _ = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, printed

    trial = tmp_path / "run" / "trials" / "human" / "write-note" / "s0"
    record = TrialRecord(trial)
    assert (record.result().completion_ratio, record.result().actions) == (1.0, 6)
    actions = [event["action"] for event in record.events if event["event"] == "action"]
    assert actions == ["click", "click", "write_text", "click", "write_text", "click"]
    demonstration = json.loads((trial / "trajectory.json").read_text(encoding="utf-8"))
    assert demonstration["agent"]["name"] == "human"
    assert demonstration["agent"]["extra"]["settings"] == {"open": True}
    assert write_report(tmp_path / "run").exists()
    assert "CR 100%" in printed


def test_what_a_device_cannot_do_is_said_and_not_done(driver: Chrome, tmp_path: Path) -> None:
    """A drag on a device without one, and a key without a name for it, leave the record as it was."""
    with playing(tmp_path, "write-note") as (process, address):
        page = PlayPage(driver, address)
        page.steps(0)
        page.hands("desktop", 30, 200).click_and_hold().move_by_offset(60, 0).release().perform()
        page.until("document.getElementById('trouble').textContent.includes('no action for this: drag')")
        driver.switch_to.active_element.send_keys(Keys.ENTER)
        page.until("document.getElementById('trouble').textContent.includes('key enter')")
        assert page.checkpoints() == {}
        driver.find_element(By.ID, "complete").click()
        page.until("state.ending")
        process.communicate(timeout=SECONDS)

    result = TrialRecord(tmp_path / "run" / "trials" / "human" / "write-note" / "s0").result()
    assert (result.reason, result.actions, result.invalid_calls) == ("agent_complete", 0, 0)


def test_two_devices_and_an_action_of_the_form(driver: Chrome, tmp_path: Path) -> None:
    """Each screen takes its own clicks, and the form offers what no gesture does."""
    with playing(tmp_path, "note-then-message") as (_, address):
        page = PlayPage(driver, address)
        page.steps(0)
        driver.find_element(By.ID, "others").click()
        page.until("document.getElementById('others').open")
        page.driver.execute_script(
            """document.getElementById("tools").value = "desktop__open_application";
               document.getElementById("tools").dispatchEvent(new Event("change"))"""
        )
        driver.find_element(By.CSS_SELECTOR, "#fields [name=name]").send_keys("Notepad")
        driver.find_element(By.CSS_SELECTOR, "#tool > button").click()
        page.steps(1)
        page.hands("phone", 60, 20).click().perform()
        page.steps(2)
        done = driver.execute_script("return state.steps.map(({ environment, action }) => [environment, action])")

    assert done == [["desktop", "open_application"], ["phone", "tap"]]
