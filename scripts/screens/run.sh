#!/usr/bin/env bash
# Makes the pictures of clew chat in docs/screens: runs the demo in tmux, types what a user
# would type, and lets freeze (github.com/charmbracelet/freeze) draw what is on the screen.
# Beside each picture is its text. It needs tmux 3 and takes two minutes.
#
#   scripts/screens/run.sh [FOLDER]
set -euo pipefail
to=$(realpath -m "${1:-$(dirname "$0")/../../docs/screens}")
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
mux() { tmux -S "$dir/tmux" -f /dev/null "$@"; }
trap 'mux kill-server 2>/dev/null || true; rm -rf "$dir"' EXIT
mkdir -p "$to"
go build -o "$dir/clew" ./cmd/clew
GOBIN="$dir" go install github.com/charmbracelet/freeze@v0.2.2

# screen COLUMNS ROWS: start the demo on a screen of this size.
screen() {
  mux kill-server 2>/dev/null || true
  mux new-session -d -x "$1" -y "$2" \
    "env -u NO_COLOR TERM=tmux-256color COLORTERM=truecolor $dir/clew chat --demo --theme dark" \; set-option -sg escape-time 10
}

# see PATTERN: wait until it is on the screen, and the screen stays as it is. PATTERN is
# Perl's, and . stands for line ends too.
see() {
  local now before=
  for _ in {1..200}; do
    now=$(mux capture-pane -p)
    if [ "$now" = "$before" ] && PATTERN=$1 perl -0777 -ne 'exit !/$ENV{PATTERN}/ms' <<<"$now"; then
      sleep 1.5 # what is typed sooner after a question is not taken for its answer
      return
    fi
    before=$now
    sleep 0.2
  done
  printf 'screens: %s has not come up; the screen is\n%s\n' "$1" "$now" >&2
  exit 1
}

keys() { for key; do mux send-keys "$key"; sleep 0.3; done; }
say() { mux send-keys -l "$1"; sleep 0.3; keys Enter; }

# shot NAME: write the picture and the text of the screen.
shot() {
  mux capture-pane -p >"$to/$1.txt"
  mux capture-pane -p -e >"$dir/screen.ansi"
  "$dir/freeze" "$dir/screen.ansi" -o "$to/$1.svg" --background '#1c2128' --border.radius 8 \
    --font.family "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" >/dev/null
}

idle='^ *\d[\d.]*k of 12k'

# mend: the demo's first task, up to its compaction; $1 is the picture of its question.
mend() {
  see 'say what to do'
  say 'find out why check.sh fails'; see 'allow bash\?'
  keys y; see 'allow edit\?'
  [ -z "${1-}" ] || shot "$1"
  keys y; see 'check again.*allow bash\?'
  keys y; see "compaction.*check\\.sh passes.*$idle"
}

screen 80 24
see 'say what to do'; shot start
mend question; shot compacted
say /context; see threshold; shot context
keys Escape; see 'say what to do'
say /undo; see 'take back what'; shot undo
keys p; see 'keep later messages'
keys k; see '~1\d[\d.]*k of 12k'
say 'what was the exact error at the start?'; see "Word for word.*$idle"; shot recall

screen 200 50
mend
say /tree; see leaf
keys Home Enter; see 'go there\?'
keys s; see 'stay on the branch'
keys C-c; see 'say what to do'
say 'teach check.sh to say what was meant'; see 'allow edit\?'
keys y; see 'allow bash\?'
keys y; see "may be meant.*$idle"; shot branch
say /tree; see leaf; shot tree
