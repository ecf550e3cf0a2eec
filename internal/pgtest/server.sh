#!/bin/sh
# server.sh BIN DIR: start a PostgreSQL server in the empty folder DIR, on a unix socket in that folder only, and say
# "ready". A line of input restarts it as after a crash. The server is stopped, and DIR removed, when the input ends: also
# when the program that wrote it was killed.
bin=$1 dir=$2
trap '' HUP INT TERM
cd / || exit 1
if "$bin/initdb" -D "$dir/data" -U clew -A trust -E UTF8 --no-locale --no-sync >"$dir/log" 2>&1 </dev/null &&
  "$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -w -o "-k $dir -F -c listen_addresses= -c shared_buffers=32MB" start >>"$dir/out" 2>&1 </dev/null; then
  echo ready
  while read -r _; do
    "$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -m immediate -w restart >>"$dir/out" 2>&1 </dev/null || break
    echo ready
  done
  "$bin/pg_ctl" -D "$dir/data" -m immediate -w stop >/dev/null 2>&1
else
  tail -n 20 "$dir/log"
fi
rm -rf "$dir"
