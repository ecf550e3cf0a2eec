package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/agent/permission"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// method is what a client may ask for.
type method struct {
	run func(ctx context.Context, s *Server, params json.RawMessage) (any, error)
	// inOrder says that it is done in the order in which the requests came.
	inOrder bool
}

// none is for methods without parameters or without a result.
type none struct{}

// Methods are the names of all methods.
func Methods() []string {
	return append(slices.Sorted(maps.Keys(methods())), "close")
}

// on makes a method of a function with its parameters.
func on[P any](fn func(ctx context.Context, h Host, p P) (any, error)) method {
	return method{run: func(ctx context.Context, s *Server, raw json.RawMessage) (any, error) {
		p, err := decode[P](raw)
		if err != nil {
			return nil, err
		}
		return fn(ctx, s.host, p)
	}}
}

// done is for methods without a result.
func done(err error) (any, error) { return none{}, err }

func methods() map[string]method {
	send := on(doSend)
	send.inOrder = true
	return map[string]method{
		"send": send, "cancel": on(doCancel), "wait": on(doWait), "ready": on(doReady),
		"continue":  on(func(ctx context.Context, h Host, _ none) (any, error) { return done(h.Agent().Continue(ctx)) }),
		"answer":    on(doAnswer),
		"questions": on(func(_ context.Context, h Host, _ none) (any, error) { return list(h.Agent().Questions()), nil }),
		"queue":     on(func(_ context.Context, h Host, _ none) (any, error) { return list(h.Agent().Queue()), nil }),
		"take_back": on(doTakeBack),

		"state":   on(func(_ context.Context, h Host, _ none) (any, error) { return h.Agent().State(), nil }),
		"totals":  on(func(_ context.Context, h Host, _ none) (any, error) { return h.Agent().State().Totals, nil }),
		"path":    on(doPath),
		"tree":    on(doTree),
		"explain": on(doExplain),
		"context": on(doContext),
		"recall":  on(doRecall),
		"search":  on(doSearch),

		"compact": on(func(ctx context.Context, h Host, p agent.CompactRequest) (any, error) {
			return h.Agent().Compact(ctx, p)
		}),
		"omit":     on(doOmit),
		"undo":     on(doUndo),
		"turns":    on(doTurns),
		"changes":  on(doChanges),
		"restore":  on(doRestore),
		"navigate": on(doNavigate),
		"pin":      on(func(ctx context.Context, h Host, p idParams) (any, error) { return doPin(ctx, h, p, true) }),
		"unpin":    on(func(ctx context.Context, h Host, p idParams) (any, error) { return doPin(ctx, h, p, false) }),
		"label":    on(doLabel),
		"name":     on(func(ctx context.Context, h Host, p nameParams) (any, error) { return done(h.Agent().Name(ctx, p.Name)) }),

		"new":      on(func(ctx context.Context, h Host, _ none) (any, error) { return state(h, h.New(ctx)) }),
		"resume":   on(doResume),
		"fork":     on(doFork),
		"sessions": on(doSessions),
		"remove":   on(doRemove),
		"rename":   on(doRename),

		"models":        on(func(_ context.Context, h Host, _ none) (any, error) { return list(h.Models()), nil }),
		"set_model":     on(doSetModel),
		"set_reasoning": on(doSetReasoning),
		"set_mode":      on(doSetMode),
		"settings":      on(func(_ context.Context, h Host, _ none) (any, error) { return list(h.Settings()), nil }),
		"set":           on(doSet),
		"allow":         on(doAllow),
		"untrusted":     on(func(_ context.Context, h Host, _ none) (any, error) { return list(h.Untrusted()), nil }),
		"trust":         on(func(ctx context.Context, h Host, _ none) (any, error) { return done(h.Trust(ctx)) }),
		"hooks":         on(func(_ context.Context, h Host, _ none) (any, error) { return list(h.Hooks()), nil }),

		"export":    on(doExport),
		"files":     on(doFiles),
		"commands":  on(func(_ context.Context, h Host, _ none) (any, error) { return list(h.Commands()), nil }),
		"expand":    on(func(ctx context.Context, h Host, p expandParams) (any, error) { return h.Expand(ctx, p.Text) }),
		"shell":     on(doShell),
		"history":   on(func(_ context.Context, h Host, _ none) (any, error) { return list(h.History()), nil }),
		"remember":  on(doRemember),
		"subscribe": {run: doSubscribe},
	}
}

