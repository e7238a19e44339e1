"""Which licence a folder of sources comes under, read off the LICENSE file beside or above it."""

from __future__ import annotations

from pathlib import Path

FILE_NAMES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "LICENCE.txt", "LICENCE.md", "COPYING")
MARKS: tuple[tuple[str, str], ...] = (
    ("Apache-2.0", "apache license version 2.0"),
    ("AGPL-3.0", "gnu affero general public license version 3"),
    ("LGPL-3.0", "gnu lesser general public license version 3"),
    ("GPL-3.0", "gnu general public license version 3"),
    ("GPL-2.0", "gnu general public license version 2"),
    ("MPL-2.0", "mozilla public license version 2.0"),
    ("MIT", "permission is hereby granted, free of charge, to any person obtaining a copy"),
    ("BSD-3-Clause", "neither the name of"),
    ("BSD-2-Clause", "redistribution and use in source and binary forms"),
    ("CC-BY-SA-4.0", "attribution-sharealike 4.0 international"),
    ("CC-BY-4.0", "attribution 4.0 international"),
    ("CC0-1.0", "cc0 1.0 universal"),
    ("Unlicense", "this is free and unencumbered software released into the public domain"),
)
"""What only that licence's text says, tried in this order: names of other licences occur inside some of them."""


def find_licence(file: Path, root: Path) -> str | None:
    """Return the SPDX name of the nearest licence from the file's folder up to the folder above `root`, or None."""
    limit = root.resolve().parent
    for directory in file.resolve().parents:
        for name in FILE_NAMES:
            if (path := directory / name).is_file():
                return recognise(path)
        if directory == limit:
            break
    return None


def recognise(path: Path) -> str:
    """Return the SPDX name, or a reference to the file whose text is none that we know."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")[:20_000].lower()
    except OSError:
        return f"see {path.name}"
    words = " ".join(text.replace(",", " ,").split()).replace(" ,", ",")
    plain = words.replace(",", "")
    return next((name for name, mark in MARKS if mark in words or mark.replace(",", "") in plain), f"see {path.name}")
