# Sourced by `./test verl`: a virtual environment in .venv-verl with exactly the versions of tests/verl/requirements.txt.
set -euo pipefail

venv="${EVOENV_VERL_VENV:-.venv-verl}"
wanted="$(cat pyproject.toml tests/verl/requirements.txt | cksum)"
if [ ! -x "$venv/bin/python" ] || [ "$(cat "$venv/.evoenv" 2>/dev/null)" != "$wanted" ]; then
  echo "Setting up $venv (once; about five minutes and 4 GB)…" >&2
  [ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
  "$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-deps -r tests/verl/requirements.txt >&2
  "$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e . >&2
  printf '%s' "$wanted" > "$venv/.evoenv"
fi
