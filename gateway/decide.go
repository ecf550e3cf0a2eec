package gateway

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/model/catalogue"
	"github.com/clew-dev/clew/token"
	"github.com/clew-dev/clew/wire"
)

// anchor is what an upstream measured for a list.
type anchor struct {
	tokens int64       // of the whole input
	behind int64       // of these, estimated, what stood behind the end of the chain that the anchor is for
	env    wire.Digest // system text, tools and model then
	epoch  wire.Digest // the Head of the epoch that was in use, zero for none
	at     time.Time
}

// The shares of the room for the list, which is what system text, tools and the answer
// leave. A switch to another epoch costs the provider's cache, so it waits until coldShare
// where the cache is lost anyway, and until warmShare where it is not; lastShare is where
// nothing else counts.
const (
	coldShare = .6
	warmShare = .8
	lastShare = .95
	// diskShare: shorter lists are not worth a look at the disk.
	diskShare = .3
	// minGrowth: there is no other epoch before the list has grown by this part of the window.
	// Where system text and tools take nearly all of it, each request would get one.
	minGrowth = 12
)

const imageTokens = 1600

// nodeTokens estimates what a node costs; each is counted once.
func (r *request) nodeTokens(c token.Counter, n *wire.Node) int64 {
	if v, ok := r.tokens.get(n.Digest); ok {
		return v
	}
	v := countJSON(c, n.Of(r.in.Body))
	if n.Kind == wire.PartImage {
		v = imageTokens
	}
	r.tokens.put(n.Digest, v, false)
	return v
}

var base64Mark = []byte(`"data:image/`)

// countJSON counts a value as text, and an image in it as an image.
func countJSON(c token.Counter, val []byte) int64 {
	images := int64(bytes.Count(val, base64Mark) + bytes.Count(val, []byte(`"base64"`)))
	if images == 0 {
		return c.Text(string(val))
	}
	// What is not base64 is little beside it.
	return images*imageTokens + c.Text(string(val[:min(len(val), 2000)]))
}

// size estimates the tokens of the request when an epoch, or none, is in use. Where the
// upstream has measured a list of the same conversation, only the rest is estimated.
func (r *request) size(c token.Counter, e *Epoch) int64 {
	var key wire.Digest
	cut := 0
	if e != nil {
		key, cut = e.Head, e.Cut
	}
	ends := r.chain[min(max(cut-1, 0), len(r.chain)):]
	known, at := r.anchors.last(ends, func(_ int, a anchor) bool {
		_, ok := r.tokens.get(a.env)
		return a.epoch == key && (ok || a.env == r.in.Env)
	})
	if at >= 0 {
		more := r.listTokens(c, e, len(r.chain)-len(ends)+at+1) - known.behind
		r.news = max(more, 0)
		if known.env != r.in.Env {
			was, _ := r.tokens.get(known.env)
			more += r.envTokens(c) - was
		}
		return max(known.tokens+more, 0)
	}
	total := r.listTokens(c, e, cut)
	if e != nil {
		total += e.Tokens
	}
	for i := range r.first {
		total += r.nodeTokens(c, &r.in.Nodes[i])
	}
	return total + r.envTokens(c)
}

// listTokens estimates the nodes from one on, counted from the first, under an epoch.
func (r *request) listTokens(c token.Counter, e *Epoch, from int) (total int64) {
	bound := 0
	if e != nil && e.Thinking {
		bound = e.unbound(r.in, r.first)
	}
	for i := r.first + from; i < len(r.in.Nodes); i++ {
		n := &r.in.Nodes[i]
		switch v, other := e.result(i - r.first); {
		case other:
			total += v
		case n.Kind == wire.PartThinking && i < bound:
		default:
			total += r.nodeTokens(c, n)
		}
	}
	return total
}

// envTokens estimates system text and tools.
func (r *request) envTokens(c token.Counter) int64 {
	if v, ok := r.tokens.get(r.in.Env); ok {
		return v
	}
	head := r.in.Body[:r.in.List.From]
	tail := r.in.Body[r.in.List.To:]
	v := c.Text(string(head)) + c.Text(string(tail))
	r.tokens.put(r.in.Env, v, false)
	return v
}

// current returns the deepest epoch that was made on this conversation.
func (r *request) current() *Epoch {
	e, _ := r.epochs.last(r.chain, func(i int, e *Epoch) bool {
		return e.Nodes == i+1 && !r.isSpoiled(e.Head)
	})
	return e
}

// isSpoiled reports whether an upstream did not take an epoch, or those of a conversation with this root.
func (r *request) isSpoiled(d wire.Digest) bool {
	_, is := r.spoiled.get(d)
	return is
}

// served names the model at the upstream.
func (r *request) served() catalogue.Route {
	return catalogue.Route{Provider: r.provider, Model: r.model, BaseURL: r.host}
}

// window returns the window of the model that is called, 0 where nobody knows it.
func (r *request) window() int64 {
	w := r.cfg.Window(r.provider, r.model)
	if r.nearby > 0 && (w <= 0 || r.nearby < w) {
		w = r.nearby
	}
	return r.windows.Apply(r.served(), catalogue.Info{Window: w}).Window
}

