"""`python scorer …`: see `__init__.py`."""

import sys
from pathlib import Path

from evoenv.exchange.scorer.loading import load_scorer

sys.exit(load_scorer(Path(__file__).parent).main(sys.argv[1:]))
