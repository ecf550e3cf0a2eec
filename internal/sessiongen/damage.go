package sessiongen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
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

// damages are tried in this order from a random start; each returns false when
// the file has no place for it.
var damages = []struct {
	kind string
	do   func(r *rng, f *file) (Harm, bool)
}{
	{"torn tail", tornTail},
	{"no final newline", noFinalNewline},
	{"bad line", badLine},
	{"joined lines", joinedLines},
	{"BOM", bom},
	{"CRLF", crlf},
	{"blank lines", blankLines},
	{"duplicate id", duplicateID},
	{"cycle", cycleOfTwo},
	{"own parent", ownParent},
	{"dangling parent", danglingParent},
	{"swapped lines", swappedLines},
	{"invalid UTF-8", invalidUTF8},
	{"null line", nullLine},
	{"empty object", emptyObject},
	{"scalar line", scalarLine},
	{"deep nesting", deepNesting},
	{"bit flip", bitFlip},
	{"zeroed tail", zeroedTail},
	{"no header", noHeader},
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
	for i := range damages {
		if damages[i].kind == kind {
			return apply(&rng{seed}, i, data)
		}
	}
	return bytes.Clone(data), Harm{Kind: "none", Detail: "no such kind"}, false
}

func apply(r *rng, which int, data []byte) ([]byte, Harm, bool) {
	f := split(data)
	harm, ok := damages[which].do(r, f)
	if !ok {
		return bytes.Clone(data), Harm{Kind: "none", Detail: "no place for it"}, false
	}
	harm.Kind = damages[which].kind
	return f.join(), harm, true
}

// file is a session file in lines, each with its newline.
type file struct {
	prefix []byte
	lines  [][]byte
}

func split(data []byte) *file {
	f := &file{}
	for line := range bytes.Lines(data) {
		f.lines = append(f.lines, bytes.Clone(line))
	}
	return f
}

func (f *file) join() []byte { return append(bytes.Clone(f.prefix), bytes.Join(f.lines, nil)...) }

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

// set replaces the top-level string or null value of key in line i.
func (f *file) set(i int, key, value string) bool {
	start, end, ok := valueSpan(f.lines[i], key)
	if ok {
		f.lines[i] = slices.Concat(f.lines[i][:start], []byte(value), f.lines[i][end:])
	}
	return ok
}

// id returns the id of the record in line i as it is written, "" if it has none.
func (f *file) id(i int) string {
	start, end, ok := valueSpan(f.lines[i], "id")
	if !ok {
		return ""
	}
	return string(f.lines[i][start:end])
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

func tornTail(r *rng, f *file) (Harm, bool) {
	last := len(f.lines) - 1
	if last < 0 {
		return Harm{}, false
	}
	line := bytes.TrimRight(f.lines[last], "\r\n")
	if len(line) < 2 {
		return Harm{}, false
	}
	keep := r.between(1, len(line)-1)
	lost := len(f.lines[last]) - keep
	f.lines[last] = line[:keep]
	return Harm{Line: last + 1, Detail: fmt.Sprintf("the last %d bytes are missing", lost)}, true
}

func noFinalNewline(_ *rng, f *file) (Harm, bool) {
	last := len(f.lines) - 1
	if last < 0 || !bytes.HasSuffix(f.lines[last], []byte("\n")) {
		return Harm{}, false
	}
	f.lines[last] = f.lines[last][:len(f.lines[last])-1]
	return Harm{Line: last + 1, Detail: "the file ends without a newline"}, true
}

func badLine(r *rng, f *file) (Harm, bool) {
	i := f.entry(r)
	if i < 0 || len(f.lines[i]) < 4 {
		return Harm{}, false
	}
	if r.chance(0.3) {
		f.lines[i] = []byte(pick(r, []string{"not json\n", "{\n", "\x00\x00\x00\x00\n", `{"type":"message","id":"` + "\n", "<<<<<<< HEAD\n"}))
		return Harm{Line: i + 1, Detail: "the record is replaced by what is not JSON"}, true
	}
	keep := r.between(1, len(f.lines[i])-3)
	f.lines[i] = append(f.lines[i][:keep:keep], '\n')
	return Harm{Line: i + 1, Detail: fmt.Sprintf("the record breaks off after %d bytes", keep)}, true
}

func joinedLines(r *rng, f *file) (Harm, bool) {
	if len(f.lines) < 3 {
		return Harm{}, false
	}
	i := r.between(1, len(f.lines)-2)
	f.lines[i] = append(bytes.TrimRight(f.lines[i], "\r\n"), f.lines[i+1]...)
	f.lines = slices.Delete(f.lines, i+1, i+2)
	return Harm{Line: i + 1, Detail: "two records are on one line"}, true
}

func bom(_ *rng, f *file) (Harm, bool) {
	f.prefix = []byte("\xef\xbb\xbf")
	return Harm{Detail: "the file begins with a byte order mark"}, len(f.lines) > 0
}

func crlf(_ *rng, f *file) (Harm, bool) {
	for i, line := range f.lines {
		if n := len(line); n > 0 && line[n-1] == '\n' {
			f.lines[i] = append(line[:n-1:n-1], '\r', '\n')
		}
	}
	return Harm{Detail: "lines end with CR and LF"}, len(f.lines) > 0
}

func blankLines(r *rng, f *file) (Harm, bool) {
	if len(f.lines) == 0 {
		return Harm{}, false
	}
	at := r.between(0, len(f.lines))
	for range r.between(1, 4) {
		f.insert(at, pick(r, []string{"", " ", "\t", "\r"}))
	}
	return Harm{Line: at + 1, Detail: "blank lines are added"}, true
}

func duplicateID(r *rng, f *file) (Harm, bool) {
	i, j := f.entry(r), f.entry(r)
	if i < 0 || i == j {
		return Harm{}, false
	}
	id := f.id(i)
	return Harm{Line: j + 1, Detail: fmt.Sprintf("the id is that of line %d, %s", i+1, id)}, id != "" && f.set(j, "id", id)
}

func cycleOfTwo(r *rng, f *file) (Harm, bool) {
	i := f.entry(r)
	if i < 2 {
		return Harm{}, false
	}
	j := r.between(1, i-1)
	a, b := f.id(i), f.id(j)
	ok := a != "" && b != "" && f.set(i, "parentId", b) && f.set(j, "parentId", a)
	return Harm{Line: j + 1, Detail: fmt.Sprintf("this record and line %d are each other's parent", i+1)}, ok
}

func ownParent(r *rng, f *file) (Harm, bool) {
	i := f.entry(r)
	if i < 0 {
		return Harm{}, false
	}
	id := f.id(i)
	return Harm{Line: i + 1, Detail: "the record is its own parent"}, id != "" && f.set(i, "parentId", id)
}

func danglingParent(r *rng, f *file) (Harm, bool) {
	i := f.entry(r)
	if i < 0 {
		return Harm{}, false
	}
	id := `"` + r.hex(8) + `ff"`
	return Harm{Line: i + 1, Detail: "the parent is " + id + ", which is not in the file"}, f.set(i, "parentId", id)
}

func swappedLines(r *rng, f *file) (Harm, bool) {
	if len(f.lines) < 3 || !bytes.HasSuffix(f.lines[len(f.lines)-1], []byte("\n")) {
		return Harm{}, false
	}
	i := r.between(1, len(f.lines)-2)
	f.lines[i], f.lines[i+1] = f.lines[i+1], f.lines[i]
	return Harm{Line: i + 1, Detail: "the record and the next one have changed places"}, true
}

func invalidUTF8(r *rng, f *file) (Harm, bool) {
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
		if len(places) == 0 {
			continue
		}
		at := pick(r, places)
		bad := pick(r, []string{"\xff", "\xc3", "\xe2\x82", "\xed\xa0\x80", "\xf8\x88\x80\x80\x80", "\xc0\xaf"})
		f.lines[i] = slices.Concat(f.lines[i][:at], []byte(bad), f.lines[i][at:])
		return Harm{Line: i + 1, Detail: fmt.Sprintf("%q is inserted at byte %d", bad, at)}, true
	}
	return Harm{}, false
}

