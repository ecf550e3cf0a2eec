package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/message"
)

var allRules = []Rule{
	RuleJSON, RuleUTF8, RuleNotEmpty, RuleRole, RuleStart, RuleAlternate, RuleBlock, RuleCallWithout,
	RuleResultWithout, RuleOrder, RuleCallID, RuleUniqueID, RuleToolName, RuleArguments, RuleThinking,
	RuleLoop, RuleImage, RuleSummary, RuleSystem, RuleTools, RuleSize,
}

// sound are lists that each API takes, written by hand.
var sound = map[string][]string{
	"anthropic": {
		`{"role":"user","content":"hi"}`,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"r"},{"type":"tool_use","id":"a","name":"read","input":{}},{"type":"tool_use","id":"b","name":"read","input":{"x":1}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"ok"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]},{"type":"tool_result","tool_use_id":"b","content":"ok","is_error":true},{"type":"text","text":"and"}]}`,
		`{"role":"assistant","content":[{"type":"text","text":"done"},{"type":"server_tool_use","id":"srv","name":"web_search","input":{}}]}`,
	},
	"openai-chat": {
		`{"role":"system","content":"be careful"}`,
		`{"role":"assistant","content":"from before"}`,
		`{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}`,
		`{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"read","arguments":"{}"}}]}`,
		`{"role":"tool","tool_call_id":"a","content":"ok"}`,
		`{"role":"tool","tool_call_id":"b","content":"ok"}`,
		`{"role":"developer","content":"update"}`,
	},
	"openai-responses": {
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"},{"type":"input_image","detail":"auto","image_url":"https://example.com/a.png"}]}`,
		`{"type":"reasoning","id":"rs_1","summary":[]}`,
		`{"type":"message","role":"assistant","id":"msg_1","status":"completed","content":[{"type":"output_text","text":"reading","annotations":[]}]}`,
		`{"type":"function_call","id":"fc_1","call_id":"a","name":"read","arguments":"{}"}`,
		`{"type":"function_call","call_id":"b","name":"read","arguments":"{}"}`,
		`{"type":"function_call_output","call_id":"a","output":"ok"}`,
		`{"type":"function_call_output","call_id":"b","output":[{"type":"input_text","text":"ok"}]}`,
		`{"role":"user","content":"more"}`,
	},
	"gemini": {
		`{"role":"user","parts":[{"text":"hi"},{"inlineData":{"mimeType":"image/png","data":"aGk="}}]}`,
		`{"role":"model","parts":[{"text":"hm","thought":true,"thoughtSignature":"c2ln"},{"functionCall":{"id":"a","name":"read","args":{}},"thoughtSignature":"c2lo"},{"functionCall":{"id":"b","name":"read","args":{}}}]}`,
		`{"role":"user","parts":[{"functionResponse":{"id":"a","name":"read","response":{"output":"ok"}}},{"functionResponse":{"id":"b","name":"read","response":{"error":"no"},"parts":[{"inlineData":{"mimeType":"image/png","data":"aGk="}}]}}]}`,
		`{"role":"user","parts":[{"text":"and"}]}`,
		`{"role":"model","parts":[{"text":"done","thoughtSignature":"c2lp"}]}`,
	},
	"pi": {
		`{"role":"system","content":"x"}`, `{"role":"assistant","content":[]}`, `{"role":"toolResult","toolCallId":"x","content":[]}`, `{"role":"user","content":""}`,
	},
}

func request(name string, msgs ...string) *Request {
	r := &Request{Profile: name}
	for _, m := range msgs {
		r.Messages = append(r.Messages, json.RawMessage(m))
	}
	return r
}

