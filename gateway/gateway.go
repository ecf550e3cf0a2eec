// Package gateway sits between any agent and its provider and keeps conversations inside the model's window.
//
//	client := anthropic.NewClient(option.WithHTTPClient(&http.Client{
//		Transport: gateway.Transport(nil, gateway.Config{}),
//	}))
//
// The agent sends its whole list of messages each time, as it does without a gateway. While
// that fits, not a byte of it changes. Once it gets too long, the old part is summarized and
// an Epoch says what stands in its place from then on: the same bytes each time, so that
// the provider's prompt cache holds. A request that is refused as too long is shortened and
// sent once more; the agent never sees the error. Whatever fails here, the request goes out
// as the agent made it.
//
// A conversation is recognised by its content: by a chain of digests of its content blocks, never by a header or the
// first message alone. So two conversations that begin alike stay apart, and a client that rewinds gets the history of
// that point.
package gateway

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/model/catalogue"
	"github.com/clew-dev/clew/transcript"
	"github.com/clew-dev/clew/wire"
)

// Config says how Transport works. The zero value is ready for use.
type Config struct {
	// Policy returns the policy for a model; Window is filled in where it is 0. Default:
	// preset clew.
	Policy func(provider, modelID string) compact.Policy
	// Window returns the context window that is really served for a model, in tokens; 0
	// where it is not known. Default: the catalogue. A limit that an upstream names when it
	// refuses a request counts from then on, where it is smaller.
	Window func(provider, modelID string) int64
	// Ask asks servers on this machine and in private networks which window they serve a model
	// with; the smaller one counts. Several servers cut longer requests without a word.
	Ask bool
	// Dir is the folder that keeps what left the context, a session file for each
	// conversation, which clew's commands read. Default: memory alone, and nothing is left
	// after a restart.
	Dir string
	// Store keeps it instead, where several gateways share it. Default: the files of Dir.
	Store Store
	// Tenant says whose a request is. Conversations of different tenants never meet.
	// Default: one tenant.
	Tenant func(*http.Request) string
	// Observe changes nothing and keeps nothing in Dir; it reports what would have been done.
	Observe bool
	// ByRules says of an upstream, by host and port, that it can't shorten conversations
	// itself, so that the gateway does what clients ask for: context_management of the Messages
	// API, /responses/compact and compaction_trigger of the Responses API. Default: those
	// that refuse to.
	ByRules func(host string) bool
	// CacheLife is how long a provider keeps a prompt cache after its last use. Default: 5 minutes.
	CacheLife time.Duration
	// MaxBody is the largest body that is read, in bytes, packed or not. Larger ones are
	// passed on unread. Default: 64 MiB.
	MaxBody int64
	// OnEvent hears of every request. It must not block. Default: nobody does.
	OnEvent func(Event)
	// Logger gets what went wrong; never what was said, and no keys. Default: none.
	Logger *slog.Logger
	// Now gives the time. Default: time.Now.
	Now func() time.Time
}

// Event says what became of one request. It has no content but About.
type Event struct {
	Time         time.Time     `json:"time"`
	Total        time.Duration `json:"total"` // from its arrival to the end of the answer
	Tenant       string        `json:"tenant,omitempty"`
	Host         string        `json:"host,omitempty"`
	API          string        `json:"api"` // a wire.Profile's name; empty for a request that was passed on unread
	Model        string        `json:"model,omitempty"`
	Conversation string        `json:"conversation,omitempty"` // 16 hex digits, the same for all requests of one
	Outcome      Outcome       `json:"outcome"`
	Why          string        `json:"why,omitempty"` // a sentence without a full stop
	Before       int64         `json:"before"`        // tokens of the list as the agent sent it, estimated
	After        int64         `json:"after"`         // tokens of what was sent on, estimated
	Window       int64         `json:"window"`
	Took         time.Duration `json:"took"` // added before the request was sent on
	Usage        *Usage        `json:"usage,omitempty"`
	// Cost is what the request cost, in US dollars. Otherwise estimates what it would have
	// cost without the gateway, or for WouldBe with it. 0 where the price is not known.
	Cost      float64 `json:"cost,omitempty"`
	Otherwise float64 `json:"otherwise,omitempty"`
	Status    int     `json:"status"`

	Context context.Context `json:"-"` // of the request, in which a trace may be
	// About are the first words of the user's request, with keys masked, and Client is what the program calls itself:
	// for a display that forgets them, and for no log.
	About  string `json:"-"`
	Client string `json:"-"`
}

