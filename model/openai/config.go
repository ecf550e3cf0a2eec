package openai

import (
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/wire"
)

// BaseURL is the vendor's address.
const BaseURL = "https://api.openai.com/v1"

// Config says which model, and what beside it.
type Config struct {
	model.Endpoint

	// MaxTokensField is the member of a Chat Completions request that limits the
	// answer. Default: max_completion_tokens at OpenAI, which its newer models
	// want, max_tokens elsewhere, which everyone knows.
	MaxTokensField string
	// Profile is how messages are written. Default: wire.OpenAIChat or
	// wire.OpenAIResponses. Copy one and change its fields for a server that
	// differs.
	Profile *wire.Profile
}

// common is what both APIs share.
type common struct {
	e       model.Endpoint
	ownHome bool
	profile wire.Profile
}

func newCommon(c Config, api string, p wire.Profile) (common, error) {
	if c.Profile != nil {
		p = *c.Profile
	}
	e, ownHome, err := c.Resolve(model.Vendor{
		Provider: "openai", API: api, BaseURL: BaseURL, KeyEnv: []string{"OPENAI_API_KEY"}, Profile: p,
	})
	return common{e, ownHome, p}, err
}

// Info says what the model is and what it takes.
func (c *common) Info() model.Info { return *c.e.Info }

func (c *common) call(op, path string, body []byte) model.Call {
	call := c.e.Call(op, path, body)
	if !c.e.Key.Empty() {
		call.Header.Set("Authorization", "Bearer "+c.e.Key.Reveal())
	}
	return call
}

// valid returns data if it is one JSON value, else nil.
func valid(data []byte) []byte {
	i := jsonx.Space(data, 0)
	if end, err := jsonx.Scan(data, i); err == nil && jsonx.Space(data, end) == len(data) {
		return data[i:end]
	}
	return nil
}

func str(obj []byte, key string) string {
	s, _ := jsonx.String(jsonx.Get(obj, key))
	return s
}

func count(obj []byte, key string) int64 {
	n, _ := jsonx.Int(jsonx.Get(obj, key))
	return max(n, 0)
}

func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte(nil), b...)
}

func join(els [][]byte) []byte {
	out := []byte{'['}
	for i, el := range els {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, el...)
	}
	return append(out, ']')
}