// list is a list that is never null.
func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

func state(h Host, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return h.Agent().State(), nil
}

func need(name, value string) error {
	if value == "" {
		return badParams(fmt.Sprintf("the parameter %s is missing or empty", name), "docs/rpc.md describes the methods")
	}
	return nil
}

func doSend(ctx context.Context, h Host, p agent.Input) (any, error) {
	q, err := h.Agent().Send(context.WithoutCancel(ctx), p) // what has come is kept
	if err != nil {
		return nil, err
	}
	return struct {
		ID string    `json:"id"`
		At time.Time `json:"at"`
	}{q.ID, q.At}, nil
}

func doCancel(ctx context.Context, h Host, _ none) (any, error) {
	did, err := h.Agent().Cancel(ctx)
	return struct {
		Cancelled bool `json:"cancelled"`
	}{did}, err
}

func doWait(ctx context.Context, h Host, _ none) (any, error) {
	a := h.Agent()
	if err := a.Wait(ctx); err != nil {
		return nil, err
	}
	return a.State(), nil
}

func doReady(ctx context.Context, h Host, _ none) (any, error) { return done(h.Ready(ctx)) }

type answerParams struct {
	ID string `json:"id"`
	agent.Reply
	Always bool `json:"always"`
}

func doAnswer(ctx context.Context, h Host, p answerParams) (any, error) {
	if err := need("id", p.ID); err != nil {
		return nil, err
	}
	a := h.Agent()
	if p.Always && p.Allow {
		at := slices.IndexFunc(a.Questions(), func(q agent.Question) bool { return q.ID == p.ID })
		if at < 0 {
			return nil, &Error{CodeNotFound, "there is no such question: " + p.ID, "it was answered, or its turn has ended"}
		}
		if err := h.Allow(ctx, a.Questions()[at].Remembered(p.Reply)); err != nil {
			return nil, err
		}
	}
	return done(a.Answer(p.ID, p.Reply))
}

type idsParams struct {
	IDs []string `json:"ids"`
}

func doTakeBack(_ context.Context, h Host, p idsParams) (any, error) {
	back, err := h.Agent().TakeBack(p.IDs...)
	return list(back), err
}

type pathParams struct {
	Since string `json:"since"`
	Limit int    `json:"limit"`
}

type pathResult struct {
	Leaf    string        `json:"leaf"`
	Entries []agent.Shown `json:"entries"`
	// More says that there are newer ones than the last.
	More bool `json:"more,omitempty"`
}

func doPath(ctx context.Context, h Host, p pathParams) (any, error) {
	if p.Limit < 0 {
		return nil, badParams("limit is below 0", "")
	}
	a := h.Agent()
	path, err := a.Path(ctx)
	if err != nil {
		return nil, err
	}
	r := pathResult{Leaf: a.State().Leaf, Entries: list(path)}
	if p.Since != "" {
		at := slices.IndexFunc(path, func(e agent.Shown) bool { return e.ID == p.Since })
		if at < 0 {
			return nil, &Error{CodeNotFound, "the path has no entry " + p.Since, "the conversation stands elsewhere by now: read it from the start"}
		}
		r.Entries = path[at+1:]
	}
	if p.Limit > 0 && len(r.Entries) > p.Limit {
		r.Entries, r.More = r.Entries[:p.Limit], true
	}
	return r, nil
}

func doTree(ctx context.Context, h Host, _ none) (any, error) {
	a := h.Agent()
	nodes, err := a.Tree(ctx)
	return struct {
		Leaf  string       `json:"leaf"`
		Nodes []agent.Node `json:"nodes"`
	}{a.State().Leaf, list(nodes)}, err
}

type explainParams struct {
	Fates bool `json:"fates"`
}

type explainResult struct {
	Leaf    string                   `json:"leaf"`
	Model   string                   `json:"model"`
	Tokens  int64                    `json:"tokens"`
	Plan    *compact.Plan            `json:"plan,omitempty"`
	Failure string                   `json:"failure,omitempty"`
	Counts  map[compact.FateKind]int `json:"counts"`
	Fates   []compact.Fate           `json:"fates,omitempty"`
}

