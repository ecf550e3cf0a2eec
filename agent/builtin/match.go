package builtin

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
)

// bom is the mark with which some programs begin a text in UTF-8.
const bom = "\uFEFF"

// edit replaces the one occurrence of a text in a file.
type edit struct{ before, after string }

// editError says why an edit can't be made.
type editError struct{ what, hint string }

func (e *editError) Error() string { return e.what }
func (e *editError) Unwrap() error { return ErrArguments }

// apply makes all edits, found in content as it is, and returns the lines that they
// begin at. A byte order mark stays, and lines end as they did: CR LF in the file and
// LF in an edit are the same. No other byte changes.
func apply(content []byte, edits []edit) (out []byte, lines []int, err error) {
	body, marked := bytes.CutPrefix(content, []byte(bom))
	f := newFlat(body)
	spans := make([]span, len(edits))
	for i, e := range edits {
		before, after := unixLines(e.before), unixLines(e.after)
		if marked {
			before, after = strings.TrimPrefix(before, bom), strings.TrimPrefix(after, bom)
		}
		if spans[i], err = f.find(before, after, i, len(edits)); err != nil {
			return nil, nil, err
		}
	}
	for _, sp := range spans {
		lines = append(lines, sp.line)
	}
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for i := 1; i < len(spans); i++ {
		if a, b := spans[i-1], spans[i]; b.from < a.to {
			return nil, nil, &editError{
				fmt.Sprintf("edits %d and %d overlap, at line %d", min(a.nr, b.nr), max(a.nr, b.nr), b.line), "make one edit of them",
			}
		}
	}
	if marked {
		out = append(out, bom...)
	}
	at := 0
	for _, sp := range spans {
		out = append(out, body[at:f.origin(sp.from)]...)
		after := sp.after
		if f.windows {
			after = strings.ReplaceAll(after, "\n", "\r\n")
		}
		out = append(out, after...)
		at = f.origin(sp.to)
	}
	return append(out, body[at:]...), lines, nil
}

func unixLines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// span is where an edit applies, in the flat text.
type span struct {
	from, to int
	after    string
	line, nr int
}

// flat is a text whose lines all end with LF, and where each CR was.
type flat struct {
	text    string
	crs     []int // the LFs before which a CR was taken out
	windows bool  // most lines end with CR LF
}

func newFlat(body []byte) *flat {
	f := &flat{}
	out := make([]byte, 0, len(body))
	all := 0
	for i, c := range body {
		if c == '\r' && i+1 < len(body) && body[i+1] == '\n' {
			f.crs = append(f.crs, len(out))
			continue
		}
		if c == '\n' {
			all++
		}
		out = append(out, c)
	}
	f.text, f.windows = string(out), 2*len(f.crs) > all
	return f
}

// origin returns where a place of the flat text is in the file.
func (f *flat) origin(at int) int { return at + sort.SearchInts(f.crs, at) }

func (f *flat) line(at int) int { return 1 + strings.Count(f.text[:at], "\n") }

// find finds the one place of edit nr of all.
func (f *flat) find(before, after string, nr, all int) (span, error) {
	which := "oldText"
	if all > 1 {
		which = fmt.Sprintf("oldText of edit %d", nr+1)
	}
	if before == "" {
		return span{}, &editError{which + " is empty", "give the text to replace; to make a file use write"}
	}
	if before == after {
		return span{}, &editError{which + " and newText are the same", "leave this edit out, or say what is to become of it"}
	}
	const most = 10_000
	var places []int
	for at := 0; len(places) < most; {
		k := strings.Index(f.text[at:], before)
		if k < 0 {
			break
		}
		places = append(places, at+k)
		at += k + 1
	}
	switch len(places) {
	case 1:
		return span{places[0], places[0] + len(before), after, f.line(places[0]), nr + 1}, nil
	case 0:
		return span{}, f.missing(which, before, after)
	}
	lines := make([]int, 0, 6)
	for _, at := range places[:min(6, len(places))] {
		lines = append(lines, f.line(at))
	}
	where := lineList(lines)
	if len(places) > len(lines) {
		where += " and further on"
	}
	return span{}, &editError{fmt.Sprintf("%s occurs %d times in the file, at %s", which, len(places), where), "give more of the lines around the one that is meant"}
}

// missing says that a text is not there, and what is there instead.
func (f *flat) missing(which, before, after string) error {
	e := &editError{which + " is not in the file", "read the file again and copy the text exactly"}
	if at, ok := f.loose(before); ok {
		e.hint = fmt.Sprintf("with other spaces, tabs or line breaks it is at line %d: read that again and copy it exactly", f.line(at))
	} else if k := strings.Index(f.text, after); len(after) >= 8 && k >= 0 {
		e.hint = fmt.Sprintf("newText is there already, at line %d: the edit may have been made before", f.line(k))
	}
	return e
}

// loose finds a text where white space does not count.
func (f *flat) loose(s string) (at int, ok bool) {
	squeeze := func(s string) (string, []int) {
		var out strings.Builder
		var from []int
		for i, r := range s {
			if !unicode.IsSpace(r) {
				size := out.Len()
				out.WriteRune(r)
				for range out.Len() - size {
					from = append(from, i)
				}
			}
		}
		return out.String(), from
	}
	want, _ := squeeze(s)
	if want == "" || len(f.text) > diffInput {
		return 0, false
	}
	text, from := squeeze(f.text)
	k := strings.Index(text, want)
	if k < 0 {
		return 0, false
	}
	return from[k], true
}

// lineList names lines: "line 3", "lines 3, 7 and 9".
func lineList(lines []int) string {
	words := make([]string, len(lines))
	for i, n := range lines {
		words[i] = strconv.Itoa(n)
	}
	if len(words) == 1 {
		return "line " + words[0]
	}
	return "lines " + strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
