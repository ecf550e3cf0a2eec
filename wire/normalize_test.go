package wire

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clew-dev/clew/message"
)

var testTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestD06PendingErrorNamesTheCalls(t *testing.T) {
	calls := make([]message.Block, 5)
	for i := range calls {
		calls[i] = message.ToolCallBlock("c"+string(rune('1'+i)), "read", nil)
	}
	msgs := []*message.Message{
		message.User("go", testTime), message.Assistant(testTime, calls...),
		message.ToolResult("c2", "read", "ok", false, testTime),
		message.User("what about the others?", testTime),
	}
	_, _, err := Build(msgs, Anthropic, Target{}, Options{})
	var pending *PendingError
	if !errors.As(err, &pending) {
		t.Fatalf("got %v", err)
	}
	if c := pending.Calls; len(c) != 4 || c[0] != (message.Call{Answer: 1, Block: &msgs[1].Content[0], Result: -1}) || c[1].Block.ID != "c3" {
		t.Errorf("calls %+v", pending.Calls)
	}
	if msg := err.Error(); !strings.Contains(msg, `read ("c1")`) || !strings.Contains(msg, "1 more") {
		t.Errorf("message %q", msg)
	}
	if _, _, err := Build(msgs, Anthropic, Target{}, Options{CloseOpenCalls: true}); err != nil {
		t.Errorf("settled: %v", err)
	}
}

func TestProfiles(t *testing.T) {
	for _, name := range append(ProfileNames(), "openai") {
		if _, err := ProfileByName(name); err != nil {
			t.Error(err)
		}
	}
	if _, err := ProfileByName("nope"); err == nil || !strings.Contains(err.Error(), "anthropic, openai-chat, openai-responses, gemini, pi and openai") {
		t.Errorf("the error of an unknown name must list the names: %v", err)
	}
	noPlace := Anthropic
	noPlace.MidSystem = MidSystemMessage
	narrow := OpenAIChat
	narrow.CallIDMax = 9
	for _, p := range []Profile{{}, noPlace, narrow} {
		if _, _, err := Build(nil, p, Target{}, Options{}); err == nil || errors.As(err, new(*ValidationError)) {
			t.Errorf("profile %q must be refused: %v", p.Name, err)
		}
	}
}

