package agent

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/session"
)

// Doing says what is under way.
type Doing string

// What can be under way.
const (
	DoingNothing    Doing = "idle"
	DoingTurn       Doing = "working"    // a model answers, tools run
	DoingCompaction Doing = "compacting" // also in a turn, before a request
	DoingMove       Doing = "moving"     // to another place of the tree, or an undo
	DoingShell      Doing = "shell"      // a command of the user's runs
	DoingClosed     Doing = "closed"
)

// State is all that a line at the bottom of the screen shows. Reading it never
// waits.
type State struct {
	Doing Doing `json:"doing"`
	// Asking counts the questions that wait for an answer.
	Asking int `json:"asking,omitempty"`
	// Session is the id of the session, File its file, "" for one in memory.
	Session string `json:"session"`
	File    string `json:"file,omitempty"`
	Name    string `json:"name,omitempty"`
	Leaf    string `json:"leaf"`

	// Model is "provider/id".
	Model     string          `json:"model"`
	Reasoning model.Reasoning `json:"reasoning,omitempty"`
	Mode      permission.Mode `json:"mode"`

	// Tokens is what the context takes; Measured says that the provider has counted all
	// of it, otherwise the newest part is an estimate. Known is false before the first look.
	Tokens   int64 `json:"tokens"`
	Measured bool  `json:"measured"`
	Known    bool  `json:"known"`
	// Window is the model's, WindowFrom how it is known: "catalogue", "settings",
	// "learnt", "preset", or "assumed" where nobody said it. Threshold is the size at which the context is
	// compacted.
	Window     int64  `json:"window"`
	WindowFrom string `json:"windowFrom"`
	Threshold  int64  `json:"threshold"`
	// Breaker says why nothing is compacted although it is due; "" else.
	Breaker string `json:"breaker,omitempty"`
	// Prepared says that a summary lies ready for the next pass.
	Prepared bool `json:"prepared,omitempty"`

	// Totals are those of the whole session, every branch and summary included.
	Totals Totals `json:"totals"`
	// CacheHit is the share of the last request's input that the provider had cached.
	CacheHit float64 `json:"cacheHit"`

	// Queue counts messages waiting to be sent; Held says that it waits until something
	// is sent, as after Cancel.
	Queue int  `json:"queue"`
	Held  bool `json:"held,omitempty"`
}

// Totals are amounts over all entries of a session.
type Totals struct {
	ModelTotals
	// Passes counts those that were made, also those that were taken back.
	Passes int `json:"passes"`
	// ByModel has the same for each "provider/id".
	ByModel map[string]ModelTotals `json:"byModel,omitempty"`
}

// ModelTotals are the amounts of one model.
type ModelTotals struct {
	Requests   int     `json:"requests"`
	Input      int64   `json:"input"`
	Output     int64   `json:"output"`
	CacheRead  int64   `json:"cacheRead"`
	CacheWrite int64   `json:"cacheWrite"`
	Cost       float64 `json:"cost"` // US dollars, as far as prices are known
}

// Shown is something of the path to the leaf, as the user sees it: all that was said,
// whatever has become of it in the context.
type Shown struct {
	ID   string       `json:"id"`
	Time time.Time    `json:"time"`
	Type session.Type `json:"type"`
	// Message is what was said; of a compaction or a branch the summary.
	Message *message.Message `json:"message,omitempty"`
	// Fate is what became of it in the context, as compact.Fates says.
	Fate compact.Fate `json:"fate"`
	// TokensBefore is the size of the context before a compaction.
	TokensBefore int64 `json:"tokensBefore,omitempty"`
	// Model is that of a change of the model.
	Model string `json:"model,omitempty"`
}

// Path returns all that was said on the path to the leaf, oldest first. It reads the whole path; a screen shows PathPage.
func (a *Agent) Path(ctx context.Context) ([]Shown, error) {
	page, _, err := a.PathPage(ctx, "", math.MaxInt)
	return page, err
}

// PathPage returns the last n of what was said on the path that ends at an entry, oldest first, and the entry at which
// the page before it ends, "" where there is none. An end of "" is the leaf:
//
//	page, before, err := a.PathPage(ctx, "", 200)       // what a screen shows first
//	older, before, err := a.PathPage(ctx, before, 200) // when the user scrolls up, and before is not ""
//
// It costs what the page and the context hold, however long the session is. The fates are those at the leaf. In a
// damaged file parents may form a cycle; then the pages go round in it.
func (a *Agent) PathPage(ctx context.Context, end string, n int) (page []Shown, before string, err error) {
	store, leaf := a.s.Log().Store(), a.s.Leaf()
	inContext, err := session.ContextPath(ctx, store, leaf)
	if err != nil {
		return nil, "", err
	}
	fate := compact.FateIn(inContext)
	err = session.Walk(ctx, store, cmp.Or(end, leaf), func(e *session.Entry) bool {
		if len(page) >= n {
			before = e.ID
			return true
		}
		if s, ok := shown(e); ok {
			s.Fate = fate(e)
			page = append(page, s)
		}
		return false
	})
	slices.Reverse(page)
	return page, before, err
}