func profile(t testing.TB, name string) Profile {
	t.Helper()
	p, err := ProfileByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestValidateTakesSoundLists(t *testing.T) {
	for _, name := range ProfileNames() {
		if err := Validate(request(name, sound[name]...), profile(t, name), nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// broken is a sound list with one change, and the rule that this breaks.
type broken struct {
	rule     Rule
	profile  string
	message  int    // that is changed
	old, new string // in it; an empty old replaces all of it, an empty new takes it out
}

var brokenLists = []broken{
	{RuleJSON, "anthropic", 0, ``, `{"role":"user","content":"hi"`},
	{RuleJSON, "anthropic", 0, ``, `[]`},
	{RuleJSON, "anthropic", 0, `"hi"`, `7`},
	{RuleJSON, "anthropic", 0, `{"role"`, ` {"role"`},
	{RuleJSON, "anthropic", 1, `"id":"a"`, `"id":7`},
	{RuleJSON, "anthropic", 3, `{"type":"text","text":"done"}`, `"done"`},
	{RuleJSON, "openai-chat", 2, `"text":"hi"`, `"text":null`},
	{RuleJSON, "openai-responses", 6, `[{"type":"input_text","text":"ok"}]`, `{}`},
	{RuleJSON, "gemini", 0, `"parts":[`, `"part":[`},
	{RuleJSON, "gemini", 2, `"response":{"output":"ok"}`, `"response":"ok"`},
	{RuleJSON, "pi", 0, ``, `null`},
	{RuleUTF8, "anthropic", 0, `hi`, `\ud83d`},
	{RuleUTF8, "gemini", 0, `hi`, "\xff"},
	{RuleUTF8, "openai-chat", 3, `"arguments":"{}"`, `"arguments":"{\"a\":\"\\ud83d\"}"`},
	{RuleUTF8, "openai-responses", 3, `"arguments":"{}"`, `"arguments":"{\"a\":\"\\udc00\"}"`},
	{RuleUTF8, "pi", 3, `""`, `"\udc00"`},
	{RuleNotEmpty, "anthropic", 0, `"hi"`, `" "`},
	{RuleNotEmpty, "anthropic", 0, `"hi"`, `[]`},
	{RuleNotEmpty, "anthropic", 2, `[{"type":"text","text":"ok"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]`, `[]`},
	{RuleNotEmpty, "anthropic", 2, `"content":"ok"`, `"content":""`},
	{RuleNotEmpty, "openai-chat", 1, `"from before"`, `null`},
	{RuleNotEmpty, "openai-chat", 4, `"ok"`, `"\n"`},
	{RuleNotEmpty, "openai-responses", 7, `"more"`, `""`},
	{RuleNotEmpty, "gemini", 3, `{"text":"and"}`, `{"text":"\t"}`},
	{RuleNotEmpty, "gemini", 3, `{"text":"and"}`, ``},
	{RuleNotEmpty, "openai-responses", 2, ``, `{"type":"message","role":"assistant","content":[]}`},
	{RuleRole, "anthropic", 0, `"user"`, `"system"`},
	{RuleRole, "openai-chat", 1, `"assistant"`, `"model"`},
	{RuleRole, "openai-responses", 0, `"role":"user"`, `"role":"tool"`},
	{RuleRole, "gemini", 1, `"model"`, `"assistant"`},
	{RuleRole, "pi", 0, `"system"`, `"bashExecution"`},
	{RuleStart, "anthropic", 0, ``, ``},
	{RuleStart, "gemini", 0, ``, ``},
	{RuleAlternate, "anthropic", 0, `"role":"user"`, `"role":"assistant"`},
	{RuleAlternate, "anthropic", 3, `"role":"assistant"`, `"role":"user"`},
	{RuleAlternate, "gemini", 4, `"model"`, `"user"`},
	{RuleBlock, "anthropic", 0, `"hi"`, `[{"type":"thinking","thinking":"x","signature":"s"},{"type":"text","text":"hi"}]`},
	{RuleBlock, "anthropic", 0, `"hi"`, `[{"type":"widget"}]`},
	{RuleBlock, "anthropic", 2, `{"type":"text","text":"ok"}`, `{"type":"tool_use","id":"z","name":"x","input":{}}`},
	{RuleBlock, "anthropic", 3, `{"type":"text","text":"done"}`, `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}`},
	{RuleBlock, "anthropic", 3, `"server_tool_use"`, `"document"`},
	{RuleBlock, "openai-chat", 1, `"from before"`, `[{"type":"audio"}]`},
	{RuleBlock, "openai-chat", 4, `"ok"`, `[{"type":"image_url","image_url":{"url":"https://example.com"}}]`},
	{RuleBlock, "openai-chat", 3, `"type":"function","function"`, `"type":"custom","function"`},
	{RuleBlock, "openai-responses", 2, `"output_text"`, `"input_text"`},
	{RuleBlock, "openai-responses", 7, ``, `{"type":"custom_tool_call","call_id":"x"}`},
	{RuleBlock, "gemini", 3, `{"text":"and"}`, `{"executableCode":{}}`},
	{RuleCallWithout, "anthropic", 2, `{"type":"tool_result","tool_use_id":"b","content":"ok","is_error":true},`, ``},
	{RuleCallWithout, "anthropic", 3, `"type":"server_tool_use"`, `"type":"tool_use"`},
	{RuleCallWithout, "openai-chat", 5, ``, ``},
	{RuleCallWithout, "openai-chat", 4, ``, `{"role":"assistant","content":"too early"}`},
	{RuleCallWithout, "openai-responses", 6, ``, ``},
	{RuleCallWithout, "gemini", 2, `,{"functionResponse":{"id":"b","name":"read","response":{"error":"no"},"parts":[{"inlineData":{"mimeType":"image/png","data":"aGk="}}]}}`, ``},
	{RuleResultWithout, "anthropic", 2, `"tool_use_id":"b"`, `"tool_use_id":"c"`},
	{RuleResultWithout, "anthropic", 2, `"tool_use_id":"b"`, `"tool_use_id":"a"`},
	{RuleResultWithout, "openai-chat", 3, ``, ``},
	{RuleResultWithout, "openai-responses", 5, `"call_id":"a"`, `"call_id":"A"`},
	{RuleResultWithout, "gemini", 2, `"id":"b"`, `"id":"c"`},
	{RuleOrder, "anthropic", 2, `[{"type":"tool_result","tool_use_id":"a"`, `[{"type":"text","text":"first"},{"type":"tool_result","tool_use_id":"a"`},
	{RuleOrder, "anthropic", 1, `"id":"a","name":"read","input":{}},{"type":"tool_use","id":"b"`, `"id":"b","name":"read","input":{}},{"type":"tool_use","id":"a"`},
	{RuleOrder, "openai-chat", 4, ``, `{"role":"user","content":"between"}`},
	{RuleOrder, "openai-responses", 5, ``, `{"role":"user","content":"between"}`},
	{RuleOrder, "gemini", 2, `[{"functionResponse"`, `[{"text":"more"},{"functionResponse"`},
	{RuleCallID, "anthropic", 1, `"id":"a"`, `"id":"a.b"`},
	{RuleCallID, "anthropic", 1, `"id":"a"`, `"id":""`},
	{RuleCallID, "openai-chat", 3, `"id":"a"`, `"id":"` + strings.Repeat("a", 41) + `"`},
	{RuleCallID, "openai-responses", 3, `"call_id":"a"`, `"call_id":"` + strings.Repeat("a", 65) + `"`},
	{RuleCallID, "openai-responses", 3, `"id":"fc_1"`, `"id":"rs_1"`},
	{RuleCallID, "openai-responses", 2, `"id":"msg_1"`, `"id":"` + strings.Repeat("m", 65) + `"`},
	{RuleCallID, "gemini", 1, `"id":"a"`, `"id":"a b"`},
	{RuleUniqueID, "anthropic", 1, `"id":"b"`, `"id":"a"`},
	{RuleUniqueID, "openai-chat", 3, `"id":"b"`, `"id":"a"`},
	{RuleUniqueID, "openai-responses", 4, `"call_id":"b"`, `"call_id":"a"`},
	{RuleUniqueID, "gemini", 1, `"id":"b"`, `"id":"a"`},
	{RuleToolName, "anthropic", 1, `"name":"read"`, `"name":"re ad"`},
	{RuleToolName, "openai-chat", 3, `"name":"read"`, `"name":""`},
	{RuleToolName, "openai-responses", 3, `"name":"read"`, `"name":"` + strings.Repeat("r", 65) + `"`},
	{RuleToolName, "gemini", 1, `"name":"read"`, `"name":"1read"`},
	{RuleToolName, "gemini", 2, `"name":"read"`, `"name":"write"`},
	{RuleArguments, "anthropic", 1, `"input":{}`, `"input":"{}"`},
	{RuleArguments, "openai-chat", 3, `"arguments":"{}"`, `"arguments":"{"`},
	{RuleArguments, "openai-responses", 3, `"arguments":"{}"`, `"arguments":"[]"`},
	{RuleArguments, "gemini", 1, `"args":{}`, `"args":null`},
	{RuleThinking, "anthropic", 1, `"signature":"s"`, `"signature":""`},
	{RuleThinking, "anthropic", 3, `{"type":"server_tool_use","id":"srv","name":"web_search","input":{}}`, `{"type":"thinking","thinking":"x","signature":"s"}`},
	{RuleThinking, "openai-responses", 2, ``, `{"type":"reasoning","id":"rs_2","summary":[]}`},
	{RuleThinking, "openai-responses", 7, ``, `{"type":"reasoning","id":"rs_2","summary":[]}`},
	{RuleThinking, "gemini", 1, `"thought":true,"thoughtSignature":"c2ln"`, `"thought":true`},
	{RuleImage, "anthropic", 2, `image/png`, `image/tiff`},
	{RuleImage, "anthropic", 2, `aGk=`, `aGk`},
	{RuleImage, "openai-chat", 2, `data:image/png;base64,aGk=`, `file:///etc/passwd`},
	{RuleImage, "openai-chat", 2, `;base64,`, `,`},
	{RuleImage, "openai-responses", 0, `https://example.com/a.png`, `data:image/svg+xml;base64,aGk=`},
	{RuleImage, "gemini", 0, `aGk=`, `a\\k=`},
}

func (b broken) list(t *testing.T) []string {
	t.Helper()
	msgs := slices.Clone(sound[b.profile])
	switch {
	case b.old == "" && b.new == "":
		return slices.Delete(msgs, b.message, b.message+1)
	case b.old == "":
		msgs[b.message] = b.new
	default:
		changed := strings.Replace(msgs[b.message], b.old, b.new, 1)
		if changed == msgs[b.message] {
			t.Fatalf("%q is not in %s", b.old, msgs[b.message])
		}
		msgs[b.message] = changed
	}
	return msgs
}

// TestD08ValidateNoticesEveryRule breaks each rule in each form that has it.
func TestD08ValidateNoticesEveryRule(t *testing.T) {
	seen := map[Rule]bool{}
	for i, b := range brokenLists {
		t.Run(fmt.Sprintf("%s/%s/%d", b.rule, b.profile, i), func(t *testing.T) {
			msgs := b.list(t)
			wantBroken(t, b.rule, Validate(request(b.profile, msgs...), profile(t, b.profile), nil))
		})
		seen[b.rule] = true
	}
	for _, c := range brokenParts {
		t.Run(fmt.Sprintf("%s/%s/%s%s", c.rule, c.profile, c.system, c.tools), func(t *testing.T) {
			r := request(c.profile, sound[c.profile]...)
			if c.system != "" {
				r.System = json.RawMessage(c.system)
			}
			if c.tools != "" {
				r.Tools = json.RawMessage(c.tools)
			}
			wantBroken(t, c.rule, Validate(r, profile(t, c.profile), nil))
		})
		seen[c.rule] = true
	}
	for name := range sound {
		wantBroken(t, RuleNotEmpty, Validate(request(name), profile(t, name), nil))
		small := profile(t, name)
		small.MaxBytes = 10
		wantBroken(t, RuleSize, Validate(request(name, sound[name]...), small, nil))
	}
	// These have tests of their own: RuleSummary needs the messages.
	seen[RuleSize], seen[RuleSummary], seen[RuleLoop] = true, true, true
	for _, r := range allRules {
		if !seen[r] {
			t.Errorf("no list breaks rule %q", r)
		}
	}
}

func wantBroken(t *testing.T, rule Rule, err error) {
	t.Helper()
	var ve *ValidationError
	if !errors.As(err, &ve) || !slices.ContainsFunc(ve.Violations, func(v Violation) bool { return v.Rule == rule }) {
		t.Errorf("rule %q is broken, but Validate says %v", rule, err)
	}
}

// brokenParts are parts of a request beside its messages.
var brokenParts = []struct {
	rule          Rule
	profile       string
	system, tools string
}{
	{RuleSystem, "anthropic", `[{"type":"text","text":" "}]`, ""},
	{RuleSystem, "anthropic", `[]`, ""},
	{RuleSystem, "anthropic", `{}`, ""},
	{RuleSystem, "anthropic", `[{"type":"image"}]`, ""},
	{RuleUTF8, "anthropic", `"\ud800"`, ""},
	{RuleSystem, "openai-chat", `"x"`, ""},
	{RuleSystem, "openai-responses", `["x"]`, ""},
	{RuleSystem, "gemini", `{"parts":[]}`, ""},
	{RuleSystem, "gemini", `"x`, ""},
	{RuleSystem, "pi", `"x"`, ""},
	{RuleTools, "anthropic", "", `{}`},
	{RuleTools, "anthropic", "", `[{"name":"a","input_schema":{}},{"name":"a","input_schema":{}}]`},
	{RuleTools, "anthropic", "", `[{"name":"a"}]`},
	{RuleTools, "openai-chat", "", `[{"type":"function","function":{"name":"a b","parameters":{}}}]`},
	{RuleTools, "openai-chat", "", `[{"name":"a","parameters":{}}]`},
	{RuleTools, "openai-responses", "", `[{"type":"function","name":"","parameters":{}}]`},
	{RuleTools, "gemini", "", `[{"functionDeclarations":[{"name":"9","parametersJsonSchema":{}}]}]`},
	{RuleTools, "gemini", "", `[`},
	{RuleTools, "pi", "", `[{}]`},
}

// TestD10ValidateComparesWithWhatCame changes what is signed, and gives what no
// API gave.
func TestD10ValidateComparesWithWhatCame(t *testing.T) {
	msgs := parseAll(
		t,
		`{"role":"assistant","provider":"p","model":"m","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"s"},{"type":"thinking","thinking":"","redacted":true,"thinkingSignature":"r"},{"type":"server_tool_use","id":"srv","name":"web_search","input":{}}]}`,
		`{"role":"assistant","provider":"p","model":"m","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"c2ln"},{"type":"toolCall","id":"a","name":"read","arguments":{},"thoughtSignature":"c2lo"},{"type":"text","text":"done","textSignature":"c2lp"}]}`,
		`{"role":"assistant","provider":"p","model":"m","content":[{"type":"thinking","thinking":"","thinkingSignature":"{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]}"}]}`,
		`{"role":"assistant","provider":"p","model":"m","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"reasoning_content"}]}`,
	)
	for _, c := range []broken{
		{"", "anthropic", 1, `"thinking":"hm"`, `"thinking":"\u0068m"`},
		{RuleThinking, "anthropic", 1, `"thinking":"hm"`, `"thinking":"h"`},
		{RuleThinking, "anthropic", 1, `"data":"r"`, `"data":"s"`},
		{RuleThinking, "anthropic", 1, `"signature":"s"`, `"signature":"x"`},
		{RuleBlock, "anthropic", 3, `"input":{}`, `"input":{"query":"x"}`},
		{"", "openai-chat", 3, `"hm"`, `"\u0068m"`},
		{RuleThinking, "openai-chat", 3, `"hm"`, `"hm..."`},
		{"", "openai-responses", 0, `"hi"`, `"ho"`},
		{RuleThinking, "openai-responses", 1, `[]`, `[ ]`},
		{"", "gemini", 3, `"and"`, `"or"`},
		{RuleThinking, "gemini", 1, `"text":"hm"`, `"text":"h"`},
		{RuleThinking, "gemini", 1, `"args":{}`, `"args":{"x":1}`},
		{RuleThinking, "gemini", 4, `"done"`, `"Done"`},
	} {
		err := Validate(request(c.profile, c.list(t)...), profile(t, c.profile), msgs)
		if c.rule == "" {
			if err != nil {
				t.Errorf("%s, %q for %q: %v", c.profile, c.new, c.old, err)
			}
			continue
		}
		wantBroken(t, c.rule, err)
	}
	// What stands there with half a character cannot have come.
	half := parseAll(t, `{"role":"assistant","content":[{"type":"thinking","thinking":"h\ud83d","thinkingSignature":"s"}]}`)
	wantBroken(t, RuleThinking, Validate(request(
		"anthropic",
		`{"role":"user","content":"hi"}`,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"h`+"\uFFFD"+`","signature":"s"},{"type":"text","text":"x"}]}`,
	), Anthropic, half))
}

// TestOpenLoopBeginsWithThinking: where a request turns thinking on, the tool loop at its end must begin with it.
func TestOpenLoopBeginsWithThinking(t *testing.T) {
	const (
		user   = `{"role":"user","content":"hi"}`
		call   = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"read","input":{}}]}`
		think  = `{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use","id":"a","name":"read","input":{}}]}`
		secret = `{"role":"assistant","content":[{"type":"redacted_thinking","data":"r"},{"type":"tool_use","id":"a","name":"read","input":{}}]}`
		result = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"ok"}]}`
		typed  = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"ok"},{"type":"text","text":"and"}]}`
		done   = `{"role":"assistant","content":"done"}`
	)
	for _, c := range []struct {
		name string
		msgs []string
		open int
		ok   bool
	}{
		{"no loop", []string{user}, 1, true},
		{"without", []string{user, call, result}, 1, false},
		{"typed along", []string{user, call, typed}, 1, false},
		{"with", []string{user, think, result}, 1, true},
		{"redacted", []string{user, secret, typed}, 1, true},
		{"not each answer", []string{user, think, result, strings.ReplaceAll(call, `"a"`, `"b"`), strings.ReplaceAll(result, `"a"`, `"b"`)}, 1, true},
		{"lost at its beginning", []string{user, call, result, strings.ReplaceAll(think, `"a"`, `"b"`), strings.ReplaceAll(result, `"a"`, `"b"`)}, 1, false},
		{"typed before it", []string{user, call, typed, strings.ReplaceAll(think, `"a"`, `"b"`), strings.ReplaceAll(result, `"a"`, `"b"`)}, 3, true},
		{"answered", []string{user, call, result, done, user}, 5, true},
	} {
		r := request("anthropic", c.msgs...)
		if got := r.OpenLoop(); got != c.open {
			t.Errorf("%s: the loop begins at %d, want %d", c.name, got, c.open)
		}
		if err := Validate(r, Anthropic, nil); err != nil {
			t.Errorf("%s, without thinking: %v", c.name, err)
		}
		r.Thinks = true
		switch err := Validate(r, Anthropic, nil); {
		case c.ok && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case !c.ok:
			wantBroken(t, RuleLoop, err)
		}
	}
}

