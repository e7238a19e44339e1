"""`verifiers`: an installable package with a `verifiers.v1` taskset, for `vf-eval`, `vf-validate` and prime-rl."""

from __future__ import annotations

from evoenv.exchange.export import Export
from evoenv.exchange.folder import write_json
from evoenv.exchange.packages import (
    CONFINEMENT,
    copy_template,
    environment_table,
    instance_row,
    item_key,
    module_name,
    pyproject,
    stamp,
    write_text,
)
from evoenv.exchange.tables import write_lines

BUILT_IN = ("harbor", "nemo_gym", "openenv", "textarena", "verifiers")
"""verifiers looks for a taskset among its own first."""
REQUIRES = "verifiers>=0.4,<0.5"


def write(export: Export) -> str:
    package = module_name(export, *BUILT_IN)
    directory = export.output / package
    drawn = export.items()
    for split, items in drawn.items():
        write_lines(directory / f"{split}.jsonl", map(instance_row, items))
    answers = {item_key(item): item.answer for items in drawn.values() for item in items if item.answer is not None}
    write_json(directory / "answers.json", answers)
    for name in ("__init__.py", "taskset.py"):
        copy_template(f"verifiers/{name}", directory / name)
    export.write_scorer(f"{package}/scorer")
    write_text(export.output / "pyproject.toml", pyproject(export, package, "as a verifiers taskset", REQUIRES))
    write_text(export.output / "README.md", _readme(export, package))
    return (
        f"install it: pip install {{output}}\ncheck it: vf-validate {export.name} --runtime.type subprocess -n 20\n"
        f"use it: vf-eval {export.name} --env.agent.harness.id null -n 20"
    )


def _readme(export: Export, package: str) -> str:
    name = export.name
    return f"""\
# {name}

{len(export.entries)} verified environments as a taskset for
[verifiers](https://github.com/PrimeIntellect-ai/verifiers) 0.4.

```bash
pip install .
vf-validate {name} --runtime.type subprocess -n 20      # references score 1, an empty reply does not
vf-eval {name} --env.agent.harness.id null -n 20        # one reply per task, no tools
```

| setting (`--env.taskset.…`; `--taskset.…` for `vf-validate`) | |
|---|---|
| `split` | `train`, `test`, or `fresh`: new instances without end |
| `environments` | names or ids; all by default |
| `difficulties` | levels; all that were exported by default |
| `draw` | another number draws other fresh instances |

The reward `correct` is the score of the environment's own scorer, in [0, 1]; the metric `format_ok` says whether the
reply had a final answer (`<answer>…</answer>`, else `\\boxed{{…}}`). No answer is in the data of a task. `answers.json`
holds references for `vf-validate`: where the agent has a shell, run it in a container
(`--env.agent.runtime.type docker`), not beside this package.

{CONFINEMENT}
{environment_table(export.entries)}
{stamp().replace("`scorer/", f"`{package}/scorer/")}"""
