package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/internal/provider"
	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/summary/llm"
)

// opener opens models, each once, and keeps what is learnt of their windows.
type opener struct {
	known     func() (*model.Catalogue, error)
	getenv    func(string) string // with the keys that the user has given to clew
	transport *model.Transport
	windows   *model.Windows
	local     localModels

	mu     sync.Mutex
	opened map[string]model.Model // by name
	learnt []byte                 // of the windows, as they are on the disk
}

// ownModel is that of the flag, of the settings or of the environment.
func (h *Host) ownModel() (model.Model, error) {
	if h.cfg.OpenModel != nil {
		return h.openModel(h.cfg.Flags["model"])
	}
	name, err := provider.Default(h.getenv, h.settings())
	if err != nil {
		return nil, err
	}
	return h.openModel(name)
}

// openModel opens a model, each once.
func (h *Host) openModel(name string) (model.Model, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m, ok := h.opened[name]; ok {
		return m, nil
	}
	m, err := h.newModel(name)
	if err != nil {
		return nil, err
	}
	i := m.Info()
	h.opened[name], h.opened[i.Provider+"/"+i.Model] = m, m
	return m, nil
}

func (h *Host) newModel(name string) (model.Model, error) {
	if h.cfg.OpenModel != nil {
		return h.cfg.OpenModel(name)
	}
	known, err := h.known()
	if err != nil {
		return nil, err
	}
	c := provider.Config{Name: name, Transport: h.transport, Catalogue: known, Settings: h.settings(), Getenv: h.getenv}
	if name == h.cfg.Flags["model"] {
		c.BaseURL, c.KeyEnv = h.cfg.BaseURL, h.cfg.KeyEnv
	}
	if c.BaseURL == "" {
		all := provider.All(c.Settings)
		at := slices.IndexFunc(all, func(p provider.Provider) bool { return p.IsLocal() && strings.HasPrefix(name, p.Name+"/") })
		if at >= 0 {
			c.Local = h.local.find(h.base, all[at:at+1])
		}
	}
	return provider.Open(c)
}

// setSummarizer says who writes summaries: the one of the settings; where they name none,
// the model that answers, as far as the preset asks for a model.
func (h *Host) setSummarizer(c *clew.Config, name string, now func() model.Model) error {
	switch name {
	case "":
		c.OwnSummarizer = &same{now: now}
	case "none":
	case summarizerSame:
		c.Policy.Summarizer = &same{now: now}
	default:
		m, err := h.openModel(name)
		if err != nil {
			return fmt.Errorf("the model that writes summaries: %w", err)
		}
		c.Policy.Summarizer, err = llm.New(llm.Config{Model: m})
		return err
	}
	return nil
}

// windowsFile has what was learnt of the models' windows.
func (h *Host) windowsFile() string { return filepath.Join(h.cfg.Home.Dir, "windows.json") }

// readWindows reads what earlier runs have learnt. What can't be read is learnt again.
func (h *Host) readWindows() *model.Windows {
	w := model.NewWindows(h.cfg.Clock)
	if data, err := os.ReadFile(h.windowsFile()); err == nil && json.Unmarshal(data, w) == nil {
		h.learnt = data
	}
	return w
}

// saveWindows writes what was learnt, with what other runs have learnt meanwhile.
func (h *Host) saveWindows() error {
	data, err := json.Marshal(h.windows)
	if err != nil || string(data) == string(h.learnt) || string(data) == "[]" {
		return err
	}
	all := model.NewWindows(h.cfg.Clock)
	old, _ := os.ReadFile(h.windowsFile())
	_ = json.Unmarshal(old, all) // what can't be read is not kept
	if err = json.Unmarshal(data, all); err == nil {
		data, err = json.Marshal(all)
	}
	if err != nil {
		return err
	}
	return settings.WriteFile(h.windowsFile(), data)
}

// localModels are the models of the servers on this machine, as they were a moment ago.
type localModels struct {
	mu    sync.Mutex
	of    string // the providers that were asked
	found []provider.Found
	at    time.Time
}

// localAge is how long an answer of the servers counts.
const localAge = 10 * time.Second

func (l *localModels) find(ctx context.Context, all []provider.Provider) []provider.Found {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := fmt.Sprint(all)
	if l.of != of || time.Since(l.at) > localAge {
		l.found, l.of, l.at = provider.Local(ctx, all), of, time.Now()
	}
	return l.found
}
