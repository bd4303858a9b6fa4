"""The program in the outer sandbox: serves one desktop on a Unix socket until its parent is gone.

Usage: ``python -m environments.ubuntu.server SOCKET OPTIONS``, where OPTIONS is JSON as
`environments.ubuntu.providers.options.EmbeddedOptions` has it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from crab.environment import ProviderDescription
from crab.hosting import HostedEnvironment
from crab.remote.server import serve
from environments.ubuntu import UBUNTU
from environments.ubuntu.desktop import Desktop
from environments.ubuntu.providers.options import read_options
from environments.ubuntu.session.embedded import EmbeddedSession, SessionOptions


def main(socket: str, options: str) -> None:
    """Serves a desktop.

    Args:
        socket: Path of the Unix socket to make.
        options: JSON of the embedded provider's options.
    """
    checked = read_options(json.loads(options))
    session = EmbeddedSession(
        SessionOptions(
            screen=(checked.width, checked.height),
            theme=checked.theme,
            isolation=checked.isolation,
        )
    )
    # The provider outside knows what it promises; it puts its own description in place of this one.
    described = ProviderDescription("embedded", "total", "real", isolation=checked.isolation)
    serve(HostedEnvironment(UBUNTU, Desktop(session, memory=checked.memory << 20), described), socket=Path(socket))


if __name__ == "__main__":
    main(*sys.argv[1:])
