package provider_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/provider"
	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/modeltest"
)

// vars is an environment.
type vars map[string]string

func (v vars) get(name string) string { return v[name] }

// load reads settings from the text of a user's file.
func load(t *testing.T, text string) *settings.Settings {
	t.Helper()
	file := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := settings.Load(settings.Options{UserFile: file})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var question = &model.Request{MaxOutput: 100, Messages: []*message.Message{message.User("Hello?", time.Unix(1_700_000_000, 0))}}

// Every API is spoken over the wire, to a server that the settings name, with its key and
// headers.
func TestOpenSpeaksEachAPI(t *testing.T) {
	for api, path := range map[string]string{
		settings.APIAnthropic: "", settings.APIChat: "/v1", settings.APIResponses: "/v1", settings.APIGemini: "/v1beta",
	} {
		srv := modeltest.Start(modeltest.Config{}, modeltest.Text("Hi."))
		defer srv.Close()
		s := load(t, `{"providers": {"mine": {"api": "`+api+`", "baseURL": "`+srv.URL+path+`", "keyEnv": "MY_KEY"}}, "prices": {"mine/m-1": {"input": 7, "output": 8}}, "models": {"m-1": {"window": 5000}}}`)
		m, err := provider.Open(provider.Config{Name: "mine/m-1", Settings: s, Getenv: vars{"MY_KEY": modeltest.Key}.get})
		if err != nil {
			t.Fatal(err)
		}
		info := m.Info()
		if info.Provider != "mine" || info.Model != "m-1" || info.API != api || info.Window != 5000 || info.Price == nil || info.Price.Input != 7 {
			t.Errorf("%s: %+v", api, info)
		}
		resp, err := m.Complete(t.Context(), question)
		if err != nil || resp.Message.Text() != "Hi." || resp.Message.Provider != "mine" {
			t.Errorf("%s: %+v %v", api, resp, err)
		}
		if bad := srv.Violations(); len(bad) > 0 {
			t.Errorf("%s: %v", api, bad)
		}
	}
}

// recorder answers nothing and keeps what it was sent.
type recorder struct{ got []*http.Request }

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.got = append(r.got, req)
	return httptest.NewRecorder().Result(), nil
}

// sent opens a model and returns the request that a call makes.
func sent(t *testing.T, c provider.Config) *http.Request {
	t.Helper()
	r := &recorder{}
	c.Transport = model.NewTransport(model.TransportConfig{Base: r, Retry: model.Retry{Attempts: 1}})
	m, err := provider.Open(c)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	_, _ = m.Complete(t.Context(), question)
	if len(r.got) != 1 {
		t.Fatalf("%s: %d requests over the transport that is shared", c.Name, len(r.got))
	}
	return r.got[0]
}

func key(r *http.Request) string {
	for _, h := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"} {
		if v := r.Header.Get(h); v != "" {
			return strings.TrimPrefix(v, "Bearer ")
		}
	}
	return ""
}

