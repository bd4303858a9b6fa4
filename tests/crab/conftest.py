"""Fixtures for tests of the framework."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def v0_samples() -> list[Path]:
    """Task files of CRAB v0, which are not part of the repository.

    They lie in ``crab_v0_samples`` in the folder that CRAB_SAMPLES names, ``../shared`` by default.
    """
    folder = ROOT / os.environ.get("CRAB_SAMPLES", "../shared") / "crab_v0_samples"
    files = sorted(folder.rglob("*.json"))
    if not files:
        pytest.skip(f"no sample files of CRAB v0 in {folder}: name the folder that holds them with CRAB_SAMPLES")
    return files
