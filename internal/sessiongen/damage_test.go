package sessiongen

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDamage(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(400) {
		data := Generate(seed%40, Options{Entries: 30, WellFormed: true}).Bytes()
		before := bytes.Clone(data)
		out, harm := Damage(seed, data)
		again, harm2 := Damage(seed, data)
		if !bytes.Equal(out, again) || harm != harm2 {
			t.Fatalf("seed %d: two runs differ", seed)
		}
		if !bytes.Equal(data, before) {
			t.Fatalf("seed %d: %s changed its input", seed, harm)
		}
		if bytes.Equal(out, data) {
			t.Fatalf("seed %d: %s changed nothing", seed, harm)
		}
		seen[harm.Kind]++
	}
	for _, kind := range DamageKinds() {
		if seen[kind] == 0 {
			t.Errorf("%s did not occur in 400 seeds", kind)
		}
	}
}

// Each kind leaves the trace that its name says.
func TestDamageAs(t *testing.T) {
	trace := map[string]func(was, is []byte, h Harm) bool{
		"torn tail": func(was, is []byte, _ Harm) bool {
			return bytes.HasPrefix(was, is) && is[len(is)-1] != '\n' && badLines(is) == 1
		},
		"no final newline": func(was, is []byte, _ Harm) bool { return string(was) == string(is)+"\n" },
		"bad line":         func(_, is []byte, _ Harm) bool { return badLines(is) == 1 },
		"joined lines": func(was, is []byte, h Harm) bool {
			return badLines(is) == 1 && len(is) == len(was)-1 && strings.Contains(lineOf(is, h.Line), `}{"type"`)
		},
		"BOM":         func(was, is []byte, _ Harm) bool { return string(is) == "\xef\xbb\xbf"+string(was) },
		"CRLF":        func(was, is []byte, _ Harm) bool { return string(is) == strings.ReplaceAll(string(was), "\n", "\r\n") },
		"blank lines": func(was, is []byte, _ Harm) bool { return len(is) > len(was) && badLines(is) == 0 },
		"duplicate id": func(_, is []byte, _ Harm) bool {
			ids, dup := map[string]bool{}, false
			for _, r := range parsed(is) {
				dup = dup || ids[r.ID]
				ids[r.ID] = true
			}
			return dup
		},
		"cycle":      func(_, is []byte, _ Harm) bool { return hasCycle(is) },
		"own parent": func(_, is []byte, _ Harm) bool { return hasCycle(is) },
		"dangling parent": func(_, is []byte, h Harm) bool {
			ids := map[string]bool{}
			for _, r := range parsed(is) {
				ids[r.ID] = true
			}
			var r record
			return json.Unmarshal([]byte(lineOf(is, h.Line)), &r) == nil && r.ParentID != nil && !ids[*r.ParentID]
		},
		"swapped lines": func(was, is []byte, h Harm) bool {
			return lineOf(was, h.Line) == lineOf(is, h.Line+1) && lineOf(was, h.Line+1) == lineOf(is, h.Line)
		},
		"invalid UTF-8": func(_, is []byte, h Harm) bool {
			return badLines(is) == 0 && !utf8.ValidString(lineOf(is, h.Line)) && json.Valid([]byte(lineOf(is, h.Line)))
		},
		"null line":    func(_, is []byte, h Harm) bool { return lineOf(is, h.Line) == "null" },
		"empty object": func(_, is []byte, h Harm) bool { return lineOf(is, h.Line) == "{}" },
		"scalar line":  func(_, is []byte, h Harm) bool { return lineOf(is, h.Line)[0] != '{' && badLines(is) == 0 },
		"deep nesting": func(_, is []byte, h Harm) bool {
			line := lineOf(is, h.Line)
			n := strings.Count(line, "[")
			return n >= 1000 && strings.Contains(line, strings.Repeat("[", n)+strings.Repeat("]", n)+"}")
		},
		"bit flip": func(was, is []byte, _ Harm) bool {
			n := 0
			for i := range was {
				if was[i] != is[i] {
					n++
				}
			}
			return n == 1 && len(was) == len(is)
		},
		"zeroed tail": func(was, is []byte, _ Harm) bool { return len(was) == len(is) && is[len(is)-1] == 0 },
		"no header":   func(was, is []byte, _ Harm) bool { return bytes.HasSuffix(was, is) && parsed(is)[0].Type != "session" },
	}
	for _, kind := range DamageKinds() {
		check := trace[kind]
		if check == nil {
			t.Errorf("%s has no check", kind)
			continue
		}
		done := 0
		for seed := range uint64(25) {
			data := Generate(seed, Options{Entries: 25, WellFormed: true}).Bytes()
			out, harm, ok := DamageAs(kind, seed*31, data)
			if !ok {
				if !bytes.Equal(out, data) {
					t.Errorf("%s, seed %d: not done, but the file is changed", kind, seed)
				}
				continue
			}
			done++
			if harm.Kind != kind || !check(data, out, harm) {
				t.Errorf("seed %d: %s is not to be seen", seed, harm)
			}
		}
		if done < 15 {
			t.Errorf("%s was possible in %d of 25 sessions", kind, done)
		}
	}
}

func TestDamageOfLittle(t *testing.T) {
	for _, in := range []string{"", "\n", "{", "{}\n", "a\nb", "\x00", "{\"type\":\"session\"}\n", "[\n[\n[\n"} {
		for _, kind := range DamageKinds() {
			for seed := range uint64(10) {
				DamageAs(kind, seed, []byte(in))
			}
		}
		if out, harm := Damage(1, []byte(in)); in == "" && (len(out) != 0 || harm.Kind != "none") && harm.Kind != "blank lines" {
			t.Errorf("damage of nothing: %q, %s", out, harm)
		}
	}
	if _, _, ok := DamageAs("no such kind", 1, []byte("{}\n")); ok {
		t.Error("an unknown kind was accepted")
	}
}

func lineOf(data []byte, n int) string {
	lines := strings.Split(string(data), "\n")
	if n < 1 || n > len(lines) {
		return ""
	}
	return lines[n-1]
}

func badLines(data []byte) int {
	n := 0
	for line := range bytes.Lines(data) {
		if len(bytes.TrimSpace(line)) > 0 && !json.Valid(line) {
			n++
		}
	}
	return n
}

func parsed(data []byte) []record {
	var all []record
	for line := range bytes.Lines(data) {
		var r record
		if json.Unmarshal(line, &r) == nil {
			all = append(all, r)
		}
	}
	return all
}

func hasCycle(data []byte) bool {
	parent := map[string]string{}
	for _, r := range parsed(data) {
		if r.ParentID != nil {
			parent[r.ID] = *r.ParentID
		}
	}
	for id := range parent {
		var seen []string
		for at, ok := id, true; ok; at, ok = parent[at] {
			if slices.Contains(seen, at) {
				return true
			}
			seen = append(seen, at)
		}
	}
	return false
}
