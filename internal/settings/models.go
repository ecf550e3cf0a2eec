package settings

import (
	"slices"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
)

// Price is what a model costs, in US dollars for a million tokens.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
}

// Price returns what a model costs, if the settings say so.
func (s *Settings) Price(provider, model string) (Price, bool) {
	p, ok := s.Prices[provider+"/"+model]
	if !ok {
		p, ok = s.Prices[model]
	}
	return p, ok
}

// modelKeys are what can be said of a model.
var modelKeys = []string{"window", "reserve", "trigger", "target", "keep"}

// amountOf returns the field of an override that a key sets.
func amountOf(o *clew.Override, key string) *compact.Amount {
	return map[string]*compact.Amount{"reserve": &o.Reserve, "trigger": &o.Trigger, "target": &o.Target, "keep": &o.Keep}[key]
}

// models reads what is different for single models.
func (f *inFile) models(n *node) error {
	return eachModel(f, n, &f.s.Models, func(o *clew.Override) map[string]func(*node) error {
		return map[string]func(*node) error{"window": func(v *node) error {
			return f.value(v, func(text string) error { return setTokens(&o.Window, text, compact.MinWindow) })
		}}
	})
}

// prices reads what models cost.
func (f *inFile) prices(n *node) error {
	return eachModel(f, n, &f.s.Prices, func(*Price) map[string]func(*node) error { return nil })
}

// eachModel reads an object of models.
func eachModel[T any](f *inFile, n *node, into *map[string]T, own func(*T) map[string]func(*node) error) error {
	return f.each(n, "a model", `{"anthropic/claude-opus-4-6": {...}}`, func(m *node) error {
		if m.key == "" {
			return f.bad(m, "a model without a name would never count", `name it as "model" or "provider/model"`)
		}
		one := (*into)[m.key]
		if err := f.object(m, &one, own(&one)); err != nil {
			return err
		}
		put(into, m.key, one)
		for _, v := range m.kids {
			text, _ := scalarText(v) // it was read
			f.s.note(v, text, Origin{f.from, f.path, v.line})
		}
		return nil
	})
}

// noted returns the index of what note remembers of a key, -1 for none.
func (s *Settings) noted(key string) int {
	return slices.IndexFunc(s.extra, func(v Setting) bool { return v.Key == key })
}

// note remembers where something comes from that is no key.
func (s *Settings) note(n *node, text string, from Origin) {
	if i := s.noted(n.name); i >= 0 {
		s.extra[i].Value, s.extra[i].Origin = text, from
		return
	}
	s.extra = append(s.extra, Setting{Key: n.name, Value: text, Origin: from})
}
