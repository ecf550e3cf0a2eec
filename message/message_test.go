package message

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

var at = time.UnixMilli(1_700_000_000_123)

// Messages of the field, in all roles, with things a decoder might lose.
var samples = []string{
	`{"role":"user","content":"hi"}`,
	`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","data":"aGk=","mimeType":"image/png"},{"type":"text","text":"b","textSignature":"s"}],"timestamp":1,"origin":"hook"}`,
	`{ "timestamp" : 1.7e12 , "content" : [ ] , "role":"user" , "x":12345678901234567890, "x":-0.0 }`,
	`{"role":"assistant","content":[{"type":"thinking","thinking":"t","thinkingSignature":"sig"},{"type":"text","text":"\ud83d"},{"type":"toolCall","id":"c","name":"read","arguments":{"z":1,"a":2,"a":3},"thoughtSignature":"g"}],"api":"x","provider":"p","model":"m","responseModel":"r","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"reasoning":1,"totalTokens":10,"cost":{"total":0.25}},"stopReason":"toolUse","errorMessage":"e"}`,
	`{"role":"toolResult","toolCallId":"c","toolName":"read","content":[{"type":"text","text":"r"}],"details":{"k":[]},"isError":true,"usage":{"input":1}}`,
	`{"role":"bashExecution","command":"ls","output":"a\n","exitCode":1,"cancelled":false,"truncated":true,"fullOutputPath":"/x","excludeFromContext":true}`,
	`{"role":"custom","customType":"ext","content":"c","display":true,"details":1}`,
	`{"role":"branchSummary","summary":"s","fromId":"f"}`,
	`{"role":"compactionSummary","summary":"s","tokensBefore":99}`,
	`{"role":"system","content":"p","sections":{"b":"1","a":null},"toolsAdded":[{"name":"t"}],"toolsRemoved":["u"]}`,
	`{"role":"wizard","content":"an unknown role","spell":{}}`,
	`{"role":"user","content":null}`,
	`{"role":"user","content":7,"timestamp":"soon","usage":"many"}`,
	`{"role":"assistant","content":[null,"text",{"text":"no type"},{"type":"text"},{"type":"toolCall","id":null,"name":7,"arguments":null},[1]]}`,
	"{\"role\":\"user\",\"content\":\"\xff not UTF-8 \u2028\u2029\"}",
	`{"role":"user","role":"assistant","content":"the last role counts"}`,
}

