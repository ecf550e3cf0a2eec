package provider

import (
	"cmp"
	"fmt"
	"net/http"
	"os"

	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/anthropic"
	"github.com/clew-dev/clew/model/gemini"
	"github.com/clew-dev/clew/model/openai"
)

// Config says which model, and where.
type Config struct {
	// Name is the model as "provider/id", or "id" for one that the catalogue knows.
	Name string
	// BaseURL is the address of another server that speaks the provider's API; of openai,
	// and of a provider that is not known, Chat Completions. Neither the provider's key
	// nor its headers are sent there. Default: the provider's.
	BaseURL string
	// KeyEnv is the variable that has the key. Default: the provider's.
	KeyEnv string
	// Transport makes the calls. Share one among all models. Default: one of its own.
	Transport *model.Transport
	// Catalogue knows models. Default: the built-in one.
	Catalogue *model.Catalogue
	// Settings may have providers, and windows and prices of models. nil: none.
	Settings *settings.Settings
	// Local are models of the servers on this machine: the windows that they serve count,
	// unless the settings say others.
	Local []Found
	// Getenv reads the environment. Default os.Getenv.
	Getenv func(string) string
}

// Open returns a model. It makes no call. A name that leads nowhere is a *NameError.
func Open(c Config) (model.Model, error) {
	if c.Getenv == nil {
		c.Getenv = os.Getenv
	}
	if c.Catalogue == nil {
		var err error
		if c.Catalogue, err = model.BuiltIn(); err != nil {
			return nil, err
		}
	}
	p, id, err := c.find()
	if err != nil {
		return nil, err
	}
	p.move(c.BaseURL)
	if c.KeyEnv != "" {
		p.KeyEnv = []string{c.KeyEnv}
	}
	at, err := c.endpoint(p, id)
	if err != nil {
		return nil, err
	}
	switch p.API {
	case settings.APIAnthropic:
		return opened(anthropic.New(anthropic.Config{Endpoint: at}))
	case settings.APIGemini:
		return opened(gemini.New(gemini.Config{Endpoint: at}))
	case settings.APIResponses:
		return opened(openai.NewResponses(openai.Config{Endpoint: at}))
	}
	return opened(openai.NewChat(openai.Config{Endpoint: at}))
}

// opened makes a nil of what came with an error.
func opened[M model.Model](m M, err error) (model.Model, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (c Config) endpoint(p Provider, id string) (model.Endpoint, error) {
	if p.BaseURL == "" {
		return model.Endpoint{}, &NameError{Name: c.Name, Problem: fmt.Sprintf("the settings say of provider %s no address", p.Name), Hint: fmt.Sprintf("set providers.%s.baseURL", p.Name)}
	}
	at := model.Endpoint{
		Model: id, Provider: cmp.Or(p.messages, p.Name), BaseURL: p.BaseURL, KeyEnv: p.key(c.Getenv),
		Transport: c.Transport, Catalogue: c.Catalogue, Info: c.info(p, id), Getenv: c.Getenv,
	}
	if at.KeyEnv == "" && len(p.KeyEnv) == 1 {
		at.KeyEnv = p.KeyEnv[0] // which is not set: the error names it
	}
	for name, text := range p.headers {
		value, err := settings.Expand(text, c.Getenv)
		if err != nil {
			return at, fmt.Errorf("%s: header %s of the provider: %w", c.Name, name, err)
		}
		if at.Header == nil {
			at.Header = http.Header{}
		}
		at.Header.Set(name, value)
	}
	return at, nil
}

// info returns what the settings or a server on this machine say of a model, with what is
// known of it else; nil where they say nothing.
func (c Config) info(p Provider, id string) *model.Info {
	served := int64(0)
	for _, f := range c.Local {
		if f.Provider == p.Name && f.Model == id {
			served = f.Window
		}
	}
	maker := cmp.Or(p.messages, p.Name)
	info, _ := c.Catalogue.Lookup(maker, id)
	info.Window = cmp.Or(served, info.Window)
	if c.Settings != nil {
		over := c.Settings.Overrides()
		for _, name := range []string{maker, p.Name, p.alias} {
			price, priced := c.Settings.Price(name, id)
			window := cmp.Or(over[name+"/"+id], over[id]).Window
			if name == "" || !priced && window == 0 {
				continue
			}
			if priced {
				info.Price = &model.Price{Input: price.Input, Output: price.Output, CacheRead: price.CacheRead, CacheWrite: price.CacheWrite}
			}
			info.Window = cmp.Or(window, info.Window)
			return &info
		}
	}
	if served == 0 {
		return nil
	}
	return &info
}
