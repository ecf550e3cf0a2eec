package model

import (
	"slices"
	"strings"
)

// Listed is an entry of a catalogue.
type Listed struct {
	// Family says that Info.Model is only how the names of a family begin.
	Family bool
	// Info is what is known of the model, or of all of a family. Its Provider is empty
	// for any.
	Info Info
}

// List returns the entries in the order of the catalogue. What an entry leaves open is
// filled from those that are less exact, as Lookup does.
func (c *Catalogue) List() []Listed {
	var out []Listed
	for _, e := range c.entries {
		name, family := strings.CutSuffix(e.ID, "*")
		i := Info{Provider: e.Provider, Model: name}
		fits := c.matching(e.Provider, []string{strings.ToLower(name)})
		fill(&i, slices.DeleteFunc(fits, func(f entry) bool { return f.layer == e.layer && exactness(f) > exactness(e) }))
		out = append(out, Listed{family, i})
	}
	return out
}
