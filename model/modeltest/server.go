package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/wire"
)

// Config says what a server insists on. The zero value is what the providers do.
type Config struct {
	// Window is the size of the context in tokens, four bytes each; a larger request
	// is refused as too large, by Anthropic's form also one that with its max_tokens does
	// not fit. Default: no limit.
	Window int64
	// MaxBytes is the greatest size of a request. Default: the API's.
	MaxBytes int64
	// AnyKey takes requests without a key.
	AnyKey bool
	// ForeignSignatures takes signatures that the server has not given. Default:
	// they are refused.
	ForeignSignatures bool
	// BindThinking refuses signed reasoning when what stood before it has changed; but
	// not that of an open tool loop, which has to come back whatever else was changed.
	BindThinking bool
	// Rules are those that are checked of the context. Default: all, some of which the
	// providers do not mind and the adapters keep.
	Rules []wire.Rule
	// Reply makes the reply to a request that is not refused, in place of the script.
	Reply func(*Exchange) Reply
	// StablePrefix refuses a request whose start is not the request before it. Call
	// NewConversation where it may change.
	StablePrefix bool
}

// Server is a server on this machine that answers as the providers do.
type Server struct {
	URL string

	c    Config
	http *httptest.Server

	mu        sync.Mutex
	script    []Reply
	exchanges []Exchange
	last      map[string]*request // by form
	issued    map[string]issue
	thought   map[string]bool // ids of calls: their answer begins with reasoning
	count     int
}

// Start starts a server with a script. Close it.
func Start(c Config, replies ...Reply) *Server {
	s := &Server{c: c, script: replies, last: map[string]*request{}, issued: map[string]issue{}, thought: map[string]bool{}}
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL
	return s
}

// Close stops the server and waits for requests under way.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Key is the key of Endpoint.
const Key = "sk-test-0123456789"

// Endpoint returns where an adapter finds the server, as a model of the given
// name. The base URL is that of Anthropic's form; the others have a path: see
// OpenAI and Gemini.
func (s *Server) Endpoint(name string) model.Endpoint {
	return model.Endpoint{
		Model: name, BaseURL: s.URL, Key: model.NewKey(Key),
		Transport: model.NewTransport(model.TransportConfig{Base: s.http.Client().Transport}),
	}
}

// OpenAI returns Endpoint for the two APIs of OpenAI.
func (s *Server) OpenAI(name string) model.Endpoint {
	e := s.Endpoint(name)
	e.BaseURL += "/v1"
	return e
}

// Gemini returns Endpoint for generateContent.
func (s *Server) Gemini(name string) model.Endpoint {
	e := s.Endpoint(name)
	e.BaseURL += "/v1beta"
	return e
}

// Add adds replies to the script.
func (s *Server) Add(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, replies...)
}

// NewConversation lets the next request start anew, as after a compaction.
func (s *Server) NewConversation() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.last)
}

// Exchanges returns what was asked and answered, in the order of arrival. An answer that is
// still being written is not in its exchange yet.
func (s *Server) Exchanges() []Exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.exchanges)
}

// Violations returns the rules that requests broke, each with the request's
// number.
func (s *Server) Violations() (out []string) {
	for i, x := range s.Exchanges() {
		for _, v := range x.Violations {
			out = append(out, fmt.Sprintf("request %d: %s", i+1, v))
		}
	}
	return out
}

// Left returns how many replies have not been given.
func (s *Server) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.script)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, count, ok := route(r)
	if !ok {
		http.Error(w, `{"error":{"message":"no such path: `+r.URL.Path+`","type":"not_found_error"}}`, http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<30))
	if err != nil {
		return
	}
	x := &Exchange{Method: r.Method, Path: r.URL.RequestURI(), RequestHeader: hideKeys(r.Header), Request: asJSON(body)}
	rec := &recorder{w: w, x: x}
	s.mu.Lock()
	place := len(s.exchanges)
	s.exchanges = append(s.exchanges, *x)
	s.mu.Unlock()
	keep := func() {
		s.mu.Lock()
		s.exchanges[place] = *x
		s.mu.Unlock()
	}
	defer keep() // also when the connection is cut
	req, reply := s.admit(f, r, body, x, count)
	keep()
	switch {
	case reply != nil:
	case count:
		rec.json(http.StatusOK, f.counted(req.tokens()))
		return
	default:
		next := s.c.Reply
		if next == nil {
			next = s.next
		}
		r := next(x)
		reply = &r
	}
	s.answer(rec, r, f, req, reply)
}

// admit checks a request. A reply that is not nil is its refusal.
func (s *Server) admit(f *form, r *http.Request, body []byte, x *Exchange, count bool) (*request, *Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	req, bad := f.parse(r, body, s.c.Rules)
	if !s.c.AnyKey && !f.hasKey(r.Header) {
		return req, &Reply{Failure: &Failure{Kind: model.KindAuth}}
	}
	bad = append(bad, s.checkSignatures(f, req)...)
	most := s.c.MaxBytes
	if most == 0 {
		most = f.profile.MaxBytes
	}
	if most > 0 && int64(len(body)) > most {
		return req, &Reply{Failure: f.tooLarge()}
	}
	last := s.last[f.profile.Name]
	x.Kept = last != nil && req.extends(last)
	if s.c.StablePrefix && last != nil && !x.Kept && !count {
		bad = append(bad, "the request before is not the start of this one")
	}
	if x.Violations = bad; len(bad) > 0 {
		return req, &Reply{Failure: &Failure{Kind: model.KindInvalid, Message: "the request breaks a rule: " + strings.Join(bad, "; ")}}
	}
	if s.c.Window > 0 && req.tokens() > s.c.Window {
		return req, &Reply{Failure: &Failure{Kind: model.KindOverflow, Asked: req.tokens(), Limit: s.c.Window}}
	}
	if s.c.Window > 0 && !count && req.tokens()+req.most > s.c.Window {
		return req, &Reply{Failure: &Failure{Kind: model.KindInvalid, Message: fmt.Sprintf("input length and `max_tokens` exceed context limit: %d + %d > %d, "+
			"decrease input length or `max_tokens` and try again", req.tokens(), req.most, s.c.Window)}}
	}
	return req, nil
}

