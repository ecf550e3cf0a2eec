package gateway

import (
	"bytes"
	"io"
	"net/http"
	"sync"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model/catalogue"
	"github.com/clew-dev/clew/token"
	"github.com/clew-dev/clew/wire"
)

// Usage is what an upstream reports of one request, in tokens.
type Usage struct {
	Input      int64 `json:"input"` // all of it, cached or not
	CacheRead  int64 `json:"cacheRead,omitempty"`
	CacheWrite int64 `json:"cacheWrite,omitempty"`
	Output     int64 `json:"output,omitempty"`
}

// sniffed is how much of the beginning and of the end of a response is looked at.
const sniffed = 16 << 10

// edges remembers the beginning and the end of what is written to it.
type edges struct{ head, tail []byte }

func (e *edges) Write(p []byte) (int, error) {
	if room := sniffed - len(e.head); room > 0 {
		e.head = append(e.head, p[:min(len(p), room)]...)
	}
	e.tail = append(e.tail, p[max(0, len(p)-sniffed):]...)
	if over := len(e.tail) - sniffed; over > sniffed {
		e.tail = append(e.tail[:0], e.tail[over:]...)
	}
	return len(p), nil
}

// observer passes a response on byte by byte; sink gets a copy.
type observer struct {
	io.ReadCloser
	mu   sync.Mutex // it may be closed while it is read
	sink io.Writer
	done func() // nil when it was called
}

func (o *observer) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done != nil && n > 0 {
		_, _ = o.sink.Write(p[:n]) // memory, or a pipe whose other end reads all
	}
	if err != nil {
		o.end()
	}
	return n, err
}

func (o *observer) Close() error {
	o.mu.Lock()
	o.end()
	o.mu.Unlock()
	return o.ReadCloser.Close()
}

func (o *observer) end() {
	if o.done != nil {
		o.done()
		o.done = nil
	}
}

// measured is what is kept of a request until its answer has ended; the body is not.
type measured struct {
	mu      sync.Mutex
	cfg     *Config
	m       *memory
	event   Event
	last    wire.Digest // what the anchor is for
	anchor  anchor
	served  catalogue.Route
	news    int64
	env     int64
	talk    Talk
	store   Store // nil where nobody asks it
	changed bool  // another list than the client's was sent
}

// set notes what was sent.
func (m *measured) set(r *request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.event, m.news, m.env, m.changed = r.event, r.news, r.env, r.epoch != nil
	m.anchor = anchor{env: r.in.Env}
	// The anchor is for the list up to the model's last answer: what stands behind that may be
	// left out of the next one, as with reminders.
	end := max(r.answered(), 1)
	if m.changed {
		m.anchor.epoch, end = r.epoch.Head, max(end, r.epoch.Cut)
	}
	m.last, m.anchor.behind = r.chain[end-1], r.listTokens(token.HeuristicFor(r.provider, r.model), r.epoch, end)
}

// observe reads the usage of a response while it passes.
func (r *request) observe(resp *http.Response) *http.Response {
	r.event.Status = resp.StatusCode
	if resp.StatusCode >= 300 || r.count {
		return r.done(resp)
	}
	m := &measured{cfg: &r.cfg, m: r.memory, served: r.served()}
	m.set(r)
	if r.looked && !r.watched {
		m.talk, m.store = r.talk(), r.cfg.Store
	}
	seen := &edges{}
	o := &observer{ReadCloser: resp.Body, sink: seen, done: func() { m.end(seen) }}
	if encoding := resp.Header.Get("Content-Encoding"); !plain(encoding) {
		packed, sink := io.Pipe()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if z, err := decoder(encoding, packed); err == nil {
				_, _ = io.Copy(seen, z) // as far as it can be read
				_ = z.Close()
			}
			_, _ = io.Copy(io.Discard, packed)
		}()
		o.sink = sink
		o.done = func() { _ = sink.Close(); <-ended; m.end(seen) }
	}
	if opened, ok := resp.Body.(*opening); ok {
		opened.m = m
	}
	resp.Body = o
	return resp
}

// incredible is how many times less than estimated an upstream may measure. Some leave out what
// was in their cache.
const incredible = 4

// end notes what the upstream has measured.
func (m *measured) end(seen *edges) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if u := usageOf(seen.head, seen.tail); u.Input > 0 {
		m.event.Usage = &u
		m.anchor.tokens, m.anchor.at = u.Input, m.cfg.Now()
		credible := u.Input > m.event.After/incredible
		if credible {
			m.m.anchors.put(m.last, m.anchor, false)
		}
		if credible && m.store != nil {
			m.store.Measured(m.talk, Measure{End: m.last, Tokens: u.Input - m.anchor.behind, Env: m.anchor.env, Epoch: m.anchor.epoch, Time: m.anchor.at})
		}
		used := u.message()
		m.m.windows.Accepted(m.served, &used)
		m.price(&u, &used)
	}
	if m.cfg.OnEvent != nil {
		m.event.Total = m.cfg.Now().Sub(m.event.Time)
		m.cfg.OnEvent(m.event)
	}
}

