# Sourced by ./run and ./test: a virtual environment in .venv with exactly the versions of constraints.txt.
# Usage: source scripts/setup.sh EXTRAS   (for example "local,endpoint" or "local,endpoint,dev")
set -euo pipefail

extras="$1"
venv="${EVOENV_VENV:-.venv}"

find_python() {
  for name in "${PYTHON:-}" python3.13 python3.12 python3.11 python3 python; do
    [ -n "$name" ] || continue
    if "$name" -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$name"
      return
    fi
  done
  echo "EvoEnv needs Python 3.11 or newer; none was found. Install one, or name it: PYTHON=/path/to/python ./run" >&2
  return 1
}

# What is installed is known by what was asked for: change the metadata or the versions, and it is installed anew.
wanted="$extras $(cat pyproject.toml constraints.txt | cksum)"
if [ ! -x "$venv/bin/python" ] || [ "$(cat "$venv/.evoenv" 2>/dev/null)" != "$wanted" ]; then
  python="$(find_python)"
  echo "Setting up $venv (once; the weights of PyTorch and friends take a few minutes)…" >&2
  [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
  "$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-compile -c constraints.txt -e ".[$extras]" >&2
  # Bytecode on all cores, which pip makes on one; of the many models of transformers only when one is imported.
  "$venv/bin/python" -m compileall -q -j 0 -x '/transformers/models/' "$venv/lib" > /dev/null 2>&1 || true
  printf '%s' "$wanted" > "$venv/.evoenv"
fi