// Outcome says what was done with a request.
type Outcome string

// The outcomes.
const (
	Passed    Outcome = "passed"    // sent on as it came
	Shortened Outcome = "shortened" // an epoch that existed was used
	Compacted Outcome = "compacted" // a new epoch was made
	Rescued   Outcome = "rescued"   // the upstream had refused it as too long, and took it shortened
	TooLong   Outcome = "too long"  // the upstream refused it, and nothing could be done
	WouldBe   Outcome = "observed"  // Config.Observe, or a subscription: it would have been shortened
	Refused   Outcome = "refused"   // the upstream did not take it shortened, and got it as it came
)

// transport is what Transport returns.
type transport struct {
	base http.RoundTripper
	cfg  Config
	*memory
}

// memory is what is known of the requests so far.
type memory struct {
	tokens  *recent[wire.Digest, int64]         // of a node
	anchors *recent[wire.Digest, anchor]        // what was measured at the end of a chain
	epochs  *recent[wire.Digest, *Epoch]        // by Head
	unkept  *recent[wire.Digest, bool]          // epochs that the store has yet to get
	spoiled *recent[wire.Digest, bool]          // epochs that an upstream did not take, and the roots of their conversations
	talks   *recent[wire.Digest, *conversation] // by root
	asked   *recent[string, served]             // by host and model
	lacks   *recent[string, bool]               // hosts and what they can't do
	abouts  *recent[wire.Digest, string]        // by root
	windows *catalogue.Windows                  // what upstreams have refused
}

func newMemory(now func() time.Time) *memory {
	return &memory{
		tokens: newRecent[wire.Digest, int64](200_000), anchors: newRecent[wire.Digest, anchor](20_000), epochs: newRecent[wire.Digest, *Epoch](1_000),
		unkept: newRecent[wire.Digest, bool](1_000), spoiled: newRecent[wire.Digest, bool](1_000), talks: newRecent[wire.Digest, *conversation](100), windows: catalogue.NewWindows(now),
		lacks: newRecent[string, bool](1_000), asked: newRecent[string, served](1_000), abouts: newRecent[wire.Digest, string](1_000),
	}
}

// Transport returns a RoundTripper that keeps what goes through it inside the window. The
// default of base is http.DefaultTransport.
func Transport(base http.RoundTripper, cfg Config) http.RoundTripper {
	return newTransport(base, cfg, nil)
}

const defaultMaxBody = 64 << 20

