package transcript

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Class says what a Note means for the session.
type Class string

// The classes, the gravest first.
const (
	Damaged Class = "damaged" // could not be read at all
	Lost    Class = "lost"    // was part of the conversation and is not in the result
	Made    Class = "made"    // is in the result and was not in the source as such
	Aside   Class = "aside"   // the program's own bookkeeping, or said elsewhere in the source too
)

func (c Class) rank() int { return slices.Index([]Class{Damaged, Lost, Made, Aside}, c) }

// Note counts one kind of thing that was not carried over as it stood.
type Note struct {
	Class   Class  `json:"class"`
	Kind    string `json:"kind"`              // stable, for programs: "bad-line", "sidechain"
	Count   int    `json:"count"`             //
	Line    int    `json:"line,omitempty"`    // of the first, from 1; the index of the message for formats that are no lines
	Example string `json:"example,omitempty"` // an id of the first, where it has one
	What    string `json:"what"`              // a sentence without a full stop
}

func (n Note) String() string {
	s := fmt.Sprintf("%s: %s (%d", n.Class, n.What, n.Count)
	if n.Line > 0 {
		s += fmt.Sprintf(", first at %d", n.Line)
	}
	if n.Example != "" {
		s += ", " + n.Example
	}
	return s + ")"
}

// Report says what could not be carried from one format to the other.
type Report struct {
	// Notes are sorted: by class, then by kind.
	Notes []Note `json:"notes,omitempty"`
}

// Count returns how many things a class has.
func (r *Report) Count(c Class) (n int) {
	for _, note := range r.Notes {
		if note.Class == c {
			n += note.Count
		}
	}
	return n
}

// Find returns the note of a kind, or nil.
func (r *Report) Find(kind string) *Note {
	for i := range r.Notes {
		if r.Notes[i].Kind == kind {
			return &r.Notes[i]
		}
	}
	return nil
}

// maxKinds bounds the notes: what a damaged file calls a kind may be anything.
const maxKinds = 200

// add counts one thing. What and example of the first of its kind are kept.
func (r *Report) add(c Class, kind string, line int, example, what string) {
	kind = printable(kind, 60)
	n := r.Find(kind)
	if n == nil && len(r.Notes) >= maxKinds {
		kind, what, example = "more", "things of further kinds", ""
		n = r.Find(kind)
	}
	if n == nil {
		r.Notes = append(r.Notes, Note{Class: c, Kind: kind, Line: line, Example: printable(example, 80), What: printable(what, 200)})
		n = &r.Notes[len(r.Notes)-1]
	}
	n.Count++
}

func (r *Report) sort() {
	slices.SortFunc(r.Notes, func(a, b Note) int {
		return cmp.Or(cmp.Compare(a.Class.rank(), b.Class.rank()), cmp.Compare(a.Kind, b.Kind))
	})
}

// maxSeen is how many kinds of things an error names.
const maxSeen = 4

// seen says what was in a file without messages.
func (r *Report) seen() string {
	r.sort()
	out := ""
	for i, n := range r.Notes {
		if i == maxSeen {
			return out + fmt.Sprintf(", and %d more kinds", len(r.Notes)-i)
		}
		sep := ", "
		if i == 0 {
			sep = " and has "
		}
		what := strings.TrimPrefix(n.Kind, "line:")
		if n.Class == Damaged {
			what = n.What
		}
		out += fmt.Sprintf("%s%d × %s", sep, n.Count, what)
	}
	return out
}