func doExplain(ctx context.Context, h Host, p explainParams) (any, error) {
	e, err := h.Agent().Explain(ctx)
	if err != nil {
		return nil, err
	}
	r := explainResult{
		Leaf: e.Leaf, Model: e.Model.Provider + "/" + e.Model.ID, Tokens: e.Reading.Tokens, Plan: e.Plan, Counts: map[compact.FateKind]int{},
	}
	if e.Err != nil {
		r.Failure = e.Err.Error()
	}
	for _, f := range e.Fates {
		r.Counts[f.Fate]++
	}
	if p.Fates {
		r.Fates = e.Fates
	}
	return r, nil
}

type contextMessage struct {
	ID      string           `json:"id"`
	Message *message.Message `json:"message"`
}

type contextResult struct {
	Tokens    int64            `json:"tokens"`
	Measured  bool             `json:"measured"`
	Window    int64            `json:"window"`
	Threshold int64            `json:"threshold"`
	Messages  []contextMessage `json:"messages"`
}

func doContext(ctx context.Context, h Host, _ none) (any, error) {
	a := h.Agent()
	items, err := a.Session().Context(ctx)
	if err != nil {
		return nil, err
	}
	now := a.State()
	r := contextResult{now.Tokens, now.Measured, now.Window, now.Threshold, make([]contextMessage, len(items))}
	for i, it := range items {
		r.Messages[i] = contextMessage{it.Entry.ID, it.Message}
	}
	return r, nil
}

type recallParams struct {
	ID     string `json:"id"`
	Offset int    `json:"offset"`
	Max    int    `json:"max"`
	Raw    bool   `json:"raw"`
}

func doRecall(ctx context.Context, h Host, p recallParams) (any, error) {
	if err := need("id", p.ID); err != nil {
		return nil, err
	}
	return h.Agent().Recall(ctx, p.ID, clew.RecallOptions{Offset: p.Offset, Max: p.Max, Raw: p.Raw})
}

type searchParams struct {
	Query  string `json:"query"`
	Role   string `json:"role"`
	Tool   string `json:"tool"`
	Path   string `json:"path"`
	Scope  string `json:"scope"`
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"`
}

func doSearch(ctx context.Context, h Host, p searchParams) (any, error) {
	q := clew.Query{Scope: p.Scope, Text: p.Query, Tool: p.Tool, Path: p.Path, Offset: p.Offset, Limit: p.Limit}
	if p.Role != "" {
		if !message.Role(p.Role).Known() {
			return nil, badParams("there is no role "+p.Role, "such as user, assistant, toolResult")
		}
		q.Roles = []message.Role{message.Role(p.Role)}
	}
	if !slices.Contains([]string{clew.ScopePath, clew.ScopeAll, clew.ScopeLeft}, p.Scope) {
		return nil, badParams("there is no scope "+p.Scope, `leave it out, or write "all" or "left"`)
	}
	return h.Agent().Search(ctx, q)
}

type omitParams struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func doOmit(ctx context.Context, h Host, p omitParams) (any, error) {
	if err := need("from", p.From); err != nil {
		return nil, err
	}
	return h.Agent().Omit(ctx, p.From, p.To)
}

type undoParams struct {
	KeepLater bool `json:"keepLater"`
}

func doUndo(ctx context.Context, h Host, p undoParams) (any, error) {
	return h.Agent().Undo(ctx, session.UndoOptions{KeepLater: p.KeepLater})
}

func doTurns(ctx context.Context, h Host, _ none) (any, error) {
	turns, err := h.Agent().Turns(ctx)
	return list(turns), err
}

type changesParams struct {
	Turn string `json:"turn"`
}

func doChanges(ctx context.Context, h Host, p changesParams) (any, error) {
	changed, err := h.Agent().Changes(ctx, p.Turn)
	return list(changed), err
}

type restoreParams struct {
	To    string `json:"to"`
	Force bool   `json:"force"`
}

func doRestore(ctx context.Context, h Host, p restoreParams) (any, error) {
	if err := need("to", p.To); err != nil {
		return nil, err
	}
	return h.Agent().Restore(ctx, p.To, p.Force)
}

type navigateParams struct {
	// To is an entry; Start says that it is before the first one.
	To           string `json:"to"`
	Start        bool   `json:"start"`
	Summarize    bool   `json:"summarize"`
	Instructions string `json:"instructions"`
	Replace      bool   `json:"replace"`
	Label        string `json:"label"`
	Preview      bool   `json:"preview"`
}

type navigateResult struct {
	From    string   `json:"from"`
	Leaf    string   `json:"leaf"`
	Left    int      `json:"left"`
	Text    string   `json:"text,omitempty"`
	Summary string   `json:"summary,omitempty"`
	Entries []string `json:"entries,omitempty"`
	Why     string   `json:"why,omitempty"`
}

