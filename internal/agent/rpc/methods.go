package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/internal/sessions"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/session"
)

// method is what a client may ask for: a function of an agent, the host or the server, and the names of its parameters
// in JSON.
type method struct {
	fn     reflect.Value
	params reflect.Type // a struct
	whole  bool         // fn takes the struct itself
	// inOrder says that it is done in the order in which the requests came.
	inOrder bool
}

// none is for methods without a result.
type none struct{}

// object is a result of a few members.
type object map[string]any

// Methods are the names of all methods.
func Methods() []string {
	return append(slices.Sorted(maps.Keys(methods())), "close")
}

// call makes a method of a function and the names of its parameters; "!" ends the name of one that can't be left out.
// Without names the function's last parameter is a struct that has them.
func call(fn any, names ...string) method {
	m := method{fn: reflect.ValueOf(fn)}
	t := m.fn.Type()
	if last := t.In(t.NumIn() - 1); len(names) == 0 && last.Kind() == reflect.Struct {
		m.params, m.whole = last, true
		return m
	}
	fields := make([]reflect.StructField, len(names))
	for i, name := range names {
		tag := `json:"` + strings.TrimSuffix(name, "!") + `"`
		if strings.HasSuffix(name, "!") {
			tag += ` rpc:"needed"`
		}
		fields[i] = reflect.StructField{Name: fmt.Sprint("P", i), Type: t.In(t.NumIn() - len(names) + i), Tag: reflect.StructTag(tag)}
	}
	m.params = reflect.StructOf(fields)
	return m
}

// run answers a request. A list that is a result is never null.
func (m method) run(ctx context.Context, s *Server, raw json.RawMessage) (any, error) {
	p, err := decode(m.params, raw)
	if err != nil {
		return nil, err
	}
	given := map[reflect.Type]any{ // what has no name in JSON
		reflect.TypeFor[context.Context](): ctx, reflect.TypeFor[*Server](): s, reflect.TypeFor[Host](): s.host, reflect.TypeFor[theAgent](): s.host.Agent(),
	}
	var in []reflect.Value
	named := 0
	for t := range m.fn.Type().Ins() {
		switch v, ok := given[t]; {
		case ok:
			in = append(in, reflect.ValueOf(v))
		case m.whole:
			in = append(in, p)
		default:
			in = append(in, p.Field(named))
			named++
		}
	}
	var result any = none{}
	for _, v := range m.fn.Call(in) {
		switch {
		case v.Type() == reflect.TypeFor[error]():
			err, _ = v.Interface().(error)
		case v.Kind() == reflect.Slice && v.IsNil():
			result = []none{}
		default:
			result = v.Interface()
		}
	}
	return result, err
}

// state is a result of methods that change what the agent does.
func state(h Host, err error) (agent.State, error) { return h.Agent().State(), err }