func TestMidSystemFold(t *testing.T) {
	folding := Anthropic
	folding.MidSystem = MidSystemFold
	msgs := parseAll(
		t,
		`{"role":"system","content":"base","sections":{"a":"A","b":"B","c":"C"}}`,
		`{"role":"user","content":"hi"}`,
		`{"role":"system","content":"more","sections":{"a":"","c":"C2"}}`,
		`{"role":"system","sections":{"a":"A3"}}`,
	)
	r, _, err := Build(msgs, folding, Target{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"system":[{"type":"text","text":"base\n\nmore\n\nB\n\nC2\n\nA3"}],"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`
	if got := string(r.Body(folding, nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestIDMapIsInjective gives ids that are alike once they are mapped.
func TestIDMapIsInjective(t *testing.T) {
	m := newIDMap(16, 0)
	long := strings.Repeat("x", 30)
	seen := map[string]string{}
	for _, id := range []string{"", "", "a b", "a_b", "a.b", "a_b", "a|fc_1", "a|fc_2", "a", long, long + "y", long, "é", "\xff", "call"} {
		sent, _ := m.assign(id)
		if len(sent) > 16 || sent == "" || !idChars(sent) {
			t.Errorf("%q is sent as %q", id, sent)
		}
		if other, ok := seen[sent]; ok {
			t.Errorf("%q and %q are both sent as %q", other, id, sent)
		}
		seen[sent] = id
	}
}

func TestFormWrapsSafely(t *testing.T) {
	forms := []Form{
		compactionForm, branchForm, systemForm,
		{message.RoleUser, "[Compressed History]\n", ""},
		{message.RoleUser, "<<<", ">>>"},
		{message.RoleUser, "", "終わり"},
		{message.RoleUser, "<a><b>", "</b></a><!-- </b2> -->"},
	}
	texts := []string{
		"", "plain", "</summary>", "<\\/summary>", "<\\\\/summary>", "</SUMMARY >", "< /\n summary", "</s</summary>", "</",
		">>>", ">\\>>", ">>>>>>", "終わり終わり", "</b></a>", "</b2>", "<\\/b2></system-update>", "\\</summary>\\",
	}
	for _, f := range forms {
		for _, text := range texts {
			wrapped := f.Wrap(text)
			inner := strings.TrimSuffix(strings.TrimPrefix(wrapped, f.Open), f.Close)
			for _, m := range f.marks() {
				if strings.Contains(strings.ToLower(inner), strings.ToLower(m.first+m.rest)) && m.tag {
					t.Errorf("%q in %q can close its wrapper: %q", text, f.Close, wrapped)
				}
				if !m.tag && strings.Contains(inner, m.first+m.rest) {
					t.Errorf("%q in %q can close its wrapper: %q", text, f.Close, wrapped)
				}
			}
			if got, ok := f.Unwrap(wrapped); !ok || got != text {
				t.Errorf("%q comes back as %q, %v", text, got, ok)
			}
		}
	}
	if _, ok := compactionForm.Unwrap("something else"); ok {
		t.Error("a text of another form was unwrapped")
	}
}

func TestSummaryFormIsStored(t *testing.T) {
	f := Form{message.RoleAssistant, "[COMPACTED_CONTEXT]\n", "\n[/COMPACTED_CONTEXT]"}
	m := &message.Message{Role: message.RoleCompactionSummary, Summary: "x", Details: []byte(`{"clew":{"form":` + string(f.JSON()) + `}}`)}
	if got := SummaryForm(m); got != f {
		t.Errorf("got %+v", got)
	}
	for _, details := range []string{`null`, `{"clew":{}}`, `{"clew":{"form":[]}}`, `{"clew":{"form":{"role":"user"}}}`, `"x"`} {
		m.Details = []byte(details)
		if got := SummaryForm(m); got != compactionForm {
			t.Errorf("%s gives %+v", details, got)
		}
	}
}

func TestFromNamesTheMessages(t *testing.T) {
	msgs := parseAll(
		t,
		`{"role":"assistant","content":[{"type":"toolCall","id":"a","name":"read","arguments":{}},{"type":"toolCall","id":"b","name":"read","arguments":{}}]}`,
		`{"role":"user","content":"one"}`,
		`{"role":"toolResult","toolCallId":"a","content":"ok"}`,
		`{"role":"user","content":""}`,
		`{"role":"user","content":"two"}`,
	)
	for name, want := range map[string][][]int{
		"anthropic":        {nil, {0}, {2, 1, 4}},
		"openai-chat":      {{0}, {2}, nil, {1}, {4}},
		"openai-responses": {{0}, {0}, {2}, nil, {1}, {4}},
		"gemini":           {nil, {0}, {2}, {1, 4}},
		"pi":               {{0}, {1}, {2}, {3}, {4}},
	} {
		r, _, err := Build(msgs, profile(t, name), Target{}, Options{CloseOpenCalls: true})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(r.From, want) {
			t.Errorf("%s: got %v, want %v", name, r.From, want)
		}
	}
}

// TestBuildAtOnce: contexts share messages, so they are read by several at once.
func TestBuildAtOnce(t *testing.T) {
	msgs := append(turnOf(t, 1), turnOf(t, 2)...)
	var wg sync.WaitGroup
	bodies := make([][]byte, 4)
	for i := range bodies {
		wg.Go(func() {
			for _, p := range profiles() {
				r, _, err := Build(msgs, p, targets[0], Options{})
				if err != nil {
					t.Error(err)
					return
				}
				bodies[i] = append(bodies[i], r.Body(p, nil)...)
			}
		})
	}
	wg.Wait()
	for _, b := range bodies[1:] {
		if !bytes.Equal(b, bodies[0]) {
			t.Error("not the same for everyone")
		}
	}
}
