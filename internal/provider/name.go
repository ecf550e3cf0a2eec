package provider

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/model"
)

// NameError says that a name leads to no model, and what to write instead.
type NameError struct {
	Name, Problem, Hint string
}

func (e *NameError) Error() string { return fmt.Sprintf("%s: %s; %s", e.Name, e.Problem, e.Hint) }

// ErrNoModel is the error of Default when nothing says which model.
var ErrNoModel = errors.New("no model is chosen")

// find returns the provider and the id that Name means.
func (c Config) find() (p Provider, id string, err error) {
	const other = "another server is set under providers in the settings"
	all := All(c.Settings)
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
	}
	before, id, ok := strings.Cut(strings.TrimSpace(c.Name), "/")
	problem, hint := "", ""
	switch at := slices.IndexFunc(all, func(p Provider) bool { return p.is(before) }); {
	case !ok && before == "":
		problem, hint = "no model is named", "write it as provider/model, such as anthropic/claude-sonnet-4-5"
	case !ok:
		id = before
		p, problem, hint = c.maker(id, all)
	case before == "" || id == "":
		problem, hint = "it names no model", "write it as provider/model, such as anthropic/claude-sonnet-4-5"
	case at >= 0:
		p = all[at]
	case c.BaseURL != "":
		p = chat(before, "")
	default:
		problem, hint = "the provider is not known", fmt.Sprintf("there are %s; %s", strings.Join(names, ", "), other)
		if near := text.Nearest(before, names); near != "" {
			hint = fmt.Sprintf("did you mean %s/%s? %s", near, id, other)
		}
	}
	if problem != "" {
		return p, "", &NameError{c.Name, problem, hint}
	}
	return p, id, nil
}

// maker finds the provider of a model that is named alone.
func (c Config) maker(id string, all []Provider) (_ Provider, problem, hint string) {
	var found []Provider
	var names, as []string
	near := ""
	for _, m := range list(c.Catalogue, all) {
		switch name := m.Provider.Name + "/" + id; {
		case m.Provider.Name == "":
		case m.fits(id):
			if !slices.Contains(as, name) {
				found, as = append(found, m.Provider), append(as, name)
			}
		case !m.loose():
			names = append(names, m.Info.Model)
		case strings.HasPrefix(strings.ToLower(id), m.Info.Model):
			near = name
		}
	}
	hint = "write it as provider/model, such as ollama/" + id
	switch {
	case len(found) == 1:
		return found[0], "", ""
	case len(found) > 1:
		return Provider{}, "more than one provider has it", "write it as " + strings.Join(as, " or ")
	case near != "":
		hint = "if there is such a model, write it as " + near
	}
	if like := text.Nearest(id, names); like != "" {
		hint = fmt.Sprintf("did you mean %s? %s", like, hint)
	}
	return Provider{}, "the catalogue has no model of this name", hint
}

// Model is a model, or a family of models, of the catalogue.
type Model struct {
	// Provider is the maker's own; its Name is empty where it is not known.
	Provider Provider
	// Family says that Info.Model is only how the names of a family begin.
	Family bool
	// Info is what is known of it.
	Info model.Info
}

// Name returns the name that Open takes, with * at the end of that of a family.
func (m Model) Name() string {
	name := strings.TrimPrefix(m.Provider.Name+"/"+m.Info.Model, "/")
	if m.Family {
		name += "*"
	}
	return name
}

// loose reports whether a family is so wide that a name in it may be a slip.
func (m Model) loose() bool { return m.Family && strings.HasSuffix(m.Info.Model, "-") }

// fits reports whether an id is the model's, or one of the family's.
func (m Model) fits(id string) bool {
	id, own := strings.ToLower(id), strings.ToLower(m.Info.Model)
	return id == own && !m.loose() || m.Family && !m.loose() && strings.HasPrefix(id, own)
}

// makers says who makes a model, by how its name begins.
var makers = []struct{ prefix, provider string }{
	{"claude-", "anthropic"},
	{"gpt-", "openai"},
	{"o1", "openai"},
	{"o3", "openai"},
	{"o4", "openai"},
	{"gemini-", "google"},
	{"deepseek-", "deepseek"},
	{"grok-", "xai"},
}

