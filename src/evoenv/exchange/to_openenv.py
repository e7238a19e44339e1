"""`openenv`: an environment package for OpenEnv: manifest, models, client, server, Dockerfile."""

from __future__ import annotations

import json
import shlex

from evoenv.exchange.export import Export
from evoenv.exchange.folder import write_json
from evoenv.exchange.packages import (
    CONFINEMENT,
    copy_template,
    environment_table,
    instance_row,
    module_name,
    requirements,
    stamp,
    write_text,
)
from evoenv.exchange.tables import write_lines

REQUIRES, SERVER = "openenv>=0.10,<0.11", "uvicorn>=0.24"
FILES = (
    "__init__.py",
    "client.py",
    "models.py",
    "server/__init__.py",
    "server/app.py",
    "server/evoenv_environment.py",
)


def write(export: Export) -> str:
    package = module_name(export, "openenv", "server", "models", "client")
    drawn = export.items()
    for split, items in drawn.items():
        write_lines(export.output / "server" / f"{split}.jsonl", map(instance_row, items))
    for name in FILES:
        copy_template(f"openenv/{name}", export.output / name)
    write_json(export.output / "server" / "package.json", {"name": export.name})
    export.write_scorer("server/scorer")
    write_text(export.output / "openenv.yaml", _manifest(export, {split: len(rows) for split, rows in drawn.items()}))
    write_text(export.output / "pyproject.toml", _pyproject(export, package))
    write_text(export.output / "server" / "Dockerfile", _dockerfile(export))
    write_text(export.output / ".dockerignore", ".venv\n__pycache__\n*.pyc\n")
    write_text(export.output / "README.md", _readme(export, package))
    return (
        "check it: openenv validate {output} --level static\n"
        "serve it: cd {output} && uvicorn server.app:app --port 8000\n"
        "then: openenv validate --url http://localhost:8000"
    )


def _manifest(export: Export, counts: dict[str, int]) -> str:
    """Write YAML by hand: strings as JSON writes them, which YAML reads."""
    tags = ", ".join(json.dumps(tag) for tag in ("reasoning", "evoenv"))
    return f"""\
spec_version: 1
name: {json.dumps(export.name)}
version: 0.1.0
type: space
runtime: fastapi
app: server.app:app
port: 8000
validation:
  reward:
    range: [0.0, 1.0]
    oracle_tolerance: 0.0
    floor_margin: 0.1
  resources:
    cpu: 1.0
    memory_mb: 2048
    disk_mb: 512
    episode_timeout_s: 600.0
  task_distribution:
    generator_seed: {export.seed}
  network:
    mode: no-network
  capabilities:
    verifier:
      kind: reward_channel
    task_api: true
    declared_task_count: {{train: {counts["train"]}, test: {counts["test"]}}}
  types:
    tags: [{tags}]
"""


def _pyproject(export: Export, package: str) -> str:
    """Name every directory: setuptools takes none along by itself if the package is its own root."""
    server = export.output / "server"
    below = [path.relative_to(export.output).parts for path in sorted(server.rglob("*")) if path.is_dir()]
    places = ["server", *("/".join(parts) for parts in below)]
    names = [package, *(f"{package}.{place.replace('/', '.')}" for place in places)]
    directories = dict(zip(names, [".", *places], strict=True))
    return f"""\
[build-system]
requires = ["setuptools>=68"]
build-backend = "setuptools.build_meta"

[project]
name = "openenv-{export.name}"
version = "0.1.0"
description = "Verified environments from EvoEnv behind an OpenEnv server"
readme = "README.md"
requires-python = ">=3.11"
dependencies = {json.dumps(requirements(export.entries, REQUIRES, SERVER))}

[project.scripts]
server = "{package}.server.app:main"

[tool.setuptools]
packages = {json.dumps(names)}
package-dir = {{ {", ".join(f"{json.dumps(name)} = {json.dumps(place)}" for name, place in directories.items())} }}

[tool.setuptools.package-data]
"*" = ["*.json", "*.jsonl", "*.py", "openenv.yaml"]
"""


def _dockerfile(export: Export) -> str:
    packages = shlex.join(requirements(export.entries, REQUIRES, SERVER))
    return f"""\
FROM python:3.12-slim

WORKDIR /app/env
RUN pip install --no-cache-dir {packages}
COPY . /app/env

EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=3s --start-period=10s --retries=3 \\
    CMD python -c "import urllib.request; urllib.request.urlopen('http://localhost:8000/health')"
CMD ["uvicorn", "server.app:app", "--host", "0.0.0.0", "--port", "8000"]
"""


def _readme(export: Export, package: str) -> str:
    return f"""\
---
title: {json.dumps(export.name)}
sdk: docker
app_port: 8000
tags:
  - openenv
---

# {export.name}

{len(export.entries)} verified environments behind one [OpenEnv](https://github.com/huggingface/OpenEnv) server. An
episode is one task and one response; the reward is the score of the environment's own scorer, in [0, 1].

```bash
pip install .                                                  # the client, and the command `server`
openenv validate . --level static
uvicorn server.app:app --port 8000                             # or: server --port 8000
openenv validate --url http://localhost:8000
docker build -t {export.name} -f server/Dockerfile .
```

```python
from {package} import EvoEnvAction, EvoEnvClient

with EvoEnvClient(base_url="http://localhost:8000").sync() as client:
    task = client.reset(split="test", index=0)     # or reset(seed=7), reset(seed=7, environment="…", difficulty=2)
    print(task.observation.prompt)
    result = client.step(EvoEnvAction(response="… <answer>42</answer>"))
    print(result.reward, result.observation.format_ok)
```

The answer is in no observation and no state. `uv lock` makes the lock file that `openenv build` and `uv run` ask for.

{CONFINEMENT}
{environment_table(export.entries)}
{stamp().replace("`scorer/", "`server/scorer/")}"""
