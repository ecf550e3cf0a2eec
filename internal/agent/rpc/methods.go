package rpc

import (
	"cmp"
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
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/agent/permission"
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
	// check says what is wrong with params.
	check func(params json.RawMessage) error
}

// none is for methods without parameters or without a result.
type none struct{}

// object is a result of a few members.
type object map[string]any

// Methods are the names of all methods.
func Methods() []string {
	return append(slices.Sorted(maps.Keys(methods())), "close")
}

// of makes a method of a function with its parameters.
func of[P any](fn func(ctx context.Context, s *Server, p P) (any, error)) method {
	return method{
		run: func(ctx context.Context, s *Server, raw json.RawMessage) (any, error) {
			p, err := decode[P](raw)
			if err != nil {
				return nil, err
			}
			return fn(ctx, s, p)
		},
		check: func(raw json.RawMessage) error { _, err := decode[P](raw); return err },
	}
}

// on is of for what is asked of the host, with is for what is asked of its agent.
func on[P any](fn func(ctx context.Context, h Host, p P) (any, error)) method {
	return of(func(ctx context.Context, s *Server, p P) (any, error) { return fn(ctx, s.host, p) })
}

func with[P any](fn func(ctx context.Context, a *agent.Agent, p P) (any, error)) method {
	return on(func(ctx context.Context, h Host, p P) (any, error) { return fn(ctx, h.Agent(), p) })
}

// lists is on for a list.
func lists[T any](fn func(h Host) []T) method {
	return on(func(_ context.Context, h Host, _ none) (any, error) { return list(fn(h)), nil })
}

// done is for methods without a result.
func done(err error) (any, error) { return none{}, err }

// listed is a list that is never null, with the error beside it.
func listed[T any](l []T, err error) (any, error) { return list(l), err }

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

// Parameters of methods; those that can't be left out are needed.
type (
	idParams struct {
		ID string `json:"id" rpc:"needed"`
	}
	idsParams struct {
		IDs []string `json:"ids"`
	}
	answerParams struct {
		idParams
		agent.Reply
		Always bool `json:"always"`
	}
	pathParams struct {
		Since string `json:"since"`
		Limit int    `json:"limit"`
	}
	explainParams struct {
		Fates bool `json:"fates"`
	}
	recallParams struct {
		idParams
		Offset int  `json:"offset"`
		Max    int  `json:"max"`
		Raw    bool `json:"raw"`
	}
	searchParams struct {
		Query  string `json:"query"`
		Role   string `json:"role"`
		Tool   string `json:"tool"`
		Path   string `json:"path"`
		Scope  string `json:"scope"`
		Offset int    `json:"offset"`
		Limit  int    `json:"limit"`
	}
	omitParams struct {
		From string `json:"from" rpc:"needed"`
		To   string `json:"to"`
	}
	undoParams struct {
		KeepLater bool `json:"keepLater"`
	}
	turnParams struct {
		Turn string `json:"turn"`
	}
	restoreParams struct {
		To    string `json:"to" rpc:"needed"`
		Force bool   `json:"force"`
	}
	navigateParams struct {
		// To is an entry; Start says that it is before the first one.
		To           string `json:"to"`
		Start        bool   `json:"start"`
		Summarize    bool   `json:"summarize"`
		Instructions string `json:"instructions"`
		Replace      bool   `json:"replace"`
		Label        string `json:"label"`
		Preview      bool   `json:"preview"`
	}
	labelParams struct {
		idParams
		Label string `json:"label"`
	}
	nameParams struct {
		Name string `json:"name"`
	}
	sessionParams struct {
		Session string `json:"session" rpc:"needed"` // a file, or an id
	}
	renameParams struct {
		sessionParams
		nameParams
	}
	forkParams struct {
		At string `json:"at"`
	}
	sessionsParams struct {
		All bool `json:"all"`
	}
	modelParams struct {
		Model string `json:"model" rpc:"needed"`
	}
	reasoningParams struct {
		Reasoning string `json:"reasoning"`
	}
	modeParams struct {
		Mode string `json:"mode" rpc:"needed"`
	}
	setParams struct {
		Name  string `json:"name" rpc:"needed"`
		Value string `json:"value"`
	}
	allowParams struct {
		Rules []string `json:"rules"`
	}
	exportParams struct {
		Format string `json:"format"`
		Path   string `json:"path"`
	}
	filesParams struct {
		Prefix string `json:"prefix"`
		Most   int    `json:"most"`
	}
	textParams struct {
		Text string `json:"text"`
	}
	shellParams struct {
		Command string `json:"command" rpc:"needed"`
		Hidden  bool   `json:"hidden"`
	}
	lineParams struct {
		Line string `json:"line" rpc:"needed"`
	}
	subscribeParams struct {
		Kinds *[]agent.Kind `json:"kinds"`
	}
)

