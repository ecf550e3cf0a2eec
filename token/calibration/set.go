package calibration

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/clew-dev/clew/token"
)

// Set is what was learnt about any number of models and counters. The zero value
// is empty. It is not safe for use by several goroutines.
type Set struct {
	of map[key]token.Calibration
}

type key struct{ provider, model, counter string }

func keyOf(c *token.Calibration) key { return key{c.Provider, c.Model, c.Counter} }

// most is how many calibrations a set has when it is written: those that were
// learnt last.
const most = 200

// For returns what was learnt about a counter for a model, or the zero value.
func (s *Set) For(counter token.Counter, provider, model string) token.Calibration {
	return s.of[key{provider, model, counter.Name()}]
}

// Put puts a calibration in the place of what there was about its model and
// counter. One that has learnt nothing is not put.
func (s *Set) Put(c token.Calibration) {
	if c.Calls == 0 {
		return
	}
	if s.of == nil {
		s.of = map[key]token.Calibration{}
	}
	s.of[keyOf(&c)] = c
}

// Merge takes from another set what was learnt later. The result is the same
// whichever of two sets is merged into the other.
func (s *Set) Merge(other *Set) {
	for k, c := range other.of {
		if mine, ok := s.of[k]; !ok || later(c, mine) {
			s.Put(c)
		}
	}
}

// later orders calibrations of the same model and counter.
func later(a, b token.Calibration) bool {
	order := cmp.Or(cmp.Compare(a.Last, b.Last), cmp.Compare(a.Calls, b.Calls))
	if order == 0 {
		order = bytes.Compare(encode(a), encode(b))
	}
	return order > 0
}

func encode(c token.Calibration) []byte {
	data, err := c.MarshalJSON()
	if err != nil {
		panic(err) // it is made of numbers and strings
	}
	return data
}

// All returns the calibrations, by provider, model and counter.
func (s *Set) All() []token.Calibration {
	return slices.SortedFunc(maps.Values(s.of), func(a, b token.Calibration) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Counter, b.Counter))
	})
}

// setVersion is the version of the JSON of a set.
const setVersion = 1

// MarshalJSON writes the set, a calibration to a line.
func (s *Set) MarshalJSON() ([]byte, error) {
	all := s.All()
	if len(all) > most {
		slices.SortFunc(all, func(a, b token.Calibration) int {
			if later(a, b) {
				return -1
			}
			return 1
		})
		kept := Set{}
		for _, c := range all[:most] {
			kept.Put(c)
		}
		all = kept.All()
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"version\":%d,\"calibrations\":[", setVersion)
	for i, c := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		b.Write(encode(c))
	}
	b.WriteString("\n]}")
	return b.Bytes(), nil
}

// UnmarshalJSON reads what MarshalJSON wrote. Of calibrations that cannot be read it
// returns the first error, and the set has the others. Anything else that is
// wrong leaves the set as it was.
func (s *Set) UnmarshalJSON(data []byte) error {
	var file struct {
		Version      *int              `json:"version"`
		Calibrations []json.RawMessage `json:"calibrations"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return err
	}
	if file.Version == nil || *file.Version != setVersion {
		return fmt.Errorf("it is not of version %d, the one that this program reads", setVersion)
	}
	*s = Set{}
	var first error
	for _, raw := range file.Calibrations {
		var c token.Calibration
		if err := json.Unmarshal(raw, &c); err != nil {
			first = cmp.Or(first, err)
			continue
		}
		s.Put(c)
	}
	return first
}
