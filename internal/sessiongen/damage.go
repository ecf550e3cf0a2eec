package sessiongen

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Harm says what [Damage] did.
type Harm struct {
	Kind   string // one of [DamageKinds], or "none" for a file that cannot take any
	Line   int    // where, counted from 1 in the damaged file; 0 when it is the whole file
	Detail string
}

func (h Harm) String() string {
	if h.Line == 0 {
		return h.Kind + ": " + h.Detail
	}
	return fmt.Sprintf("%s at line %d: %s", h.Kind, h.Line, h.Detail)
}

// damages are tried in this order from a random start. do returns where the damage
// is and what it was; an empty detail says that the file has no place for it.
var damages = []struct {
	kind string
	do   func(r *rng, f *file) (line int, detail string)
}{
	{"torn tail", func(r *rng, f *file) (int, string) {
		last := len(f.lines) - 1
		if last < 0 {
			return 0, ""
		}
		line := bytes.TrimRight(f.lines[last], "\r\n")
		if len(line) < 2 {
			return 0, ""
		}
		keep := r.between(1, len(line)-1)
		lost := len(f.lines[last]) - keep
		f.lines[last] = line[:keep]
		return last + 1, fmt.Sprintf("the last %d bytes are missing", lost)
	}},
	{"no final newline", func(_ *rng, f *file) (int, string) {
		last := len(f.lines) - 1
		if !f.whole() {
			return 0, ""
		}
		f.lines[last] = f.lines[last][:len(f.lines[last])-1]
		return last + 1, "the file ends without a newline"
	}},
	{"bad line", func(r *rng, f *file) (int, string) {
		i := f.entry(r)
		if i < 0 || len(f.lines[i]) < 4 {
			return 0, ""
		}
		if r.chance(0.3) {
			f.lines[i] = []byte(pick(r, []string{"not json\n", "{\n", "\x00\x00\x00\x00\n", `{"type":"message","id":"` + "\n", "<<<<<<< HEAD\n"}))
			return i + 1, "the record is replaced by what is not JSON"
		}
		keep := r.between(1, len(f.lines[i])-3)
		f.lines[i] = append(f.lines[i][:keep:keep], '\n')
		return i + 1, fmt.Sprintf("the record breaks off after %d bytes", keep)
	}},
	{"joined lines", func(r *rng, f *file) (int, string) {
		if len(f.lines) < 3 {
			return 0, ""
		}
		i := r.between(1, len(f.lines)-2)
		f.lines[i] = append(bytes.TrimRight(f.lines[i], "\r\n"), f.lines[i+1]...)
		f.lines = slices.Delete(f.lines, i+1, i+2)
		return i + 1, "two records are on one line"
	}},
	{"BOM", func(_ *rng, f *file) (int, string) {
		if len(f.lines) == 0 {
			return 0, ""
		}
		f.lines[0] = append([]byte("\xef\xbb\xbf"), f.lines[0]...)
		return 0, "the file begins with a byte order mark"
	}},
	{"CRLF", func(_ *rng, f *file) (int, string) {
		if len(f.lines) == 0 {
			return 0, ""
		}
		for i, line := range f.lines {
			f.lines[i] = bytes.Replace(line, []byte("\n"), []byte("\r\n"), 1)
		}
		return 0, "lines end with CR and LF"
	}},
	{"blank lines", func(r *rng, f *file) (int, string) {
		if len(f.lines) == 0 {
			return 0, ""
		}
		at := r.between(0, len(f.lines))
		for range r.between(1, 4) {
			f.insert(at, pick(r, []string{"", " ", "\t", "\r"}))
		}
		return at + 1, "blank lines are added"
	}},
	{"duplicate id", func(r *rng, f *file) (int, string) {
		i, j := f.entry(r), f.entry(r)
		if i < 0 || i == j {
			return 0, ""
		}
		id := f.id(i)
		return f.set(j, "id", id, fmt.Sprintf("the id is that of line %d, %s", i+1, id))
	}},
	{"cycle", func(r *rng, f *file) (int, string) {
		i := f.entry(r)
		if i < 2 {
			return 0, ""
		}
		j := r.between(1, i-1)
		a, b := f.id(i), f.id(j)
		if _, done := f.set(i, "parentId", b, "first half"); done == "" || a == "" {
			return 0, ""
		}
		return f.set(j, "parentId", a, fmt.Sprintf("this record and line %d are each other's parent", i+1))
	}},
	{"own parent", func(r *rng, f *file) (int, string) {
		i := f.entry(r)
		if i < 0 {
			return 0, ""
		}
		return f.set(i, "parentId", f.id(i), "the record is its own parent")
	}},
	{"dangling parent", func(r *rng, f *file) (int, string) {
		i := f.entry(r)
		if i < 0 {
			return 0, ""
		}
		id := `"` + r.hex(8) + `ff"`
		return f.set(i, "parentId", id, "the parent is "+id+", which is not in the file")
	}},
	{"swapped lines", func(r *rng, f *file) (int, string) {
		if len(f.lines) < 3 || !f.whole() {
			return 0, ""
		}
		i := r.between(1, len(f.lines)-2)
		f.lines[i], f.lines[i+1] = f.lines[i+1], f.lines[i]
		return i + 1, "the record and the next one have changed places"
	}},
	{"invalid UTF-8", func(r *rng, f *file) (int, string) {
		for range 20 {
			i := f.entry(r)
			if i < 0 {
				break
			}
			// Between a space and a letter is inside a text, and no escape is broken.
			var places []int
			for at := 1; at < len(f.lines[i]); at++ {
				if c := f.lines[i][at]; f.lines[i][at-1] == ' ' && c >= 'a' && c <= 'z' {
					places = append(places, at)
				}
			}
			if len(places) > 0 {
				at := pick(r, places)
				bad := pick(r, []string{"\xff", "\xc3", "\xe2\x82", "\xed\xa0\x80", "\xf8\x88\x80\x80\x80", "\xc0\xaf"})
				f.lines[i] = slices.Concat(f.lines[i][:at], []byte(bad), f.lines[i][at:])
				return i + 1, fmt.Sprintf("%q is inserted at byte %d", bad, at)
			}
		}
		return 0, ""
	}},
	{"null line", foreign("null")},
	{"empty object", foreign("{}")},
	{"scalar line", foreign("123", `"text"`, "true", "[]", `[{"type":"message"}]`)},
	{"deep nesting", func(r *rng, f *file) (int, string) {
		i := f.entry(r)
		if i < 0 || !bytes.HasSuffix(f.lines[i], []byte("\n")) {
			return 0, ""
		}
		depth := pick(r, []int{1000, 20_000, 300_000})
		f.insert(i+1, `{"type":"custom","customType":"deep","id":"`+r.hex(8)+`ee","parentId":`+cmp.Or(f.id(i), "null")+
			`,"timestamp":"2025-01-01T00:00:00.000Z","data":`+strings.Repeat("[", depth)+strings.Repeat("]", depth)+"}")
		return i + 2, fmt.Sprintf("a record with %d nested lists is added", depth)
	}},
	{"bit flip", func(r *rng, f *file) (int, string) {
		if len(f.lines) == 0 {
			return 0, ""
		}
		i := r.n(len(f.lines))
		at, bit := r.n(len(f.lines[i])), r.n(8)
		f.lines[i][at] ^= 1 << bit
		return i + 1, fmt.Sprintf("bit %d of byte %d is flipped", bit, at)
	}},
	{"zeroed tail", func(r *rng, f *file) (int, string) { // what some file systems leave after a power failure
		last := len(f.lines) - 1
		if last < 0 {
			return 0, ""
		}
		from := r.n(len(f.lines[last]))
		clear(f.lines[last][from:])
		return last + 1, fmt.Sprintf("the bytes from %d on are zero", from)
	}},
	{"no header", func(_ *rng, f *file) (int, string) {
		if len(f.lines) < 2 {
			return 0, ""
		}
		f.lines = f.lines[1:]
		return 1, "the header line is missing"
	}},
}