// Parameters of methods with many of them.
type (
	answerParams struct {
		ID string `json:"id" rpc:"needed"`
		agent.Reply
		Always bool `json:"always"`
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
)

type theAgent = *agent.Agent

var methods = sync.OnceValue(func() map[string]method {
	send := call(doSend)
	send.inOrder = true
	return map[string]method{
		"send": send, "cancel": call(doCancel), "answer": call(doAnswer), "ready": call(Host.Ready), "continue": call(theAgent.Continue),
		"wait":      call(func(ctx context.Context, a theAgent) (agent.State, error) { err := a.Wait(ctx); return a.State(), err }),
		"questions": call(theAgent.Questions), "queue": call(theAgent.Queue),
		"take_back": call(func(a theAgent, ids []string) ([]agent.Queued, error) { return a.TakeBack(ids...) }, "ids"),

		"state":   call(theAgent.State),
		"totals":  call(func(a theAgent) agent.Totals { return a.State().Totals }),
		"path":    call(doPath, "since", "limit"),
		"tree":    call(doTree),
		"explain": call(doExplain, "fates"),
		"context": call(doContext),
		"recall": call(func(ctx context.Context, a theAgent, id string, offset, most int, raw bool) (*clew.Recalled, error) {
			return a.Recall(ctx, id, clew.RecallOptions{Offset: offset, Max: most, Raw: raw})
		}, "id!", "offset", "max", "raw"),
		"search": call(doSearch),

		"compact": call(theAgent.Compact),
		"omit":    call(theAgent.Omit, "from!", "to"),
		"undo": call(func(ctx context.Context, a theAgent, keep bool) (session.Undone, error) {
			return a.Undo(ctx, session.UndoOptions{KeepLater: keep})
		}, "keepLater"),
		"turns":    call(theAgent.Turns),
		"changes":  call(theAgent.Changes, "turn"),
		"restore":  call(theAgent.Restore, "to!", "force"),
		"navigate": call(doNavigate),
		"pin":      call(func(ctx context.Context, a theAgent, id string) error { return a.Pin(ctx, id, true) }, "id!"),
		"unpin":    call(func(ctx context.Context, a theAgent, id string) error { return a.Pin(ctx, id, false) }, "id!"),
		"label":    call(theAgent.Label, "id!", "label"),
		"name":     call(theAgent.Name, "name"),

		"new": call(func(ctx context.Context, h Host) (agent.State, error) { return state(h, h.New(ctx)) }),
		"resume": call(func(ctx context.Context, h Host, name string) (agent.State, error) {
			return state(h, on(ctx, h, name, func(path string) error { return h.Resume(ctx, path) }))
		}, "session!"),
		"fork":     call(doFork, "at"),
		"sessions": call(doSessions, "all"),
		"remove": call(func(ctx context.Context, h Host, name string) error {
			return on(ctx, h, name, func(path string) error { return h.Remove(ctx, path) })
		}, "session!"),
		"rename": call(func(ctx context.Context, h Host, name, to string) error {
			return on(ctx, h, name, func(path string) error { return h.Rename(ctx, path, to) })
		}, "session!", "name"),

		"models": call(Host.Models),
		"set_model": call(func(ctx context.Context, h Host, name string) (agent.State, error) {
			return state(h, h.Agent().SetModel(ctx, name))
		}, "model!"),
		"set_reasoning": call(doSetReasoning, "reasoning"),
		"set_mode":      call(doSetMode, "mode!"),
		"settings":      call(Host.Settings),
		"set":           call(doSet, "name!", "value"),
		"allow":         call(doAllow, "rules"),
		"untrusted":     call(Host.Untrusted),
		"trust":         call(Host.Trust),
		"hooks":         call(Host.Hooks),

		"export": call(func(ctx context.Context, h Host, format, path string) (object, error) {
			path, err := h.Export(ctx, format, path)
			return object{"path": path}, err
		}, "format", "path"),
		"files": call(func(ctx context.Context, h Host, prefix string, most int) []string {
			return h.Files(ctx, prefix, cmp.Or(max(most, 0), 50))
		}, "prefix", "most"),
		"commands":  call(Host.Commands),
		"expand":    call(Host.Expand, "text"),
		"shell":     call(theAgent.Shell, "command!", "hidden"),
		"history":   call(Host.History),
		"remember":  call(Host.Remember, "line!"),
		"subscribe": call(doSubscribe, "kinds"),
	}
})

func doSend(ctx context.Context, a *agent.Agent, p agent.Input) (object, error) {
	q, err := a.Send(context.WithoutCancel(ctx), p) // what has come is kept
	return object{"id": q.ID, "at": q.At}, err
}

func doCancel(ctx context.Context, a *agent.Agent) (object, error) {
	did, err := a.Cancel(ctx)
	return object{"cancelled": did}, err
}

func doAnswer(ctx context.Context, h Host, p answerParams) error {
	a := h.Agent()
	if p.Always && p.Allow {
		questions := a.Questions()
		at := slices.IndexFunc(questions, func(q agent.Question) bool { return q.ID == p.ID })
		if at < 0 {
			return refuse(CodeNotFound, "there is no such question: "+p.ID, "it was answered, or its turn has ended")
		}
		if err := h.Allow(ctx, questions[at].Remembered(p.Reply)); err != nil {
			return err
		}
	}
	return a.Answer(p.ID, p.Reply)
}

// pathPage is how many entries of the path are read at once.
const pathPage = 200

func doPath(ctx context.Context, a *agent.Agent, since string, limit int) (any, error) {
	if limit < 0 {
		return nil, badParams("limit is below 0", "")
	}
	r := object{"leaf": a.State().Leaf}
	var pages [][]agent.Shown // the newest first, as far as the entry to begin after
	for before, found := "", false; !found; {
		page, next, err := a.PathPage(ctx, before, pathPage)
		if err != nil {
			return nil, err
		}
		if at := slices.IndexFunc(page, func(e agent.Shown) bool { return e.ID == since }); at >= 0 {
			page, found = page[at+1:], true
		}
		pages = append(pages, page)
		if before = next; before == "" && since != "" && !found {
			return nil, refuse(CodeNotFound, "the path has no entry "+since, "the conversation stands elsewhere by now: read it from the start")
		}
		found = found || before == ""
	}
	slices.Reverse(pages)
	entries := slices.Concat([]agent.Shown{}, slices.Concat(pages...))
	if limit > 0 && len(entries) > limit {
		entries, r["more"] = entries[:limit], true // there are newer ones
	}
	r["entries"] = entries
	return r, nil
}

func doTree(ctx context.Context, a *agent.Agent) (object, error) {
	nodes, err := a.Tree(ctx)
	return object{"leaf": a.State().Leaf, "nodes": append([]agent.Node{}, nodes...)}, err
}

func doExplain(ctx context.Context, a *agent.Agent, fates bool) (any, error) {
	e, err := a.Explain(ctx)
	if err != nil {
		return nil, err
	}
	counts := map[compact.FateKind]int{}
	for _, f := range e.Fates {
		counts[f.Fate]++
	}
	r := object{"leaf": e.Leaf, "model": e.Model.Provider + "/" + e.Model.ID, "tokens": e.Reading.Tokens, "counts": counts}
	if e.Plan != nil {
		r["plan"] = e.Plan
	}
	if e.Err != nil {
		r["failure"] = e.Err.Error()
	}
	if fates && len(e.Fates) > 0 {
		r["fates"] = e.Fates
	}
	return r, nil
}

func doContext(ctx context.Context, a *agent.Agent) (any, error) {
	items, err := a.Session().Context(ctx)
	if err != nil {
		return nil, err
	}
	messages := make([]object, len(items))
	for i, it := range items {
		messages[i] = object{"id": it.Entry.ID, "message": it.Message}
	}
	now := a.State()
	return object{"tokens": now.Tokens, "measured": now.Measured, "window": now.Window, "threshold": now.Threshold, "messages": messages}, nil
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
	*clew.Branched
	Leaf    string `json:"leaf"`
	Summary string `json:"summary,omitempty"`
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
	r := navigateResult{Branched: b, Leaf: b.Leaf}
	if b.Summary != nil {
		r.Summary = b.Summary.Summary
	}
	return r, nil
}

// on does something with the file of a session, which is named by it, or by its id or the beginning of it.
func on(ctx context.Context, h Host, name string, do func(path string) error) error {
	if _, err := os.Stat(name); err == nil || strings.ContainsAny(name, `/\`) {
		return do(name)
	}
	all, err := h.Sessions(ctx, true)
	if err != nil {
		return err
	}
	switch found := sessions.WithID(all, name); len(found) {
	case 0:
		return refuse(CodeNotFound, "there is no session "+name, "sessions lists them")
	case 1:
		return do(found[0].Path)
	default:
		return badParams(fmt.Sprintf("%d sessions have ids that begin with %s", len(found), name), "give more of the id")
	}
}

func doFork(ctx context.Context, h Host, at string) (object, error) {
	text, err := h.Fork(ctx, at)
	return object{"text": text, "state": h.Agent().State()}, err
}

type sessionInfo struct {
	Path  string    `json:"path"`
	ID    string    `json:"id"`
	Name  string    `json:"name,omitempty"`
	First string    `json:"first,omitempty"`
	Dir   string    `json:"dir,omitempty"`
	Begun time.Time `json:"begun,omitzero"`
	Last  time.Time `json:"last"`
	Size  int64     `json:"size"`
}

func doSessions(ctx context.Context, h Host, everywhere bool) ([]sessionInfo, error) {
	all, err := h.Sessions(ctx, everywhere)
	if err != nil {
		return nil, err
	}
	out := make([]sessionInfo, len(all))
	for i, s := range all {
		out[i] = sessionInfo{s.Path, s.ID, s.Name, s.First, s.Cwd, s.Begun, s.Last, s.Size}
	}
	return out, nil
}

func doSetReasoning(ctx context.Context, h Host, level string) (any, error) {
	r, err := model.ParseReasoning(level)
	if err != nil {
		return nil, badParams(err.Error(), "")
	}
	return state(h, h.Agent().SetReasoning(ctx, r))
}

func doSetMode(ctx context.Context, h Host, mode string) (any, error) {
	m, err := permission.ParseMode(mode)
	if err != nil {
		return nil, badParams(err.Error(), "")
	}
	return state(h, h.Agent().SetMode(ctx, m))
}

func doSet(ctx context.Context, h Host, name, value string) (any, error) {
	note, err := h.Set(ctx, name, value)
	if note == "" {
		return none{}, err
	}
	return object{"note": note}, err
}

func doAllow(ctx context.Context, h Host, rules []string) error {
	if len(rules) == 0 {
		return badParams("there are no rules", `such as ["bash(go test *)"]`)
	}
	return h.Allow(ctx, rules)
}

// doSubscribe chooses the kinds of events; nil is all of them.
func doSubscribe(s *Server, kinds []agent.Kind) error {
	for _, k := range kinds {
		if !slices.Contains(agent.Kinds(), k) {
			return badParams(fmt.Sprintf("there are no events %q", k), meant(k, agent.Kinds(), ""))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush() // what has happened before goes by the kinds of before
	s.kinds = kinds
	return nil
}
