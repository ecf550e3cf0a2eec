package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
)

// Price is what tokens cost, all in one unit: as multiples of an input token, or in
// dollars per million tokens.
type Price struct {
	Input      float64 `json:"input"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
	Output     float64 `json:"output"`
}

// The price lists that need no file, as multiples of an input token. Of two
// providers, and of none that caches.
var (
	AnthropicPrice = Price{1, .1, 1.25, 5}
	OpenAIPrice    = Price{1, .1, 1, 8}
	UncachedPrice  = Price{1, 1, 1, 5}
)

// Prices say what the calls of each model cost.
type Prices struct {
	// Name is how reports call them.
	Name string
	// Default is for models that Models does not name.
	Default Price
	// Models has prices by model, in dollars per million tokens.
	Models map[string]Price
	// Gaps say what the file did not, and what was taken in its place.
	Gaps []string
}

// NamedPrices returns a price list by name: anthropic, openai or none.
func NamedPrices(name string) (Prices, bool) {
	switch name {
	case "anthropic", "":
		return Prices{Name: "anthropic", Default: AnthropicPrice}, true
	case "openai":
		return Prices{Name: "openai", Default: OpenAIPrice}, true
	case "none":
		return Prices{Name: "none", Default: UncachedPrice}, true
	}
	return Prices{}, false
}

// ParsePrices reads a price list: a JSON object from the names of models to objects
// with input, cacheRead, cacheWrite and output in dollars per million tokens. The
// name "*" stands for every other model. A price that is not there is taken in
// proportion to the input price, as Anthropic's are; Gaps names it. An input price
// must be there.
func ParsePrices(data []byte) (Prices, error) {
	p := Prices{Name: "file", Default: AnthropicPrice, Models: map[string]Price{}}
	end, err := jsonx.Scan(data, 0)
	if err != nil {
		return p, fmt.Errorf("the price list is not JSON: %w", err)
	}
	if len(strings.TrimSpace(string(data[end:]))) > 0 || !jsonx.IsObject(data[jsonx.Space(data, 0):end]) {
		return p, errors.New(`the price list must be one JSON object, such as {"claude-opus-4-5": {"input": 5, "cacheRead": 0.5, "cacheWrite": 6.25, "output": 25}}`)
	}
	jsonx.Members(data[jsonx.Space(data, 0):end], func(key, val []byte) bool {
		var price Price
		var gaps []string
		if price, gaps, err = parsePrice(string(key), val); err != nil {
			return false
		}
		p.Gaps = append(p.Gaps, gaps...)
		p.Models[string(key)] = price
		return true
	})
	if err != nil {
		return p, err
	}
	if len(p.Models) == 0 {
		return p, errors.New("the price list names no model")
	}
	slices.Sort(p.Gaps)
	return p, nil
}

func parsePrice(model string, val []byte) (Price, []string, error) {
	if !jsonx.IsObject(val) {
		return Price{}, nil, fmt.Errorf("the price of %s must be an object with input, cacheRead, cacheWrite and output", model)
	}
	fields := map[string]float64{}
	var bad error
	jsonx.Members(val, func(key, v []byte) bool {
		switch name := string(key); name {
		case "input", "cacheRead", "cacheWrite", "output":
			f, ok := jsonx.Float(v)
			if !ok || f < 0 || f > 1e6 || f > 0 && f < 1e-9 {
				bad = fmt.Errorf("the price of %s: %s is %s, which is no number of dollars", model, name, v)
				return false
			}
			fields[name] = f
		}
		return true
	})
	if bad != nil {
		return Price{}, nil, bad
	}
	input, ok := fields["input"]
	if !ok || input == 0 {
		return Price{}, nil, fmt.Errorf("the price of %s has no input price; without it the others can't be filled in", model)
	}
	var gaps []string
	fill := func(name string, ratio float64) float64 {
		if f, ok := fields[name]; ok {
			return f
		}
		gaps = append(gaps, fmt.Sprintf("%s has no %s; %g times its input price was taken", model, name, ratio))
		return ratio * input
	}
	// One after the other: in a return statement gaps might be read before it is filled.
	price := Price{Input: input}
	price.CacheRead = fill("cacheRead", AnthropicPrice.CacheRead)
	price.CacheWrite = fill("cacheWrite", AnthropicPrice.CacheWrite)
	price.Output = fill("output", AnthropicPrice.Output)
	return price, gaps, nil
}

// of returns the price for a model, as multiples of an input token, and the dollars
// that a million of these cost, 0 where that is not known.
func (p *Prices) of(model string) (relative Price, dollars float64) {
	price, ok := p.Models[model]
	if !ok {
		price, ok = p.Models["*"]
	}
	if !ok {
		return p.Default, 0
	}
	in := price.Input
	return Price{1, price.CacheRead / in, price.CacheWrite / in, price.Output / in}, in
}

// MarshalJSON writes the list as ParsePrices reads it, or its name.
func (p Prices) MarshalJSON() ([]byte, error) {
	if p.Models == nil {
		return json.Marshal(p.Name)
	}
	var o jsonx.Object
	for _, name := range slices.Sorted(maps.Keys(p.Models)) {
		val, err := json.Marshal(p.Models[name])
		if err != nil {
			return nil, err
		}
		o.Raw(name, val)
	}
	return o.Bytes(), nil
}
