"""Sockets that only those can reach who are meant to."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import socket as sockets
import stat
from pathlib import Path

from crab.errors import UsageError
from crab.remote.address import Address, check_token, new_token

LONGEST_PATH = 107
"""Bytes in the path of a Unix socket on Linux, at most."""

BACKLOG = 64


def listen_unix(path: Path) -> sockets.socket:
    """Listens on a Unix socket with mode 0600 in a directory with mode 0700.

    The directory is made when it is missing. A socket that nobody listens on any more is replaced.

    Raises:
        UsageError: The directory lets others in, the path is too long or taken, or a server listens there already.
    """
    path = Path(os.path.abspath(path))
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise UsageError(
            f"the path of a Unix socket has at most {LONGEST_PATH} bytes; choose a shorter one than {path}"
        )
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.parent.stat().st_mode & 0o077:
            raise UsageError(f"others may enter {path.parent}, so no socket is put there; do: chmod 700 {path.parent}")
        _remove_stale(path)
        listener = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
        try:
            # Under another name, no longer than its own, until it listens: who sees the path appear can connect.
            unfinished = path.with_name(path.name[:-1] + ("-" if path.name.endswith("~") else "~"))
            _remove_stale(unfinished)
            listener.bind(str(unfinished))
            unfinished.chmod(0o600)
            listener.listen(BACKLOG)
            unfinished.rename(path)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise UsageError(f"cannot listen on unix:{path}: {error.strerror}; choose another path") from error
    return listener


def listen_tcp(host: str, port: int) -> sockets.socket:
    """Listens on a TCP port; 0 takes a free one.

    Raises:
        UsageError: The port is in use or may not be used, or the address is not one of this machine.
    """
    try:
        family, kind, protocol, _, target = sockets.getaddrinfo(
            host, port, type=sockets.SOCK_STREAM, flags=sockets.AI_PASSIVE
        )[0]
        listener = sockets.socket(family, kind, protocol)
        try:
            listener.setsockopt(sockets.SOL_SOCKET, sockets.SO_REUSEADDR, 1)
            listener.bind(target)
            listener.listen(BACKLOG)
        except OSError:
            listener.close()
            raise
    except (OSError, OverflowError) as error:
        raise UsageError(_why_not(host, port, error)) from error
    return listener


def settle_address(
    socket: Path | None, host: str, port: int, token: str | None, *, insecure: bool
) -> tuple[sockets.socket, Address]:
    """Listens where it is safe to, and returns the socket with the address clients need.

    Args:
        socket: Path of a Unix socket; then host and port do not count, and a token is optional.
        host: For TCP; a loopback address unless there is a token and `insecure` is set.
        port: For TCP; 0 takes a free one.
        token: On loopback, None makes one.
        insecure: Agrees to send everything, the token too, in the clear over a network.

    Raises:
        UsageError: It would not be safe, or listening is not possible.
    """
    if token is not None:
        check_token(token)
    if socket is not None:
        return listen_unix(socket), Address(socket=Path(os.path.abspath(socket)), token=token)
    if not is_loopback(host):
        if token is None:
            raise UsageError(f"{host} can be reached by others: set a token, or listen on 127.0.0.1 or a Unix socket")
        if not insecure:
            raise UsageError(
                f"{host} can be reached by others and there is no TLS here, so the token would cross the network in "
                "the clear: listen on 127.0.0.1 and tunnel with ssh -L, or accept the risk with insecure=True"
            )
    listener = listen_tcp(host, port)
    return listener, Address(host=host, port=listener.getsockname()[1], token=token or new_token())


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach that host; a name other than ``localhost`` is taken to be reachable."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def remove_socket(address: Address) -> None:
    """Removes the file of a Unix socket after its server has ended."""
    if address.socket is not None:
        with contextlib.suppress(FileNotFoundError):
            address.socket.unlink()


def _remove_stale(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise UsageError(f"{path} exists and is not a socket; choose another path")
    with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM) as caller:
        try:
            caller.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise UsageError(f"a server listens on unix:{path} already; end it or choose another path")


def _why_not(host: str, port: int, error: Exception) -> str:
    reasons = {
        errno.EADDRINUSE: "the port is in use; choose another one, or 0 for any free one",
        errno.EACCES: "the port may not be used; choose one from 1024, or 0 for any free one",
        errno.EADDRNOTAVAIL: "this machine does not have that address; choose 127.0.0.1",
    }
    number = error.errno if isinstance(error, OSError) else None
    reason = reasons.get(number or 0, f"{error}; choose another address")
    return f"cannot listen on {host} port {port}: {reason}"
