"""A model endpoint on this machine: it speaks chat completions, and its brain is a Python function.

The brain gets the bytes of a request and returns a `Reply`: an answer, or any way in which endpoints fail. So agents
and model clients are tested over real HTTP without a key, a network or a model::

    with ChatServer(Script(Answer(calls=(Called("wait", {"seconds": 1}),)))) as server:
        agent = SingleAgent(model="any", base_url=server.url, api_key_env=None)

``python -m crab.testing.chat_server MODULE:BRAIN`` serves one until it is interrupted; with ``-- COMMAND`` behind it,
while the command runs.
"""

from __future__ import annotations

import base64
import hmac
import json
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from types import TracebackType
from typing import Any, Literal, Self

PATH = "/v1/chat/completions"

USAGE: Mapping[str, Any] = {
    "prompt_tokens": 100,
    "completion_tokens": 10,
    "total_tokens": 110,
    "prompt_tokens_details": {"cached_tokens": 40},
    "completion_tokens_details": {"reasoning_tokens": 4},
}
"""What an answer says it took, when it says nothing else."""


@dataclass(frozen=True)
class Called:
    """A tool call of an answer; `arguments` that are text are sent as they are, JSON or not."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What a model says.

    Attributes:
        text: Its words.
        calls: The tools it calls.
        refusal: Why it declines; empty when it does not.
        reasoning: What it thought.
        finish_reason: ``tool_calls`` or ``stop``, as the calls say, when empty.
        usage: The tokens it took.
    """

    text: str = ""
    calls: tuple[Called, ...] = ()
    refusal: str = ""
    reasoning: str = ""
    finish_reason: str = ""
    usage: Mapping[str, Any] = field(default_factory=lambda: USAGE)


@dataclass(frozen=True)
class Status:
    """An answer with an error status.

    Attributes:
        status: HTTP status.
        message: What it says.
        code: Machine-readable code; empty for none.
        headers: Further headers, for example ``Retry-After``.
    """

    status: int
    message: str = "try again"
    code: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Body:
    """A whole answer as it is sent, with status 200."""

    data: bytes


@dataclass(frozen=True)
class Broken:
    """A connection that fails: closed without an answer, in the middle of one, or never answered."""

    how: Literal["dropped", "truncated", "silent"]


Reply = Answer | Status | Body | Broken
"""What becomes of a request."""

Brain = Callable[[bytes], Reply]
"""Decides on the body of a request, and on nothing else."""

FAULTS: Mapping[str, Reply] = {
    "rate_limited": Status(429, "too many requests", "rate_limit_exceeded", {"Retry-After": "7"}),
    "server_error": Status(500, "internal error"),
    "slow": Broken("silent"),
    "dropped": Broken("dropped"),
    "truncated_body": Broken("truncated"),
    "not_json": Body(b"<html>Bad gateway</html>"),
    "refusal": Answer(refusal="I cannot help with that."),
    "cut_off": Answer("First I will look at", finish_reason="length"),
    "no_choices": Body(b'{"id": "1", "object": "chat.completion", "choices": []}'),
    "text_only": Answer("The notepad is open."),
    "invalid_json": Answer(calls=(Called("wait", '{"seconds": 1'),)),
    "unknown_tool": Answer(calls=(Called("levitate", {"height": 3}),)),
    "wrong_types": Answer(calls=(Called("wait", {"seconds": "soon"}),)),
}
"""One reply for each way in which a model or its endpoint lets an agent down."""


class Script:
    """A brain that gives its replies one after another, and then calls ``complete``.

    Args:
        *replies: In order.
    """

    def __init__(self, *replies: Reply) -> None:
        self._left = list(replies)

    def __call__(self, body: bytes) -> Reply:
        """Returns the next reply."""
        return self._left.pop(0) if self._left else Answer(calls=(Called("complete"),))