func doNavigate(ctx context.Context, h Host, p navigateParams) (any, error) {
	if p.Start == (p.To != "") {
		return nil, badParams("either to or start says where", "tree lists the entries")
	}
	if p.To != "" {
		a := h.Agent()
		e, err := recall.Find(ctx, a.Session().Log().Store(), a.Session().Leaf(), p.To)
		if err != nil {
			return nil, err
		}
		p.To = e.ID
	}
	b, err := h.Agent().Navigate(ctx, p.To, clew.BranchOptions{
		Summarize: p.Summarize, Instructions: p.Instructions, ReplaceInstructions: p.Replace, Label: p.Label, DryRun: p.Preview,
	})
	if err != nil {
		return nil, err
	}
	r := navigateResult{From: b.From, Leaf: b.Leaf, Left: b.Left, Text: b.Text, Entries: b.Entries, Why: b.Why}
	if b.Summary != nil {
		r.Summary = b.Summary.Summary
	}
	return r, nil
}

type idParams struct {
	ID string `json:"id"`
}

func doPin(ctx context.Context, h Host, p idParams, pin bool) (any, error) {
	if err := need("id", p.ID); err != nil {
		return nil, err
	}
	return done(h.Agent().Pin(ctx, p.ID, pin))
}

type labelParams struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

func doLabel(ctx context.Context, h Host, p labelParams) (any, error) {
	if err := need("id", p.ID); err != nil {
		return nil, err
	}
	return done(h.Agent().Label(ctx, p.ID, p.Label))
}

type nameParams struct {
	Name string `json:"name"`
}

type sessionParams struct {
	Session string `json:"session"` // a file, or an id
}