// foreign inserts a line that is JSON but no record, half of the time as the last.
func foreign(kinds ...string) func(r *rng, f *file) (int, string) {
	return func(r *rng, f *file) (int, string) {
		line := kinds[0]
		if len(kinds) > 1 {
			line = pick(r, kinds)
		}
		if len(f.lines) < 2 || !f.whole() {
			return 0, ""
		}
		at := len(f.lines)
		if r.chance(0.5) {
			at = r.between(1, len(f.lines))
		}
		f.insert(at, line)
		return at + 1, "the line " + line + " is added"
	}
}

// DamageKinds returns the names of all kinds of damage.
func DamageKinds() []string {
	var kinds []string
	for _, d := range damages {
		kinds = append(kinds, d.kind)
	}
	return kinds
}

// Damage returns a copy of a session file with one random kind of damage, and what it was.
func Damage(seed uint64, data []byte) ([]byte, Harm) {
	r := &rng{seed}
	start := r.n(len(damages))
	for i := range damages {
		if out, harm, ok := apply(r, (start+i)%len(damages), data); ok {
			return out, harm
		}
	}
	return bytes.Clone(data), Harm{Kind: "none", Detail: "the file is empty"}
}

// DamageAs is [Damage] with the kind given. Its last result is false, and the
// file unchanged, when there is no such kind or the file has no place for it.
func DamageAs(kind string, seed uint64, data []byte) ([]byte, Harm, bool) {
	if i := slices.Index(DamageKinds(), kind); i >= 0 {
		return apply(&rng{seed}, i, data)
	}
	return bytes.Clone(data), Harm{Kind: "none", Detail: "no such kind"}, false
}

