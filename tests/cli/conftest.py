"""One sandbox for all commands that are run inside the test's process, and the scripted world of the loop's tests."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "stages"))
