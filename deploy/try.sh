#!/usr/bin/env bash
# Runs the parts of compose.yaml as plain processes, without containers, and restarts both gateways one after the other
# while a stream runs and requests go on. It fails where the stream is not whole or a request is refused.
#   deploy/try.sh        needs Go, Python, curl, PostgreSQL and caddy
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in go python3 curl caddy; do command -v "$tool" >/dev/null || { echo "try: there is no $tool"; exit 1; }; done
initdb=$(compgen -G '/usr/lib/postgresql/*/bin/initdb' | tail -n 1 || command -v initdb) || { echo "try: there is no initdb"; exit 1; }
dir=$(mktemp -d) pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; exec 8>&- || true; wait; rm -rf "$dir"' EXIT

go build -o "$dir/clew" ./cmd/clew
cp -r deploy "$dir" && "$dir/deploy/secrets.sh" >/dev/null
sed "s#/run/secrets/key#$dir/deploy/secrets/key#; s#\"drainSeconds\": 10#\"drainSeconds\": 5, \"upstreams\": {\"anthropic\": \"http://127.0.0.1:18800\"}#" \
  deploy/gateway.json >"$dir/gateway.json"
sed 's/gateway-1:8790 gateway-2:8790/127.0.0.1:18791 127.0.0.1:18792/; s/^:8790/:18790/' deploy/Caddyfile >"$dir/Caddyfile"

as=() && mkdir "$dir/pg" && chmod 755 "$dir"
if [ "$(id -u)" = 0 ]; then chown postgres "$dir/pg" && as=(setpriv --reuid=postgres --regid=postgres --clear-groups); fi
mkfifo "$dir/in" && exec 8<>"$dir/in"
"${as[@]}" sh internal/pgtest/server.sh "$(dirname "$initdb")" "$dir/pg" <"$dir/in" >"$dir/pg.log" 2>&1 8>&- &
until grep -qs ready "$dir/pg.log"; do sleep 0.1; done
python3 -c '
import http.server, time
class H(http.server.BaseHTTPRequestHandler):
    def do_POST(s):
        n = 40 if b"long" in s.rfile.read(int(s.headers["Content-Length"])) else 1
        s.send_response(200); s.send_header("Content-Type", "text/event-stream"); s.end_headers()
        for i in range(n):
            s.wfile.write(b"data: %d\n\n" % i); s.wfile.flush(); time.sleep(n // 40 * 0.5)
    def log_message(s, *a): pass
http.server.ThreadingHTTPServer(("127.0.0.1", 18800), H).serve_forever()' 8>&- & pids+=($!)
export CLEW_DB="postgres:///postgres?host=$dir/pg&user=clew" CLEW_DATA_DIR=$dir/data
"$dir/clew" db migrate
gateway() { "$dir/clew" gateway --config "$dir/gateway.json" --plain --listen "127.0.0.1:$1" 2>>"$dir/log" 8>&- & last=$!; pids+=("$last"); }
gateway 18791 && one=$last
gateway 18792 && two=$last
caddy run --adapter caddyfile --config "$dir/Caddyfile" >"$dir/caddy.log" 2>&1 8>&- & pids+=($!)

ask() { curl -sN --max-time 60 -X POST -H "X-Clew-Key: $(cat "$dir/deploy/secrets/key")" -d '{"model":"m","messages":[{"role":"user","content":"'"$1"'"}]}' "${@:2}" localhost:18790/v1/messages; }
until ask hi -f -o /dev/null; do sleep 0.2; done
ask long >"$dir/stream" & stream=$!
good=0
go_on() {
  while kill -0 "$1" 2>/dev/null; do
    [ "$(ask hi -o /dev/null -w '%{http_code}')" = 200 ] || { echo "try: a request was refused after $good"; exit 1; }
    good=$((good + 1)) && sleep 0.1
  done
}
kill "$one" && go_on "$one"
gateway 18791
until curl -sf -o /dev/null localhost:18791/readyz; do sleep 0.1; done
sleep 3 # until the balancer has seen that it is ready
kill "$two" && go_on "$two"
wait "$stream"
[ "$(grep -c data: "$dir/stream")" = 40 ] || { echo "try: the stream broke off"; exit 1; }
echo "both gateways were restarted: the stream was whole, $good requests were answered, none was refused"
