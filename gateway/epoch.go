package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
	"github.com/clew-dev/clew/transcript"
	"github.com/clew-dev/clew/wire"
)

// Epoch says what is sent for the beginning of a conversation, from the request on for which
// it was made. It never changes. Nodes are counted from the first one after the leading
// system messages.
type Epoch struct {
	// Head is the chain at the last node that a list must have to be sent under the epoch;
	// Nodes is their number.
	Head  wire.Digest `json:"head"`
	Nodes int         `json:"nodes"`
	// Cut is the number of nodes whose place Render takes: elements of the list, separated
	// by commas.
	Cut    int    `json:"cut"`
	Render string `json:"render,omitempty"`
	// Results are nodes between Cut and Nodes that are results or texts with another content,
	// in rising order.
	Results []Result `json:"results,omitempty"`
	// Thinking says that signed thinking after the cut is left out: it is bound to what stood
	// before it. That of a tool loop which was open has to come back as long as it is; Open
	// says that there was one.
	Thinking bool `json:"thinking,omitempty"`
	Open     bool `json:"open,omitempty"`
	// Tokens estimates Render.
	Tokens int64 `json:"tokens"`
	// Window is the one that it was made for: as the upstream has said, or as is configured.
	Window int64 `json:"window,omitempty"`
}

// Result is a result, or a text, with another content.
type Result struct {
	Node   int             `json:"node"`
	With   json.RawMessage `json:"with"` // in the form of the API
	Tokens int64           `json:"tokens"`
}

// unbound returns the index of the node before which thinking is left out.
func (e *Epoch) unbound(in *wire.Inbound, first int) int {
	head := first + e.Nodes
	if !e.Thinking || !e.Open {
		return head
	}
	has := func(item int, results bool) bool {
		it := in.Items[item]
		return slices.ContainsFunc(in.Nodes[it.First:it.Last], func(n wire.Node) bool { return (n.Kind == wire.PartResult) == results })
	}
	// A loop ends where something else is said to the model than results. Along with the
	// last results that does not end it.
	speaks := func(item int) bool {
		return in.Items[item].Turn != wire.TurnAssistant && has(item, false)
	}
	at, last := in.Nodes[head-1].Item, len(in.Items)-1
	end := at
	for end <= last && !speaks(end) {
		end++
	}
	if end < last || end == last && !has(last, true) {
		return in.Items[end].First
	}
	for at > 0 && !speaks(at-1) {
		at--
	}
	return in.Items[at].First
}

// result returns what the node at an index counted from the first costs under the epoch,
// where that is something else than as it is.
func (e *Epoch) result(i int) (tokens int64, ok bool) {
	if e == nil {
		return 0, false
	}
	at, ok := slices.BinarySearchFunc(e.Results, i, func(r Result, i int) int { return cmp.Compare(r.Node, i) })
	if !ok {
		return 0, false
	}
	return e.Results[at].Tokens, true
}

// apply returns the body under the epoch, in buf where that is large enough.
func (e *Epoch) apply(in *wire.Inbound, lead, first int, buf []byte) ([]byte, bool) {
	var edits []wire.Edit
	kept := first + e.Cut
	from := lead
	if e.Cut > 0 {
		var ok bool
		if edits, ok = in.Replace(lead, kept, []byte(e.Render)); !ok {
			return nil, false
		}
		if kept < len(in.Nodes) {
			from = in.Nodes[kept].Item
		}
	}
	for _, r := range e.Results {
		n := in.Nodes[first+r.Node]
		if n.Kind != wire.PartResult && n.Kind != wire.PartText || n.Content.Len() == 0 {
			return nil, false
		}
		edits = append(edits, wire.Edit{Range: n.Content, With: r.With})
	}
	if e.Thinking {
		var gone []int
		for i := kept; i < e.unbound(in, first); i++ {
			if in.Nodes[i].Kind == wire.PartThinking {
				gone = append(gone, i)
			}
		}
		more, ok := in.Without(from, gone)
		if !ok {
			return nil, false
		}
		edits = append(edits, more...)
	}
	return in.SpliceTo(buf, edits...), true
}