// file is the file of a session that is named by it, or by its id or the beginning of it.
func (p sessionParams) file(ctx context.Context, h Host) (string, error) {
	if err := need("session", p.Session); err != nil {
		return "", err
	}
	if _, err := os.Stat(p.Session); err == nil || strings.ContainsAny(p.Session, `/\`) {
		return p.Session, nil
	}
	all, err := h.Sessions(ctx, true)
	if err != nil {
		return "", err
	}
	var found []string
	for _, s := range all {
		switch {
		case s.Header.ID == p.Session:
			return s.Path, nil
		case strings.HasPrefix(s.Header.ID, p.Session):
			found = append(found, s.Path)
		}
	}
	switch len(found) {
	case 0:
		return "", &Error{CodeNotFound, "there is no session " + p.Session, "sessions lists them"}
	case 1:
		return found[0], nil
	}
	return "", badParams(fmt.Sprintf("%d sessions have ids that begin with %s", len(found), p.Session), "give more of the id")
}

func doResume(ctx context.Context, h Host, p sessionParams) (any, error) {
	path, err := p.file(ctx, h)
	if err != nil {
		return nil, err
	}
	return state(h, h.Resume(ctx, path))
}

type forkParams struct {
	At string `json:"at"`
}

func doFork(ctx context.Context, h Host, p forkParams) (any, error) {
	text, err := h.Fork(ctx, p.At)
	if err != nil {
		return nil, err
	}
	return struct {
		Text  string      `json:"text,omitempty"`
		State agent.State `json:"state"`
	}{text, h.Agent().State()}, nil
}

type sessionsParams struct {
	All bool `json:"all"`
}

type sessionInfo struct {
	Path  string     `json:"path"`
	ID    string     `json:"id"`
	Name  string     `json:"name,omitempty"`
	First string     `json:"first,omitempty"`
	Dir   string     `json:"dir,omitempty"`
	Begun *time.Time `json:"begun,omitempty"`
	Last  time.Time  `json:"last"`
	Size  int64      `json:"size"`
}

func doSessions(ctx context.Context, h Host, p sessionsParams) (any, error) {
	all, err := h.Sessions(ctx, p.All)
	if err != nil {
		return nil, err
	}
	out := make([]sessionInfo, len(all))
	for i, s := range all {
		out[i] = sessionInfo{Path: s.Path, ID: s.Header.ID, Name: s.Name, First: s.First, Dir: s.Header.Cwd, Last: s.Last, Size: s.Size}
		if !s.Header.Timestamp.IsZero() {
			out[i].Begun = &s.Header.Timestamp
		}
	}
	return out, nil
}

func doRemove(ctx context.Context, h Host, p sessionParams) (any, error) {
	path, err := p.file(ctx, h)
	if err != nil {
		return nil, err
	}
	return done(h.Remove(ctx, path))
}

type renameParams struct {
	Session string `json:"session"`
	Name    string `json:"name"`
}

func doRename(ctx context.Context, h Host, p renameParams) (any, error) {
	path, err := sessionParams{p.Session}.file(ctx, h)
	if err != nil {
		return nil, err
	}
	return done(h.Rename(ctx, path, p.Name))
}

type modelParams struct {
	Model string `json:"model"`
}

func doSetModel(ctx context.Context, h Host, p modelParams) (any, error) {
	if err := need("model", p.Model); err != nil {
		return nil, err
	}
	return state(h, h.Agent().SetModel(ctx, p.Model))
}

type reasoningParams struct {
	Reasoning string `json:"reasoning"`
}

func doSetReasoning(ctx context.Context, h Host, p reasoningParams) (any, error) {
	r, err := agent.ParseReasoning(p.Reasoning)
	if err != nil {
		return nil, badParams(err.Error(), "")
	}
	return state(h, h.Agent().SetReasoning(ctx, r))
}

type modeParams struct {
	Mode string `json:"mode"`
}

func doSetMode(ctx context.Context, h Host, p modeParams) (any, error) {
	if err := need("mode", p.Mode); err != nil {
		return nil, err
	}
	m, err := permission.ParseMode(p.Mode)
	if err != nil {
		return nil, badParams(err.Error(), "")
	}
	return state(h, h.Agent().SetMode(ctx, m))
}

type setParams struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func doSet(ctx context.Context, h Host, p setParams) (any, error) {
	if err := need("name", p.Name); err != nil {
		return nil, err
	}
	note, err := h.Set(ctx, p.Name, p.Value)
	return struct {
		Note string `json:"note,omitempty"`
	}{note}, err
}

type allowParams struct {
	Rules []string `json:"rules"`
}

func doAllow(ctx context.Context, h Host, p allowParams) (any, error) {
	if len(p.Rules) == 0 {
		return nil, badParams("there are no rules", `such as ["bash(go test *)"]`)
	}
	return done(h.Allow(ctx, p.Rules))
}

type exportParams struct {
	Format string `json:"format"`
	Path   string `json:"path"`
}

func doExport(ctx context.Context, h Host, p exportParams) (any, error) {
	path, err := h.Export(ctx, p.Format, p.Path)
	return struct {
		Path string `json:"path"`
	}{path}, err
}

type filesParams struct {
	Prefix string `json:"prefix"`
	Most   int    `json:"most"`
}

func doFiles(ctx context.Context, h Host, p filesParams) (any, error) {
	if p.Most <= 0 {
		p.Most = 50
	}
	return list(h.Files(ctx, p.Prefix, p.Most)), nil
}

type expandParams struct {
	Text string `json:"text"`
}

type shellParams struct {
	Command string `json:"command"`
	Hidden  bool   `json:"hidden"`
}

func doShell(ctx context.Context, h Host, p shellParams) (any, error) {
	if err := need("command", p.Command); err != nil {
		return nil, err
	}
	return done(h.Agent().Shell(ctx, p.Command, p.Hidden))
}

type rememberParams struct {
	Line string `json:"line"`
}

func doRemember(_ context.Context, h Host, p rememberParams) (any, error) {
	if err := need("line", p.Line); err != nil {
		return nil, err
	}
	h.Remember(p.Line)
	return none{}, nil
}

type subscribeParams struct {
	Kinds *[]agent.Kind `json:"kinds"`
}

func doSubscribe(_ context.Context, s *Server, raw json.RawMessage) (any, error) {
	p, err := decode[subscribeParams](raw)
	if err != nil {
		return nil, err
	}
	var kinds []agent.Kind
	if p.Kinds != nil {
		kinds = list(*p.Kinds)
		for _, k := range kinds {
			if !slices.Contains(agent.Kinds(), k) {
				hint := ""
				names := make([]string, 0, len(agent.Kinds()))
				for _, n := range agent.Kinds() {
					names = append(names, string(n))
				}
				if near := text.Nearest(string(k), names); near != "" {
					hint = "did you mean " + near + "?"
				}
				return nil, badParams(fmt.Sprintf("there are no events %q", k), hint)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kinds = kinds
	return none{}, nil
}
