"""Verdicts on somebody else's environments: every set of a suite, with evidence that can be replayed."""