func methods() map[string]method {
	send := with(doSend)
	send.inOrder = true
	return map[string]method{
		"send": send, "cancel": with(doCancel), "wait": with(doWait), "answer": on(doAnswer),
		"ready":     on(func(ctx context.Context, h Host, _ none) (any, error) { return done(h.Ready(ctx)) }),
		"continue":  with(func(ctx context.Context, a *agent.Agent, _ none) (any, error) { return done(a.Continue(ctx)) }),
		"questions": lists(func(h Host) []agent.Question { return h.Agent().Questions() }),
		"queue":     lists(func(h Host) []agent.Queued { return h.Agent().Queue() }),
		"take_back": with(func(_ context.Context, a *agent.Agent, p idsParams) (any, error) { return listed(a.TakeBack(p.IDs...)) }),

		"state":   with(func(_ context.Context, a *agent.Agent, _ none) (any, error) { return a.State(), nil }),
		"totals":  with(func(_ context.Context, a *agent.Agent, _ none) (any, error) { return a.State().Totals, nil }),
		"path":    with(doPath),
		"tree":    with(doTree),
		"explain": with(doExplain),
		"context": with(doContext),
		"recall": with(func(ctx context.Context, a *agent.Agent, p recallParams) (any, error) {
			return a.Recall(ctx, p.ID, clew.RecallOptions{Offset: p.Offset, Max: p.Max, Raw: p.Raw})
		}),
		"search": with(doSearch),

		"compact": with(func(ctx context.Context, a *agent.Agent, p agent.CompactRequest) (any, error) {
			return a.Compact(ctx, p)
		}),
		"omit": with(func(ctx context.Context, a *agent.Agent, p omitParams) (any, error) { return a.Omit(ctx, p.From, p.To) }),
		"undo": with(func(ctx context.Context, a *agent.Agent, p undoParams) (any, error) {
			return a.Undo(ctx, session.UndoOptions{KeepLater: p.KeepLater})
		}),
		"turns": with(func(ctx context.Context, a *agent.Agent, _ none) (any, error) { return listed(a.Turns(ctx)) }),
		"changes": with(func(ctx context.Context, a *agent.Agent, p turnParams) (any, error) {
			return listed(a.Changes(ctx, p.Turn))
		}),
		"restore": with(func(ctx context.Context, a *agent.Agent, p restoreParams) (any, error) {
			return a.Restore(ctx, p.To, p.Force)
		}),
		"navigate": with(doNavigate),
		"pin": with(func(ctx context.Context, a *agent.Agent, p idParams) (any, error) {
			return done(a.Pin(ctx, p.ID, true))
		}),
		"unpin": with(func(ctx context.Context, a *agent.Agent, p idParams) (any, error) {
			return done(a.Pin(ctx, p.ID, false))
		}),
		"label": with(func(ctx context.Context, a *agent.Agent, p labelParams) (any, error) {
			return done(a.Label(ctx, p.ID, p.Label))
		}),
		"name": with(func(ctx context.Context, a *agent.Agent, p nameParams) (any, error) { return done(a.Name(ctx, p.Name)) }),

		"new": on(func(ctx context.Context, h Host, _ none) (any, error) { return state(h, h.New(ctx)) }),
		"resume": on(func(ctx context.Context, h Host, p sessionParams) (any, error) {
			return p.with(ctx, h, func(path string) (any, error) { return state(h, h.Resume(ctx, path)) })
		}),
		"fork":     on(doFork),
		"sessions": on(doSessions),
		"remove": on(func(ctx context.Context, h Host, p sessionParams) (any, error) {
			return p.with(ctx, h, func(path string) (any, error) { return done(h.Remove(ctx, path)) })
		}),
		"rename": on(func(ctx context.Context, h Host, p renameParams) (any, error) {
			return p.with(ctx, h, func(path string) (any, error) { return done(h.Rename(ctx, path, p.Name)) })
		}),

		"models": lists(Host.Models),
		"set_model": on(func(ctx context.Context, h Host, p modelParams) (any, error) {
			return state(h, h.Agent().SetModel(ctx, p.Model))
		}),
		"set_reasoning": on(doSetReasoning),
		"set_mode":      on(doSetMode),
		"settings":      lists(Host.Settings),
		"set":           on(doSet),
		"allow":         on(doAllow),
		"untrusted":     lists(Host.Untrusted),
		"trust":         on(func(ctx context.Context, h Host, _ none) (any, error) { return done(h.Trust(ctx)) }),
		"hooks":         lists(Host.Hooks),

		"export": on(func(ctx context.Context, h Host, p exportParams) (any, error) {
			path, err := h.Export(ctx, p.Format, p.Path)
			return object{"path": path}, err
		}),
		"files": on(func(ctx context.Context, h Host, p filesParams) (any, error) {
			return list(h.Files(ctx, p.Prefix, cmp.Or(max(p.Most, 0), 50))), nil
		}),
		"commands": lists(Host.Commands),
		"expand":   on(func(ctx context.Context, h Host, p textParams) (any, error) { return h.Expand(ctx, p.Text) }),
		"shell": with(func(ctx context.Context, a *agent.Agent, p shellParams) (any, error) {
			return done(a.Shell(ctx, p.Command, p.Hidden))
		}),
		"history":   lists(Host.History),
		"remember":  on(func(_ context.Context, h Host, p lineParams) (any, error) { h.Remember(p.Line); return none{}, nil }),
		"subscribe": of(doSubscribe),
	}
}

