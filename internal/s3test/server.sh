#!/bin/sh
# server.sh PROGRAM DIR: start versitygw in the empty folder DIR, on the unix socket DIR/s only, and say "ready". The
# server is stopped, and DIR removed, when the input ends: also when the program that wrote it was killed.
program=$1 dir=$2
trap '' HUP INT TERM
mkdir "$dir/data" "$dir/meta"
"$program" --quiet --port "$dir/s" posix --sidecar "$dir/meta" "$dir/data" >"$dir/log" 2>&1 </dev/null &
server=$!
tries=0
while [ ! -S "$dir/s" ] && [ "$tries" -lt 200 ] && kill -0 "$server" 2>/dev/null; do
  sleep 0.05
  tries=$((tries + 1))
done
if [ -S "$dir/s" ]; then
  echo ready
  read -r _
else
  tail -n 20 "$dir/log"
fi
kill "$server" 2>/dev/null
wait "$server" 2>/dev/null
rm -rf "$dir"
