#!/bin/sh
# Starts the role that is named first, with the other arguments.
set -eu
role=${1:-}
main=/app/dist/cmd/$role/main.js
case $role in
gateway | courier)
  shift
  # As `npm start` does: garbage is collected less often (deploy/docs/operating.md).
  exec node --max-semi-space-size=64 --heap-growing-percent=400 "$main" "$@"
  ;;
attributor | exporter | sentinel | trainer | store | attribution)
  shift
  exec node "$main" "$@"
  ;;
*)
  echo "usage: gateway|attributor|courier|exporter|sentinel|trainer|store|attribution [options]" >&2
  exit 64
  ;;
esac
