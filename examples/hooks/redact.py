#!/usr/bin/env python3
"""A tool_result hook that takes secrets out of tool results before they are stored.

    {"event": "tool_result", "command": "./redact.py", "required": true}

With "required" a result that this program could not look at is withheld.
"""

import json
import re
import sys

SECRETS = [
    re.compile(r"sk-[A-Za-z0-9_-]{16,}"),
    re.compile(r"gh[pousr]_[A-Za-z0-9]{20,}"),
    re.compile(r"AKIA[0-9A-Z]{16}"),
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", re.S),
    re.compile(r"(?i)(?<=password=)[^\s\"'&]+"),
]


def redact(text):
    for secret in SECRETS:
        text = secret.sub("[redacted]", text)
    return text


def main():
    # The event is UTF-8 whatever the locale says.
    event = json.loads(sys.stdin.buffer.read())
    if event["protocol"] != 1:
        sys.exit("this hook speaks version 1 of the protocol")
    content = event["message"]["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    changed = False
    for block in content:
        if block.get("type") == "text":
            text = redact(block["text"])
            changed = changed or text != block["text"]
            block["text"] = text
    if changed:
        json.dump({"content": content}, sys.stdout)


main()
