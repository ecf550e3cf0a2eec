package openai

import (
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