class ChatServer:
    """Serves a brain on a free port of 127.0.0.1 from the moment it is entered.

    Args:
        brain: Decides.
        key: The only key it accepts; None accepts any.
        models: The only model names it knows; None knows any.
    """

    def __init__(self, brain: Brain, *, key: str | None = None, models: Sequence[str] | None = None) -> None:
        self.brain = brain
        self.key = key
        self.models = models
        self.requests: list[bytes] = []
        """The bodies of all requests, in the order in which they came."""
        self.closing = threading.Event()
        self._http = _Server(("127.0.0.1", 0), self)
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        """What a client calls its base URL."""

    def __enter__(self) -> Self:
        """Begins to serve."""
        # The poll only bounds how long closing takes.
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Hangs up on everybody and frees the port."""
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def reply(self, body: bytes, authorization: str) -> Reply:
        """Returns what becomes of a request."""
        self.requests.append(body)
        if self.key is not None and not hmac.compare_digest(authorization.encode(), f"Bearer {self.key}".encode()):
            # Real endpoints repeat the key too, at least in part.
            return Status(401, f"Incorrect API key provided: {authorization[len('Bearer ') :]}", "invalid_api_key")
        model = json.loads(body)["model"]
        if self.models is not None and model not in self.models:
            return Status(404, f"The model `{model}` does not exist.", "model_not_found")
        try:
            return self.brain(body)
        except Exception as error:  # noqa: BLE001  a brain that fails is an endpoint that fails; the message says how
            return Status(500, f"the brain failed: {type(error).__name__}: {error}")


def images_of(body: bytes) -> list[bytes]:
    """Returns the pictures of a request, in order, decoded from their data URLs."""
    found = []
    for message in json.loads(body)["messages"]:
        parts = message["content"] if isinstance(message.get("content"), list) else []
        urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        found += [base64.b64decode(url.partition(",")[2]) for url in urls]
    return found


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Handlers end by themselves when `closing` is set.
    block_on_close = True

    def __init__(self, address: tuple[str, int], owner: ChatServer) -> None:
        super().__init__(address, _Handler)
        self.owner = owner


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.path != PATH:
            self._send(404, _error(f"no such path: {self.path}", "not_found"))
            return
        reply = self.server.owner.reply(body, self.headers.get("Authorization", ""))
        if isinstance(reply, Broken):
            self._fail(reply.how)
        elif isinstance(reply, Status):
            self._send(reply.status, _error(reply.message, reply.code), reply.headers)
        elif isinstance(reply, Body):
            self._send(200, reply.data)
        else:
            self._send(200, _completion(reply, json.loads(body)))

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: standard error belongs to whoever runs the server."""

    def _send(self, status: int, data: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        # One request a connection, so that closing the server waits for nobody.
        self.close_connection = True
        for name, value in {"Content-Type": "application/json", "Connection": "close", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _fail(self, how: str) -> None:
        self.close_connection = True
        if how == "truncated":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"id": "1", "choices": [{"mess')
        while how == "silent" and not self.server.owner.closing.is_set():
            readable, _, _ = select.select([self.connection], [], [], 0.02)
            if readable:
                # The client has hung up.
                return


def _error(message: str, code: str) -> bytes:
    return json.dumps({"error": {"message": message, "type": "error", "code": code or None}}).encode()


def _completion(answer: Answer, request: Mapping[str, Any]) -> bytes:
    # The place in the conversation, so that equal requests get equal answers.
    number = 1 + sum(message["role"] == "assistant" for message in request["messages"])
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None, "refusal": answer.refusal or None}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.calls:
        message["tool_calls"] = [
            {
                "id": f"call_{number}_{place}",
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments),
                },
            }
            for place, call in enumerate(answer.calls)
        ]
    finish = answer.finish_reason or ("tool_calls" if answer.calls else "stop")
    choice = {"index": 0, "message": message, "finish_reason": finish}
    document = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "choices": [choice],
        "usage": dict(answer.usage),
    }
    return json.dumps(document).encode()


def main(arguments: Sequence[str]) -> int:
    """Serves the brain named ``MODULE:OBJECT`` until it is interrupted, or while a command runs.

    Args:
        arguments: The brain; then nothing, or ``--`` and a command in which ``{url}`` stands for the address.

    Returns:
        The exit status, which is the command's where there is one.
    """
    module, colon, name = (arguments[0] if arguments else "").partition(":")
    command = list(arguments[2:])
    if not colon or (len(arguments) > 1 and (arguments[1] != "--" or not command)):
        sys.stderr.write("usage: python -m crab.testing.chat_server MODULE:BRAIN [-- COMMAND with {url}]\n")
        return 2
    # As with `python -m` itself, what lies in the current folder can be named.
    with ChatServer(getattr(import_module(module), name)) as server:
        if command:
            words = [word.replace("{url}", server.url) for word in command]
            return subprocess.run(words, check=False).returncode
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
