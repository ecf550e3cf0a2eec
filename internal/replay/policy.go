package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/replay/measure"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/summary"
	"github.com/clew-dev/clew/token"
	"github.com/clew-dev/clew/wire"
)

// Policy puts a text in the place of what is dropped.
type Policy interface {
	Name() string
	// About says in a few words what it does.
	About() string
	// Frame is the fixed text that it always writes: its names are its own, and not
	// made up.
	Frame() string
	// Replace makes what stands in the place of p.Dropped.
	Replace(ctx context.Context, p Prefix) (Replacement, error)
}

// Replacement is what a policy puts in the place of what is dropped.
type Replacement struct {
	// Text is every byte of it, as the model sees it.
	Text string
	// Summary and Details are what a log would keep of it, for the next compaction.
	// Default: Text, and no details.
	Summary string
	Details json.RawMessage
}

// Policies returns all policies, those of the engine first, then the baselines.
func Policies() []Policy {
	var out []Policy
	for _, name := range compact.PresetNames() {
		p, err := compact.Preset(name)
		if err != nil {
			continue // a name that PresetNames gives has a preset
		}
		out = append(out, preset{p})
	}
	return append(out,
		baseline{"mask", "newest messages, results of calls left out", mask},
		baseline{"truncate", "a longer tail, as it is", truncate},
		baseline{"lines", "user's words, and whole lines picked by what they cover", lines},
		baseline{"story", "user's words, the agent's sentences, a line for each call", story},
		baseline{"extract", "user's messages, file lists, lines ranked by reuse and age", extract},
		baseline{"files", "file lists and the user's messages", filesAndUser},
		baseline{"soup", "identifiers alone, the most used first", soup},
		baseline{"tail", "nothing but the tail", nothing},
	)
}

// PolicyNames returns the names of the policies.
func PolicyNames() []string {
	var names []string
	for _, p := range Policies() {
		names = append(names, p.Name())
	}
	return names
}

// BaselineNames returns the names of the policies that any other is to be compared
// with: what scripts do, what keeps the user's words alone, what fools recall, and
// nothing.
func BaselineNames() []string {
	return []string{"lines", "story", "extract", "files", "soup", "tail"}
}

// FindPolicies returns policies by name. The error of an unknown name lists those
// that exist.
func FindPolicies(names []string) ([]Policy, error) {
	all := Policies()
	var out []Policy
	for _, name := range names {
		i := slices.IndexFunc(all, func(p Policy) bool { return p.Name() == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no policy %q; there are %s", name, strings.Join(PolicyNames(), ", "))
		}
		if !slices.ContainsFunc(out, func(p Policy) bool { return p.Name() == name }) {
			out = append(out, all[i])
		}
	}
	return out, nil
}

// preset is a preset of the engine with its built-in summarizer.
type preset struct{ policy compact.Policy }

func (p preset) Name() string { return p.policy.Name }

func (p preset) About() string {
	t := p.policy.Template
	if t == nil {
		t = summary.Briefing
	}
	return "the engine's summary without a model, template " + t.Name()
}

func (p preset) form() wire.Form {
	if p.policy.Form != nil {
		return *p.policy.Form
	}
	return wire.SummaryForm(&message.Message{Role: message.RoleCompactionSummary})
}

func (p preset) Frame() string { return p.form().Wrap("") }

func (p preset) Replace(ctx context.Context, pre Prefix) (Replacement, error) {
	form := p.form()
	facts := ledger.Read(pre.Dropped, ledger.Options{Cwd: pre.Cwd})
	out, err := summary.Deterministic{}.Summarize(ctx, summary.Input{
		Items: pre.Dropped, Kept: pre.Kept, Cwd: pre.Cwd, Ledger: &facts,
		Budget: max(pre.Budget-int64(measure.Tokens(form.Wrap("")))-1, 1), ClipLast: true,
		Counter: Counter(), Template: p.policy.Template,
	})
	if err != nil {
		return Replacement{}, err
	}
	// The details that the engine stores, as far as a later compaction reads them.
	details, err := json.Marshal(map[string]any{"clew": map[string]any{"v": 1, "ledger": &facts}})
	if err != nil {
		return Replacement{}, err
	}
	return Replacement{Text: form.Wrap(out.Text), Summary: out.Text, Details: details}, nil
}

// baseline is a policy of a few lines, to compare with.
type baseline struct {
	name, about string
	replace     func(p Prefix) string
}

func (b baseline) Name() string  { return b.name }
func (b baseline) About() string { return b.about }
func (b baseline) Frame() string { return "" }

func (b baseline) Replace(_ context.Context, p Prefix) (Replacement, error) {
	return Replacement{Text: b.replace(p)}, nil
}

// Counter returns the counter that budgets and tails are measured with: three
// UTF-16 units are a token, for every model and policy.
func Counter() token.Counter { return thirds{} }

type thirds struct{}

func (thirds) Name() string { return "chars3" }

func (thirds) Text(s string) int64 { return int64(measure.Tokens(s)) }

func (thirds) Message(m *message.Message) int64 {
	n, _ := neutral(m)
	return int64((n.Size() + measure.CharsPerToken - 1) / measure.CharsPerToken)
}

// place says what the instruments do with a message.
type place uint8

const (
	placeIn     place = iota // part of the conversation
	placeAlways              // sent again with every request: the prompt, rules, reminders
	placeOut                 // never sent
)

// neutral returns a message as the measures see it.
func neutral(m *message.Message) (n measure.Message, at place) {
	n.Text = m.Text()
	switch m.Role {
	case message.RoleSystem:
		for _, s := range m.Sections {
			n.Text += "\n" + s.Text
		}
		return n, placeAlways
	case message.RoleUser:
		switch m.Source() {
		case message.OriginUser:
			n.Kind = measure.User
		case message.OriginInjected, message.OriginHook:
			return n, placeAlways
		default:
		}
	case message.RoleAssistant:
		n.Kind = measure.Agent
		for _, b := range m.Content {
			switch b.Type {
			case message.BlockThinking:
				n.Hidden += b.Text + "\n"
			case message.BlockToolCall:
				n.Calls = append(n.Calls, measure.Call{ID: b.ID, Name: b.Name, Arguments: b.Arguments})
			default:
			}
		}
	case message.RoleToolResult:
		n.CallID, n.Failed = m.ToolCallID, m.IsError
	case message.RoleBashExecution:
		n.Text = m.Command + "\n" + m.Output
		if m.ExcludeFromContext {
			return n, placeOut
		}
	case message.RoleCustom:
	case message.RoleBranchSummary, message.RoleCompactionSummary:
		n.Kind, n.Text = measure.Summary, m.Summary
	default:
		return n, placeOut
	}
	return n, placeIn
}