func TestValidateCountsCompactionSummaries(t *testing.T) {
	summary := &message.Message{Role: message.RoleCompactionSummary, Summary: "so far"}
	other := &message.Message{Role: message.RoleCompactionSummary, Summary: "further"}
	text := func(m *message.Message) string {
		b, _ := json.Marshal(SummaryForm(m).Wrap(m.Summary))
		return `{"role":"user","content":` + string(b) + `}`
	}
	both := request("openai-chat", text(summary), text(other))
	wantBroken(t, RuleSummary, Validate(both, OpenAIChat, []*message.Message{summary, other}))
	twice := request("openai-chat", text(summary), text(summary))
	wantBroken(t, RuleSummary, Validate(twice, OpenAIChat, []*message.Message{summary}))
	pasted := message.User(SummaryForm(summary).Wrap(summary.Summary), testTime)
	if err := Validate(twice, OpenAIChat, []*message.Message{summary, pasted}); err != nil {
		t.Errorf("a user who pastes a summary makes no second one: %v", err)
	}
}

func TestValidationErrorSaysWhereAndHowMany(t *testing.T) {
	err := Validate(request("anthropic", `{"role":"assistant","content":[]}`, `{"role":"assistant","content":[]}`), Anthropic, nil)
	want := "the list is not one that the anthropic API takes: message 0: the first message must be the user's (start); " +
		"message 0: the message is empty (not-empty); message 1: the message is empty (not-empty); and 1 more"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
