package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/token"
	"github.com/clew-dev/clew/wire"
)

// What clients ask servers for that many servers can't do.
const (
	contextManagement = "context_management" // of the Messages API
	compactPath       = "/responses/compact"
	compactionTrigger = "compaction_trigger" // an item of the Responses API
)

// sealMark begins the content of the compaction items that the gateway makes. They hold the
// shortened list itself: clients send them back, with nothing before them.
const sealMark = "clew1."

// lacking reports whether an upstream can't do something, as the configuration says or as
// it has said itself.
func (r *request) lacking(what string) bool {
	if r.cfg.ByRules != nil && r.cfg.ByRules(r.host) {
		return true
	}
	_, ok := r.lacks.get(r.host + " " + what)
	return ok
}

// cannot reports whether an upstream's refusal says that it can't do what was asked, which is
// remembered.
func (r *request) cannot(status int) (what string, ok bool) {
	invalid := status == http.StatusBadRequest || status == http.StatusUnprocessableEntity
	switch {
	case r.watched || r.in == nil:
	case r.compacts:
		what, ok = compactPath, status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusNotImplemented
	case r.trigger:
		what, ok = compactionTrigger, invalid && bytes.Contains(r.said, []byte(compactionTrigger))
	case r.in.Edits && r.profile.Name == wire.Anthropic.Name && !r.retried:
		what, ok = contextManagement, invalid && bytes.Contains(r.said, []byte(contextManagement))
	}
	if ok {
		r.lacks.put(r.host+" "+what, true, false)
	}
	return what, ok
}

// translate returns a request as an upstream takes it that can't do what the client asks for:
// without context_management, which the gateway does then, and with the list in the place
// of an item that the gateway has made of it.
func (r *request) translate(req *http.Request, body []byte) (*http.Request, []byte) {
	mark := ""
	switch {
	case r.watched:
	case r.profile.Name == wire.OpenAIResponses.Name:
		mark = sealMark
	case r.profile.Name == wire.Anthropic.Name && r.lacking(contextManagement):
		mark = contextManagement
	}
	if mark == "" {
		return req, body
	}
	plain, err := r.unpacked(req, body)
	if err != nil || !bytes.Contains(plain, []byte(mark)) {
		return req, body
	}
	in, err := wire.Parse(r.profile, plain)
	if err != nil {
		return req, body
	}
	var out []byte
	if mark == sealMark {
		out = unsealed(in)
	} else {
		r.wish = wishOf(jsonx.Get(plain, contextManagement))
		out = without(plain, contextManagement)
	}
	if _, err := wire.Parse(r.profile, out); err != nil || bytes.Equal(out, plain) {
		return req, body
	}
	req = req.Clone(req.Context())
	req.Header.Del("Content-Encoding")
	return req, out
}

// without returns an object without a member.
func without(obj []byte, name string) []byte {
	at := jsonx.Space(obj, 0)
	last, from, to := at+1, -1, -1 // the end of the member before
	_, err := jsonx.ScanObject(obj, at, func(key []byte, val int) (int, error) {
		end, err := jsonx.Scan(obj, val)
		switch {
		case string(key) == name:
			from, to = last, end
		case from == at+1 && to == last: // it was the first: its comma goes
			to = bytes.IndexByte(obj[to:], ',') + to + 1
		}
		last = end
		return end, err
	})
	if err != nil || from < 0 {
		return obj
	}
	return slices.Concat(obj[:from], obj[to:])
}

// wish is what a client asks the Messages API to do with its context:
// https://platform.claude.com/docs/en/build-with-claude/context-editing
type wish struct {
	compactAt int64 // tokens; 0 for never
	clear     bool
	clearAt   int64 // tokens, or with byUses the number of calls
	byUses    bool
	atLeast   int64 // tokens that must go at once
	keep      int   // calls
	exclude   []string
}

func wishOf(management []byte) (w wish) {
	value := func(edit []byte, name string, def int64) int64 {
		if n := jsonx.CountAt(jsonx.Get(edit, name), "value"); n > 0 {
			return n
		}
		return def
	}
	jsonx.Elements(jsonx.Get(management, "edits"), func(e []byte) bool {
		switch jsonx.StringAt(e, "type") {
		case "compact_20260112":
			w.compactAt = value(e, "trigger", 150_000)
		case "clear_tool_uses_20250919":
			w.clear, w.clearAt, w.keep = true, value(e, "trigger", 100_000), int(value(e, "keep", 3))
			w.byUses = jsonx.StringAt(jsonx.Get(e, "trigger"), "type") == "tool_uses"
			w.atLeast = value(e, "clear_at_least", 0)
			jsonx.Elements(jsonx.Get(e, "exclude_tools"), func(v []byte) bool {
				if s, ok := jsonx.String(v); ok {
					w.exclude = append(w.exclude, s)
				}
				return true
			})
		}
		return true
	})
	return w
}

// clearDue reports whether old results are to be cleared.
func (r *request) clearDue(c token.Counter, now *Epoch, size int64) bool {
	if !r.wish.clear {
		return false
	}
	if r.wish.byUses {
		return int64(len(r.clearable(now))+r.wish.keep) > r.wish.clearAt
	}
	return size >= r.wish.clearAt && r.grown(c, now) >= r.wish.clearAt/minGrowth
}

