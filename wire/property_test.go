package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/clew-dev/clew/message"
)

// targets are who the lists of the generator are for: the maker of some of the
// answers.
var targets = []Target{
	{Provider: "p", Model: "m", TakesImages: true},
	{Provider: "p", Model: "m"},
	{},
}

func lists(t *testing.T, n int) (all [][]string, count map[string]int) {
	count = map[string]int{}
	if testing.Short() || underRace {
		n /= 6
	}
	for seed := range uint64(n) {
		g := newGen(seed)
		all = append(all, g.list(24))
		for what := range g.count {
			count[what]++
		}
	}
	return all, count
}

// sendable fails the test on any error but that there is nothing to send.
func sendable(t *testing.T, err error) bool {
	t.Helper()
	var ve *ValidationError
	if errors.As(err, &ve) && len(ve.Violations) == 1 && ve.Violations[0] == (Violation{RuleNotEmpty, -1, "there are no messages"}) {
		return false
	}
	if err != nil {
		t.Errorf("%v", err)
	}
	return err == nil
}

// TestPropertyBuildIsValid: I2. Whatever the messages, what comes out is a list
// that Validate takes, or there is nothing to send.
func TestPropertyBuildIsValid(t *testing.T) {
	all, count := lists(t, 600)
	for _, what := range []string{
		"thinking", "failed answer", "unknown block", "unknown role", "result without call", "result out of order", "result twice",
		"system message", "compaction summary", "image", "shell run",
	} {
		share := float64(count[what]) / float64(len(all))
		t.Logf("%4.0f %% of the lists: %s", 100*share, what)
		if share < 0.15 {
			t.Errorf("only %.0f %% of the lists have: %s", 100*share, what)
		}
	}
	sent := 0
	for i, lines := range all {
		msgs := parseAll(t, lines...)
		built := rebuilt(msgs)
		for _, p := range profiles() {
			for _, target := range targets {
				for _, in := range [][]*message.Message{msgs, built} {
					r, _, err := Build(in, p, target, Options{CloseOpenCalls: true})
					if !sendable(t, err) {
						continue
					}
					sent++
					checkCalls(t, in, p, r)
					checkUserText(t, in, p, r)
				}
				if t.Failed() {
					t.Fatalf("list %d for %s, %+v:\n%s", i, p.Name, target, strings.Join(lines, "\n"))
				}
			}
		}
	}
	if sent < len(all)*len(profiles()) {
		t.Errorf("only %d lists could be sent", sent)
	}
}

// checkCalls: D-06, D-05. Every call of an answer that did not fail goes out
// with one result.
func checkCalls(t *testing.T, msgs []*message.Message, p Profile, r *Request) {
	t.Helper()
	if p.form == formPi {
		return
	}
	want := 0
	for _, m := range msgs {
		if m.StopReason != message.StopAborted && m.StopReason != message.StopError {
			want += len(m.ToolCalls())
		}
	}
	spelled := map[string][2]string{
		"anthropic":        {`{"type":"tool_use",`, `{"type":"tool_result",`},
		"openai-chat":      {`,"type":"function","function":{`, `{"role":"tool",`},
		"openai-responses": {`{"type":"function_call",`, `{"type":"function_call_output",`},
		"gemini":           {`{"functionCall":{`, `{"functionResponse":{`},
	}[p.Name]
	list := r.List()
	calls, results := bytes.Count(list, []byte(spelled[0])), bytes.Count(list, []byte(spelled[1]))
	if calls != want || results != want {
		t.Errorf("%d calls in answers that did not fail, but %d calls and %d results go out", want, calls, results)
	}
}

// checkUserText: what users said goes out, every word, in order.
func checkUserText(t *testing.T, msgs []*message.Message, p Profile, r *Request) {
	t.Helper()
	var said []string
	for _, raw := range r.Messages {
		var v any
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Errorf("not JSON: %v", err)
		}
		said = append(said, stringsIn(v)...)
	}
	for _, m := range msgs {
		if m.Role != message.RoleUser && m.Role != message.RoleCustom {
			continue
		}
		for _, b := range m.Content {
			text := strings.ToValidUTF8(b.Text, "\uFFFD")
			// Each byte that is not UTF-8 becomes a character of its own.
			if b.Type != message.BlockText || blank(b.Text) || text != b.Text {
				continue
			}
			at := 0
			for at < len(said) && said[at] != b.Text {
				at++
			}
			if at == len(said) {
				t.Errorf("%q was said and does not go out in its place", b.Text)
				return
			}
			said = said[at+1:]
		}
	}
}

// stringsIn returns the strings of a decoded JSON value in the order of arrays;
// members of an object come in no order, and each has one text.
func stringsIn(v any) (out []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			out = append(out, stringsIn(e)...)
		}
	case map[string]any:
		for _, key := range []string{"text", "content", "parts"} {
			out = append(out, stringsIn(v[key])...)
		}
	}
	return out
}

// TestPropertyDeterminism: I6. The same list gives the same bytes and notes,
// also when it was parsed again and other lists came between.
func TestPropertyDeterminism(t *testing.T) {
	all, _ := lists(t, 300)
	for i, lines := range all {
		for _, p := range profiles() {
			r1, n1, err1 := Build(parseAll(t, lines...), p, targets[0], Options{CloseOpenCalls: true})
			r2, n2, err2 := Build(parseAll(t, lines...), p, targets[0], Options{CloseOpenCalls: true})
			if !reflect.DeepEqual(r1, r2) || !reflect.DeepEqual(n1, n2) || (err1 == nil) != (err2 == nil) {
				t.Fatalf("list %d for %s gives different requests", i, p.Name)
			}
		}
	}
}

