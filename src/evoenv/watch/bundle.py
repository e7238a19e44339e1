"""The page as it is built from `web/`: the files that the server serves and that a report carries."""

from __future__ import annotations

from importlib import resources


def asset(name: str) -> bytes:
    """Read a file of the bundle."""
    return (resources.files("evoenv.watch") / "static" / name).read_bytes()