func doSend(ctx context.Context, a *agent.Agent, p agent.Input) (any, error) {
	q, err := a.Send(context.WithoutCancel(ctx), p) // what has come is kept
	return struct {
		ID string    `json:"id"`
		At time.Time `json:"at"`
	}{q.ID, q.At}, err
}

func doCancel(ctx context.Context, a *agent.Agent, _ none) (any, error) {
	did, err := a.Cancel(ctx)
	return object{"cancelled": did}, err
}

func doWait(ctx context.Context, a *agent.Agent, _ none) (any, error) {
	err := a.Wait(ctx)
	return a.State(), err
}

func doAnswer(ctx context.Context, h Host, p answerParams) (any, error) {
	a := h.Agent()
	if p.Always && p.Allow {
		questions := a.Questions()
		at := slices.IndexFunc(questions, func(q agent.Question) bool { return q.ID == p.ID })
		if at < 0 {
			return nil, refuse(CodeNotFound, "there is no such question: "+p.ID, "it was answered, or its turn has ended")
		}
		if err := h.Allow(ctx, questions[at].Remembered(p.Reply)); err != nil {
			return nil, err
		}
	}
	return done(a.Answer(p.ID, p.Reply))
}

type pathResult struct {
	Leaf    string        `json:"leaf"`
	Entries []agent.Shown `json:"entries"`
	// More says that there are newer ones than the last.
	More bool `json:"more,omitempty"`
}

// pathPage is how many entries of the path are read at once.
const pathPage = 200

func doPath(ctx context.Context, a *agent.Agent, p pathParams) (any, error) {
	if p.Limit < 0 {
		return nil, badParams("limit is below 0", "")
	}
	r := pathResult{Leaf: a.State().Leaf}
	var pages [][]agent.Shown // the newest first, as far as the entry to begin after
	for before, found := "", false; !found; {
		page, next, err := a.PathPage(ctx, before, pathPage)
		if err != nil {
			return nil, err
		}
		if at := slices.IndexFunc(page, func(e agent.Shown) bool { return e.ID == p.Since }); at >= 0 {
			page, found = page[at+1:], true
		}
		pages = append(pages, page)
		if before = next; before == "" && p.Since != "" && !found {
			return nil, refuse(CodeNotFound, "the path has no entry "+p.Since, "the conversation stands elsewhere by now: read it from the start")
		}
		found = found || before == ""
	}
	slices.Reverse(pages)
	r.Entries = list(slices.Concat(pages...))
	if p.Limit > 0 && len(r.Entries) > p.Limit {
		r.Entries, r.More = r.Entries[:p.Limit], true
	}
	return r, nil
}

