#!/usr/bin/env bash
# Builds the page of `evoenv watch` from web/ into src/evoenv/watch/static: exactly the versions of web/package-lock.json.
# --check    only say whether the committed bundle is what the sources give
set -euo pipefail
cd "$(dirname "$0")/../web"
[ -d node_modules/vite ] || npm ci --no-audit --no-fund
npm run types
if [ "${1:-}" = --check ]; then
  npm run check
else
  npm run build
fi
