package token_test

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/token"
)

func answer(text string, u message.Usage) *message.Message {
	m := message.Assistant(now, message.TextBlock(text))
	m.Provider, m.Model, m.Usage = "anthropic", "claude-opus-4-5", &u
	return m
}

var claude = token.Config{Provider: "anthropic", Model: "claude-opus-4-6"}

// Each kind of token that a provider reports is counted once.
func TestUsageIsCountedOnce(t *testing.T) {
	m := meter(t, claude)
	for name, u := range map[string]message.Usage{
		"parts":               {Input: 10, Output: 200, CacheRead: 5000, CacheWrite: 300},
		"parts and total":     {Input: 10, Output: 200, CacheRead: 5000, CacheWrite: 300, TotalCount: 5510},
		"reasoning in output": {Input: 10, Output: 200, CacheRead: 5000, CacheWrite: 300, Reasoning: 150},
		"total alone":         {TotalCount: 5510},
	} {
		msgs := []*message.Message{message.User("hi", now), answer("done", u)}
		r := m.Measure(msgs, 0)
		if r.Tokens != 5510 || r.Measured != 5510 || r.Estimated != 0 || r.Anchor != 1 {
			t.Errorf("%s: %+v, want 5510 measured", name, r)
		}
	}
}

// Only what comes after the anchor is estimated, and only usage from after the
// last pass is an anchor.
func TestAnchor(t *testing.T) {
	m := meter(t, claude)
	old, fresh := answer("one", message.Usage{Input: 100_000, Output: 10}), answer("two", message.Usage{Input: 900, Output: 100})
	last := message.User("and now?", now)
	msgs := []*message.Message{message.User("hi", now), old, message.User("go on", now), fresh, last}
	for _, c := range []struct {
		fresh, anchor int
		measured      int64
	}{{0, 3, 1000}, {2, 3, 1000}, {3, 3, 1000}, {4, -1, 0}, {5, -1, 0}, {99, -1, 0}, {-5, 3, 1000}} {
		r := m.Measure(msgs, c.fresh)
		if r.Anchor != c.anchor || r.Measured != c.measured {
			t.Errorf("fresh %d: anchor %d with %d, want %d with %d", c.fresh, r.Anchor, r.Measured, c.anchor, c.measured)
		}
		want := m.Message(last)
		if c.anchor < 0 {
			want = oneByOne(m, msgs)
		}
		if r.Estimated != want {
			t.Errorf("fresh %d: %d estimated, want %d", c.fresh, r.Estimated, want)
		}
	}
	if r := m.Measure(nil, 0); r.Tokens != 0 || r.Anchor != -1 || r.Bytes != 0 {
		t.Errorf("nothing costs %+v", r)
	}
}

// Usage that does not say how large the context was is not taken for it.
func TestNotAnAnchor(t *testing.T) {
	whole := message.Usage{Input: 50_000, Output: 10}
	stop := func(r message.StopReason) *message.Message {
		m := answer("half", whole)
		m.StopReason = r
		return m
	}
	tool := message.ToolResult("1", "ask", "42", false, now)
	tool.Usage = &whole
	gpt := answer("hello", whole)
	gpt.Provider, gpt.Model = "openai", "gpt-5.5"
	without := answer("hello", whole)
	without.Usage = nil
	for name, c := range map[string]struct {
		msg      *message.Message
		forPi    bool // an anchor with AnyUsage
		default_ bool
	}{
		"aborted":                      {stop(message.StopAborted), false, false},
		"failed":                       {stop(message.StopError), false, false},
		"no usage":                     {without, false, false},
		"all zero":                     {answer("a", message.Usage{}), false, false},
		"negative":                     {answer("a", message.Usage{TotalCount: -5}), false, false},
		"usage of a tool":              {tool, false, false},
		"prompt missing":               {answer("a", message.Usage{Output: 10}), true, false},
		"prompt missing, with a total": {answer("a", message.Usage{Output: 10, TotalCount: 10}), true, false},
		"another tokenizer":            {gpt, true, false},
		"stopped by length":            {stop(message.StopLength), true, true},
		"calls a tool":                 {stop(message.StopToolUse), true, true},
	} {
		msgs := []*message.Message{message.User("hi", now), c.msg}
		if got := meter(t, claude).Measure(msgs, 0).Anchor == 1; got != c.default_ {
			t.Errorf("%s: taken as an anchor: %v", name, got)
		}
		pi := token.Config{Counter: token.Chars4(), AnyUsage: true}
		if got := meter(t, pi).Measure(msgs, 0).Anchor == 1; got != c.forPi {
			t.Errorf("%s, as pi does it: taken as an anchor: %v", name, got)
		}
	}
	// Where a model is not known, its usage is as good as any.
	if r := meter(t, token.Config{}).Measure([]*message.Message{gpt}, 0); r.Anchor != 0 {
		t.Error("without a model in the configuration usage is not used")
	}
	local := answer("hello", whole)
	local.Provider, local.Model = "", ""
	if r := meter(t, claude).Measure([]*message.Message{local}, 0); r.Anchor != 0 {
		t.Error("usage of an unnamed model is not used")
	}
}