// Models returns what the catalogue has, in its order, with the makers' own providers,
// then what the settings know beside it: models that they name as "provider/id". What
// the settings say of a window or a price counts. s may be nil.
func Models(c *model.Catalogue, s *settings.Settings) []Model {
	all := All(s)
	out := list(c, all)
	if s == nil {
		return out
	}
	with := Config{Catalogue: c, Settings: s}
	for i := range out {
		m := &out[i]
		if info := with.info(m.Provider, m.Info.Model); info != nil && !m.Family {
			m.Info.Window, m.Info.Price = info.Window, info.Price
		}
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(s.Models)), maps.Keys(s.Prices))
	slices.Sort(names)
	for _, name := range slices.Compact(append(names, s.Model)) {
		before, id, _ := strings.Cut(name, "/")
		at := slices.IndexFunc(all, func(p Provider) bool { return p.is(before) })
		if at < 0 || id == "" {
			continue
		}
		m := Model{Provider: all[at]}
		if own := with.info(all[at], id); own != nil {
			m.Info = *own
		} else {
			m.Info, _ = c.Lookup(all[at].Name, id)
		}
		m.Info.Provider, m.Info.Model = all[at].Name, id
		if !slices.ContainsFunc(out, func(o Model) bool { return o.Name() == m.Name() }) {
			out = append(out, m)
		}
	}
	return out
}

func list(c *model.Catalogue, all []Provider) []Model {
	var out []Model
	for _, l := range c.List() {
		name := l.Info.Provider
		for _, m := range makers {
			if name == "" && strings.HasPrefix(l.Info.Model, m.prefix) {
				name = m.provider
			}
		}
		m := Model{Family: l.Family, Info: l.Info}
		if at := slices.IndexFunc(all, func(p Provider) bool { return name != "" && p.is(name) }); at >= 0 {
			m.Provider = all[at]
		}
		out = append(out, m)
	}
	return out
}

// defaults are the models that keys choose, in this order: of each vendor one that is
// good at long work and not its dearest. docs/models.md has the list.
var defaults = []struct{ provider, id string }{
	{"anthropic", "claude-sonnet-5-5"},
	{"openai", "gpt-5.4"},
	{"google", "gemini-3.8-flash"},
	{"xai", "grok-4"},
	{"deepseek", "deepseek-chat"},
	{"openrouter", "anthropic/claude-sonnet-4.5"},
}

// Default returns the name of the model that is asked when nobody names one: that of the
// settings, else of CLEW_MODEL, else of the first provider whose key is in the
// environment. s may be nil.
func Default(getenv func(string) string, s *settings.Settings) (string, error) {
	if s != nil && s.Model != "" {
		return s.Model, nil
	}
	if name := strings.TrimSpace(getenv("CLEW_MODEL")); name != "" {
		return name, nil
	}
	var vars []string
	for _, m := range Starters(s) {
		if m.Provider.key(getenv) != "" {
			return m.Name(), nil
		}
		vars = append(vars, m.Provider.KeyEnv...)
	}
	for _, p := range All(s) {
		if v := p.key(getenv); v != "" {
			return "", fmt.Errorf("%w: %s is set, but that says no model; name one with --model %s/ID", ErrNoModel, v, p.Name)
		}
	}
	return "", fmt.Errorf("%w: there is no key; set %s, or start clew chat in a terminal to give one; or name a model of a server on this machine, such as --model ollama/ID; or see how it works with --demo",
		ErrNoModel, strings.Join(vars, " or "))
}

// Starters returns the providers whose key alone chooses a model, with that model, in the
// order in which Default looks for them. s may be nil.
func Starters(s *settings.Settings) (out []Model) {
	all := All(s)
	for _, d := range defaults {
		p := all[slices.IndexFunc(all, func(p Provider) bool { return p.Name == d.provider })]
		out = append(out, Model{Provider: p, Info: model.Info{Provider: d.provider, Model: d.id}})
	}
	return out
}
