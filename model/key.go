package model

import (
	"log/slog"
	"strings"
)

// Key is an API key. It prints, logs and encodes as a word, never as itself.
type Key struct{ secret string }

// NewKey returns a key; white space around it is dropped.
func NewKey(secret string) Key { return Key{strings.TrimSpace(secret)} }

// Empty reports whether there is no key.
func (k Key) Empty() bool { return k.secret == "" }

// Reveal returns the key itself, to be put into a header.
func (k Key) Reveal() string { return k.secret }

const hidden = "(key)"

// String returns a word that stands for the key.
func (k Key) String() string {
	if k.Empty() {
		return "(no key)"
	}
	return hidden
}

// GoString returns what String returns.
func (k Key) GoString() string { return k.String() }

// LogValue returns what String returns.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalText returns what String returns.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// redact takes secrets out of a text that may quote a request.
func redact(text string, secrets []string) string {
	for _, s := range secrets {
		if len(s) >= 4 { // a shorter one would take letters out of words
			text = strings.ReplaceAll(text, s, hidden)
		}
	}
	return text
}