func doTree(ctx context.Context, a *agent.Agent, _ none) (any, error) {
	nodes, err := a.Tree(ctx)
	return object{"leaf": a.State().Leaf, "nodes": list(nodes)}, err
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

func doExplain(ctx context.Context, a *agent.Agent, p explainParams) (any, error) {
	e, err := a.Explain(ctx)
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

func doContext(ctx context.Context, a *agent.Agent, _ none) (any, error) {
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

func doSearch(ctx context.Context, a *agent.Agent, p searchParams) (any, error) {
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
	return a.Search(ctx, q)
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

func doNavigate(ctx context.Context, a *agent.Agent, p navigateParams) (any, error) {
	if p.Start == (p.To != "") {
		return nil, badParams("either to or start says where", "tree lists the entries")
	}
	if p.To != "" {
		e, err := recall.Find(ctx, a.Session().Log().Store(), a.Session().Leaf(), p.To)
		if err != nil {
			return nil, err
		}
		p.To = e.ID
	}
	b, err := a.Navigate(ctx, p.To, clew.BranchOptions{
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

// with does something with the file of a session, which is named by it, or by its id or the beginning of it.
func (p sessionParams) with(ctx context.Context, h Host, do func(path string) (any, error)) (any, error) {
	if _, err := os.Stat(p.Session); err == nil || strings.ContainsAny(p.Session, `/\`) {
		return do(p.Session)
	}
	all, err := h.Sessions(ctx, true)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, s := range all {
		switch {
		case s.ID == p.Session:
			return do(s.Path)
		case strings.HasPrefix(s.ID, p.Session):
			found = append(found, s.Path)
		}
	}
	switch len(found) {
	case 0:
		return nil, refuse(CodeNotFound, "there is no session "+p.Session, "sessions lists them")
	case 1:
		return do(found[0])
	}
	return nil, badParams(fmt.Sprintf("%d sessions have ids that begin with %s", len(found), p.Session), "give more of the id")
}

func doFork(ctx context.Context, h Host, p forkParams) (any, error) {
	text, err := h.Fork(ctx, p.At)
	return struct {
		Text  string      `json:"text,omitempty"`
		State agent.State `json:"state"`
	}{text, h.Agent().State()}, err
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
		out[i] = sessionInfo{Path: s.Path, ID: s.ID, Name: s.Name, First: s.First, Dir: s.Cwd, Last: s.Last, Size: s.Size}
		if !s.Begun.IsZero() {
			out[i].Begun = &s.Begun
		}
	}
	return out, nil
}

func doSetReasoning(ctx context.Context, h Host, p reasoningParams) (any, error) {
	r, err := agent.ParseReasoning(p.Reasoning)
	if err != nil {
		return nil, badParams(err.Error(), "")
	}
	return state(h, h.Agent().SetReasoning(ctx, r))
}

func doSetMode(ctx context.Context, h Host, p modeParams) (any, error) {
	m, err := permission.ParseMode(p.Mode)
	if err != nil {
		return nil, badParams(err.Error(), "")
	}
	return state(h, h.Agent().SetMode(ctx, m))
}

func doSet(ctx context.Context, h Host, p setParams) (any, error) {
	note, err := h.Set(ctx, p.Name, p.Value)
	if note == "" {
		return done(err)
	}
	return object{"note": note}, err
}

func doAllow(ctx context.Context, h Host, p allowParams) (any, error) {
	if len(p.Rules) == 0 {
		return nil, badParams("there are no rules", `such as ["bash(go test *)"]`)
	}
	return done(h.Allow(ctx, p.Rules))
}

func doSubscribe(_ context.Context, s *Server, p subscribeParams) (any, error) {
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
	s.flush() // what has happened before goes by the kinds of before
	s.kinds = kinds
	return none{}, nil
}
