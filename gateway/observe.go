package gateway

import (
	"bytes"
	"io"
	"net/http"

	"github.com/clew-dev/clew/internal/jsonx"
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

// observer passes a response on byte by byte and remembers its beginning and its end, where
// the APIs report usage.
type observer struct {
	io.ReadCloser
	head, tail []byte
	done       func(head, tail []byte)
}

func (o *observer) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	if room := sniffed - len(o.head); room > 0 {
		o.head = append(o.head, p[:min(n, room)]...)
	}
	o.tail = append(o.tail, p[:n]...)
	if over := len(o.tail) - sniffed; over > sniffed {
		o.tail = append(o.tail[:0], o.tail[over:]...)
	}
	if err == io.EOF {
		o.end()
	}
	return n, err
}

func (o *observer) Close() error {
	o.end()
	return o.ReadCloser.Close()
}

func (o *observer) end() {
	if o.done != nil {
		o.done(o.head, o.tail)
		o.done = nil
	}
}

// observe reads the usage of a response while it passes.
func (r *request) observe(resp *http.Response) *http.Response {
	r.event.Status = resp.StatusCode
	if resp.StatusCode >= 300 || resp.Header.Get("Content-Encoding") != "" || r.count {
		return r.done(resp)
	}
	resp.Body = &observer{ReadCloser: resp.Body, done: func(head, tail []byte) {
		if u := usageOf(head, tail); u.Input > 0 {
			r.event.Usage = &u
			a := anchor{tokens: u.Input, env: r.in.Env, at: r.cfg.Now()}
			if r.epoch != nil {
				a.epoch = r.epoch.Head
			}
			r.anchors.put(r.chain[len(r.chain)-1], a, false)
		}
		r.done(resp)
	}}
	return resp
}

// usageOf finds the last report of usage. Anthropic's stream has the input at its beginning
// and the output at its end.
func usageOf(head, tail []byte) (u Usage) {
	for _, part := range [][]byte{head, tail} {
		for _, name := range []string{`"usage"`, `"usageMetadata"`} {
			at := bytes.LastIndex(part, []byte(name))
			if at < 0 {
				continue
			}
			from := jsonx.Space(part, at+len(name))
			if from >= len(part) || part[from] != ':' {
				continue
			}
			from = jsonx.Space(part, from+1)
			end, err := jsonx.Scan(part, from)
			if err != nil || part[from] != '{' {
				continue
			}
			u.read(part[from:end])
		}
	}
	return u
}

func (u *Usage) read(obj []byte) {
	set := func(to *int64, n int64) {
		if n > 0 {
			*to = n
		}
	}
	details := jsonx.Get(obj, "prompt_tokens_details")
	if details == nil {
		details = jsonx.Get(obj, "input_tokens_details")
	}
	set(&u.CacheRead, jsonx.CountAt(obj, "cache_read_input_tokens")+jsonx.CountAt(details, "cached_tokens")+jsonx.CountAt(obj, "cachedContentTokenCount"))
	set(&u.CacheWrite, jsonx.CountAt(obj, "cache_creation_input_tokens"))
	// Anthropic's input is what was neither read from the cache nor written to it.
	input := jsonx.CountAt(obj, "input_tokens") + jsonx.CountAt(obj, "prompt_tokens") + jsonx.CountAt(obj, "promptTokenCount")
	if details == nil {
		input += jsonx.CountAt(obj, "cache_read_input_tokens") + jsonx.CountAt(obj, "cache_creation_input_tokens")
	}
	set(&u.Input, input)
	set(&u.Output, jsonx.CountAt(obj, "output_tokens")+jsonx.CountAt(obj, "completion_tokens")+jsonx.CountAt(obj, "candidatesTokenCount"))
}