func TestOpenAddressesAndKeys(t *testing.T) {
	env := vars{"OTHER": "k-other"}
	for _, p := range provider.All(nil) {
		for _, v := range p.KeyEnv {
			env[v] = "k-" + v
		}
	}
	for _, c := range []struct{ name, base, keyEnv, url, key string }{
		{"anthropic/m", "", "", "https://api.anthropic.com/v1/messages", "k-ANTHROPIC_API_KEY"},
		{"openai/m", "", "", "https://api.openai.com/v1/responses", "k-OPENAI_API_KEY"},
		{"openai-chat/m", "", "", "https://api.openai.com/v1/chat/completions", "k-OPENAI_API_KEY"},
		{"google/m", "", "", "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent", "k-GEMINI_API_KEY"},
		{"gemini/m", "", "", "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent", "k-GEMINI_API_KEY"},
		{"deepseek/m", "", "", "https://api.deepseek.com/v1/chat/completions", "k-DEEPSEEK_API_KEY"},
		{"groq/m", "", "", "https://api.groq.com/openai/v1/chat/completions", "k-GROQ_API_KEY"},
		{"mistral/m", "", "", "https://api.mistral.ai/v1/chat/completions", "k-MISTRAL_API_KEY"},
		{"openrouter/maker/m", "", "", "https://openrouter.ai/api/v1/chat/completions", "k-OPENROUTER_API_KEY"},
		{"together/maker/m", "", "", "https://api.together.xyz/v1/chat/completions", "k-TOGETHER_API_KEY"},
		{"xai/m", "", "", "https://api.x.ai/v1/chat/completions", "k-XAI_API_KEY"},
		{"ollama/m:8b", "", "", "http://localhost:11434/v1/chat/completions", ""},
		{"lmstudio/m", "", "", "http://localhost:1234/v1/chat/completions", ""},
		{"llama.cpp/m", "", "", "http://localhost:8080/v1/chat/completions", ""},
		{"vllm/m", "", "", "http://localhost:8000/v1/chat/completions", ""},
		// A vendor's key goes to the vendor alone.
		{"anthropic/m", "http://localhost:9/x", "", "http://localhost:9/x/v1/messages", ""},
		{"google/m", "http://localhost:9", "", "http://localhost:9/models/m:generateContent", ""},
		{"openai/m", "http://localhost:9/v1", "", "http://localhost:9/v1/chat/completions", ""},
		{"openai/m", "https://api.openai.com/v1/", "", "https://api.openai.com/v1/responses", "k-OPENAI_API_KEY"},
		{"groq/m", "http://localhost:9/v1", "", "http://localhost:9/v1/chat/completions", ""},
		{"groq/m", "http://localhost:9/v1", "OTHER", "http://localhost:9/v1/chat/completions", "k-other"},
		{"anthropic/m", "", "OTHER", "https://api.anthropic.com/v1/messages", "k-other"},
		{"nobody/m", "http://localhost:9/v1", "", "http://localhost:9/v1/chat/completions", ""},
	} {
		r := sent(t, provider.Config{Name: c.name, BaseURL: c.base, KeyEnv: c.keyEnv, Getenv: env.get})
		if r.URL.String() != c.url || key(r) != c.key {
			t.Errorf("%s at %q: %s with %q, want %s with %q", c.name, c.base, r.URL, key(r), c.url, c.key)
		}
	}
}

// What the settings say of a provider holds, and does not follow to an address that is
// named beside it.
func TestOpenFollowsSettings(t *testing.T) {
	s := load(t, `{"providers": {
		"openai": {"headers": {"X-Project": "${P}"}},
		"groq": {"baseURL": "http://localhost:9/v1/", "headers": {"X-Secret": "s"}},
		"gemini": {"keyEnv": "OWN"},
		"second": {"api": "anthropic-messages", "keyEnv": "OWN"},
		"resp": {"api": "openai-responses", "baseURL": "http://localhost:9/v1"},
		"empty": {"keyEnv": "OWN"},
	}}`)
	env := vars{"P": "p1", "OPENAI_API_KEY": "k-openai", "GROQ_API_KEY": "k-groq", "GEMINI_API_KEY": "k-gemini", "OWN": "k-own"}
	open := func(name, base string) *http.Request {
		return sent(t, provider.Config{Name: name, BaseURL: base, Settings: s, Getenv: env.get})
	}
	if r := open("openai/m", ""); r.Header.Get("X-Project") != "p1" || key(r) != "k-openai" || r.URL.Path != "/v1/responses" {
		t.Errorf("%s %v", r.URL, r.Header)
	}
	if r := open("openai/m", "http://localhost:9/v1"); r.Header.Get("X-Project") != "" || key(r) != "" {
		t.Errorf("what is for one address went to another: %s %v", r.URL, r.Header)
	}
	if r := open("groq/m", ""); r.URL.String() != "http://localhost:9/v1/chat/completions" || key(r) != "" || r.Header.Get("X-Secret") != "s" {
		t.Errorf("%s %v", r.URL, r.Header)
	}
	if r := open("groq/m", "http://localhost:8/v1"); r.Header.Get("X-Secret") != "" {
		t.Errorf("a header went to another address: %v", r.Header)
	}
	if r := open("google/m", ""); key(r) != "k-own" {
		t.Errorf("%v", r.Header)
	}
	if r := open("second/m", ""); r.URL.String() != "https://api.anthropic.com/v1/messages" || key(r) != "k-own" {
		t.Errorf("%s %v", r.URL, r.Header)
	}
	if r := open("resp/m", "http://localhost:8/v1"); r.URL.String() != "http://localhost:8/v1/responses" {
		t.Errorf("%s", r.URL)
	}
	for name, want := range map[string]string{
		"empty/m":  "empty/m: the settings say of provider empty no address; set providers.empty.baseURL",
		"openai/m": "openai/m: header X-Project of the provider: not set in the environment: P",
	} {
		_, err := provider.Open(provider.Config{Name: name, Settings: s, Getenv: vars{}.get})
		if err == nil || err.Error() != want {
			t.Errorf("%v", err)
		}
	}
}