func (s *Server) next(*Exchange) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.script) == 0 {
		return Reply{Failure: &Failure{Kind: model.KindInvalid, Message: "the script has no more replies"}}
	}
	rep := s.script[0]
	s.script = s.script[1:]
	return rep
}

// answer sends a reply.
func (s *Server) answer(rec *recorder, r *http.Request, f *form, req *request, rep *Reply) {
	if wait(r.Context(), rep.Faults.Delay) != nil {
		return
	}
	rec.faults = rep.Faults
	if fail := rep.Failure; fail != nil && (!fail.InStream || !req.stream) {
		if fail.Status != 0 {
			rec.json(fail.Status, []byte(fail.Body))
			return
		}
		e := f.failure(fail)
		e.header(rec.w.Header())
		rec.json(e.status, f.errorBody(&e))
		return
	}
	if rep.Faults.Body != "" {
		rec.json(http.StatusOK, []byte(rep.Faults.Body))
		return
	}
	a := s.prepare(f, req, rep)
	rec.w.Header().Set("Request-Id", "req_"+a.id)
	rec.w.Header().Set("X-Request-Id", "req_"+a.id)
	if !req.stream {
		rec.json(http.StatusOK, f.whole(a))
		return
	}
	frames := f.frames(a)
	if rep.Failure != nil {
		e := f.failure(rep.Failure)
		frames = append(frames[:len(frames)-f.tail(a)], f.errorFrames(&e)...)
	} else if rep.Faults.NoEnd {
		frames = frames[:len(frames)-f.tail(a)]
	}
	if req.array {
		var list [][]byte
		for _, f := range frames {
			list = append(list, []byte(f.data))
		}
		rec.json(http.StatusOK, jsonx.Array(list))
		return
	}
	rec.stream(r.Context(), frames)
}

// prepare turns a reply into an answer to a request.
func (s *Server) prepare(f *form, req *request, rep *Reply) *answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	a := &answer{
		id: fmt.Sprintf("test%04d", s.count), model: req.model, blocks: slices.Clone(rep.Blocks),
		finish: rep.finish(), refusal: rep.Refusal, raw: rep.Raw, extra: rep.Extra, usageWanted: req.usageWanted,
	}
	s.sign(f, req, a)
	if rep.Usage != nil {
		a.usage = *rep.Usage
	} else {
		a.usage.Output = outputTokens(a.blocks)
		a.usage.Input = req.tokens()
		if last := s.last[f.profile.Name]; last != nil && req.extends(last) && last.tokens() < req.tokens() {
			a.usage.CacheRead = last.tokens()
			a.usage.Input -= a.usage.CacheRead
		}
		if req.marked { // what is marked is written
			a.usage.CacheWrite, a.usage.Input = a.usage.Input, 0
		}
	}
	s.last[f.profile.Name] = req
	return a
}

// answer is a reply on its way, in the terms of no API.
type answer struct {
	id, model   string
	blocks      []message.Block
	finish      model.Finish
	refusal     string
	usage       message.Usage
	raw         []json.RawMessage
	extra       map[string]json.RawMessage
	usageWanted bool
}

// route finds the API that a path belongs to.
func route(r *http.Request) (f *form, count, ok bool) {
	p := strings.TrimPrefix(r.URL.Path, "/v1")
	switch {
	case r.Method != http.MethodPost:
		return nil, false, false
	case p == "/messages":
		return anthropicForm(), false, true
	case p == "/messages/count_tokens":
		return anthropicForm(), true, true
	case p == "/chat/completions":
		return chatForm(), false, true
	case p == "/responses":
		return responsesForm(), false, true
	case p == "/responses/input_tokens":
		return responsesForm(), true, true
	case strings.HasSuffix(p, ":generateContent"), strings.HasSuffix(p, ":streamGenerateContent"):
		return geminiForm(), false, true
	case strings.HasSuffix(p, ":countTokens"):
		return geminiForm(), true, true
	}
	return nil, false, false
}

// hideKeys returns the headers that matter, without their keys.
func hideKeys(h http.Header) http.Header {
	out := http.Header{}
	for k, v := range maps.All(h) {
		switch k {
		case "X-Api-Key", "X-Goog-Api-Key", "Authorization":
			out[k] = []string{"(key)"}
		case "Anthropic-Version", "Anthropic-Beta", "Content-Type", "Accept":
			out[k] = v
		}
	}
	return out
}

func asJSON(body []byte) json.RawMessage {
	if json.Valid(body) {
		return body
	}
	quoted, _ := json.Marshal(string(body))
	return quoted
}