func newTransport(base http.RoundTripper, cfg Config, m *memory) *transport {
	if base == nil {
		base = http.DefaultTransport
	}
	if cfg.Policy == nil {
		cfg.Policy = func(string, string) compact.Policy { return compact.Policy{} }
	}
	if cfg.Window == nil {
		cfg.Window = func(provider, id string) int64 {
			i, _ := catalogue.Default().Lookup(provider, id)
			return i.Window
		}
	}
	cfg.MaxBody = cmp.Or(max(cfg.MaxBody, 0), defaultMaxBody)
	if cfg.CacheLife <= 0 {
		cfg.CacheLife = 5 * time.Minute
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Store == nil && cfg.Dir != "" {
		cfg.Store = files(cfg.Dir)
	}
	if m == nil {
		m = newMemory(cfg.Now)
	}
	return &transport{base: base, cfg: cfg, memory: m}
}

// request is one request on its way.
type request struct {
	*transport
	route
	in     *wire.Inbound
	chain  []wire.Digest // of the nodes after the leading system messages
	came   *payload      // what the client sent
	first  int           // the index of the first of these nodes
	lead   int           // the index of the item that it belongs to
	root   wire.Digest
	tenant string
	host   string // of the upstream
	begin  time.Time
	event  Event
	epoch  *Epoch // that is in use
	// watched says that nothing is changed; virtual is the epoch that would be in use.
	watched  bool
	virtual  *Epoch
	volatile bool   // Config.Store can't be written to
	alone    bool   // it can't be read
	looked   bool   // it was read
	wish     wish   // what the client asks the server to do, which it can't
	outgrown *Epoch // in use when another one is made, which it is too large for
	clearing bool   // the epoch that is made now clears results, and does no more
	trigger  bool   // asks for a summary in place of an answer
	said     []byte // by an upstream that refused, up to maxRefusal
	own      bool   // the client compacts by itself, with this request
	spliced  []byte // the body under the epoch, in pooled memory
	nearby   int64  // window that the server says it has, 0 for none
	news     int64  // tokens after what was measured last
	env      int64  // tokens of system text and tools
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	rt, ok := routeOf(req)
	if !ok || req.Body == nil || req.Header.Get(hopHeader) != "" {
		return t.base.RoundTrip(req)
	}
	body, whole, err := readBody(req, t.cfg.MaxBody)
	if err != nil {
		if !errors.Is(err, errBusy) { // a server would read on, before it can answer
			_ = req.Body.Close()
		}
		return nil, err
	}
	if !whole { // too large to be read: body holds what was
		out := req.Clone(req.Context())
		out.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(body.data), req.Body), req.Body}
		return t.base.RoundTrip(out)
	}
	defer body.release()
	return t.handle(req, rt, body, body.data)
}

// handle sends a request whose body is known. came is as the client sent it.
func (t *transport) handle(req *http.Request, rt route, came *payload, body []byte) (resp *http.Response, err error) {
	r := &request{transport: t, route: rt, begin: t.cfg.Now(), host: req.URL.Host, watched: t.cfg.Observe || rt.untouchable, came: came}
	out := body
	if !r.guarded(func() {
		if _, err = r.unpacked(req, body); errors.Is(err, errBusy) {
			return
		}
		req, body = r.translate(req, body)
		if out = r.plan(req, body); r.in != nil && (r.compacts && r.lacking(compactPath) || r.trigger && r.lacking(compactionTrigger)) {
			resp, err = r.answer(req)
		}
	}) {
		out, r.in, r.epoch = body, nil, nil
	}
	if resp != nil && err == nil || errors.Is(err, errBusy) {
		return resp, err
	}
	return r.send(req, body, out)
}

// unpacked returns a body without its compression.
func (r *request) unpacked(req *http.Request, body []byte) ([]byte, error) {
	encoding := req.Header.Get("Content-Encoding")
	if plain(encoding) {
		return body, nil
	}
	return r.came.unpacked(encoding, r.cfg.MaxBody)
}

// guarded runs what must not keep a request from being sent, whatever is wrong with it. A
// panic may quote what was said, so its value is not told.
func (r *request) guarded(fn func()) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			r.event.Outcome, r.event.Why, ok = Passed, "the gateway failed", false
			r.cfg.Logger.Error("the gateway failed; the request goes out as it is", "conversation", r.event.Conversation, "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
		}
	}()
	fn()
	return true
}