func TestOpenFindsNames(t *testing.T) {
	env := vars{"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k", "GOOGLE_API_KEY": "k", "XAI_API_KEY": "k", "DEEPSEEK_API_KEY": "k"}
	for name, want := range map[string]string{
		"claude-sonnet-4-5":          "anthropic/claude-sonnet-4-5",
		"claude-sonnet-4-5-20250929": "anthropic/claude-sonnet-4-5-20250929",
		" claude-haiku-4-5 ":         "anthropic/claude-haiku-4-5",
		"gpt-5":                      "openai/gpt-5",
		"gpt-5-nano":                 "openai/gpt-5-nano",
		"o1":                         "openai/o1",
		"o3":                         "openai/o3",
		"gemini-2.5-pro":             "google/gemini-2.5-pro",
		"grok-4":                     "xai/grok-4",
		"deepseek-chat":              "deepseek/deepseek-chat",
		"openai-chat/gpt-5":          "openai/gpt-5",
		"gemini/gemini-2.5-pro":      "google/gemini-2.5-pro",
		"anthropic/no-such-model":    "anthropic/no-such-model",
		"ollama/library/qwen3:8b":    "ollama/library/qwen3:8b",
	} {
		m, err := provider.Open(provider.Config{Name: name, Getenv: env.get})
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		i := m.Info()
		if got := i.Provider + "/" + i.Model; got != want {
			t.Errorf("%q is %s, want %s", name, got, want)
		}
		if known, ok := builtIn(t).Lookup(i.Provider, i.Model); ok && (i.Window != known.Window || i.Source != known.Source) {
			t.Errorf("%q: %+v", name, i)
		}
	}
	own, err := model.ReadCatalogue(strings.NewReader(`{"models":[{"id":"twice","provider":"groq"},{"id":"twice","provider":"mistral"},{"id":"mine","provider":"nobody"},{"id":"once","provider":"groq"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if m, err := provider.Open(provider.Config{Name: "once", Catalogue: own, Getenv: vars{"GROQ_API_KEY": "k"}.get}); err != nil || m.Info().Provider != "groq" {
		t.Errorf("%v", err)
	}
	for _, c := range []struct {
		name, want string
		catalogue  *model.Catalogue
	}{
		{"", "no model is named; write it as provider/model", nil},
		{"/", "it names no model; write it as provider/model", nil},
		{"anthropic/", "it names no model", nil},
		{"/x", "it names no model", nil},
		{"antropic/x", "the provider is not known; did you mean anthropic/x?", nil},
		{"OpenAI/x", "did you mean openai/x?", nil},
		{"zzzzzzzzzzzz/x", "the provider is not known; there are anthropic, openai, ", nil},
		{"claude-sonet-4-5", "did you mean claude-sonnet-4-5? if there is such a model, write it as anthropic/claude-sonet-4-5", nil},
		{"claude-sonnet-4.5", "did you mean claude-sonnet-4-5?", nil},
		{"claude-", "if there is such a model, write it as anthropic/claude-", nil},
		{"gemini-9-enormous-preview", "if there is such a model, write it as google/gemini-9-enormous-preview", nil},
		{"qwen3-coder-480b-a35b", "the catalogue has no model of this name; write it as provider/model, such as ollama/qwen3-coder-480b-a35b", nil},
		{"twice", "more than one provider has it; write it as groq/twice or mistral/twice", own},
		{"mine", "the catalogue has no model of this name", own},
	} {
		_, err := provider.Open(provider.Config{Name: c.name, Getenv: env.get, Catalogue: c.catalogue})
		if e := (*provider.NameError)(nil); !errors.As(err, &e) || !strings.HasPrefix(err.Error(), c.name+": ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.name, err, c.want)
		}
	}
	for name, want := range map[string]string{
		"anthropic/x": "set ANTHROPIC_API_KEY in the environment",
		"gemini/x":    "set GEMINI_API_KEY or GOOGLE_API_KEY in the environment",
		"groq/x":      "set GROQ_API_KEY in the environment",
	} {
		if _, err := provider.Open(provider.Config{Name: name, Getenv: vars{}.get}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s without a key: %v", name, err)
		}
	}
}

func builtIn(t *testing.T) *model.Catalogue {
	t.Helper()
	c, err := model.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The settings count first, then the variable, then the keys in the order of the docs;
// every default is a model that can be opened, and that the catalogue knows.
func TestDefault(t *testing.T) {
	env := vars{"OPENROUTER_API_KEY": "k"}
	for _, step := range []struct{ add, want string }{
		{"", "openrouter/anthropic/claude-sonnet-4.5"},
		{"DEEPSEEK_API_KEY", "deepseek/deepseek-chat"},
		{"XAI_API_KEY", "xai/grok-4"},
		{"GOOGLE_API_KEY", "google/gemini-3.8-flash"},
		{"GEMINI_API_KEY", "google/gemini-3.8-flash"},
		{"OPENAI_API_KEY", "openai/gpt-5.4"},
		{"ANTHROPIC_API_KEY", "anthropic/claude-sonnet-5-5"},
	} {
		if step.add != "" {
			env[step.add] = "k"
		}
		got, err := provider.Default(env.get, nil)
		if err != nil || got != step.want {
			t.Errorf("with %s: %s %v", step.add, got, err)
		}
		m, err := provider.Open(provider.Config{Name: got, Getenv: env.get})
		if err != nil || m.Info().Window == 0 || m.Info().Price == nil {
			t.Errorf("%s: %v %+v", got, err, m)
		}
	}
	env["CLEW_MODEL"] = "groq/m"
	if got, err := provider.Default(env.get, load(t, `{}`)); err != nil || got != "groq/m" {
		t.Errorf("%s %v", got, err)
	}
	if got, err := provider.Default(env.get, load(t, `{"model": "gpt-5"}`)); err != nil || got != "gpt-5" {
		t.Errorf("%s %v", got, err)
	}
	if got, err := provider.Default(vars{"OWN": "k", "OPENAI_API_KEY": "k"}.get, load(t, `{"providers": {"anthropic": {"keyEnv": "OWN"}}}`)); err != nil || !strings.HasPrefix(got, "anthropic/") {
		t.Errorf("%s %v", got, err)
	}
	for _, c := range []struct {
		env  vars
		want string
	}{
		{vars{}, "no model is chosen: there is no key; set ANTHROPIC_API_KEY or OPENAI_API_KEY or GEMINI_API_KEY or GOOGLE_API_KEY or "},
		{vars{"ANTHROPIC_API_KEY": "  "}, "or see how it works with --demo"},
		{vars{"GROQ_API_KEY": "k"}, "GROQ_API_KEY is set, but that says no model; name one with --model groq/ID"},
	} {
		if got, err := provider.Default(c.env.get, nil); !errors.Is(err, provider.ErrNoModel) || got != "" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %q %v", c.env, got, err)
		}
	}
}

func TestReady(t *testing.T) {
	s := load(t, `{"providers": {"mine": {"baseURL": "http://localhost:9"}, "none": {}}}`)
	var ready []string
	for _, p := range provider.All(s) {
		if p.Ready(vars{"GOOGLE_API_KEY": "k", "GROQ_API_KEY": " "}.get) {
			ready = append(ready, p.Name)
		}
	}
	if want := []string{"google", "llama.cpp", "lmstudio", "ollama", "vllm", "mine"}; !slices.Equal(ready, want) {
		t.Errorf("%v", ready)
	}
}

// Every model of the catalogue has a maker, so that its name alone finds it.
func TestModelsHaveMakers(t *testing.T) {
	models := provider.Models(builtIn(t), nil)
	for _, m := range models {
		if m.Provider.Name == "" {
			t.Errorf("%s has no maker", m.Name())
		}
	}
	if len(models) < 40 || models[0].Name() != "anthropic/claude-*" {
		t.Errorf("%d models, first %s", len(models), models[0].Name())
	}
}

// docs/models.md has a row for every provider and every default.
func TestProvidersAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	providers := "| provider | API | key from | address |\n|---|---|---|---|\n"
	defaults := "| key | model |\n|---|---|\n"
	for _, p := range provider.All(nil) {
		name, key := "`"+p.Name+"`", "none"
		if p.Name == "google" {
			name += ", `gemini`"
		}
		if len(p.KeyEnv) > 0 {
			key = "`" + strings.Join(p.KeyEnv, "`, else `") + "`"
		}
		providers += "| " + name + " | `" + p.API + "` | " + key + " | `" + p.BaseURL + "` |\n"
	}
	for _, keys := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY GOOGLE_API_KEY", "XAI_API_KEY", "DEEPSEEK_API_KEY", "OPENROUTER_API_KEY"} {
		name, err := provider.Default(func(v string) string { return map[bool]string{true: "k"}[slices.Contains(strings.Fields(keys), v)] }, nil)
		if err != nil {
			t.Error(err)
		}
		defaults += "| `" + strings.ReplaceAll(keys, " ", "`, `") + "` | `" + name + "` |\n"
	}
	for _, table := range []string{providers, defaults} {
		if !strings.Contains(string(doc), table+"\n") {
			t.Errorf("docs/models.md has not this table:\n%s", table)
		}
	}
}

// What the settings know of models is listed, each once.
func TestModelsOfTheSettings(t *testing.T) {
	s := load(t, `{
		"model": "ollama/new", "providers": {"mine": {"baseURL": "http://localhost:9"}},
		"models": {"gpt-5": {"window": 100000}, "mine/a": {"window": 5000}, "nobody/a": {"window": 5000}, "alone": {"window": 5000}},
		"prices": {"mine/a": {"input": 1}, "gemini/gemini-2.5-flash": {"input": 9}, "mine/gpt-5.4": {"output": 3}},
	}`)
	listed := map[string]model.Info{}
	var added []string
	for i, m := range provider.Models(builtIn(t), s) {
		if _, twice := listed[m.Name()]; twice {
			t.Errorf("%s is listed twice", m.Name())
		}
		listed[m.Name()] = m.Info
		if i >= len(builtIn(t).List()) {
			added = append(added, m.Name())
		}
	}
	if want := []string{"mine/a", "mine/gpt-5.4", "ollama/new"}; !slices.Equal(added, want) {
		t.Errorf("added %v", added)
	}
	if listed["openai/gpt-5"].Window != 100_000 || listed["mine/a"].Window != 5000 || listed["mine/a"].Price.Input != 1 ||
		listed["google/gemini-2.5-flash"].Price.Input != 9 || listed["mine/gpt-5.4"].Window != 1_050_000 || listed["mine/gpt-5.4"].Price.Output != 3 {
		t.Errorf("%+v", listed)
	}
}

// Opening makes no call, whatever the name is.
func FuzzOpen(f *testing.F) {
	for _, name := range []string{"anthropic/x", "claude-", "a/b/c", "gpt-5", "\x00/\xff", "/", "ollama/ "} {
		f.Add(name, "")
	}
	f.Add("x/y", "http://[::1")
	f.Add("openai/x", "http://u:p@h")
	transport := model.NewTransport(model.TransportConfig{Base: noCalls{f}})
	f.Fuzz(func(t *testing.T, name, base string) {
		m, err := provider.Open(provider.Config{Name: name, BaseURL: base, Transport: transport, Getenv: func(string) string { return "k" }})
		if (m == nil) == (err == nil) || err == nil && (m.Info().Provider == "" || m.Info().Model == "") {
			t.Errorf("%q at %q: %v, %v", name, base, m, err)
		}
	})
}

type noCalls struct{ f *testing.F }

func (n noCalls) RoundTrip(*http.Request) (*http.Response, error) {
	n.f.Error("a call was made")
	return nil, context.Canceled
}