// Usage can hold any number. Nothing wraps around.
func TestHostileUsage(t *testing.T) {
	huge := []message.Usage{
		{Input: math.MaxInt64, Output: math.MaxInt64},
		{Input: math.MaxInt64, CacheRead: math.MaxInt64, CacheWrite: math.MaxInt64, Output: 1},
		{TotalCount: math.MaxInt64},
		{Input: math.MinInt64, Output: math.MinInt64},
		{Input: -1, Output: math.MaxInt64},
	}
	var parsed message.Message
	if err := json.Unmarshal([]byte(`{"role":"assistant","content":[],"model":"claude-opus-4-5","usage":{"input":1e308,"output":-1e308,"cacheRead":1e400,"cacheWrite":123456789012345678901234567890,"totalTokens":null},"stopReason":"stop"}`), &parsed); err != nil {
		t.Fatal(err)
	}
	huge = append(huge, *parsed.Usage)
	after := message.User(strings.Repeat("more ", 1000), now)
	for _, u := range huge {
		for _, c := range []token.Config{claude, {Counter: token.Chars4(), AnyUsage: true}} {
			r := meter(t, c).Measure([]*message.Message{after, answer("a", u), after}, 0)
			if r.Tokens < 0 || r.Measured < 0 || r.Estimated < 0 || r.Guarded() < r.Tokens || r.Categories.Total() != r.Tokens {
				t.Errorf("%+v: %+v, guarded %d", u, r, r.Guarded())
			}
			for i, n := range r.Categories {
				if n < 0 {
					t.Errorf("%+v: %v is %d", u, token.Category(i), n)
				}
			}
		}
	}
}

// The guard multiplies estimates, not what was measured.
func TestGuard(t *testing.T) {
	msgs := []*message.Message{message.User("hi", now), answer("done", message.Usage{Input: 9000, Output: 1000}), message.User(strings.Repeat("go on ", 100), now)}
	r := meter(t, token.Config{Model: "claude-opus-4-5", Safety: 1.5}).Measure(msgs, 0)
	if want := 10_000 + (r.Estimated*3+1)/2; r.Guard != 1.5 || r.Guarded() != want {
		t.Errorf("guarded %d with %v, want %d", r.Guarded(), r.Guard, want)
	}
	if r := meter(t, token.Config{Model: "claude-opus-4-5", Safety: 1}).Measure(msgs, 0); r.Guarded() != r.Tokens {
		t.Errorf("guarded %d, tokens %d", r.Guarded(), r.Tokens)
	}
	for model, want := range map[string]float64{"claude-opus-4-5": 1.2, "claude-opus-4-7": 1.35, "gpt-5.5": 1.25, "llama": 1.3} {
		if got := meter(t, token.Config{Model: model}).Guard(); got != want {
			t.Errorf("%s: default guard %v, want %v", model, got, want)
		}
	}
	if got := meter(t, token.Config{Counter: token.Chars4()}).Guard(); got != 2.3 {
		t.Errorf("chars4: default guard %v", got)
	}
	if got := meter(t, token.Config{Counter: fixedPrice{}}).Guard(); got != 1.3 {
		t.Errorf("a counter of one's own: default guard %v", got)
	}
	if got := (token.Reading{Measured: math.MaxInt64, Estimated: math.MaxInt64, Guard: 2}).Guarded(); got != math.MaxInt64 {
		t.Errorf("guarded %d", got)
	}
}