// room is what there is for the list.
type room struct{ tokens, bytes int64 }

// decide returns the body to send, nil for the client's own.
func (r *request) decide(ctx context.Context) []byte {
	counter := token.HeuristicFor(r.provider, r.model)
	window := r.window()
	if at := r.wish.compactAt; at > 0 && (window <= 0 || at < window) {
		window = at
	}
	r.event.Window = window
	r.event.Before = r.size(counter, nil)
	r.event.After = r.event.Before
	r.env = r.envTokens(counter)
	free := room{tokens: max(window-r.env-min(max(r.in.MaxOutput, window/16), window/4), window/8)}
	if window > 0 && r.event.Before-r.env > int64(diskShare*float64(free.tokens)) {
		if r.load(ctx); r.looked { // others may have measured it
			r.event.Before = r.size(counter, nil)
			r.event.After = r.event.Before
		}
	}
	now := r.current()
	size := r.event.Before
	if now != nil {
		size = r.size(counter, now)
	}
	if r.clearDue(counter, now, size) {
		r.clearing, r.outgrown = true, now
		if next, err := r.make(ctx, free, compact.Threshold); err == nil {
			now, size = next, r.size(counter, next)
			r.event.Outcome, r.event.Why = Compacted, "the client asks for old results to be cleared"
		}
		r.clearing = false
	}
	// What a list would cost is what it will cost, so a question for that is treated like the request.
	if window > 0 && !r.leaveAlone() {
		if why := r.due(now, size-r.env, free.tokens); why != "" && r.grown(counter, now) >= window/minGrowth {
			r.outgrown = now
			next, err := r.make(ctx, free, compact.Threshold)
			switch {
			case err != nil:
				r.cfg.Logger.Warn("no epoch was made; the request goes out as it is", "conversation", r.event.Conversation, "error", err)
			case r.size(counter, next) < size:
				now, size = next, r.size(counter, next)
				r.event.Outcome, r.event.Why = Compacted, why
			}
		}
	}
	return r.use(now, size)
}

// grown returns the tokens that the agent has added since an epoch was made.
func (r *request) grown(c token.Counter, e *Epoch) (sum int64) {
	from := r.first
	if e != nil {
		from += e.Nodes
	}
	for i := from; i < len(r.in.Nodes); i++ {
		sum += r.nodeTokens(c, &r.in.Nodes[i])
	}
	return sum
}

// asBefore says that no epoch would have been made now.
const asBefore = "an epoch would be in use"

// leaveAlone reports whether somebody else shortens the conversation: the server, because
// the client asks it to, or the client itself, which is asking for a summary. What is
// refused as too long is shortened all the same. A conversation that an upstream did not take
// shortened is left alone too.
func (r *request) leaveAlone() bool {
	return r.in.Edits || r.in.Compacted || r.own || r.isSpoiled(r.root)
}

// use returns the body with an epoch in use, nil where that changes nothing.
func (r *request) use(e *Epoch, size int64) []byte {
	if e == nil {
		return nil
	}
	out, ok := e.apply(r.in, r.lead, r.first, *bodies.Get().(*[]byte))
	switch {
	case !ok:
		return nil
	case r.watched:
		if r.event.Outcome == Passed {
			r.event.Why = asBefore
		}
		r.event.Outcome, r.event.After, r.virtual = WouldBe, size, e
		return nil
	case r.event.Outcome == Passed:
		r.event.Outcome = Shortened
	}
	r.event.After = size
	r.epoch, r.spliced = e, out
	return out
}

// due says why a new epoch is wanted, "" for not now.
func (r *request) due(now *Epoch, list, room int64) string {
	share := float64(list) / float64(room)
	switch {
	case share >= lastShare:
		return "the window is full"
	case r.alone:
		return "" // another gateway may make another epoch, and each change of them costs the cache
	case r.in.Thinking && r.openLoop():
		return "" // its thinking is bound to what stands before it
	case share >= warmShare:
		return "the window is nearly full"
	case share < coldShare:
		return ""
	}
	var key wire.Digest
	if now != nil {
		key = now.Head
	}
	switch a, at := r.anchors.last(r.chain, func(_ int, a anchor) bool { return a.epoch == key }); {
	case at < 0:
		return ""
	case a.env != r.in.Env:
		return "the system text or the tools have changed, so the provider's cache is lost anyway"
	case r.begin.Sub(a.at) > r.cfg.CacheLife:
		return "the provider's cache has run out"
	}
	return ""
}

// openLoop reports whether the list ends in results that the model has yet to answer. Words
// along with them, such as a reminder, change nothing about that.
func (r *request) openLoop() bool {
	last := r.in.Items[len(r.in.Items)-1]
	return slices.ContainsFunc(r.in.Nodes[last.First:last.Last], func(n wire.Node) bool { return n.Kind == wire.PartResult })
}
