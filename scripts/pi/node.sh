#!/bin/sh
# Runs a script of this folder on the Node that pi needs, after installing both.
#   scripts/pi/node.sh answers.mjs FILE...
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
node=$(node "$here/install.mjs")
script=$1
shift
exec "$node" "$here/$script" "$@"
