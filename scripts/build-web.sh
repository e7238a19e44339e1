#!/usr/bin/env bash
# Builds the page of `evoenv watch` from web/ into src/evoenv/watch/static: exactly the versions of web/package-lock.json.
# --check    only say whether the committed bundle is what the sources give
set -euo pipefail
cd "$(dirname "$0")/../web"
# not `npm ci`: it refuses a lock file that lacks the builds of a package for other machines than the one it was made on
[ -d node_modules/vite ] || npm install --no-save --no-audit --no-fund
npm run types
if [ "${1:-}" = --check ]; then
  npm run check
else
  npm run build
fi
