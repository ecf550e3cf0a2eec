// Package provider opens a model by its name, "provider/id": at its vendor, at one of
// the servers that speak a vendor's API, or at one that the settings name.
//
//	name, err := provider.Default(os.Getenv, s)
//	m, err := provider.Open(provider.Config{Name: name, Settings: s, Transport: shared})
//	m.Info().Window
//
// Which providers there are, which key each takes and what an environment chooses is in
// docs/models.md. A key goes to the address that it belongs to, and nowhere else.
package provider

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/anthropic"
	"github.com/clew-dev/clew/model/catalogue"
	"github.com/clew-dev/clew/model/gemini"
	"github.com/clew-dev/clew/model/openai"
)

// Provider is a server of models.
type Provider struct {
	// Name stands before the / of a model.
	Name string `json:"name"`
	// API is what it speaks, one of settings.APIs.
	API string `json:"api"`
	// BaseURL is its address; "" for a provider of the settings that has none.
	BaseURL string `json:"baseUrl,omitempty"`
	// KeyEnv are the variables that may have its key; the first that is set counts.
	KeyEnv []string `json:"keyEnv,omitempty"`
	// FromSettings says that the settings name it, or change it.
	FromSettings bool `json:"settings,omitempty"`

	messages string            // what messages call it, where that is not Name
	alias    string            // another name for it
	apiSaid  bool              // by the settings
	headers  map[string]string // of the settings
}

// chat is a server that speaks OpenAI's Chat Completions.
func chat(name, baseURL string, keyEnv ...string) Provider {
	return Provider{Name: name, API: settings.APIChat, BaseURL: baseURL, KeyEnv: keyEnv}
}

// known are the providers that clew knows. Each address and variable is from the
// provider's own pages.
func known() []Provider {
	return []Provider{
		{Name: "anthropic", API: settings.APIAnthropic, BaseURL: anthropic.BaseURL, KeyEnv: []string{"ANTHROPIC_API_KEY"}},
		{Name: "openai", API: settings.APIResponses, BaseURL: openai.BaseURL, KeyEnv: []string{"OPENAI_API_KEY"}},
		{Name: "openai-chat", API: settings.APIChat, BaseURL: openai.BaseURL, KeyEnv: []string{"OPENAI_API_KEY"}, messages: "openai"},
		{Name: "google", API: settings.APIGemini, BaseURL: gemini.BaseURL, KeyEnv: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, alias: "gemini"},
		chat("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
		chat("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
		chat("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
		chat("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
		chat("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
		chat("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
		chat("llama.cpp", "http://localhost:8080/v1"),
		chat("lmstudio", "http://localhost:1234/v1"),
		chat("ollama", "http://localhost:11434/v1"),
		chat("vllm", "http://localhost:8000/v1"),
	}
}

// All returns the providers that there are: those that clew knows with what the settings
// change, then those that the settings add, by name. s may be nil.
func All(s *settings.Settings) []Provider {
	out := known()
	if s == nil {
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(s.Providers)) {
		own := s.Providers[name]
		at := slices.IndexFunc(out, func(p Provider) bool { return p.is(name) })
		if at < 0 {
			out = append(out, chat(name, ""))
			at = len(out) - 1
		}
		out[at].take(own)
	}
	return out
}

// is reports whether a name is that of the provider.
func (p Provider) is(name string) bool { return name == p.Name || name == p.alias && name != "" }

// take takes what the settings say of a provider.
func (p *Provider) take(own settings.Provider) {
	p.FromSettings = true
	if own.API != "" {
		p.API, p.apiSaid = own.API, true
	}
	p.move(cmp.Or(own.BaseURL, p.BaseURL, homes[own.API]))
	if own.KeyEnv != "" {
		p.KeyEnv = []string{own.KeyEnv}
	}
	p.headers = own.Headers
}

// move gives the provider another address, to which its key and headers do not go.
func (p *Provider) move(baseURL string) {
	baseURL = strings.TrimRight(baseURL, "/")
	if baseURL == "" || baseURL == p.BaseURL {
		return
	}
	p.BaseURL, p.KeyEnv, p.headers = baseURL, nil, nil
	if p.API == settings.APIResponses && !p.apiSaid {
		p.API = settings.APIChat // what others mean who speak as OpenAI does
	}
}

// homes are the addresses of the vendors of the APIs, but for the one that most servers speak.
var homes = map[string]string{
	settings.APIAnthropic: anthropic.BaseURL, settings.APIResponses: openai.BaseURL, settings.APIGemini: gemini.BaseURL,
}

// Ready reports whether the provider can be asked as far as one sees from here: it has
// an address, and the environment has its key, or it takes none.
func (p Provider) Ready(getenv func(string) string) bool {
	return p.BaseURL != "" && (len(p.KeyEnv) == 0 || p.key(getenv) != "")
}

// key returns the variable that has the key, "" for none.
func (p Provider) key(getenv func(string) string) string {
	for _, name := range p.KeyEnv {
		if strings.TrimSpace(getenv(name)) != "" {
			return name
		}
	}
	return ""
}

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
		c.Catalogue = catalogue.Default()
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