// errNoCut says that nothing can be taken out.
var errNoCut = errors.New("nothing can be taken out of the list")

// make makes an epoch for the request by the engine, for a list that has so much room, and
// keeps what leaves the context. Where that can't be kept, the agent still has it.
func (r *request) make(ctx context.Context, free room, reason compact.Reason) (*Epoch, error) {
	c := r.conversation()
	c.mu.Lock()
	defer c.mu.Unlock()
	e, err := r.makeIn(ctx, c, free, reason)
	if err == nil || errors.Is(err, errNoCut) || r.cfg.Store == nil || r.watched || ctx.Err() != nil {
		return e, err
	}
	r.cfg.Logger.Warn("what leaves the context can't be kept; clew recall will not find it", "conversation", r.event.Conversation, "error", err)
	r.volatile = true
	if e, err = r.makeIn(ctx, c, free, reason); err == nil {
		r.unkept.put(e.Head, true, false)
	}
	return e, err
}

func (r *request) makeIn(ctx context.Context, c *conversation, free room, reason compact.Reason) (made *Epoch, err error) {
	t, h, err := r.transcript()
	if err != nil {
		return nil, err
	}
	err = c.write(ctx, r, h, func(log *session.Log) error {
		if made = r.madeMeanwhile(free, reason); made != nil {
			return nil
		}
		if err := c.take(ctx, r, log, t); err != nil {
			return err
		}
		var pass []*session.Entry
		if r.clearing {
			made, err = r.cleared()
		} else {
			made, pass, err = r.pass(ctx, c, log, free, reason)
		}
		if err != nil {
			return err
		}
		made.Window = r.event.Window
		if !r.sound(made) {
			return fmt.Errorf("%w without parting calls from results", errNoCut)
		}
		return c.keep(ctx, log, pass, made)
	})
	if err != nil {
		return nil, err
	}
	c.heads.put(made.Head, true, false)
	return r.epochs.put(made.Head, made, reason != compact.Overflow), nil
}

// madeMeanwhile returns the epoch that another request of the same conversation has made
// since this one looked.
func (r *request) madeMeanwhile(free room, reason compact.Reason) *Epoch {
	e := r.current()
	switch {
	case e == nil:
	case reason != compact.Overflow:
		if e.Nodes == len(r.chain) || e.Nodes >= r.answered() && e != r.outgrown {
			return e
		}
	case e != r.epoch && free.bytes == 0:
		if r.size(token.HeuristicFor(r.provider, r.model), e)-r.env <= free.tokens {
			return e
		}
	}
	return nil
}

// answered returns how many nodes there are up to the last one of the model.
func (r *request) answered() int {
	for i := len(r.chain); i > 0; i-- {
		if r.in.Items[r.in.Nodes[r.first+i-1].Item].Turn == wire.TurnAssistant {
			return i
		}
	}
	return 0
}

// key says which lists are sent under the epoch: those that have all up to the model's last
// message, and up to the last node that the epoch changes. What a client puts behind the
// model's last message it may leave out of the next request, as it does with reminders.
func (r *request) key(e *Epoch) {
	e.Nodes = max(r.answered(), e.Cut)
	if n := len(e.Results); n > 0 {
		e.Nodes = max(e.Nodes, e.Results[n-1].Node+1)
	}
	if r.outgrown != nil && r.outgrown.Nodes >= e.Nodes { // that one holds for other lists
		e.Nodes = len(r.chain)
	}
	e.Head = r.chain[e.Nodes-1]
}

