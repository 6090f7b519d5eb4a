"""Where the tests find recorded files."""

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """Recorded files of other tools."""
    return REPOSITORY / "crates/tardy-formats/tests/fixtures"


@pytest.fixture(scope="session")
def examples() -> Path:
    """Run files of the lab."""
    return REPOSITORY / "examples"