// plan returns the body to send: the client's own, or a shorter one.
func (r *request) plan(req *http.Request, body []byte) []byte {
	r.event = Event{Time: r.begin, Context: req.Context(), Host: req.URL.Host, API: r.profile.Name, Outcome: Passed}
	plain, err := r.unpacked(req, body)
	if err != nil {
		r.event.Why = err.Error()
		return body
	}
	in, err := wire.Parse(r.profile, plain)
	if err != nil {
		r.event.Why = err.Error()
		return body
	}
	r.in, r.came.in = in, in
	if in.Model != "" {
		r.model = strings.Clone(in.Model) // the body is let go of
	}
	r.event.Model = r.model
	switch {
	case in.Held:
		r.event.Why = "the server holds the conversation"
		r.in = nil
		return body
	case len(in.Nodes) == 0: // an empty list, or a text in place of one
		r.in = nil
		return body
	}
	if r.cfg.Tenant != nil {
		r.tenant = r.cfg.Tenant(req)
	}
	r.follow(r.tenant, r.host)
	if r.cfg.OnEvent != nil {
		r.event.About, r.event.Client = r.about(), clientOf(req.Header.Get("User-Agent"))
	}
	r.nearby = r.ask(req)
	r.trigger = r.profile.Name == wire.OpenAIResponses.Name && in.Compacted && isTrigger(in) && !r.watched
	r.compacts = r.compacts && !r.watched
	r.own = r.compacts || r.summarizes(req.Header)
	out := r.decide(req.Context())
	if out == nil {
		return body
	}
	return out
}

// follow computes the chain of digests that says which conversation this is.
func (r *request) follow(tenant, host string) {
	in := r.in
	for r.lead < len(in.Items)-1 && in.Items[r.lead].Turn == wire.TurnSystem {
		r.lead++
	}
	r.first = in.Items[r.lead].First
	r.chain = make([]wire.Digest, 0, len(in.Nodes)-r.first)
	h := sha256.New()
	_, _ = io.WriteString(h, "clew 1\x00"+tenant+"\x00"+r.profile.Name+"\x00"+host)
	buf := h.Sum(nil)
	answered := false
	for i := r.first; i < len(in.Nodes); i++ {
		h.Reset()
		h.Write(buf)
		h.Write(in.Nodes[i].Digest[:])
		buf = h.Sum(buf[:0])
		r.chain = append(r.chain, wire.Digest(buf))
		// Many conversations begin with the same words; their first answers differ.
		if !answered {
			r.root = wire.Digest(buf)
			answered = in.Items[in.Nodes[i].Item].Turn == wire.TurnAssistant
		}
	}
	r.event.Tenant, r.event.Conversation = tenant, r.root.String()[:16]
}

// maxAbout is how much of the user's request About has, in characters.
const maxAbout = 120

// about returns the beginning of what the user has asked for first. Agents put other texts
// before it, which they mark.
func (r *request) about() string {
	if said, ok := r.abouts.get(r.root); ok {
		return said
	}
	said := ""
	for i := r.first; i < len(r.in.Nodes) && said == ""; i++ {
		n := r.in.Nodes[i]
		if n.Kind != wire.PartText || r.in.Items[n.Item].Turn != wire.TurnUser {
			continue
		}
		if t, ok := jsonx.String(n.Content.Of(r.in.Body)); ok && transcript.Typed(t) {
			said = strings.Clone(text.Clip(redact.Text(strings.Join(strings.Fields(text.Head(t, 8*maxAbout)), " ")), maxAbout)) // the body is let go of
		}
	}
	return r.abouts.put(r.root, said, false)
}

// clientOf returns the name and the version at the beginning of a User-Agent.
func clientOf(agent string) string {
	name, _, _ := strings.Cut(agent, " (")
	words := strings.Fields(name)
	if n := len(words); n > 1 && (words[1][0] < '0' || words[1][0] > '9') {
		words = words[:1]
	}
	return text.Clip(strings.Join(words[:min(len(words), 2)], " "), 40)
}

func (r *request) done(resp *http.Response) *http.Response {
	if resp != nil {
		r.event.Status = resp.StatusCode
	}
	if r.cfg.OnEvent != nil {
		r.event.Total = r.cfg.Now().Sub(r.begin)
		r.cfg.OnEvent(r.event)
	}
	return resp
}

func same(a, b []byte) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }
