package settings

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
)

// Price is what a model costs, in US dollars for a million tokens.
type Price struct {
	Input, Output, CacheRead, CacheWrite float64
}

// Price returns what a model costs, if the settings say so.
func (s *Settings) Price(provider, model string) (Price, bool) {
	p, ok := s.Prices[provider+"/"+model]
	if !ok {
		p, ok = s.Prices[model]
	}
	return p, ok
}

var (
	modelKeys = []string{"window", "reserve", "trigger", "target", "keep"}
	priceKeys = []string{"input", "output", "cacheRead", "cacheWrite"}
)

// models reads what is different for single models.
func (f *inFile) models(n *node) error {
	return f.eachModel(n, modelKeys, func(model, key, text string, v *node) error {
		o := f.s.Models[model]
		var err error
		if key == "window" {
			err = setTokens(&o.Window, text, compact.MinWindow)
		} else {
			err = setAmount(amountOf(&o, key), text)
		}
		put(&f.s.Models, model, o)
		f.s.note(v, text, Origin{f.from, f.path, v.line})
		return err
	})
}

// amountOf returns the field of an override that a key sets.
func amountOf(o *clew.Override, key string) *compact.Amount {
	return map[string]*compact.Amount{"reserve": &o.Reserve, "trigger": &o.Trigger, "target": &o.Target, "keep": &o.Keep}[key]
}

// prices reads what models cost.
func (f *inFile) prices(n *node) error {
	return f.eachModel(n, priceKeys, func(model, key, text string, v *node) error {
		p := f.s.Prices[model]
		dollars, err := strconv.ParseFloat(text, 64)
		if err != nil || !(dollars >= 0 && dollars < 1e6) {
			return fmt.Errorf("%q is no price; write US dollars for a million tokens", text)
		}
		*map[string]*float64{"input": &p.Input, "output": &p.Output, "cacheRead": &p.CacheRead, "cacheWrite": &p.CacheWrite}[key] = dollars
		put(&f.s.Prices, model, p)
		f.s.note(v, text, Origin{f.from, f.path, v.line})
		return nil
	})
}

// eachModel calls set for every value of an object of models.
func (f *inFile) eachModel(n *node, keys []string, set func(model, key, text string, v *node) error) error {
	if n.raw != nil {
		return f.bad(n, "it must be an object with a model for each key", `such as {"anthropic/claude-opus-4-6": {...}}`)
	}
	for _, m := range n.kids {
		switch {
		case m.key == "":
			return f.bad(m, "a model without a name would never count", `name it as "model" or "provider/model"`)
		case m.raw != nil:
			return f.bad(m, "it must be an object", "")
		}
		for _, v := range m.kids {
			if !slices.Contains(keys, v.key) {
				return f.unknownOf(v, keys)
			}
			text, err := scalarText(v)
			if err == nil {
				err = set(m.key, v.key, text, v)
			}
			if err != nil {
				return f.bad(v, err.Error(), "")
			}
		}
	}
	return nil
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
