"""A runner's child process, as far as a desktop goes: starts one, uses it, tells how it went, and may stay."""

from __future__ import annotations

import json
import sys

from environments.ubuntu import UBUNTU


def main(options: str, stay: str = "") -> None:
    """Prints one line of JSON."""
    environment = UBUNTU.provider().start(json.loads(options))
    environment.reset(7, "2026-01-05T09:00:00Z")
    environment.act("open_application", {"application": "calculator"})
    facts = {
        "description": environment.describe().description,
        "isolation": environment.describe().provider.isolation,
        "window": environment.probe("focused_window", {}),
    }
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()
    if stay:
        sys.stdin.read()
    environment.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
