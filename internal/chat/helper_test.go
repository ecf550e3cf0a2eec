package chat_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/chat"
	"github.com/clew-dev/clew/internal/home"
	"github.com/clew-dev/clew/model/modeltest"
)

// place is a project and a user, with a server of models.
type place struct {
	t      testing.TB
	root   string
	models *modeltest.Server

	mu     sync.Mutex
	events []agent.Event
}

const modelName = "anthropic/claude-sonnet-4-5"

func newPlace(t testing.TB, replies ...modeltest.Reply) *place {
	p := &place{t: t, root: t.TempDir(), models: modeltest.Start(modeltest.Config{}, replies...)}
	t.Cleanup(func() {
		p.models.Close()
		if bad := p.models.Violations(); len(bad) > 0 {
			t.Errorf("requests that are not valid: %v", bad)
		}
	})
	p.write("project/notes.txt", "remember the milk\n")
	return p
}

func (p *place) path(name string) string { return filepath.Join(p.root, filepath.FromSlash(name)) }

func (p *place) write(name, text string) {
	p.t.Helper()
	text = strings.ReplaceAll(text, "$URL", p.models.URL)
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(p.path(name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) read(name string) string {
	p.t.Helper()
	data, err := os.ReadFile(p.path(name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

func (p *place) config() chat.Config {
	return chat.Config{
		Dir: p.path("project"), Interactive: true, UserFile: p.path("config/settings.json"), Home: home.Home{Dir: p.path("data")},
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.root, "KEY=" + modeltest.Key},
		Flags:   map[string]string{"model": modelName}, BaseURL: p.models.URL, KeyEnv: "KEY", Events: p.take,
	}
}

func (p *place) take(e agent.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, e)
}

func (p *place) told() []agent.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.events)
}

// warnings are the texts of the warnings so far.
func (p *place) warnings() string {
	var out []string
	for _, e := range p.told() {
		if e.Kind == agent.KindWarning {
			out = append(out, e.Text)
		}
	}
	return strings.Join(out, "\n")
}

// open opens a chat, which change may change, and closes it with the test.
func (p *place) open(change func(*chat.Config)) *chat.Host {
	p.t.Helper()
	c := p.config()
	if change != nil {
		change(&c)
	}
	s, err := chat.Open(p.t.Context(), c)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			p.t.Error(err)
		}
	})
	return s
}

func say(t testing.TB, s *chat.Host, text string) {
	t.Helper()
	if _, err := s.Agent().Send(t.Context(), agent.Input{Text: text}); err != nil {
		t.Fatal(err)
	}
	if err := s.Agent().Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (p *place) sessions() []string {
	p.t.Helper()
	list, err := filepath.Glob(p.path("data/sessions/*/*"))
	if err != nil {
		p.t.Fatal(err)
	}
	return list
}