// fixedPrice is a counter that knows nothing of what a Meter can use beyond Counter.
type fixedPrice struct{}

func (fixedPrice) Name() string                   { return "fixed" }
func (fixedPrice) Message(*message.Message) int64 { return 10 }
func (fixedPrice) Text(string) int64              { return 3 }

// Any Counter will do: a message's tokens go to the category of its role.
func TestCounterOfOnesOwn(t *testing.T) {
	m := meter(t, token.Config{Counter: fixedPrice{}, System: "be brief", Window: 1000})
	r := m.Measure([]*message.Message{message.User("hi", now), message.Assistant(now, message.TextBlock("yes"))}, 0)
	if r.Tokens != 30 || r.Categories[token.System] != 10 || r.Categories[token.User] != 10 || r.Categories[token.Assistant] != 10 || r.Counter != "fixed" {
		t.Errorf("%+v", r)
	}
	if m.Text("x") != 3 || m.Name() != "fixed" || m.Window() != 1000 {
		t.Errorf("text %d, name %q, window %d", m.Text("x"), m.Name(), m.Window())
	}
}

// Every kind of content has its category; up to the anchor they are fitted to
// what was reported.
func TestCategories(t *testing.T) {
	picture := base64.StdEncoding.EncodeToString(randomBytes(5, 100))
	reminder := message.User("remember the rules", now)
	reminder.Origin = message.OriginInjected
	msgs := []*message.Message{
		{Role: message.RoleSystem, Content: []message.Block{message.TextBlock("You fix bugs.")}, ToolsAdded: json.RawMessage(`[{"name":"read"}]`)},
		{Role: message.RoleCompactionSummary, Summary: "We began with the parser."},
		message.User("go on", now), reminder,
		{Role: message.RoleBashExecution, Command: "make", Output: "ok"},
		{Role: message.RoleCustom, Content: []message.Block{message.TextBlock("note")}},
		message.Assistant(now, message.ThinkingBlock("hm", ""), message.TextBlock("Reading."), message.ToolCallBlock("1", "read", json.RawMessage(`{"path":"a.go"}`))),
		{Role: message.RoleToolResult, ToolCallID: "1", Content: []message.Block{message.TextBlock("package a"), message.ImageBlock("image/png", picture)}},
	}
	for _, c := range []token.Config{claude, {Model: "gpt-5.5"}, {Counter: token.Chars4()}} {
		m := meter(t, c)
		r := m.Measure(msgs, 0)
		for cat := token.System; cat < token.Unattributed; cat++ {
			if r.Categories[cat] <= 0 {
				t.Errorf("%s: nothing for %v", m.Name(), cat)
			}
		}
		if r.Categories[token.Unattributed] != 0 || r.Categories.Total() != r.Tokens || r.Tokens != oneByOne(m, msgs) {
			t.Errorf("%s: %+v adds up to %d, the messages cost %d", m.Name(), r, r.Categories.Total(), oneByOne(m, msgs))
		}

		for _, reported := range []int64{3, r.Tokens - 50, r.Tokens, r.Tokens + 1000} {
			all := append(append([]*message.Message{}, msgs...), answer("ok", message.Usage{Input: reported - 1, Output: 1}), message.User("thanks", now))
			a := meter(t, token.Config{Model: c.Model, Counter: c.Counter, AnyUsage: true}).Measure(all, 0)
			if a.Anchor != len(msgs) || a.Tokens != reported+a.Estimated || a.Categories.Total() != a.Tokens {
				t.Errorf("%s, %d reported: %+v adds up to %d", m.Name(), reported, a, a.Categories.Total())
			}
			for i, n := range a.Categories {
				if n < 0 {
					t.Errorf("%s, %d reported: %v is %d", m.Name(), reported, token.Category(i), n)
				}
			}
			if unknown := a.Categories[token.Unattributed]; (reported > r.Tokens+500) != (unknown > 0) {
				t.Errorf("%s, %d reported and about %d estimated: %d unattributed", m.Name(), reported, r.Tokens, unknown)
			}
		}
	}
}

