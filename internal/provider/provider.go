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
	"maps"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/model/anthropic"
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
