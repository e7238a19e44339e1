"""The scripted world of the loop's tests is a module of theirs; commands are tested with it too."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "stages"))