// pass lets the engine make a pass, and an epoch of it.
func (r *request) pass(ctx context.Context, c *conversation, log *session.Log, free room, reason compact.Reason) (*Epoch, []*session.Entry, error) {
	policy := r.cfg.Policy(r.provider, r.model)
	policy.Window = max(free.tokens, compact.MinWindow)
	if r.hasRecall() {
		form := wire.SummaryForm(&message.Message{})
		if policy.Form != nil {
			form = *policy.Form
		}
		form.Close += fmt.Sprintf("\n\nThe tool recall of clew reads it word for word: give it \"session\": %q.", r.talk().ID)
		policy.Form = &form
	}
	if free.bytes > 0 {
		policy.MaxBytes = max(free.bytes, compact.MinBytes)
	}
	snap, err := compact.Load(ctx, log.Store(), log.Leaf(), &compact.Setup{
		Model: session.Model{Provider: r.provider, ID: r.model}, Policy: func(session.Model) compact.Policy { return policy }, Uncalibrated: true,
	})
	if err != nil {
		return nil, nil, err
	}
	if reason == compact.Threshold {
		reason = compact.Manual // the gateway has decided that it is time
	}
	plan, err := compact.Make(ctx, snap, compact.Request{Reason: reason})
	if err != nil {
		return nil, nil, err
	}
	if !plan.Act {
		return nil, nil, fmt.Errorf("%w: %s", errNoCut, plan.Why)
	}
	made, err := compact.Apply(ctx, log, plan)
	if err != nil {
		return nil, nil, err
	}
	items, err := log.Context(ctx)
	if err != nil {
		return nil, nil, err
	}
	e, err := r.epochOf(items.Items, c)
	return e, made, err
}

// sound reports whether the list can be read under the epoch, and whether each call that had
// a result still has it, and the other way round.
func (r *request) sound(e *Epoch) bool {
	body, ok := e.apply(r.in, r.lead, r.first, nil)
	if !ok {
		return false
	}
	out, err := wire.Parse(r.profile, body)
	return err == nil && unpaired(out) <= unpaired(r.in)
}

// unpaired counts the results without a call before them, and the calls without a result.
func unpaired(in *wire.Inbound) (n int) {
	open := map[string]int{}
	for i := range in.Nodes {
		key := cmp.Or(in.Nodes[i].ID, in.Nodes[i].Name)
		switch in.Nodes[i].Kind {
		case wire.PartCall:
			open[key]++
		case wire.PartResult:
			if open[key]--; open[key] < 0 {
				open[key] = 0
				n++
			}
		default:
		}
	}
	for _, left := range open {
		n += left
	}
	return n
}

// formats are the list formats that package transcript reads.
var formats = map[string]transcript.Format{
	wire.Anthropic.Name: transcript.Anthropic, wire.OpenAIChat.Name: transcript.OpenAIChat,
	wire.OpenAIResponses.Name: transcript.OpenAIResponses, wire.Gemini.Name: transcript.GeminiCLI,
}

// transcript reads the list as a session, whose header it makes.
func (r *request) transcript() (t *transcript.Transcript, h session.Header, err error) {
	list := r.in.List.Of(r.in.Body)
	if len(list) == 0 {
		return nil, h, errNoCut
	}
	body := string(list)
	if r.profile.Name != wire.Gemini.Name {
		body = `{"` + r.profile.MessagesField + `":` + body + `}`
	}
	t, err = transcript.Read(strings.NewReader(body), transcript.ReadOptions{
		Format: formats[r.profile.Name], Model: session.Model{Provider: r.provider, ID: r.model}, Time: r.begin,
	})
	if err == nil {
		h = t.Header
		h.ID, h.Timestamp = r.talk().ID, r.begin
	}
	return t, h, err
}