func apply(r *rng, which int, data []byte) ([]byte, Harm, bool) {
	f := &file{}
	for line := range bytes.Lines(data) {
		f.lines = append(f.lines, bytes.Clone(line))
	}
	line, detail := damages[which].do(r, f)
	if detail == "" {
		return bytes.Clone(data), Harm{Kind: "none", Detail: "no place for it"}, false
	}
	return bytes.Join(f.lines, nil), Harm{damages[which].kind, line, detail}, true
}

// file is a session file in lines, each with its newline.
type file struct{ lines [][]byte }

// entry returns the index of a random line after the header, -1 if there is none.
func (f *file) entry(r *rng) int {
	if len(f.lines) < 2 {
		return -1
	}
	return r.between(1, len(f.lines)-1)
}

func (f *file) insert(at int, line string) {
	f.lines = slices.Insert(f.lines, at, []byte(line+"\n"))
}

// set replaces the top-level string or null value of key in line i. It returns the
// result of a damage with the detail; an empty value is no place for one.
func (f *file) set(i int, key, value, detail string) (int, string) {
	start, end, ok := valueSpan(f.lines[i], key)
	if !ok || value == "" {
		return 0, ""
	}
	f.lines[i] = slices.Concat(f.lines[i][:start], []byte(value), f.lines[i][end:])
	return i + 1, detail
}

// id returns the id of the record in line i as it is written, "" if it has none.
func (f *file) id(i int) string {
	start, end, _ := valueSpan(f.lines[i], "id")
	return string(f.lines[i][start:end])
}

// whole reports whether the last line ends.
func (f *file) whole() bool {
	return len(f.lines) > 0 && bytes.HasSuffix(f.lines[len(f.lines)-1], []byte("\n"))
}

// valueSpan finds the scalar value of a top-level key of a JSON object. It walks
// tokens, because the same key occurs inside messages too.
func valueSpan(line []byte, key string) (start, end int, ok bool) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return 0, 0, false
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return 0, 0, false
		}
		from := int(d.InputOffset())
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return 0, 0, false
		}
		if t == key && len(raw) > 0 && raw[0] != '{' && raw[0] != '[' {
			to := int(d.InputOffset())
			return from + bytes.Index(line[from:to], raw), to, true
		}
	}
	return 0, 0, false
}
