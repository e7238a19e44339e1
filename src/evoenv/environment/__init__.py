"""The environment contract: base class, dialects, answer extraction, and the ten seeds."""
