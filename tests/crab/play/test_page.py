"""Who may ask the page's server: only the page itself, with the token, by the server's own name."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

import pytest

from crab.agent import TaskView, Tool
from crab.observation import Frame, Observation
from crab.play.serving import serving_page
from crab.play.session import WAITING_CALLS, Session
from crab.testing.toy import click, write_text

FRAME = Frame(b"a picture", "image/png", 320, 240, 0.0)
CLICK = json.dumps({"kind": "click", "environment": "desktop", "x": 1, "y": 2}).encode()
JSON = {"Content-Type": "application/json"}


@dataclass
class Client:
    """Asks the server what one will, as any program on this machine could."""

    session: Session
    address: str

    @property
    def host(self) -> str:
        """The Host header of the page's own requests."""
        return urlsplit(self.address).netloc

    @property
    def own(self) -> dict[str, str]:
        """Headers of the page's own requests that do something."""
        return {**JSON, "Origin": f"http://{self.host}"}

    def ask(
        self,
        name: str = "",
        *,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        path: str | None = None,
    ) -> tuple[int, bytes, http.client.HTTPMessage]:
        """Sends one request; returns status, body and headers of the answer."""
        connection = http.client.HTTPConnection(self.host, timeout=20)
        try:
            connection.request(method, path or urlsplit(self.address).path + name, body, dict(headers or {}))
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers
        finally:
            connection.close()

    def act(self, headers: Mapping[str, str], body: bytes = CLICK) -> int:
        """Status of a request to do something."""
        return self.ask("act", method="POST", body=body, headers=headers)[0]

    def waiting(self) -> Any:
        """The next call that waits, or None."""
        return self.session.next_call(0)


@pytest.fixture
def client() -> Iterator[Client]:
    """A served page of a session in which it is the person's turn."""
    session = Session("write-note", "Save a note.")
    tools = tuple(Tool(action.name, "desktop", action.name, action.schema()) for action in (click, write_text))
    session.begin(TaskView("Save a note.", {"desktop": "A desktop."}, tools))
    session.show({"desktop": Observation((FRAME,))})
    session.ask(())
    with serving_page(session) as address:
        yield Client(session, address)


def test_the_page_is_answered(client: Client) -> None:
    """With the token, everything the page needs is there, and nothing may come from elsewhere."""
    status, page, headers = client.ask()

    assert (status, b"<!doctype html>" in page) == (200, True)
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"
    assert client.ask("play.js")[0] == client.ask("play.css")[0] == 200
    state = json.loads(client.ask("state")[1])
    assert state["phase"] == "turn"
    assert client.ask(f"pictures/{state['devices'][0]['frame']['sha256']}")[1] == FRAME.data
    assert client.act(client.own) == 200
    assert client.waiting().arguments == {"x": 1, "y": 2}


def test_a_new_state_is_told_at_once(client: Client) -> None:
    """A page that knows the present state hears of the next one."""
    known = json.loads(client.ask("state")[1])["version"]
    client.session.event({"event": "invalid_call", "message": "no"})

    assert json.loads(client.ask(f"state?after={known}")[1])["steps"] == [{"kind": "refused", "text": "no"}]


@pytest.mark.parametrize("path", ["/", "/state", "//state", "/wrong/state", "/wrong/", "/%ff%fe/act", "/wrong/play.js"])
def test_without_the_token_nothing_is_told(client: Client, path: str) -> None:
    """Not even the page itself."""
    status, body, _ = client.ask(path=path)

    assert status == 403
    assert b"Save a note" not in body
    assert client.ask(path=path, method="POST", body=CLICK, headers=client.own)[0] == 403
    assert client.waiting() is None


def test_two_pages_have_two_tokens(client: Client) -> None:
    """A token opens one session."""
    with serving_page(client.session) as other:
        assert urlsplit(other).path != urlsplit(client.address).path


@pytest.mark.parametrize(
    "host", ["evil.example.org", "evil.example.org:80", "127.0.0.1", "127.0.0.1:1", "10.0.0.1", ""]
)
def test_another_host_is_refused(client: Client, host: str) -> None:
    """A page whose name was made to resolve to this machine gets nothing, even with the token."""
    assert client.ask("state", headers={"Host": host})[0] == 403
    assert client.act({**JSON, "Host": host, "Origin": f"http://{host}"}) == 403
    assert client.waiting() is None


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example.org", "https://{host}", "http://localhost:1"])
def test_another_origin_can_do_nothing(client: Client, origin: str | None) -> None:
    """What does something must say that it comes from this page."""
    headers = dict(JSON) if origin is None else {**JSON, "Origin": origin.format(host=client.host)}

    assert client.act(headers) == 403
    assert client.waiting() is None
    if origin is not None:
        assert client.ask("state", headers={"Origin": headers["Origin"]})[0] == 403


def test_only_small_json_of_a_known_shape_is_taken(client: Client) -> None:
    """A form, a huge body, another verb and another shape are each refused."""
    form = {**client.own, "Content-Type": "text/plain"}

    assert client.act(form) == 415
    assert client.act(client.own, b" " * 300_000) == 413
    assert client.act(client.own, b'{"kind": "run"}') == 400
    assert client.ask("act")[0] == 405
    assert client.ask("state", method="POST", headers=client.own)[0] == 405
    assert client.ask("pictures/../../../pyproject.toml")[0] == 404
    assert client.waiting() is None


def test_a_person_cannot_run_away_from_the_device(client: Client) -> None:
    """So many calls wait, no more; a refused one takes those behind it along."""
    assert [client.act(client.own) for _ in range(WAITING_CALLS + 1)] == [200] * WAITING_CALLS + [400]
    client.session.event({"event": "invalid_call", "message": "outside the screen"})

    assert client.waiting() is None


def test_the_end_is_told_and_nothing_is_done_after_it(client: Client) -> None:
    """A page that is open learns how it ended; the terminal learns that the page shows it."""
    client.session.end("success", "Completion 100%.", success=True)

    assert json.loads(client.ask("state")[1])["ending"]["title"] == "success"
    assert client.act(client.own) == 400
    assert not client.session.told.is_set()
    assert client.ask("seen")[0] == 200
    assert client.session.told.is_set()


def test_checkpoints_stay_closed_unless_asked_for() -> None:
    """A person is told as little as an agent."""
    session = Session("write-note", "Save a note.")
    session.event({"event": "pass", "checkpoint": "note.note_saved"})

    assert session.document()["checkpoints"] is None
    assert "note_saved" not in json.dumps(session.document())


def test_the_page_wears_the_colours_of_the_report() -> None:
    """One palette, light and dark; the page may not import the report, so it holds its own copy."""
    sheets = (("crab.report", "report.css"), ("crab.play", "play.css"))
    texts = [files(package).joinpath("assets", name).read_text(encoding="utf-8") for package, name in sheets]
    palettes = [re.findall(r"^ +(--(?!cr)\w[\w-]*: .+;)$", text, re.MULTILINE) for text in texts]

    assert len(palettes[1]) > 30
    assert set(palettes[1]) <= set(palettes[0])
