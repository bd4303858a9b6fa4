"""A headless browser that reports its own errors."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium.webdriver import Chrome
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.keys import Keys

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def program(*names: str) -> str:
    """The first of the programs that is installed."""
    found = next((path for name in names if (path := shutil.which(name))), None)
    assert found, f"none of {names} is installed; see tests/packages.txt"
    return found


@contextmanager
def browser(profile: Path) -> Iterator[Chrome]:
    """A browser with a fresh profile, closed afterwards."""
    options = Options()
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.binary_location = program("chromium", "chromium-browser")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=Service(program("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


class Page:
    """An opened page.

    Args:
        driver: The browser.
        path: A file.
        fragment: What follows ``#``.
    """

    def __init__(self, driver: Chrome, path: Path, fragment: str = "") -> None:
        self.driver = driver
        driver.get("about:blank")
        driver.get_log("browser")  # type: ignore[no-untyped-call]
        driver.get(path.as_uri() + (f"#{fragment}" if fragment else ""))

    def run(self, script: str, *arguments: object) -> Any:
        """The value of a script's ``return``."""
        return self.driver.execute_script(script, *arguments)

    def press(self, *keys: str) -> None:
        """Presses keys on the page, one after the other."""
        names = {"→": Keys.ARROW_RIGHT, "←": Keys.ARROW_LEFT, "Home": Keys.HOME, "End": Keys.END}
        for key in keys:
            self.driver.switch_to.active_element.send_keys(names.get(key, key))

    def fill(self, id: str, value: str) -> None:
        """Gives a field a value, as typing or choosing does."""
        self.run(
            """const field = document.getElementById(arguments[0]);
               field.value = arguments[1];
               field.dispatchEvent(new Event("input"))""",
            id,
            value,
        )

    def complaints(self) -> list[str]:
        """Errors of scripts, blocked addresses and missing files since the page was opened."""
        log = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [entry["message"] for entry in log]

    def pictures(self) -> list[dict[str, Any]]:
        """Each screenshot once it is loaded: address, natural width, place on the page."""
        found: list[dict[str, Any]] = self.driver.execute_async_script(
            """
            const done = arguments[arguments.length - 1];
            const images = Array.from(document.images);
            Promise.all(images.map((image) => image.decode().catch(() => null))).then(() => done(images.map((image) => {
              const { left, top, width, height } = image.getBoundingClientRect();
              const role = image.closest("figure").dataset.environment;
              return { role, address: image.src, natural: image.naturalWidth, left, top, width, height };
            })));
            """
        )
        return found

    def nodes(self) -> dict[str, str]:
        """The colour of each checkpoint's frame, as painted."""
        found: dict[str, str] = self.run(
            """return Object.fromEntries(Array.from(document.querySelectorAll(".node"), (node) =>
                 [node.dataset.id, getComputedStyle(node.querySelector("rect")).stroke + " on "
                   + getComputedStyle(node.querySelector("rect")).fill]))"""
        )
        return found
