// Package catalogue knows what models take and cost, and learns what their providers
// really accept. Nothing in it uses the network.
//
//	i, ok := catalogue.Default().Lookup("anthropic", "claude-sonnet-4-5")
//	fmt.Println(i.Window, i.Price.Cost(usage))
package catalogue

import (
	"bytes"
	"cmp"
	_ "embed" // for the built-in catalogue
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

//go:embed catalogue.json
var builtIn []byte

// Catalogue knows what models take and cost. It is not changed after it was made.
type Catalogue struct{ entries []entry }

// entry is a model or a family of models, as the JSON file has it.
type entry struct {
	// ID is the model's name, or the start of the names of a family when it ends in
	// "*". The longest that fits counts.
	ID string `json:"id"`
	// Provider restricts the entry to one provider; empty means any.
	Provider string `json:"provider,omitempty"`

	Window        int64          `json:"window,omitempty"`
	MaxInput      int64          `json:"maxInput,omitempty"`
	MaxOutput     int64          `json:"maxOutput,omitempty"`
	Images        *bool          `json:"images,omitempty"`
	NoTemperature *bool          `json:"noTemperature,omitempty"`
	Thinking      ThinkingMethod `json:"thinking,omitempty"`
	Price         *Price         `json:"price,omitempty"`

	Source string `json:"source,omitempty"` // a link
	Date   string `json:"date,omitempty"`   // when it was looked up

	layer int // 0 counts first, whatever is more exact below it
}

// BuiltIn returns the catalogue that comes with this package. Each entry names
// the page it was taken from and the day.
func BuiltIn() (*Catalogue, error) { return Read(bytes.NewReader(builtIn)) }

// Default is BuiltIn, read once.
var Default = sync.OnceValue(func() *Catalogue {
	c, err := BuiltIn()
	if err != nil { // a test reads it
		panic(err)
	}
	return c
})

// Read reads a catalogue: {"models":[{"id":...}]}. docs/models.md has
// the members. Unknown members are errors, for they are most often misspelt.
func Read(r io.Reader) (*Catalogue, error) {
	var file struct {
		Models []entry `json:"models"`
	}
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("reading a catalogue of models: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("reading a catalogue of models: there is something after the object")
	}
	for i, e := range file.Models {
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("model %d of the catalogue (%q): %w", i+1, e.ID, err)
		}
	}
	return &Catalogue{file.Models}, nil
}

func (e *entry) check() error {
	if strings.Trim(e.ID, "*") == "" || strings.Contains(strings.TrimSuffix(e.ID, "*"), "*") {
		return errors.New("id must be a name, or the start of one with * at its end")
	}
	if e.Window < 0 || e.MaxInput < 0 || e.MaxOutput < 0 {
		return errors.New("limits must not be negative")
	}
	if e.Window > 0 && (e.MaxInput > e.Window || e.MaxOutput > e.Window) {
		return errors.New("maxInput and maxOutput must not be larger than window")
	}
	switch e.Thinking {
	case "", ThinkingNever, ThinkingBudget, ThinkingAdaptive, ThinkingEffort:
	default:
		return fmt.Errorf("thinking must be %s, %s, %s or %s", ThinkingNever, ThinkingBudget, ThinkingAdaptive, ThinkingEffort)
	}
	for p := e.Price; p != nil; p = p.Above {
		if p.Input < 0 || p.Output < 0 || p.CacheRead < 0 || p.CacheWrite < 0 || p.OverInput < 0 {
			return errors.New("prices must not be negative")
		}
	}
	return nil
}

// With returns a catalogue in which the entries of other come first: what they
// say counts, also for a whole family, and what they leave open stays as it was.
func (c *Catalogue) With(other *Catalogue) *Catalogue {
	if other == nil {
		return c
	}
	out, layer := slices.Clone(other.entries), 0
	for _, e := range other.entries {
		layer = max(layer, e.layer+1)
	}
	for _, e := range c.entries {
		e.layer += layer
		out = append(out, e)
	}
	return &Catalogue{out}
}

// Lookup returns what is known of a model; ok is false when that is nothing. The
// names that resellers put around a maker's name do not count:
// "anthropic/claude-sonnet-4.5" and "us.anthropic.claude-sonnet-4-5-v1:0" are
// found.
func (c *Catalogue) Lookup(provider, model string) (i Info, ok bool) {
	i = Info{Provider: provider, Model: model}
	fits := c.matching(provider, spellings(model))
	fill(&i, fits)
	return i, len(fits) > 0
}

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

// matching returns the entries that fit, layer by layer, the most exact first; of
// equally exact ones the first in the catalogue.
func (c *Catalogue) matching(provider string, names []string) (out []entry) {
	for _, e := range c.entries {
		id := strings.ToLower(e.ID)
		prefix, family := strings.CutSuffix(id, "*")
		if e.Provider != "" && !strings.EqualFold(e.Provider, provider) {
			continue
		}
		if slices.ContainsFunc(names, func(name string) bool {
			return name == id || family && strings.HasPrefix(name, prefix)
		}) {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b entry) int {
		return cmp.Or(a.layer-b.layer, exactness(b)-exactness(a))
	})
	return out
}

func exactness(e entry) int {
	n := 2 * len(strings.TrimSuffix(e.ID, "*"))
	if !strings.HasSuffix(e.ID, "*") {
		n += 1 << 20
	}
	if e.Provider != "" {
		n++
	}
	return n
}

// fill sets what is not known yet, by the first of the entries that says it. That
// something is not so is said too: a family may take images of which one model does not.
func fill(i *Info, entries []entry) {
	var images, noTemperature *bool
	for _, e := range entries {
		i.Window = cmp.Or(i.Window, e.Window)
		i.MaxInput = cmp.Or(i.MaxInput, e.MaxInput)
		i.MaxOutput = cmp.Or(i.MaxOutput, e.MaxOutput)
		i.Thinking = cmp.Or(i.Thinking, e.Thinking)
		i.Price = cmp.Or(i.Price, e.Price)
		images = cmp.Or(images, e.Images)
		noTemperature = cmp.Or(noTemperature, e.NoTemperature)
		if i.Source == "" && e.Source != "" {
			i.Source = e.Source
			if e.Date != "" {
				i.Source += " (" + e.Date + ")"
			}
		}
	}
	i.Images = images != nil && *images
	i.NoTemperature = noTemperature != nil && *noTemperature
}

// spellings returns the forms of a model's name under which it may be listed.
func spellings(model string) []string {
	full := strings.ToLower(strings.TrimSpace(model))
	out := []string{full}
	add := func(s string) {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	short := full[strings.LastIndexByte(full, '/')+1:]
	add(short)
	if i := strings.Index(short, "claude-"); i > 0 {
		short = short[i:]
		add(short)
	}
	if strings.HasPrefix(short, "claude-") { // "claude-sonnet-4.5"
		add(strings.ReplaceAll(short, ".", "-"))
	}
	if base, _, ok := strings.Cut(short, ":"); ok { // "qwen3:8b", "...:free"
		add(base)
	}
	for _, name := range slices.Clone(out) {
		add(undated(name))
	}
	return out
}

// undated takes off what names one state of a model: "-2025-08-07", "-20250929".
func undated(name string) string {
	for _, layout := range []string{"-2006-01-02", "-20060102"} {
		if at := len(name) - len(layout); at > 0 {
			if _, err := time.Parse(layout, name[at:]); err == nil {
				return name[:at]
			}
		}
	}
	return name
}