// shown is an entry as the user sees it, but for its fate; false where it says nothing.
func shown(e *session.Entry) (s Shown, ok bool) {
	s = Shown{ID: e.ID, Time: e.Time(), Type: e.Type}
	switch e.Type {
	case session.TypeMessage:
		s.Message, _ = e.Message() // nil: it is in the log, and says nothing that can be read
		return s, s.Message != nil
	case session.TypeCustomMessage:
		s.Message, ok = e.CustomMessage()
		return s, ok
	case session.TypeCompaction:
		c, _ := e.Compaction()
		s.TokensBefore = c.TokensBefore
		s.Message = &message.Message{Role: message.RoleCompactionSummary, Summary: c.Summary, TokensBefore: c.TokensBefore, Timestamp: e.Time().UnixMilli()}
	case session.TypeBranchSummary:
		b, _ := e.BranchSummary()
		s.Message = &message.Message{Role: message.RoleBranchSummary, Summary: b.Summary, FromID: b.FromID, Timestamp: e.Time().UnixMilli()}
	case session.TypeModelChange:
		m, _ := e.ModelChange()
		s.Model = m.Provider + "/" + m.ID
	default:
		return s, false
	}
	return s, true
}

// Node is an entry of the tree.
type Node struct {
	ID     string       `json:"id"`
	Parent string       `json:"parent"`
	Type   session.Type `json:"type"`
	Role   message.Role `json:"role,omitempty"`
	Time   time.Time    `json:"time"`
	// Text is the beginning of what it says, of at most MaxNodeText characters.
	Text   string `json:"text,omitempty"`
	Tool   string `json:"tool,omitempty"` // of a result
	Calls  int    `json:"calls,omitempty"`
	Label  string `json:"label,omitempty"`
	OnPath bool   `json:"onPath,omitempty"`
	Leaf   bool   `json:"leaf,omitempty"`
}

// MaxNodeText is how much of an entry a Node has.
const MaxNodeText = 300

// Tree returns all entries of the session, every branch, in the order of the log.
func (a *Agent) Tree(ctx context.Context) ([]Node, error) {
	store, leaf := a.s.Log().Store(), a.s.Leaf()
	var out []Node
	at := map[string]int{}
	labels := map[string]string{}
	for e, err := range store.All(ctx) {
		if err != nil {
			return nil, err
		}
		n := Node{ID: e.ID, Parent: e.ParentID, Type: e.Type, Time: e.Time()}
		if s, ok := shown(e); ok && s.Message != nil && s.Message.Summary != "" {
			n.Text = begin(s.Message.Summary)
		} else if m := s.Message; ok && m != nil {
			n.Role, n.Tool, n.Calls, n.Text = m.Role, m.ToolName, len(m.ToolCalls()), begin(textOf(m))
		} else if ok {
			n.Text = s.Model
		}
		switch e.Type {
		case session.TypeLabel:
			l, _ := e.Label()
			labels[l.TargetID], n.Text = l.Label, cmp.Or(l.Label, "taken away")
		case session.TypeSessionInfo:
			n.Text, _ = e.SessionName()
		case session.TypeCustom:
			c, _ := e.Custom()
			n.Text = c.CustomType
		default:
		}
		at[n.ID] = len(out)
		out = append(out, n)
	}
	for id, l := range labels {
		if i, ok := at[id]; ok {
			out[i].Label = l
		}
	}
	if i, ok := at[leaf]; ok {
		out[i].Leaf = true
	}
	for i, ok := at[leaf]; ok && !out[i].OnPath; i, ok = at[out[i].Parent] { // parents may form a cycle
		out[i].OnPath = true
	}
	return out, nil
}

// textOf is what a message says, or what it calls.
func textOf(m *message.Message) string {
	if t := m.Text(); t != "" {
		return t
	}
	return recall.Text(m)
}

// begin is the beginning of a text, of whole characters.
func begin(s string) string {
	n := 0
	for i := range s {
		if n == MaxNodeText {
			return strings.Clone(s[:i]) // the whole of it may be large
		}
		n++
	}
	return s
}

// Explain says what the context is made of and what the next pass would do.
func (a *Agent) Explain(ctx context.Context) (*clew.Explanation, error) { return a.s.Explain(ctx) }

// Recall returns what an entry says, word for word, page by page.
func (a *Agent) Recall(ctx context.Context, handle string, opt clew.RecallOptions) (*clew.Recalled, error) {
	return a.s.RecallText(ctx, handle, opt)
}

// Search finds entries by words.
func (a *Agent) Search(ctx context.Context, q clew.Query) (*clew.Found, error) {
	return a.s.Search(ctx, q)
}