// epochOf turns the context that the engine has made into an epoch: where it begins, what
// stands before that, and which results are others.
func (r *request) epochOf(items []session.Item, c *conversation) (*Epoch, error) {
	e := &Epoch{}
	counter := token.HeuristicFor(r.provider, r.model)
	var made []*message.Message
	cut := len(r.in.Items)
	var newest *session.Item // the first that is kept
	seen := map[int]int{}    // results of an item that were met so far
	for _, it := range items {
		at, ok := c.items[it.Entry.ID]
		if !ok {
			if it.Message.Role == message.RoleSystem {
				continue // stands in the request
			}
			made = append(made, it.Message)
			continue
		}
		if at < cut {
			cut, newest = at, &it
		}
		if it.Message.Role != message.RoleToolResult {
			e.Results = append(e.Results, r.clipped(at, &it, counter)...)
			continue
		}
		node, ok := r.resultNode(at, it.Message.ToolCallID, seen[at])
		seen[at]++
		if ok && it.Edit != nil && node >= r.first {
			with, err := r.content(node, it.Message.Text())
			if err != nil {
				return nil, err
			}
			e.Results = append(e.Results, Result{Node: node - r.first, With: with, Tokens: counter.Text(string(with))})
		}
	}
	at := cut
	cut = r.boundary(max(cut, r.lead))
	part := 0 // nodes that go of the item at the cut
	if cut == at && newest != nil {
		part = r.partOf(cut, newest)
	}
	if cut > r.lead || part > 0 {
		render, err := r.render(made, cut)
		if err != nil {
			return nil, err
		}
		e.Render, e.Tokens = string(render), counter.Text(string(render))
		e.Cut = len(r.chain)
		if cut < len(r.in.Items) {
			e.Cut = r.in.Items[cut].First - r.first + part
		}
	}
	e.Results = slices.DeleteFunc(e.Results, func(x Result) bool { return x.Node < e.Cut })
	slices.SortStableFunc(e.Results, func(a, b Result) int { return cmp.Compare(a.Node, b.Node) })
	if e.Cut == 0 && len(e.Results) == 0 {
		return nil, errNoCut
	}
	r.bound(e)
	r.key(e)
	return e, nil
}

// texts returns those of a message.
func texts(m *message.Message) (out []string) {
	for i := range m.Content {
		if m.Content[i].Type == message.BlockText {
			out = append(out, m.Content[i].Text)
		}
	}
	return out
}

// textOf returns the text of a node that is one.
func (r *request) textOf(node int) (string, bool) {
	n := &r.in.Nodes[node]
	text, ok := jsonx.String(n.Content.Of(r.in.Body))
	return text, ok && n.Kind == wire.PartText
}

// partOf returns how many nodes of an item stand before a message that comes from it: words of
// a program behind those of the user are a message of their own.
func (r *request) partOf(at int, it *session.Item) int {
	first := texts(it.Message)
	if it.Entry.ID == r.entryID(at, 0) || len(first) == 0 {
		return 0
	}
	for k := r.in.Items[at].First; k < r.in.Items[at].Last; k++ {
		if text, ok := r.textOf(k); ok && text == first[0] {
			return k - r.in.Items[at].First
		}
	}
	return 0
}

// clipped returns the texts of an item that the engine has shortened: what a user has pasted may
// be larger than the window.
func (r *request) clipped(at int, it *session.Item, c token.Counter) (out []Result) {
	if it.Edit == nil {
		return nil
	}
	m, err := it.Entry.Message()
	if err != nil {
		return nil
	}
	was, now := texts(m), texts(it.Message)
	if len(was) != len(now) {
		return nil
	}
	for k := max(r.in.Items[at].First, r.first); k < r.in.Items[at].Last; k++ {
		text, ok := r.textOf(k)
		if i := slices.Index(was, text); ok && i >= 0 && now[i] != text {
			with := jsonx.Quote(now[i])
			out = append(out, Result{Node: k - r.first, With: with, Tokens: c.Text(string(with))})
		}
	}
	return out
}

