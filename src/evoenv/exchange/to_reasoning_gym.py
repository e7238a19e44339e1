"""`reasoning-gym`: an installable package whose import registers one procedural data set per environment."""

from __future__ import annotations

import re
from collections.abc import Sequence

from evoenv.exchange.bundle import PoolEntry
from evoenv.exchange.export import Export
from evoenv.exchange.folder import write_json
from evoenv.exchange.packages import (
    CONFINEMENT,
    PACKAGE,
    copy_file,
    copy_template,
    environment_table,
    module_name,
    pyproject,
    stamp,
    write_text,
)

REQUIRES = "reasoning-gym>=0.1.25,<0.2"


def write(export: Export) -> str:
    package = module_name(export, "reasoning_gym")
    directory = export.output / package
    names = dataset_names(package, export.entries)
    for name in ("__init__.py", "datasets.py"):
        copy_template(f"reasoning_gym/{name}", directory / name)
    # how right answers are written as text: the same code that the export's own answers come from
    copy_file(PACKAGE / "validation" / "forms.py", directory / "forms.py")
    write_json(
        directory / "package.json",
        {
            "difficulties": list(export.difficulties),
            "datasets": {
                name: [entry.id, title(name.removeprefix(f"{package}_"))]
                for name, entry in zip(names, export.entries, strict=True)
            },
        },
    )
    export.write_scorer(f"{package}/scorer")
    write_text(export.output / "pyproject.toml", pyproject(export, package, "as reasoning-gym data sets", REQUIRES))
    write_text(export.output / "README.md", _readme(export, package, names))
    return (
        f"install it: pip install {{output}}\n"
        f"use it: import reasoning_gym, {package}; reasoning_gym.create_dataset({names[0]!r}, size=10, seed=42)"
    )


def dataset_names(package: str, entries: Sequence[PoolEntry]) -> list[str]:
    """Return `<package>_<environment>`; two of one name get a piece of their hash."""
    plain = [snake(entry.name) for entry in entries]
    return [
        f"{package}_{name}" if plain.count(name) == 1 else f"{package}_{name}_{entry.id[:8]}"
        for name, entry in zip(plain, entries, strict=True)
    ]


def snake(name: str) -> str:
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", parted.lower()).strip("_") or "environment"


def title(name: str) -> str:
    """Make a class name out of a data set's."""
    return "E" + "".join(part.capitalize() for part in name.split("_"))


def _readme(export: Export, package: str, names: Sequence[str]) -> str:
    return f"""\
# {export.name}

{len(export.entries)} verified environments as procedural data sets for
[reasoning-gym](https://github.com/open-thought/reasoning-gym) 0.1.25, each with a curriculum over its difficulty.

```bash
pip install .
```

```python
import reasoning_gym
import {package}                    # registers {", ".join(names[:2])}{", …" if names[2:] else ""}
from reasoning_gym.factory import create_curriculum

data = reasoning_gym.create_dataset("{names[0]}", size=10, seed=42, max_difficulty={export.difficulties[-1]})
item = data[0]
print(item["question"])                    # what the solver sees; no answer is in it
print(data.score_answer("my answer", item)) # 0.0 to 1.0

curriculum = create_curriculum("{names[0]}")
curriculum.increment_attr_level("difficulty")
config = curriculum.generate_configuration({{"size": 10, "seed": 42}})
harder = reasoning_gym.create_dataset("{names[0]}", **vars(config))
```

`answer` is `None` where an environment keeps no full answer; `score_answer` works all the same. An answer may be given
as it is, or as a whole response with `<answer>…</answer>` in it.

{CONFINEMENT}
{environment_table(export.entries)}
{stamp().replace("`scorer/", f"`{package}/scorer/")}"""