// clearable returns the indexes of the nodes that are results which may be cleared.
func (r *request) clearable(now *Epoch) (nodes []int) {
	from := r.first
	if now != nil {
		from += now.Cut
	}
	names := map[string]string{}
	for i := from; i < len(r.in.Nodes); i++ {
		switch n := &r.in.Nodes[i]; n.Kind {
		case wire.PartCall:
			names[n.ID] = n.Name
		case wire.PartResult:
			if _, done := now.result(i - r.first); !done && n.Content.Len() > 0 && !slices.Contains(r.wish.exclude, names[n.ID]) {
				nodes = append(nodes, i)
			}
		default:
		}
	}
	return nodes[:max(0, len(nodes)-r.wish.keep)]
}

// cleared makes an epoch that is the one in use with old results cleared.
func (r *request) cleared() (*Epoch, error) {
	e := &Epoch{}
	now := r.current()
	if now != nil {
		e.Cut, e.Render, e.Tokens, e.Results = now.Cut, now.Render, now.Tokens, slices.Clone(now.Results)
	}
	counter := token.HeuristicFor(r.provider, r.model)
	saved := int64(0)
	for _, i := range r.clearable(now) {
		with, err := r.content(i, "[cleared; recall or run the tool again]")
		if err != nil {
			return nil, err
		}
		cost := counter.Text(string(with))
		saved += r.nodeTokens(counter, &r.in.Nodes[i]) - cost
		e.Results = append(e.Results, Result{Node: i - r.first, With: with, Tokens: cost})
	}
	if saved <= 0 || saved < r.wish.atLeast {
		return nil, errNoCut
	}
	slices.SortFunc(e.Results, func(a, b Result) int { return cmp.Compare(a.Node, b.Node) })
	r.bound(e)
	r.key(e)
	return e, nil
}

// sealed returns the list that stands for the request's, shortened, as the content of an item.
func (r *request) sealed(ctx context.Context) (string, error) {
	in := r.in
	window := cmp.Or(r.window(), compact.DefaultWindow)
	free := min(max(window-r.env, window/8), r.event.After-r.env) // it shall become shorter in any case
	e, err := r.make(ctx, room{tokens: free}, compact.Threshold)
	if err != nil && !errors.Is(err, errNoCut) {
		return "", err
	}
	if e != nil {
		body, ok := e.apply(in, r.lead, r.first, nil)
		if !ok {
			return "", errNoCut
		}
		if in, err = wire.Parse(r.profile, body); err != nil {
			return "", err
		}
	}
	last := len(in.Items) - 1
	if isTrigger(in) {
		last--
	}
	if last < r.lead {
		return "", errNoCut
	}
	return sealMark + base64.StdEncoding.EncodeToString(in.Body[in.Items[r.lead].From:in.Items[last].To]), nil
}

func isTrigger(in *wire.Inbound) bool {
	return len(in.Items) > 0 && jsonx.StringAt(in.Items[len(in.Items)-1].Of(in.Body), "type") == compactionTrigger
}

// unsealed puts what the gateway's own items hold in their place.
func unsealed(in *wire.Inbound) []byte {
	var edits []wire.Edit
	for _, it := range in.Items {
		obj := it.Of(in.Body)
		content, mine := bytes.CutPrefix([]byte(jsonx.StringAt(obj, "encrypted_content")), []byte(sealMark))
		if !mine || jsonx.StringAt(obj, "type") != "compaction" {
			continue
		}
		if list, err := base64.StdEncoding.DecodeString(string(content)); err == nil && len(list) > 0 {
			edits = append(edits, wire.Edit{Range: it.Range, With: list})
		}
	}
	return in.Splice(edits...)
}

// answer answers a request for a summary by rules.
func (r *request) answer(req *http.Request) (*http.Response, error) {
	content, err := r.sealed(req.Context())
	if err != nil {
		return nil, err
	}
	id := hex.EncodeToString(r.chain[len(r.chain)-1][:8])
	var item, whole jsonx.Object
	item.Str("type", "compaction")
	item.Str("id", "cmp_"+id)
	item.Str("encrypted_content", content)
	whole.Str("id", "resp_"+id)
	whole.Str("object", "response")
	if r.compacts {
		whole = jsonx.Object{}
		whole.Str("id", "resp_"+id)
		whole.Str("object", "response.compaction")
	}
	whole.Int("created_at", r.begin.Unix())
	whole.Str("status", "completed")
	whole.Str("model", r.model)
	whole.Raw("output", jsonx.Array([][]byte{item.Bytes()}))
	whole.Raw("usage", []byte(`{"input_tokens":0,"input_tokens_details":{"cached_tokens":0},"output_tokens":0,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":0}`))
	header, body := http.Header{"Content-Type": {"application/json"}}, whole.Bytes()
	if r.in.Stream && !r.compacts {
		header.Set("Content-Type", "text/event-stream")
		var b bytes.Buffer
		for n, e := range []struct {
			typ, name string
			value     []byte
		}{
			{"response.created", "response", fmt.Appendf(nil, `{"id":"resp_%s","object":"response","status":"in_progress","output":[]}`, id)},
			{"response.output_item.added", "item", item.Bytes()},
			{"response.output_item.done", "item", item.Bytes()},
			{"response.completed", "response", whole.Bytes()},
		} {
			var o jsonx.Object
			o.Str("type", e.typ)
			o.Int("sequence_number", int64(n))
			if e.name == "item" {
				o.Int("output_index", 0)
			}
			o.Raw(e.name, e.value)
			fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", e.typ, o.Bytes())
		}
		body = b.Bytes()
	}
	r.event.Outcome, r.event.Why = Compacted, "the client asked for a summary, which the upstream can't make"
	return r.done(&http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}), nil
}
