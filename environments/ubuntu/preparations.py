"""Privileged writes that set a task up, accepted only between reset and the first action."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated

from pydantic import Field

from crab.environment import preparation
from crab.errors import InvalidArguments
from environments.ubuntu.desktop import Desktop
from environments.ubuntu.files import Encoding, components

Mode = Annotated[str, Field(pattern="^[0-7]{3}$")]


@preparation
def write_file(env: Desktop, path: str, content: str, encoding: Encoding = "text", mode: Mode = "644") -> None:
    """Writes a file, creating the folders above it; one that is there is replaced.

    Args:
        path: ``~/...`` or ``/home/user/...``.
        content: The whole content.
        encoding: ``text`` is written as UTF-8; ``base64`` is decoded.
        mode: Permission bits in octal.
    """
    if encoding == "text":
        data = content.encode()
    else:
        try:
            data = base64.b64decode(content, validate=True)
        except binascii.Error as trouble:
            raise InvalidArguments(f"write_file: content of {path} is not base64: {trouble}") from trouble
    env.controls.files.write(path, data, int(mode, 8))


@preparation
def make_directory(env: Desktop, path: str) -> None:
    """Creates a folder and those above it; one that is there is left as it is.

    Args:
        path: ``~/...`` or ``/home/user/...``.
    """
    env.controls.files.make_directory(path)


@preparation
def set_clipboard(env: Desktop, text: str) -> None:
    """Puts a text on the clipboard.

    Args:
        text: At most 200,000 bytes in UTF-8.
    """
    env.controls.clipboard.write(text)


@preparation
def open_application(
    env: Desktop, application: str, paths: Annotated[tuple[str, ...], Field(max_length=8)] = ()
) -> None:
    """Starts an application and waits for its window.

    Args:
        application: Its role or name.
        paths: Files or folders it opens, each ``~/...`` or ``/home/user/...``.
    """
    inside = tuple("/".join((env.home_inside, *components(path))) for path in paths)
    env.open(env.application(application), inside)
    env.settle()