// boundary moves a cut back to where no call is parted from its result, and no reasoning
// from the item that it belongs to.
func (r *request) boundary(cut int) int {
	open := map[string]int{}
	best := r.lead
	for i := r.lead; i < len(r.in.Items) && i <= cut; i++ {
		it := r.in.Items[i]
		nodes := r.in.Nodes[it.First:it.Last]
		follows := i > 0 && r.in.Nodes[it.First-1].Kind == wire.PartThinking && r.in.Items[i-1].Last-r.in.Items[i-1].First == 1
		if len(open) == 0 && !follows && it.Turn != wire.TurnResults {
			best = i
		}
		for _, n := range nodes {
			key := cmp.Or(n.ID, n.Name)
			switch n.Kind {
			case wire.PartCall:
				open[key]++
			case wire.PartResult:
				if open[key]--; open[key] <= 0 {
					delete(open, key)
				}
			default:
			}
		}
	}
	if cut >= len(r.in.Items) && len(open) == 0 {
		return cut
	}
	return best
}

// bound says what becomes of the thinking that is bound to what was cut.
func (r *request) bound(e *Epoch) {
	if r.profile.Thinking != wire.ThinkingSigned {
		return
	}
	e.Thinking = slices.ContainsFunc(r.in.Nodes[r.first+e.Cut:], func(n wire.Node) bool { return n.Kind == wire.PartThinking })
	e.Open = e.Thinking && r.openLoop()
}

// resultNode returns the node of the result of a call in an item, for an API without ids of
// calls that of the n-th result.
func (r *request) resultNode(item int, call string, n int) (int, bool) {
	for k := r.in.Items[item].First; k < r.in.Items[item].Last; k++ {
		node := r.in.Nodes[k]
		switch {
		case node.Kind != wire.PartResult:
		case node.ID != "" && node.ID == call, node.ID == "" && n == 0:
			return k, true
		case node.ID == "":
			n--
		}
	}
	return 0, false
}

// content writes text as the content of a result.
func (r *request) content(node int, text string) (json.RawMessage, error) {
	quoted := jsonx.Quote(text)
	was := r.in.Nodes[node].Content.Of(r.in.Body)
	switch {
	case len(was) == 0:
		return nil, fmt.Errorf("a result without content was shortened")
	case r.profile.Name == wire.Gemini.Name:
		return jsonx.Set(was, "response", []byte(`{"output":`+string(quoted)+`}`)), nil
	}
	return quoted, nil
}

// hasRecall reports whether the agent has the tool of clew's MCP server.
func (r *request) hasRecall() bool {
	for _, part := range [][]byte{r.in.Body[:r.in.List.From], r.in.Body[r.in.List.To:]} {
		if bytes.Contains(part, []byte(`clew_recall"`)) || bytes.Contains(part, []byte(`clew__recall"`)) {
			return true
		}
	}
	return false
}

// render writes what stands before the kept items: the summary, and items that the cut would
// take away from the model though they are no part of the conversation.
func (r *request) render(made []*message.Message, cut int) ([]byte, error) {
	if len(made) == 0 {
		return nil, errNoCut
	}
	req, _, err := wire.Build(made, r.profile, wire.Target{Provider: r.provider, Model: r.model, TakesImages: true}, wire.Options{CloseOpenCalls: true})
	if err != nil {
		return nil, err
	}
	var elements [][]byte
	for _, it := range r.in.Items[r.lead:cut] {
		if n := r.in.Nodes[it.First]; n.Kind == wire.PartOpaque && it.Turn == "" {
			elements = append(elements, it.Of(r.in.Body)) // tools and settings that Codex puts into the list
		}
	}
	for _, m := range req.Messages {
		elements = append(elements, m)
	}
	// Some servers, and the templates of many local models, refuse two messages of the user in a row.
	if cut < len(r.in.Items) && r.in.Items[cut].Turn == wire.TurnUser && jsonx.StringAt(elements[len(elements)-1], "role") == "user" {
		switch r.profile.Name {
		case wire.OpenAIChat.Name, wire.Anthropic.Name:
			elements = append(elements, []byte(`{"role":"assistant","content":"Understood."}`))
		case wire.Gemini.Name:
			elements = append(elements, []byte(`{"role":"model","parts":[{"text":"Understood."}]}`))
		}
	}
	return bytes.Join(elements, []byte{','}), nil
}
