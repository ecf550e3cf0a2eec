#!/bin/sh
# A session_compact hook that puts a text back into the context after each pass: rules
# that the model should have before its eyes, say.
#
#   {"event": "session_compact", "command": "./remind.sh", "args": ["/home/me/rules.txt"]}
#
# The event on the standard input is not needed, so it is not read.
set -eu
if [ $# -ne 1 ] || [ ! -r "$1" ]; then
	echo "give the file with the text" >&2
	exit 1
fi
# The text as a JSON string: escape what must be, join the lines.
text=$(LC_ALL=C tr -d '\000-\010\013-\037' <"$1" |
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e "s/$(printf '\t')/\\\\t/g" |
	awk '{ printf "%s\\n", $0 }')
printf '{"add":"%s"}\n' "$text"
