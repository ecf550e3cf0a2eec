package modeltest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/wire"
)

// request is a request as a server reads it, without its cache marks.
type request struct {
	model       string
	stream      bool
	array       bool  // the stream is a JSON array, as Google's are without alt=sse
	usageWanted bool  // Chat Completions: usage in the stream
	marked      bool  // Anthropic: it had cache marks
	thinks      bool  // Anthropic: it asks for reasoning
	most        int64 // Anthropic: max_tokens
	parts       wire.Request
}

// form is what one API's requests and answers look like.
type form struct {
	profile wire.Profile
	// read takes what is not the context out of a body, and says what is wrong.
	read func(r *http.Request, body []byte, req *request) (bad []string)

	hasKey  func(h http.Header) bool
	counted func(tokens int64) []byte
	whole   func(a *answer) []byte
	frames  func(a *answer) []frame
	tail    func(a *answer) int // how many of the last frames say that the answer is whole

	failure     func(f *Failure) apiError
	errorBody   func(e *apiError) []byte
	errorFrames func(e *apiError) []frame
	tooLarge    func() *Failure
}

// parse reads a request. The rules of its context are those of wire.Validate,
// which reads the JSON whoever wrote it; rules are those that count, without any all do.
func (f *form) parse(r *http.Request, body []byte, rules []wire.Rule) (*request, []string) {
	req := &request{parts: wire.Request{Profile: f.profile.Name}}
	var bad []string
	if ct := r.Header.Get("Content-Type"); ct != "application/json" && !bytes.HasPrefix([]byte(ct), []byte("application/json;")) {
		bad = append(bad, "the content type is "+ct)
	}
	if !json.Valid(body) || !jsonx.IsObject(bytes.TrimSpace(body)) {
		return req, append(bad, "the body is no JSON object")
	}
	if inner := jsonx.Get(body, "generateContentRequest"); jsonx.IsObject(inner) && f.profile.Name == wire.Gemini.Name {
		body = inner // a whole request to be counted, where contents alone would do
	}
	seen := map[string]bool{}
	jsonx.Members(body, func(key, _ []byte) bool {
		if seen[string(key)] {
			bad = append(bad, fmt.Sprintf("the member %q is there twice", key))
		}
		seen[string(key)] = true
		return true
	})
	bad = append(bad, f.read(r, body, req)...)
	req.parts.System = strip(jsonx.Get(body, f.profile.SystemField), &req.marked)
	if f.profile.SystemField == "" {
		req.parts.System = nil
	}
	req.parts.Tools = strip(jsonx.Get(body, f.profile.ToolsField), &req.marked)
	jsonx.Elements(jsonx.Get(body, f.profile.MessagesField), func(m []byte) bool {
		req.parts.Messages = append(req.parts.Messages, stripMessage(m, &req.marked))
		return true
	})
	p := f.profile
	p.MaxBytes = 0 // the server looks at the body itself
	var invalid *wire.ValidationError
	if err := wire.Validate(&req.parts, p, nil); errors.As(err, &invalid) {
		for _, v := range invalid.Violations {
			if rules == nil || slices.Contains(rules, v.Rule) {
				bad = append(bad, v.String())
			}
		}
	} else if err != nil {
		bad = append(bad, err.Error())
	}
	return req, bad
}

func (r *request) tokens() int64 { return r.parts.Size()/bytesPerToken + 1 }

// extends reports whether an earlier request is the start of this one. The last
// message of the earlier one may have more blocks here, where an API merges
// neighbours.
func (r *request) extends(old *request) bool {
	a, b := &old.parts, &r.parts
	if !bytes.Equal(a.System, b.System) || !bytes.Equal(a.Tools, b.Tools) || len(a.Messages) > len(b.Messages) || len(a.Messages) == 0 {
		return false
	}
	last := len(a.Messages) - 1
	for i := range last {
		if !bytes.Equal(a.Messages[i], b.Messages[i]) {
			return false
		}
	}
	x, y := a.Messages[last], b.Messages[last]
	if bytes.Equal(x, y) {
		return true
	}
	// {"role":...,"content":[A,B]} and {"role":...,"content":[A,B,C]}
	x = bytes.TrimRight(x, "]}")
	return bytes.HasPrefix(y, x) && len(y) > len(x) && (y[len(x)] == ',' || y[len(x)] == '}' || y[len(x)] == ']')
}

// before returns a fingerprint of what stands before message i.
func (r *request) before(i int) string {
	h := sha256.New()
	h.Write(r.parts.System)
	h.Write(r.parts.Tools)
	for _, m := range r.parts.Messages[:i] {
		h.Write(m)
	}
	return string(h.Sum(nil))
}

// strip takes the cache marks out of an array of blocks or tools.
func strip(arr []byte, marked *bool) json.RawMessage {
	if !jsonx.IsArray(arr) {
		return arr
	}
	out := []byte{'['}
	jsonx.Elements(arr, func(el []byte) bool {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, stripMessage(el, marked)...)
		return true
	})
	return append(out, ']')
}

// stripMessage takes the cache marks out of a message or a block, and out of the
// blocks in it.
func stripMessage(m []byte, marked *bool) json.RawMessage {
	if !jsonx.IsObject(m) {
		return m
	}
	var o jsonx.Object
	jsonx.Members(m, func(key, val []byte) bool {
		switch string(key) {
		case "cache_control":
			*marked = true
			return true
		case "content":
			val = strip(val, marked)
		}
		o.Raw(string(key), val)
		return true
	})
	return o.Bytes()
}
