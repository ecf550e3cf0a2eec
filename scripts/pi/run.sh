#!/bin/sh
# Makes the sessions in testdata/pi anew and asks pi about each. Needs Go, node
# with npm, and the npm registry the first time.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
cd "$here/../.."
rm -f testdata/pi/[0-9]*.jsonl testdata/pi/[0-9]*.golden.json # hand-*.jsonl were written by hand
go run ./internal/sessiongen/cmd -set pi -out testdata/pi
"$here/node.sh" answers.mjs --out testdata/pi testdata/pi/*.jsonl