// TestPropertyInputIsNotChanged: messages are shared and immutable.
func TestPropertyInputIsNotChanged(t *testing.T) {
	all, _ := lists(t, 100)
	for i, lines := range all {
		msgs := parseAll(t, lines...)
		for _, p := range profiles() {
			_, _, _ = Build(msgs, p, targets[0], Options{CloseOpenCalls: true})
		}
		if !reflect.DeepEqual(msgs, parseAll(t, lines...)) {
			t.Fatalf("list %d was changed", i)
		}
	}
}

// TestPropertyPrefix: I5, as the package comment states it.
func TestPropertyPrefix(t *testing.T) {
	all, _ := lists(t, 400)
	pairs := 0
	for i, lines := range all {
		msgs := parseAll(t, lines...)
		for _, p := range profiles() {
			pairs += checkPrefixes(t, msgs, p, targets[0])
			if t.Failed() {
				t.Fatalf("list %d for %s:\n%s", i, p.Name, strings.Join(lines, "\n"))
			}
		}
	}
	t.Logf("%d pairs of lists", pairs)
	if pairs < len(all) {
		t.Errorf("only %d pairs of lists were compared", pairs)
	}
}

// checkPrefixes compares each beginning of a list that could be sent with the
// next longer one. It returns how many it compared.
func checkPrefixes(t *testing.T, msgs []*message.Message, p Profile, target Target) (compared int) {
	t.Helper()
	var before *Request
	from := 0
	for n := range len(msgs) + 1 {
		if n > 0 && p.form != formPi && (msgs[n-1].Role == message.RoleCompactionSummary && n > 1 || answersClosedCall(msgs, n-1)) {
			before = nil
		}
		l, _, err := Normalize(msgs[:n], p, target, Options{})
		if err != nil {
			continue
		}
		r := Render(l)
		if before != nil {
			checkPrefix(t, before, r, from, n, changesTools(msgs[from:n]))
			compared++
		}
		before, from = r, n
		if !begun(msgs[:n]) {
			before = nil
		}
	}
	return compared
}

func begun(msgs []*message.Message) bool {
	for _, m := range msgs {
		if m.Role != message.RoleSystem {
			return true
		}
	}
	return false
}

func changesTools(msgs []*message.Message) bool {
	for _, m := range msgs {
		if m.ToolsAdded != nil || m.ToolsRemoved != nil {
			return true
		}
	}
	return false
}

// answersClosedCall reports whether message n is the result of a call that was
// settled when an answer after it was sent.
func answersClosedCall(msgs []*message.Message, n int) bool {
	if msgs[n].Role != message.RoleToolResult {
		return false
	}
	call := message.PairCalls(msgs[:n+1]).CallOf(n)
	if call == nil || call.Answer >= n {
		return false
	}
	if len(message.PairCalls(msgs[:n]).Pending()) == 0 {
		return true
	}
	for k := call.Answer + 1; k < n; k++ {
		if msgs[k].Role == message.RoleAssistant && !msgs[k].Failed() {
			return true
		}
	}
	return false
}

func checkPrefix(t *testing.T, a, b *Request, from, to int, tools bool) {
	t.Helper()
	if !bytes.Equal(a.System, b.System) {
		t.Errorf("%d → %d messages: the system text changed", from, to)
	}
	if !tools && !bytes.Equal(a.Tools, b.Tools) {
		t.Errorf("%d → %d messages: the tools changed", from, to)
	}
	if len(b.Messages) < len(a.Messages) {
		t.Errorf("%d → %d messages: there are fewer messages", from, to)
		return
	}
	for i, was := range a.Messages {
		is := b.Messages[i]
		if bytes.Equal(was, is) {
			continue
		}
		if i < len(a.Messages)-1 {
			t.Errorf("%d → %d messages: message %d of %d changed\n from %s\n to   %s", from, to, i, len(a.Messages), was, is)
			return
		}
		// Blocks were added: up to the end of its array the message is the same.
		if !bytes.HasSuffix(was, []byte("]}")) || !bytes.HasPrefix(is, append(was[:len(was)-2:len(was)-2], ',')) {
			t.Errorf("%d → %d messages: the last message is not extended\n from %s\n to   %s", from, to, was, is)
		}
	}
}

// TestPrefixCatchesChanges shows that the check of the prefix bites.
func TestPrefixCatchesChanges(t *testing.T) {
	request := func(msgs ...string) *Request { return request("anthropic", msgs...) }
	for _, c := range [][2]*Request{
		{request(`{"c":[1]}`, `{"c":[2]}`), request(`{"c":[9]}`, `{"c":[2]}`)},
		{request(`{"c":[1]}`), request(`{"c":[1 ,2]}`)},
		{request(`{"c":[1]}`, `{"c":[2]}`), request(`{"c":[1]}`)},
	} {
		var probe testing.T
		checkPrefix(&probe, c[0], c[1], 0, 1, false)
		if !probe.Failed() {
			t.Errorf("%s → %s was not noticed", c[0].Messages, c[1].Messages)
		}
	}
}
