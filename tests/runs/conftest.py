"""Small runs by hand: the helpers of the report's tests write them straight into a store."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
