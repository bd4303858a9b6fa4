"""The X server of one session: Xvfb with a cookie, reachable over its path socket only."""

from __future__ import annotations

import contextlib
import os
import resource
import secrets
import select
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import IO

from crab.errors import EnvironmentFailure, ProviderUnavailable
from environments.ubuntu.session.readiness import accepts

SOCKETS = Path("/tmp/.X11-unix")  # noqa: S108 - the X protocol's fixed place
_LOCAL, _WILD = 256, 65535
_PROTOCOL = b"MIT-MAGIC-COOKIE-1"
_DOTS_PER_INCH = 96
# Pictures and properties of the agent's programs live in this process: beyond this they get an error in its place.
_MEMORY = 1 << 30


class XServer:
    """One Xvfb process. ``begin`` and ``wait_ready`` are apart so that other work can be done meanwhile.

    Args:
        screen: Width and height in pixels; fixed for the life of the server.
        cookie_file: Where to write the X cookie (mode 0600).
        number: The display's number; None takes the first free one, which is safe only where no other server can start
            at the same moment: Xvfb takes no lock then, and two can end up on one socket.
    """

    def __init__(self, screen: tuple[int, int], cookie_file: Path, number: int | None = None) -> None:
        self._screen = screen
        self._number = number
        self.cookie_file = cookie_file
        self.display = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._number_pipe = -1
        self._cookie = b""

    def begin(self) -> None:
        """Start the process.

        Raises:
            ProviderUnavailable: Xvfb is not installed.
        """
        self._cookie = secrets.token_bytes(16)
        # The number is not known yet, so this entry matches any display.
        _write_private(self.cookie_file, _entry(_WILD, b"", b"", self._cookie))
        # Xvfb makes this directory only when started by root.
        with contextlib.suppress(FileExistsError):
            SOCKETS.mkdir()
            SOCKETS.chmod(0o1777)
        self._number_pipe, writer = os.pipe()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        width, height = self._screen
        try:
            self._process = subprocess.Popen(
                [  # noqa: S607 - found on PATH, as everywhere
                    "Xvfb",
                    *(() if self._number is None else (f":{self._number}",)),
                    *("-displayfd", str(writer)),
                    *("-screen", "0", f"{width}x{height}x24", "-dpi", str(_DOTS_PER_INCH)),
                    *("-auth", str(self.cookie_file), "-nolisten", "tcp", "-nolisten", "local"),
                    *("-noreset", "-s", "0"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
                pass_fds=(writer,),
                start_new_session=True,
            )
        except FileNotFoundError:
            raise ProviderUnavailable("Xvfb is not installed, so there is no screen", fix="apt install xvfb") from None
        finally:
            os.close(writer)
        resource.prlimit(self._process.pid, resource.RLIMIT_DATA, (_MEMORY, _MEMORY))

    def wait_ready(self, seconds: float) -> str:
        """Wait until the server accepts clients, write the final cookie file and return the display (``":0"``).

        Raises:
            EnvironmentFailure: It died or did not answer within ``seconds``; the message carries its last words.
        """
        digits = b""
        deadline = time.monotonic() + seconds
        # Up to the newline: closing the pipe after the digits makes Xvfb fail on writing the rest, and die.
        while not digits.endswith(b"\n"):
            ready, _, _ = select.select([self._number_pipe], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(self._number_pipe, 64) if ready else b""
            if not chunk:
                words = self._last_words()
                self.close()
                raise EnvironmentFailure(f"Xvfb did not start within {seconds:g} s: {words or '(no output)'}")
            digits += chunk
        self._close_pipe()
        number = digits.strip()
        self.display = f":{number.decode()}"
        # Some clients know only entries for this very host and display, others take the wild one.
        host = socket.gethostname().encode()
        entries = _entry(_LOCAL, host, number, self._cookie) + _entry(_WILD, b"", b"", self._cookie)
        _write_private(self.cookie_file, entries)
        return self.display

    @property
    def socket(self) -> Path:
        """The path socket of the running server."""
        return SOCKETS / f"X{self.display[1:]}"

    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def close(self) -> None:
        """Kill the process and remove what it leaves in ``/tmp``; may be called twice."""
        self._close_pipe()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self.display:
                remove_socket(self.display)
            self._process, self.display = None, ""
        if self._errors is not None:
            self._errors.close()
            self._errors = None
        self.cookie_file.unlink(missing_ok=True)

    def _close_pipe(self) -> None:
        if self._number_pipe >= 0:
            os.close(self._number_pipe)
            self._number_pipe = -1

    def _last_words(self) -> str:
        if self._errors is None:
            return ""
        return os.pread(self._errors.fileno(), 2000, 0).decode(errors="replace").strip()


def remove_socket(display: str) -> bool:
    """Remove the socket that a killed X server left; False, and nothing done, while a server listens there."""
    path = SOCKETS / f"X{display[1:]}"
    if path.is_socket():
        if accepts(path):
            return False
        path.unlink(missing_ok=True)
    return True


def _entry(family: int, address: bytes, number: bytes, cookie: bytes) -> bytes:
    """One record of an Xauthority file."""
    fields = (address, number, _PROTOCOL, cookie)
    return family.to_bytes(2, "big") + b"".join(len(part).to_bytes(2, "big") + part for part in fields)


def _write_private(path: Path, content: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
