package settings_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/clew-dev/clew/internal/settings"
)

func TestSetMember(t *testing.T) {
	for _, c := range []struct{ name, in, key, value, want string }{
		{"nothing yet", "", "model", `"a/b"`, "{\n  \"model\": \"a/b\"\n}\n"},
		{"empty", "{}", "model", `1`, "{\n  \"model\": 1\n}"},
		{"in the place of another", `{"a": 1, "model": "x" /* mine */, "b": 2}`, "model", `"y"`, `{"a": 1, "model": "y" /* mine */, "b": 2}`},
		{"at the end", "{\n  \"a\": 1\n}\n", "b", `2`, "{\n  \"a\": 1,\n  \"b\": 2\n}\n"},
		{"behind a comment", "{\n  \"a\": 1 // one, \"b\": 3\n}\n", "b", `2`, "{\n  \"a\": 1, // one, \"b\": 3\n  \"b\": 2\n}\n"},
		{"behind a comma too many", "{\n  \"a\": 1,\n}\n", "b", `2`, "{\n  \"a\": 1,\n  \"b\": 2\n}\n"},
		{"on one line", `{"a": [1, 2,],}`, "b", `2`, "{\"a\": [1, 2,],\n  \"b\": 2}"},
		{"a group", "{\n  \"agent\": {\"mode\": \"ask\"}\n}", "agent.mode", `"plan"`, "{\n  \"agent\": {\"mode\": \"plan\"}\n}"},
		{"into a group", `{"agent": {"mode": "ask"}}`, "agent.idle", `5`, "{\"agent\": {\"mode\": \"ask\",\n    \"idle\": 5}}"},
		{"a new group", "{}", "agent.idle", `5`, "{\n  \"agent\": {\"idle\": 5}\n}"},
		{"groups in groups", "{}", "providers.openai.keyEnv", `"K"`, "{\n  \"providers\": {\"openai\": {\"keyEnv\": \"K\"}}\n}"},
		{"a name with a dot", `{"agent.mode": "ask"}`, "agent.mode", `"plan"`, `{"agent.mode": "plan"}`},
		{"only comments", "// mine\n{ // all\n}\n", "a", `1`, "// mine\n{ // all\n  \"a\": 1\n}\n"},
		{"a text that looks like a comment", `{"a": "http://x", "b": "/*"}`, "b", `1`, `{"a": "http://x", "b": 1}`},
	} {
		got, err := settings.SetMember([]byte(c.in), c.key, []byte(c.value))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, c.want)
		}
	}
	for _, bad := range []string{"[]", "{", `{"a"}`, `{"a": }`, "nonsense", `{"a": 1`, `{"agent": 7}`} {
		if got, err := settings.SetMember([]byte(bad), "agent.mode", []byte("1")); err == nil {
			t.Errorf("%s became %s", bad, got)
		}
	}
}

// FuzzSetMember: what was set can be read, nothing else has changed, and comments stay.
func FuzzSetMember(f *testing.F) {
	f.Add(`{"a": 1, // x
	"b": {"c": [1,2,]}, }`, "b.d")
	f.Add("{}", "x")
	f.Add(`{"b": {/* y */}}`, "b.d")
	f.Fuzz(func(t *testing.T, text, key string) {
		data := []byte(text)
		if !utf8.ValidString(key) || strings.ContainsAny(key, "\x00\"\\") || key == "" || strings.HasPrefix(key, ".") || strings.HasSuffix(key, ".") {
			return
		}
		before := map[string]any{}
		if json.Unmarshal(standard(data), &before) != nil {
			return
		}
		if again, err := json.Marshal(before); err != nil || len(again) == 0 {
			return
		}
		got, err := settings.SetMember(data, key, []byte(`"set"`))
		if err != nil {
			return
		}
		var value string
		raw := settings.Member(got, key)
		if raw == nil || json.Unmarshal(raw, &value) != nil || value != "set" {
			t.Fatalf("%q in %s is %s after %s", key, text, raw, got)
		}
		after := map[string]any{}
		if err := json.Unmarshal(standard(got), &after); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		top, _, _ := strings.Cut(key, ".")
		for k := range before {
			if k == top || k == key {
				continue
			}
			was, _ := json.Marshal(before[k])
			is, _ := json.Marshal(after[k])
			if string(was) != string(is) {
				t.Fatalf("%q was %s and is %s", k, was, is)
			}
		}
	})
}

// standard is JSON without comments and commas too many; what is none stays as it is.
func standard(data []byte) []byte {
	out, _ := hujson.Standardize(slices.Clone(data))
	return out
}