func nullLine(r *rng, f *file) (Harm, bool)    { return f.foreign(r, "null") }
func emptyObject(r *rng, f *file) (Harm, bool) { return f.foreign(r, "{}") }

func scalarLine(r *rng, f *file) (Harm, bool) {
	return f.foreign(r, pick(r, []string{"123", `"text"`, "true", "[]", `[{"type":"message"}]`}))
}

// foreign inserts a line that is JSON but no record, half of the time as the last.
func (f *file) foreign(r *rng, line string) (Harm, bool) {
	if len(f.lines) < 2 || !bytes.HasSuffix(f.lines[len(f.lines)-1], []byte("\n")) {
		return Harm{}, false
	}
	at := len(f.lines)
	if r.chance(0.5) {
		at = r.between(1, len(f.lines))
	}
	f.insert(at, line)
	return Harm{Line: at + 1, Detail: "the line " + line + " is added"}, true
}

func deepNesting(r *rng, f *file) (Harm, bool) {
	i := f.entry(r)
	if i < 0 || !bytes.HasSuffix(f.lines[i], []byte("\n")) {
		return Harm{}, false
	}
	depth := pick(r, []int{1000, 20_000, 300_000})
	parent := f.id(i)
	if parent == "" {
		parent = "null"
	}
	brackets := bytes.Repeat([]byte("["), depth)
	line := `{"type":"custom","customType":"deep","id":"` + r.hex(8) + `ee","parentId":` + parent + `,"timestamp":"2025-01-01T00:00:00.000Z","data":` +
		string(brackets) + string(bytes.Repeat([]byte("]"), depth)) + "}"
	f.insert(i+1, line)
	return Harm{Line: i + 2, Detail: fmt.Sprintf("a record with %d nested lists is added", depth)}, true
}

func bitFlip(r *rng, f *file) (Harm, bool) {
	if len(f.lines) == 0 {
		return Harm{}, false
	}
	i := r.n(len(f.lines))
	at, bit := r.n(len(f.lines[i])), r.n(8)
	f.lines[i][at] ^= 1 << bit
	return Harm{Line: i + 1, Detail: fmt.Sprintf("bit %d of byte %d is flipped", bit, at)}, true
}

// zeroedTail is what some file systems leave after a power failure.
func zeroedTail(r *rng, f *file) (Harm, bool) {
	last := len(f.lines) - 1
	if last < 0 {
		return Harm{}, false
	}
	from := r.n(len(f.lines[last]))
	clear(f.lines[last][from:])
	return Harm{Line: last + 1, Detail: fmt.Sprintf("the bytes from %d on are zero", from)}, true
}

func noHeader(_ *rng, f *file) (Harm, bool) {
	if len(f.lines) < 2 {
		return Harm{}, false
	}
	f.lines = f.lines[1:]
	return Harm{Line: 1, Detail: "the header line is missing"}, true
}
