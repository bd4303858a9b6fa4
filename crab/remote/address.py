"""Where an environment server listens, and the token that opens it."""

from __future__ import annotations

import hmac
import os
import secrets
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from crab.errors import UsageError

TOKEN_BYTES = 32
"""Random bytes in a token, at least."""

TOKEN_CHARACTERS = 43
"""What 32 bytes are in the densest form in use (base64 without padding); a hexadecimal token has 64."""

_TOKEN_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=")


@dataclass(frozen=True)
class Address:
    """Where a server is: a Unix socket, or a host and port.

    ``str(address)`` is ``unix:/path`` or ``http://host:port`` and never shows the token.

    Attributes:
        socket: Path of the Unix socket, or None for TCP.
        host: Host name or IP literal, without brackets.
        port: TCP port, 1 to 65535.
        token: What the server wants to see; None when it wants nothing.
    """

    socket: Path | None = None
    host: str = "127.0.0.1"
    port: int = 0
    token: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        if self.socket is not None:
            return f"unix:{self.socket}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def with_token(self, token: str | None) -> Self:
        """Returns the same address with another token."""
        return replace(self, token=token)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads ``unix:/path`` or ``http://host:port``.

        Raises:
            UsageError: It is neither.
        """
        from urllib.parse import urlsplit

        if text.startswith("unix:/"):
            return cls(socket=Path(text.removeprefix("unix:")))
        try:
            parts = urlsplit(text)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if not text.startswith("http://") or not host or not port or parts.path not in ("", "/") or "@" in text:
            raise UsageError(f"{text!r} is no address of a server; write unix:/path/to/socket or http://host:port")
        return cls(host=host, port=port)


def new_token() -> str:
    """Makes a token of 32 random bytes, as 43 characters that fit in a header."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def check_token(token: str) -> str:
    """Returns the token when it can hold 32 random bytes and fits in a header.

    Raises:
        UsageError: It cannot; the message does not repeat it.
    """
    if len(token) < TOKEN_CHARACTERS or not _TOKEN_ALPHABET.issuperset(token):
        raise UsageError(
            f"a token is {TOKEN_BYTES} random bytes in hexadecimal or base64, at least {TOKEN_CHARACTERS} characters; "
            'make one with: python -c "import secrets; print(secrets.token_urlsafe(32))"'
        )
    return token


def read_token(path: Path) -> str:
    """Reads a token from a file that only its owner can read.

    Raises:
        UsageError: The file cannot be read, others may read it, or it holds no token.
    """
    try:
        if path.stat().st_mode & 0o077:
            raise UsageError(f"others may read the token file {path}; do: chmod 600 {path}")
        return check_token(path.read_text(encoding="ascii").strip())
    except OSError as error:
        raise UsageError(f"token file {path}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise UsageError(f"token file {path} does not hold a token") from None


def write_token(path: Path, token: str) -> None:
    """Writes a token to a new file with mode 0600.

    Raises:
        UsageError: The file exists or cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise UsageError(f"token file {path}: {error.strerror}") from error
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(check_token(token) + "\n")


def same_token(expected: str, given: bytes) -> bool:
    """Compares in a time that does not tell how much was right, for any bytes of any length."""
    return hmac.compare_digest(expected.encode("ascii"), given)
