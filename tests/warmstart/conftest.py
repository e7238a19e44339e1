"""The scripted stream of candidates that the stages' tests use serves here too."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "stages"))