func TestCategoriesAsJSON(t *testing.T) {
	c := token.Categories{token.User: 5, token.Images: 7, token.Unattributed: 1}
	data, err := json.Marshal(c)
	if err != nil || string(data) != `{"user":5,"images":7,"unattributed":1}` {
		t.Errorf("%s, %v", data, err)
	}
	var back token.Categories
	if err := json.Unmarshal(data, &back); err != nil || back != c {
		t.Errorf("%v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"user":1,"smells":2}`), &back); err != nil || back.Total() != 3 || back[token.Unattributed] != 2 {
		t.Errorf("%v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`[1]`), &back); err == nil {
		t.Error("a list was read")
	}
	if got := token.Category(200).String(); got != "category 200" {
		t.Error(got)
	}
	r, err := json.Marshal(token.Reading{Tokens: 5, Anchor: -1, Categories: token.Categories{token.User: 5}})
	if err != nil || !strings.Contains(string(r), `"categories":{"user":5}`) {
		t.Errorf("%s, %v", r, err)
	}
}

// Requests have size limits: images count with their bytes although they cost few tokens.
func TestBytes(t *testing.T) {
	data := base64.StdEncoding.EncodeToString(make([]byte, 1_000_000))
	var msgs []*message.Message
	for range 60 {
		msgs = append(msgs, &message.Message{Role: message.RoleUser, Content: []message.Block{message.ImageBlock("image/png", data)}})
	}
	r := meter(t, claude).Measure(msgs, 0)
	if r.Bytes < 80_000_000 || r.Bytes > 81_000_000 || r.Tokens > 100_000 {
		t.Errorf("60 images of 1 MB: %d bytes, %d tokens", r.Bytes, r.Tokens)
	}
	// In the size of a session without images nothing is forgotten, and what is
	// not sent is left out.
	text := strings.Repeat("line\n", 1000)
	for name, m := range map[string]*message.Message{
		"text":    message.User(text, now),
		"result":  message.ToolResult("1", "cat", text, false, now),
		"call":    message.Assistant(now, message.ToolCallBlock("1", "w", json.RawMessage(`{"a":"`+strings.Repeat(`line\n`, 1000)+`"}`))),
		"shell":   {Role: message.RoleBashExecution, Output: text},
		"summary": {Role: message.RoleBranchSummary, Summary: text},
		"section": {Role: message.RoleSystem, Sections: []message.Section{{Text: text}}},
		"signed":  message.Assistant(now, message.ThinkingBlock("", text)),
	} {
		if got := meter(t, claude).Measure([]*message.Message{m}, 0).Bytes; got < 5000 || got > 6500 {
			t.Errorf("%s: %d bytes", name, got)
		}
	}
	for name, m := range map[string]*message.Message{
		"excluded": {Role: message.RoleBashExecution, Output: text, ExcludeFromContext: true},
		"failed":   {Role: message.RoleAssistant, StopReason: message.StopError, Content: []message.Block{message.TextBlock(text)}},
		"unknown":  {Role: "x", Content: []message.Block{message.TextBlock(text)}},
	} {
		if got := meter(t, claude).Measure([]*message.Message{m}, 0).Bytes; got != 0 {
			t.Errorf("%s: %d bytes", name, got)
		}
	}
	if got := meter(t, token.Config{System: text}).Measure(nil, 0).Bytes; got != 5000 {
		t.Errorf("system prompt: %d bytes", got)
	}
}

// System messages are counted as what is left of them when they are replayed.
func TestReplaySystem(t *testing.T) {
	if message.ReplaySystem(nil) != nil || message.ReplaySystem([]*message.Message{message.User("hi", now)}) != nil {
		t.Error("a prompt without a system message")
	}
	msgs := []*message.Message{
		parse(t, `{"role":"system","content":"base","sections":{"a":"one","b":"two"},"toolsAdded":[{"name":"read","v":1},{"name":"bash"}],"timestamp":7}`),
		message.User("hi", now),
		parse(t, `{"role":"system","content":"","sections":{"a":null,"c":"three"},"toolsRemoved":[{"name":"bash"}]}`),
		parse(t, `{"role":"system","content":"more","sections":{"b":"zwei"},"toolsAdded":[{"name":"read","v":2}],"toolsRemoved":["write"]}`),
	}
	got := message.ReplaySystem(msgs)
	if got.Role != message.RoleSystem || got.Text() != "base\n\nmore" || string(got.ToolsAdded) != `[{"name":"read","v":2}]` || got.Timestamp != 7 {
		t.Errorf("%s", got.JSON())
	}
	if len(got.Sections) != 2 || got.Sections[0] != (message.Section{Name: "b", Text: "zwei"}) || got.Sections[1] != (message.Section{Name: "c", Text: "three"}) {
		t.Errorf("sections %v", got.Sections)
	}
	for _, c := range []token.Config{claude, {Counter: token.Chars4()}} {
		m := meter(t, c)
		want := m.Message(got) + m.Message(msgs[1])
		if r := m.Measure(msgs, 0); r.Tokens != want {
			t.Errorf("%s: %d, replayed %d", m.Name(), r.Tokens, want)
		}
		if oneByOne(m, msgs) <= want {
			t.Errorf("%s: one by one they cost %d, replayed %d", m.Name(), oneByOne(m, msgs), want)
		}
	}
	none := message.ReplaySystem([]*message.Message{parse(t, `{"role":"system","toolsAdded":[{"name":"a"}]}`), parse(t, `{"role":"system","toolsRemoved":[{"name":"a"}]}`)})
	if none == nil || none.ToolsAdded != nil || none.Content != nil {
		t.Errorf("%+v", none)
	}
}

// Settings that cannot be meant are refused, and the message says what would come of them.
func TestConfigIsValidated(t *testing.T) {
	for _, c := range []struct {
		config token.Config
		want   string // in the message, "" for a good one
	}{
		{token.Config{}, ""},
		{token.Config{Window: 200_000, Safety: 1, Tools: json.RawMessage(" [ ] ")}, ""},
		{token.Config{Tools: json.RawMessage("null")}, ""},
		{token.Config{Window: -1}, "Window is -1"},
		{token.Config{Safety: .5}, "overflow"},
		{token.Config{Safety: -1}, "overflow"},
		{token.Config{Safety: math.NaN()}, "Safety is NaN"},
		{token.Config{Safety: math.Inf(1)}, "Safety is +Inf"},
		{token.Config{Tools: json.RawMessage("[")}, "not JSON"},
		{token.Config{Tools: json.RawMessage("{}")}, "no array"},
		{token.Config{Tools: json.RawMessage("[] []")}, "after its end at byte 3"},
	} {
		m, err := token.NewMeter(c.config)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%+v: %v", c.config, err)
		case c.want != "" && (err == nil || m != nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%+v: error %v, want one with %q", c.config, err, c.want)
		}
	}
}

// One meter serves several sessions at once.
func TestMeterIsSafeForConcurrentUse(t *testing.T) {
	m := meter(t, claude)
	msgs := []*message.Message{{Role: message.RoleSystem, Sections: []message.Section{{Name: "a", Text: "b"}}}, message.User("hi", now), answer("yes", message.Usage{Input: 100, Output: 1}), message.User("go", now)}
	want := m.Measure(msgs, 0)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if got := m.Measure(msgs, 0); got != want {
					t.Errorf("%+v, want %+v", got, want)
				}
			}
		})
	}
	wg.Wait()
}