func mustParse(t testing.TB, raw string) *Message {
	t.Helper()
	m, err := Parse([]byte(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return m
}

// A parsed message marshals to the bytes it came from.
func TestBytesAreKept(t *testing.T) {
	for _, s := range samples {
		m := mustParse(t, s)
		if string(m.JSON()) != s || string(m.Raw()) != s {
			t.Errorf("%s became %s", s, m.JSON())
		}
		for _, b := range m.Content {
			if b.Raw() != nil && !strings.Contains(s, string(b.JSON())) {
				t.Errorf("the block %s is not in %s", b.JSON(), s)
			}
		}
		if m := mustParse(t, " \n"+s+"\t\n"); string(m.JSON()) != s {
			t.Errorf("white space around it: %q", m.JSON())
		}
		var u Message
		if err := u.UnmarshalJSON([]byte(s)); err != nil || string(u.JSON()) != s {
			t.Errorf("unmarshalled: %q, %v", u.JSON(), err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, s := range []string{``, `null`, `[]`, `"user"`, `1`, `{}`, `{"role":""}`, `{"role":1}`, `{"role":null}`, `{"role":"user"`, `{"role":"user"}{}`, `{"role":"user"} x`, `{"role":"user",}`} {
		if m, err := Parse([]byte(s)); !errors.Is(err, ErrNotMessage) || m != nil {
			t.Errorf("%s: %v, %v", s, m, err)
		}
		var u Message
		if err := u.UnmarshalJSON([]byte(s)); err == nil {
			t.Errorf("%s is unmarshalled", s)
		}
	}
}

func TestViews(t *testing.T) {
	m := mustParse(t, samples[3])
	if m.Role != RoleAssistant || m.API != "x" || m.Provider != "p" || m.Model != "m" || m.ResponseModel != "r" || m.StopReason != StopToolUse || m.ErrorMessage != "e" {
		t.Errorf("%+v", m)
	}
	if want := (Usage{1, 2, 3, 4, 1, 10, 0.25}); *m.Usage != want || m.Usage.Total() != 10 || m.Usage.Prompt() != 8 {
		t.Errorf("%+v", m.Usage)
	}
	if b := m.Content; len(b) != 3 || b[0].Text != "t" || b[0].Signature != "sig" || b[1].Text != "\uFFFD" ||
		b[2].ID != "c" || b[2].Name != "read" || string(b[2].Arguments) != `{"z":1,"a":2,"a":3}` || b[2].Signature != "g" {
		t.Errorf("%+v", m.Content)
	}
	if calls := m.ToolCalls(); len(calls) != 1 || calls[0].ID != "c" {
		t.Errorf("calls %+v", calls)
	}
	m = mustParse(t, samples[4])
	if m.ToolCallID != "c" || m.ToolName != "read" || !m.IsError || string(m.Details) != `{"k":[]}` || m.Usage.Total() != 1 || m.ToolCalls() != nil {
		t.Errorf("%+v", m)
	}
	m = mustParse(t, samples[5])
	if m.Command != "ls" || m.Output != "a\n" || m.ExitCode == nil || *m.ExitCode != 1 || m.Cancelled || !m.Truncated || m.FullOutputPath != "/x" || !m.ExcludeFromContext {
		t.Errorf("%+v", m)
	}
	m = mustParse(t, samples[9])
	if want := []Section{{"b", "1"}, {"a", ""}}; !reflect.DeepEqual(m.Sections, want) || string(m.ToolsAdded) != `[{"name":"t"}]` || string(m.ToolsRemoved) != `["u"]` {
		t.Errorf("%+v", m)
	}
	m = mustParse(t, samples[13])
	if len(m.Content) != 6 || m.Content[2].Text != "no type" || m.Content[4].Type != BlockToolCall || m.Content[4].Arguments != nil {
		t.Errorf("%+v", m.Content)
	}
	for _, s := range []string{samples[11], samples[12]} {
		if m := mustParse(t, s); m.Content != nil || m.Timestamp != 0 || m.Usage != nil {
			t.Errorf("%s: %+v", s, m)
		}
	}
	if m := mustParse(t, samples[15]); m.Role != RoleAssistant {
		t.Errorf("role %s", m.Role)
	}
	if m := mustParse(t, samples[2]); m.Timestamp != 1_700_000_000_000 || !m.Time().Equal(time.UnixMilli(m.Timestamp)) {
		t.Errorf("time %v", m.Time())
	}
	if !mustParse(t, samples[0]).Time().IsZero() {
		t.Error("a time from nowhere")
	}
}

// What is built and written reads back as it was.
func TestBuiltReadsBack(t *testing.T) {
	code := 2
	for _, m := range []*Message{
		User("hi\n\"there\"\u2028", at),
		Assistant(at, ThinkingBlock("t", "sig"), TextBlock("x"), ToolCallBlock("c", "read", json.RawMessage(`{"p":[1]}`))),
		ToolResult("c", "read", "result", true, at),
		System("prompt", at),
		{Role: RoleUser, Content: []Block{ImageBlock("image/png", "aGk="), TextBlock("")}, Origin: OriginHook, Timestamp: 1},
		{
			Role: RoleAssistant, Content: []Block{TextBlock("x")}, API: "a", Provider: "p", Model: "m", ResponseModel: "r",
			Usage:      &Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Reasoning: 1, TotalCount: 10, Cost: 1.5},
			StopReason: StopLength, ErrorMessage: "e", Timestamp: 1,
		},
		{Role: RoleToolResult, ToolCallID: "c", ToolName: "n", Content: []Block{TextBlock("x")}, Details: json.RawMessage(`{}`), Usage: &Usage{TotalCount: 7}, Timestamp: 1},
		{Role: RoleBashExecution, Command: "ls", Output: "o", ExitCode: &code, Cancelled: true, Truncated: true, FullOutputPath: "/f", ExcludeFromContext: true, Timestamp: 1},
		{Role: RoleCustom, CustomType: "ext", Content: []Block{TextBlock("x")}, Display: true, Details: json.RawMessage(`1`), Timestamp: 1},
		{Role: RoleBranchSummary, Summary: "s", FromID: "f", Timestamp: 1},
		{Role: RoleCompactionSummary, Summary: "s", TokensBefore: 5, Timestamp: 1},
		{Role: RoleSystem, Content: []Block{TextBlock("p")}, Sections: []Section{{"a", "1"}}, ToolsAdded: json.RawMessage(`[1]`), ToolsRemoved: json.RawMessage(`["x"]`), Timestamp: 1},
	} {
		js := m.JSON()
		if !json.Valid(js) {
			t.Fatalf("%s", js)
		}
		back := mustParse(t, string(js))
		back.raw = nil
		for i := range back.Content {
			back.Content[i].raw = nil
			back.Content[i].text = nil
		}
		want := *m
		if want.Role == RoleAssistant && want.Usage == nil {
			want.Usage = &Usage{} // pi's readers want one
		}
		if !reflect.DeepEqual(*back, want) {
			t.Errorf("%s\nreads back as %+v\nwant          %+v", js, *back, want)
		}
		if got, err := m.MarshalJSON(); err != nil || string(got) != string(js) {
			t.Errorf("marshalled as %s, %v", got, err)
		}
	}
	if b := ToolCallBlock("c", "n", nil); !strings.Contains(string(b.JSON()), `"arguments":{}`) {
		t.Errorf("a call without arguments: %s", b.JSON())
	}
	if b := (Block{Type: BlockThinking, Signature: "enc", Redacted: true}); string(b.JSON()) != `{"type":"thinking","thinking":"","thinkingSignature":"enc","redacted":true}` {
		t.Errorf("%s", b.JSON())
	}
}

// A changed copy differs in what was changed and in nothing else.
func TestWithContent(t *testing.T) {
	for _, s := range samples {
		m := mustParse(t, s)
		c := m.WithContent([]Block{TextBlock("new")})
		if m.Text() == "new" || string(m.JSON()) != s {
			t.Errorf("%s itself was changed", s)
		}
		back := mustParse(t, string(c.JSON()))
		if back.Text() != "new" || c.Text() != "new" || len(back.Content) != 1 {
			t.Errorf("%s became %s", s, c.JSON())
		}
		back.Content, back.raw = m.Content, m.raw
		if !reflect.DeepEqual(back, m) {
			t.Errorf("%s: more than the content changed: %s", s, c.JSON())
		}
	}
}

func TestWithRawContent(t *testing.T) {
	for _, c := range []struct{ msg, content, want string }{
		{`{"role":"user","content":"a","x":1}`, `"new"`, `{"role":"user","content":"new","x":1}`},
		{`{"role":"user","x":1}`, `[{"type":"text","text":"new","y":2}]`, `{"role":"user","x":1,"content":[{"type":"text","text":"new","y":2}]}`},
		{`{"role":"toolResult","content":[]}`, `"new"`, `{"role":"toolResult","content":[{"type":"text","text":"new"}]}`},
		{`{"role":"assistant","content":[]}`, `"new"`, `{"role":"assistant","content":[{"type":"text","text":"new"}]}`},
	} {
		got := mustParse(t, c.msg).WithRawContent(json.RawMessage(c.content))
		if string(got.JSON()) != c.want || got.Text() != "new" {
			t.Errorf("%s with %s is %s, want %s", c.msg, c.content, got.JSON(), c.want)
		}
	}
	if got := User("a", at).WithRawContent(json.RawMessage(`"new"`)); got.Text() != "new" || mustParse(t, string(got.JSON())).Text() != "new" {
		t.Errorf("%s", got.JSON())
	}
}

func TestParseContent(t *testing.T) {
	for content, want := range map[string]int{
		`"text"`: 1, `[{"type":"text","text":"a"},{}]`: 2, `[]`: 0, `null`: 0, `{}`: 0, `7`: 0, ``: 0, `[`: 0, ` "x" `: 1,
	} {
		if got := ParseContent([]byte(content)); len(got) != want {
			t.Errorf("%s gives %d blocks, want %d", content, len(got), want)
		}
	}
	blocks := mustParse(t, samples[1]).Content
	if got := string(EncodeBlocks(blocks)); !strings.Contains(samples[1], got) {
		t.Errorf("%s", got)
	}
	if got := string(EncodeBlocks(nil)); got != "[]" {
		t.Errorf("%s", got)
	}
}

func TestText(t *testing.T) {
	for s, want := range map[string]string{samples[0]: "hi", samples[1]: "a\nb", samples[2]: "", samples[7]: ""} {
		if got := mustParse(t, s).Text(); got != want {
			t.Errorf("%s: text %q, want %q", s, got, want)
		}
	}
}

func TestSource(t *testing.T) {
	for _, c := range []struct {
		raw   string
		from  Origin
		words bool
		turn  bool
	}{
		{`{"role":"user","content":"a"}`, OriginUser, true, true},
		{`{"role":"user","content":"a","origin":"injected"}`, OriginInjected, false, true},
		{`{"role":"user","content":"a","origin":"task"}`, OriginTask, false, true},
		{`{"role":"custom","content":"a"}`, OriginInjected, false, true},
		{`{"role":"custom","content":"a","origin":"user"}`, OriginUser, false, true},
		{`{"role":"bashExecution","command":"ls"}`, OriginShell, false, true},
		{`{"role":"branchSummary","summary":"s"}`, OriginInjected, false, true},
		{`{"role":"compactionSummary","summary":"s"}`, OriginInjected, false, false},
		{`{"role":"assistant","content":[]}`, OriginInjected, false, false},
		{`{"role":"toolResult","content":[]}`, OriginInjected, false, false},
		{`{"role":"system","content":"s"}`, OriginInjected, false, false},
	} {
		m := mustParse(t, c.raw)
		if m.Source() != c.from || m.UserWords() != c.words || m.StartsTurn() != c.turn {
			t.Errorf("%s: %s %v %v", c.raw, m.Source(), m.UserWords(), m.StartsTurn())
		}
	}
}

func TestRoles(t *testing.T) {
	known := 0
	for _, s := range samples {
		if m := mustParse(t, s); m.Role.Known() != (m.Role != "wizard") {
			t.Errorf("%s: known %v", m.Role, m.Role.Known())
		} else if m.Role.Known() {
			known++
		}
	}
	if known < 8 || Role("").Known() {
		t.Error("roles")
	}
}

func TestUsage(t *testing.T) {
	var none *Usage
	if none.Total() != 0 || none.Prompt() != 0 {
		t.Error("no usage costs something")
	}
	for s, want := range map[string]*Usage{
		`null`: nil, `7`: nil, ``: nil, `{`: nil, `{}`: {}, ` {"input":3,"output":-5,"totalTokens":"x"} `: {Input: 3},
		`{"input":1e3,"cacheWrite":2.9}`: {Input: 1000, CacheWrite: 2},
	} {
		if got := ParseUsage([]byte(s)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", s, got, want)
		}
	}
	u := Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Cost: 0.125}
	if u.Total() != 10 || u.Prompt() != 8 {
		t.Errorf("total %d, prompt %d", u.Total(), u.Prompt())
	}
	back := ParseUsage(u.JSON())
	if back.TotalCount != 10 || back.Cost != 0.125 || !json.Valid(u.JSON()) {
		t.Errorf("%s reads back as %+v", u.JSON(), back)
	}
}
