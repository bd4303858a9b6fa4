"""The person as an agent: asked, waited for, and shown a desktop that moves meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from crab.agent import Call, TaskView, Tool
from crab.environment import ProviderDescription
from crab.errors import EnvironmentFailure
from crab.hosting import HostedEnvironment
from crab.observation import Observation, ObservationRequest, Observations
from crab.play.gestures import Click
from crab.play.human import HumanAgent
from crab.play.session import Session
from crab.testing.toy import TOY_DESKTOP, ToyDesktop, click

SECONDS = 20
"""Until something that must come is given up; not a measurement."""

CLICK = Click(kind="click", environment="desktop", x=1, y=2)


class Watched(Session):
    """A session that tells a test when a picture or the turn has changed."""

    def __init__(self) -> None:
        super().__init__("write-note", "Save a note.")
        self._news = threading.Condition()
        self.listen(self._tell)

    def _tell(self) -> None:
        with self._news:
            self._news.notify_all()

    def shown(self, after: str = "") -> str:
        """Waits for a picture of the person's turn other than the given one."""

        def new() -> bool:
            state = self.document()
            return bool(state["phase"] == "turn" and state["devices"][0]["frame"]["sha256"] != after)

        with self._news:
            assert self._news.wait_for(new, SECONDS)
        return str(self.document()["devices"][0]["frame"]["sha256"])


class Mortal(ToyDesktop):
    """A desktop that can die."""

    def __init__(self) -> None:
        super().__init__()
        self.dead = threading.Event()
        self.missed = threading.Event()

    def observe(self, request: ObservationRequest) -> Observation:
        """Fails after its death."""
        if self.dead.is_set():
            self.missed.set()
            raise EnvironmentFailure("the display died")
        return super().observe(request)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """The trial's thread."""
    with ThreadPoolExecutor(1) as pool:
        yield pool


@pytest.mark.parametrize("dies", [False, True])
def test_a_desktop_in_real_time_stays_live(pool: ThreadPoolExecutor, dies: bool) -> None:
    """What changes while the person thinks is shown; a desktop that dies is left to the next action."""
    device, session = Mortal(), Watched()
    environment = HostedEnvironment(TOY_DESKTOP, device, ProviderDescription("live", "total", "real"))
    environment.reset(0, "2030-01-07T09:00:00Z")
    human = HumanAgent(session)
    human.watch({"desktop": environment})
    human.start(TaskView("", {"desktop": "A desktop."}, (Tool("click", "desktop", "click", click.schema()),)))
    observation = environment.observe(ObservationRequest())
    deciding = pool.submit(human.decide, Observations(1, {"desktop": observation}))
    before = session.shown()
    try:
        if dies:
            device.dead.set()
            assert device.missed.wait(SECONDS)
        else:
            device.open("Notepad")
            assert session.shown(after=before) != before
    finally:
        session.act(CLICK)

    assert deciding.result(SECONDS).calls == (Call("click", {"x": 1, "y": 2}),)
    human.close()
    human.close()