func (u *Usage) message() message.Usage {
	return message.Usage{Input: max(u.Input-u.CacheRead-u.CacheWrite, 0), CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output}
}

// price says what the request cost, and what it would have cost otherwise.
func (m *measured) price(u *Usage, used *message.Usage) {
	info, ok := catalogue.Default().Lookup(m.served.Provider, m.served.Model)
	if !ok || info.Price == nil {
		return
	}
	m.event.Cost = info.Price.Cost(used)
	var list, fresh int64 // of the other request, and what of it no cache would have had
	switch {
	case m.changed:
		list, fresh = m.event.Before, m.news
		if m.event.Outcome == Shortened {
			fresh = u.Input - u.CacheRead
		}
	case m.event.Outcome == WouldBe:
		list, fresh = m.event.After, u.Input-u.CacheRead
		if m.event.Why != asBefore { // the switch clears the cache of the list
			fresh = list - m.env
		}
	default:
		return
	}
	if fresh = min(fresh, list); u.CacheRead+u.CacheWrite == 0 { // there is no cache
		fresh = list
	}
	other := message.Usage{CacheRead: list - fresh, Output: u.Output}
	if u.CacheWrite > 0 {
		other.CacheWrite = fresh
	} else {
		other.Input = fresh
	}
	m.event.Otherwise = info.Price.Cost(&other)
}

// usageOf reads the reports of usage, of which later ones count first. Anthropic's stream has
// the input at its beginning and the output at its end.
func usageOf(head, tail []byte) (u Usage) {
	for _, part := range [][]byte{head, tail} {
		for _, name := range []string{`"usage"`, `"usageMetadata"`} {
			for rest := part; ; {
				at := bytes.Index(rest, []byte(name))
				if at < 0 {
					break
				}
				rest = rest[at+len(name):]
				from := jsonx.Space(rest, 0)
				if from >= len(rest) || rest[from] != ':' {
					continue
				}
				from = jsonx.Space(rest, from+1)
				if end, err := jsonx.Scan(rest, from); err == nil && rest[from] == '{' {
					u.read(rest[from:end])
				}
			}
		}
	}
	return u
}

// read takes over what one report says. The input of most APIs has what the cache had in it,
// and that of Anthropic has not. OpenAI, DeepSeek and Moonshot tell what the cache had by names
// of their own.
func (u *Usage) read(obj []byte) {
	var input, tools, apart, output, thoughts, thought, total, read, written int64
	detailed := false
	details := func(of []byte) {
		jsonx.Members(of, func(key, v []byte) bool {
			switch string(key) {
			case "cached_tokens":
				read = max(read, jsonx.Count(v))
			case "cache_write_tokens":
				written = jsonx.Count(v)
			case "reasoning_tokens":
				thought = jsonx.Count(v)
			}
			return true
		})
	}
	jsonx.Members(obj, func(key, v []byte) bool {
		switch string(key) {
		case "input_tokens", "prompt_tokens", "promptTokenCount":
			input = max(input, jsonx.Count(v))
		case "toolUsePromptTokenCount":
			tools = jsonx.Count(v)
		case "cache_read_input_tokens":
			read = max(read, jsonx.Count(v))
			apart += jsonx.Count(v)
		case "cache_creation_input_tokens":
			written = jsonx.Count(v)
			apart += written
		case "cachedContentTokenCount", "prompt_cache_hit_tokens", "cached_tokens":
			read = max(read, jsonx.Count(v))
		case "output_tokens", "completion_tokens", "candidatesTokenCount":
			output = max(output, jsonx.Count(v))
		case "thoughtsTokenCount":
			thoughts = jsonx.Count(v)
		case "total_tokens":
			total = jsonx.Count(v)
		case "prompt_tokens_details", "input_tokens_details":
			detailed = detailed || jsonx.IsObject(v)
			fallthrough
		case "completion_tokens_details":
			details(v)
		}
		return true
	})
	if input += tools; !detailed {
		input += apart
	}
	output += thoughts
	if thought > 0 && total == input+output+thought { // xAI
		output += thought
	}
	set := func(to *int64, n int64) {
		if n > 0 {
			*to = n
		}
	}
	set(&u.CacheRead, read)
	set(&u.CacheWrite, written)
	set(&u.Input, input)
	set(&u.Output, output)
	if u.Input > 0 {
		u.CacheRead = min(u.CacheRead, u.Input)
		u.CacheWrite = min(u.CacheWrite, u.Input-u.CacheRead)
	}
}
