package main

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"strings"
	"time"
)

// benchHeader says what a request is: conversation, node, attempt, replica, and when the
// client sent it. Gateways pass it on and know nothing of it.
const benchHeader = "X-Bench"

// form is how the old part of a list was sent on. The zero value is a list as it came.
type form struct {
	cut    int    // the last node whose place the render takes, plus one; 0 for none
	render uint64 // hash of its bytes
	edits  uint64 // of results with another content
}

// sent is a request that the upstream has answered.
type sent struct {
	node, attempt, replica int
	start, came            time.Duration // since the run began: sent by the client, arrived upstream
	form                   form
	acked                  bool // the client has the answer
}

var seed = maphash.MakeSeed()

func hash(parts ...string) uint64 { return maphash.String(seed, strings.Join(parts, ",")) }

// upstream is the model provider. It insists on the window and on pairs, as providers do, and
// notes what a provider can't: whether a list has anything from somewhere else in it, and
// in which form the old part came.
func (r *run) upstream(w http.ResponseWriter, req *http.Request) {
	came := r.since()
	var id, at, attempt, replica int
	var start time.Duration
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the replica was killed
	}
	_, err = fmt.Sscan(req.Header.Get(benchHeader), &id, &at, &attempt, &replica, &start)
	var said struct {
		MaxTokens int               `json:"max_tokens"`
		Messages  []json.RawMessage `json:"messages"`
	}
	if err == nil {
		err = json.Unmarshal(body, &said)
	}
	if err != nil || id < 0 || id >= len(r.talks) || len(said.Messages) == 0 {
		r.count.add(altered, "a request that no client has sent: %v", err)
		refuse(w, "no such request")
		return
	}
	c := r.talks[id]
	list, secrets := c.list(at)
	got := make([]string, len(said.Messages))
	for i, m := range said.Messages {
		got[i] = string(m)
	}
	where := fmt.Sprintf("conversation %d, message %d, replica %d", id, at, replica)
	r.foreign(string(body), secrets, r.tenants[c.tenant], where)
	if n := orphans(said.Messages); n > 0 {
		r.count.add(orphan, "%s: %d calls or results stand alone", where, n)
		refuse(w, "messages: `tool_use` ids were found without `tool_result` blocks")
		return
	}
	tokens := len(body) / 4
	if tokens+said.MaxTokens > r.cfg.Window {
		r.count.overflows.Add(1)
		refuse(w, fmt.Sprintf("prompt is too long: %d tokens > %d maximum", tokens+said.MaxTokens, r.cfg.Window))
		return
	}
	f, ok := c.formOf(at, list, got)
	if !ok {
		r.count.add(altered, "%s: the end of the list is not the client's", where)
	}
	c.mu.Lock()
	if _, ok := c.seen[f]; !ok {
		c.seen[f] = came
	}
	c.went = append(c.went, sent{node: at, attempt: attempt, replica: replica, start: start, came: came, form: f})
	c.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"%d %d"}],`+
		`"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":%d,"output_tokens":20}}`, id, at, tokens)
}

func refuse(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]any{"type": "error", "error": map[string]string{"type": "invalid_request_error", "message": text}})
}

// foreign looks for secrets of others.
func (r *run) foreign(text string, secrets map[string]bool, tenant, where string) {
	for rest := text; ; {
		_, found, ok := strings.Cut(rest, secretMark)
		if !ok {
			break
		}
		rest = found
		if word := secretMark + found[:min(len(found), secretLen-len(secretMark))]; len(word) == secretLen && !secrets[word] {
			r.count.add(foreign, "%s: the secret of another conversation or branch", where)
		}
	}
	if all, own := strings.Count(text, tenantMark), strings.Count(text, tenant); all > own+strings.Count(text, tenantMark+"…") {
		r.count.add(foreign, "%s: the secret of another tenant", where)
	}
}

// orphans counts calls without a result in the next message, and results without a call in
// the one before.
func orphans(messages []json.RawMessage) (n int) {
	open := map[string]bool{}
	for _, m := range messages {
		var v struct {
			Content json.RawMessage `json:"content"`
		}
		var blocks []struct {
			Type, ID string
			For      string `json:"tool_use_id"`
		}
		if json.Unmarshal(m, &v) != nil {
			return 1
		}
		if len(v.Content) > 0 && v.Content[0] == '[' && json.Unmarshal(v.Content, &blocks) != nil {
			return 1
		}
		next := map[string]bool{}
		for _, b := range blocks {
			switch b.Type {
			case "tool_use":
				next[b.ID] = true
			case "tool_result":
				if !open[b.For] {
					n++
				}
				delete(open, b.For)
			}
		}
		n += len(open)
		open = next
	}
	return n + len(open)
}

// formOf compares a list with what became of it, from the end. It is not ok where the last
// message is another.
func (c *conversation) formOf(at int, list, got []string) (f form, ok bool) {
	i, k := len(list)-1, len(got)-1
	var edits []string
	for i >= 0 && k >= 0 {
		if list[i] != got[k] {
			call := callOf(list[i])
			if call == "" || call != callOf(got[k]) {
				break
			}
			edits = append(edits, got[k])
		}
		i, k = i-1, k-1
	}
	if k >= 0 || i >= 0 {
		c.mu.Lock()
		if i >= 0 {
			f.cut = c.path(at)[i] + 1
		}
		c.mu.Unlock()
		f.render = hash(got[:k+1]...)
	}
	if len(edits) > 0 {
		f.edits = hash(edits...)
	}
	return f, i < len(list)-1 && (i < 0) == (k < 0)
}

// callOf returns the first call that a message has a result of.
func callOf(raw string) string {
	_, rest, ok := strings.Cut(raw, `"tool_use_id":"`)
	if !ok || !strings.HasPrefix(raw, `{"role":"user","content":[`) {
		return ""
	}
	id, _, _ := strings.Cut(rest, `"`)
	return id
}
