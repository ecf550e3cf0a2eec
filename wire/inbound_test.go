package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/jsonx"
)

func parsed(t testing.TB, p Profile, body string) *Inbound {
	t.Helper()
	in, err := Parse(p, []byte(body))
	if err != nil {
		t.Fatalf("%s: %v in %s", p.Name, err, body)
	}
	return in
}

// What a body of Build says is what Parse reads: as many items and bytes, each call with
// its result, and digests that are the same for the same bytes and others for others.
func TestParseReadsWhatBuildWrites(t *testing.T) {
	nodes := 0
	for seed := range uint64(400) {
		msgs := parseAll(t, newGen(seed).list(30)...)
		for _, p := range []Profile{Anthropic, OpenAIChat, OpenAIResponses, Gemini} {
			r, _, err := Build(msgs, p, targets[0], Options{CloseOpenCalls: true})
			if err != nil {
				continue // too broken to be sent
			}
			body := r.Body(p, p.Head("m", 100))
			in := parsed(t, p, string(body))
			if len(in.Items) != len(r.Messages) {
				t.Fatalf("seed %d, %s: %d items of %d messages", seed, p.Name, len(in.Items), len(r.Messages))
			}
			open := map[string]int{}
			for i, it := range in.Items {
				if got := it.Of(body); !bytes.Equal(got, r.Messages[i]) {
					t.Fatalf("seed %d, %s: item %d is %s, not %s", seed, p.Name, i, got, r.Messages[i])
				}
				if it.First == it.Last {
					t.Fatalf("seed %d, %s: item %d has no node: %s", seed, p.Name, i, it.Of(body))
				}
				for _, n := range in.Nodes[it.First:it.Last] {
					nodes++
					if n.Item != i || n.From < it.From || n.To > it.To {
						t.Fatalf("seed %d, %s: node %+v of item %d %+v", seed, p.Name, n.Range, i, it.Range)
					}
					switch n.Kind {
					case PartCall:
						open[n.ID]++
					case PartResult:
						open[n.ID]--
					default:
					}
				}
			}
			for id, n := range open {
				if n != 0 {
					t.Fatalf("seed %d, %s: %d more calls than results of id %q", seed, p.Name, n, id)
				}
			}
		}
	}
	if nodes < 5000 {
		t.Errorf("%d nodes were looked at", nodes)
	}
}

// Without edits a splice is the body; with them every byte outside of them stays, and what
// comes out is read again as if the client had sent it.
func TestSpliceKeepsTheRest(t *testing.T) {
	for seed := range uint64(300) {
		g := newGen(seed)
		msgs := parseAll(t, g.list(30)...)
		for _, p := range []Profile{Anthropic, OpenAIChat, OpenAIResponses, Gemini} {
			r, _, err := Build(msgs, p, targets[0], Options{CloseOpenCalls: true})
			if err != nil || len(r.Messages) < 2 {
				continue
			}
			body := r.Body(p, p.Head("m", 100))
			in := parsed(t, p, string(body))
			if !bytes.Equal(in.Splice(), body) {
				t.Fatal("a splice without edits is another body")
			}
			node := 1 + g.IntN(len(in.Nodes)-1)
			e, ok := in.Replace(0, node, []byte(`{"role":"user","content":"SUMMARY"}`))
			if !ok {
				continue
			}
			out := in.Splice(e...)
			if !bytes.HasPrefix(out, body[:e[0].From]) || !bytes.HasSuffix(out, body[e[len(e)-1].To:]) {
				t.Fatalf("seed %d, %s: bytes outside of the edit changed", seed, p.Name)
			}
			again := parsed(t, p, string(out))
			if got, want := len(again.Nodes), 1+len(in.Nodes)-node; got != want {
				t.Fatalf("seed %d, %s: %d nodes after the splice, want %d\n%s", seed, p.Name, got, want, out)
			}
			first := in.Items[in.Nodes[node].Item].First == node
			for k, n := range again.Nodes[1:] {
				old := in.Nodes[node+k]
				if !bytes.Equal(n.Of(out), old.Of(body)) || n.Digest != old.Digest && (k > 0 || first) {
					t.Fatalf("seed %d, %s: node %d became %s, was %s", seed, p.Name, k, n.Of(out), old.Of(body))
				}
			}
		}
	}
}

func TestWithoutTakesCommasAlong(t *testing.T) {
	body := ` {"x":1, "messages" : [ {"role":"user","content":"a"} , {"content":[ {"type":"thinking","thinking":"t","signature":"s"} , {"type":"text","text":"b"},{"type":"thinking","thinking":"u","signature":"s"}],"role":"assistant"}, {"role":"assistant","content":[{"type":"redacted_thinking","data":"d"}]} ] } `
	in := parsed(t, Anthropic, body)
	var thinking []int
	for i, n := range in.Nodes {
		if n.Kind == PartThinking {
			thinking = append(thinking, i)
		}
	}
	edits, ok := in.Without(0, thinking)
	if !ok {
		t.Fatal("not possible")
	}
	want := ` {"x":1, "messages" : [ {"role":"user","content":"a"} , {"content":[ {"type":"text","text":"b"}],"role":"assistant"} ] } `
	if got := string(in.Splice(edits...)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, ok := in.Without(0, []int{0, 1, 2, 3, 4}); ok {
		t.Error("a list may lose everything")
	}
}

// Any choice of nodes can be taken out, and what is left is JSON with the other nodes.
func TestWithoutLeavesTheOthers(t *testing.T) {
	for seed := range uint64(300) {
		g := newGen(seed)
		msgs := parseAll(t, g.list(12)...)
		for _, p := range []Profile{Anthropic, OpenAIResponses, Gemini} {
			r, _, err := Build(msgs, p, targets[0], Options{CloseOpenCalls: true})
			if err != nil {
				continue
			}
			in := parsed(t, p, string(r.Body(p, nil)))
			var out []int
			var left [][]byte
			for i, n := range in.Nodes {
				if g.chance(.4) {
					out = append(out, i)
				} else {
					left = append(left, n.Of(in.Body))
				}
			}
			edits, ok := in.Without(0, out)
			if !ok {
				continue
			}
			again := parsed(t, p, string(in.Splice(edits...)))
			var got [][]byte
			for _, n := range again.Nodes {
				got = append(got, n.Of(again.Body))
			}
			if !slices.EqualFunc(got, left, bytes.Equal) {
				t.Fatalf("seed %d, %s: left %s, want %s", seed, p.Name, got, left)
			}
		}
	}
}

// chainOf are the digests of a body's nodes.
func chainOf(t *testing.T, p Profile, list string) (out []Digest) {
	t.Helper()
	for _, n := range parsed(t, p, `{"`+p.MessagesField+`":[`+list+`]}`).Nodes {
		out = append(out, n.Digest)
	}
	return out
}

// What clients were seen to change between two requests, without meaning anything by it.
func TestDigestsPassOverWhatMeansNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Profile
		a, b string
		same bool
	}{
		{"the cache mark moves on", Anthropic, `{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}`, `{"role":"user","content":[{"type":"text","text":"a"}]}`, true},
		{"in a result", Anthropic, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":[{"type":"text","text":"a"}]}]}`, true},
		{"marks of two kinds in a result", Anthropic, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]}`, true},
		{"in a result with spaces", Anthropic, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":[ "x" , {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}} , {"type": "text"} ]}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":[ "x" , {"type": "text", "text": "a"} , {"type": "text"} ]}]}`, true},
		{"in a result, first of sorted keys", Anthropic, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":[{"cache_control": {"type": "ephemeral"}, "text": "a", "type": "text"}]}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":[{"text": "a", "type": "text"}]}]}`, true},
		{"another text in a marked result", Anthropic, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":[{"type":"text","n":1,"2x":"a","cache_control":{}}]}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":[{"type":"text","n":12,"x":"a","cache_control":{}}]}]}`, false},
		{"a string is a block of text", Anthropic, `{"role":"user","content":"a"}`, `{"content":[{"text":"a","type":"text"}],"role":"user"}`, true},
		{"another role", Anthropic, `{"role":"user","content":"a"}`, `{"role":"assistant","content":"a"}`, false},
		{"another text", Anthropic, `{"role":"user","content":"a"}`, `{"role":"user","content":"b"}`, false},
		{"ids and status of items", OpenAIResponses, `{"type":"function_call","call_id":"c","name":"f","arguments":"{}","id":"fc_1","status":"completed"}`, `{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`, true},
		{"another call", OpenAIResponses, `{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`, `{"type":"function_call","call_id":"d","name":"f","arguments":"{}"}`, false},
		{"an unknown member", OpenAIChat, `{"role":"user","content":"a","x":1}`, `{"role":"user","content":"a"}`, false},
		{"reasoning beside the content", OpenAIChat, `{"role":"assistant","content":"a","reasoning_content":"r"}`, `{"role":"assistant","content":"a","reasoning_content":"s"}`, false},
	} {
		if same := slices.Equal(chainOf(t, c.p, c.a), chainOf(t, c.p, c.b)); same != c.same {
			t.Errorf("%s: same %v", c.name, same)
		}
	}
	// Blocks that are added to the last message extend the chain.
	short := chainOf(t, Anthropic, `{"role":"user","content":[{"type":"text","text":"a"}]}`)
	long := chainOf(t, Anthropic, `{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`)
	if len(long) != 2 || long[0] != short[0] {
		t.Error("a block at the end of a message changes the one before it")
	}
}

func TestParseSettings(t *testing.T) {
	in := parsed(t, Anthropic, `{"model":"claude","max_tokens":64000,"stream":true,"thinking":{"type":"adaptive"},"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},"system":"s","messages":[]}`)
	if in.Model != "claude" || in.MaxOutput != 64000 || !in.Stream || !in.Thinking || in.Edits || in.Held {
		t.Errorf("read %+v", in)
	}
	other := parsed(t, Anthropic, `{"model":"claude","system":"t","context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]},"messages":[]}`)
	if !other.Edits {
		t.Error("the server is asked to take out tool results, and nothing says so")
	}
	if in.Env == other.Env {
		t.Error("another system text is the same environment")
	}
	for _, body := range []string{
		`{"model":"m","previous_response_id":"r","input":[]}`, `{"conversation":"c","input":"hi"}`, `{"input":[{"type":"item_reference","id":"x"}]}`,
	} {
		if !parsed(t, OpenAIResponses, body).Held {
			t.Errorf("%s: the server holds nothing", body)
		}
	}
	if in := parsed(t, Gemini, `{"generationConfig":{"maxOutputTokens":7},"contents":[{"role":"user","parts":[{"text":"a"}]}]}`); in.MaxOutput != 7 {
		t.Errorf("max output %d", in.MaxOutput)
	}
}

func TestParseRefuses(t *testing.T) {
	deep := strings.Repeat("[", jsonx.MaxDepth) + strings.Repeat("]", jsonx.MaxDepth)
	for what, body := range map[string]string{
		"two lists":     `{"messages":[],"messages":[]}`,
		"two contents":  `{"messages":[{"role":"user","content":"a","content":"b"}]}`,
		"two ids":       `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","tool_use_id":"b"}]}]}`,
		"no list":       `{"model":"m"}`,
		"no object":     `[]`,
		"nothing":       ` `,
		"an open end":   `{"messages":[{"role":"user"`,
		"more behind":   `{"messages":[]} {}`,
		"a bare string": `{"messages":["a"]}`,
		"a bare block":  `{"messages":[{"role":"user","content":["a"]}]}`,
		"nesting":       `{"messages":[{"role":"user","content":` + deep + `}]}`,
	} {
		if _, err := Parse(Anthropic, []byte(body)); err == nil {
			t.Errorf("%s: read", what)
		}
	}
}

func FuzzParse(f *testing.F) {
	for seed := range uint64(20) {
		for _, p := range []Profile{Anthropic, OpenAIChat, OpenAIResponses, Gemini} {
			if r, _, err := Build(parseAll(f, newGen(seed).list(8)...), p, targets[0], Options{CloseOpenCalls: true}); err == nil {
				f.Add([]byte(r.Body(p, p.Head("m", 9))), uint16(seed))
			}
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, at uint16) {
		for _, p := range []Profile{Anthropic, OpenAIChat, OpenAIResponses, Gemini} {
			in, err := Parse(p, body)
			if err != nil {
				continue
			}
			if !bytes.Equal(in.Splice(), body) {
				t.Error("a splice without edits is another body")
			}
			if len(in.Nodes) == 0 {
				continue
			}
			node := int(at) % (len(in.Nodes) + 1)
			if e, ok := in.Replace(0, node, []byte(`{"role":"user","content":"S"}`)); ok {
				if out := in.Splice(e...); !json.Valid(out) && json.Valid(body) {
					t.Errorf("%s: no JSON after the splice before node %d: %s", p.Name, node, out)
				}
			}
			if edits, ok := in.Without(0, []int{int(at) % len(in.Nodes)}); ok {
				if out := in.Splice(edits...); !json.Valid(out) && json.Valid(body) {
					t.Errorf("%s: no JSON without node %d: %s", p.Name, int(at)%len(in.Nodes), out)
				}
			}
		}
	})
}

// Reading allocates nothing, whatever is in the list and however much, once the memory of an
// earlier body was given back.
func TestParseAllocatesNothing(t *testing.T) {
	if underRace {
		t.Skip("pools forget at random there")
	}
	text := strings.Repeat("a line \\n\\u00e9 ", 20)
	for p, turn := range map[*Profile]string{
		&Anthropic: `{"role":"user","content":[{"type":"text","text":"` + text + `","cache_control":{"type":"ephemeral"}},{"type":"image","source":{"data":"eA=="}}]},
			{"role":"assistant","content":[{"type":"thinking","thinking":"` + text + `","signature":"s"},{"type":"tool_use","id":"c","name":"read","input":{"a":[1,{"b":null}]}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"a","cache_control":{}}]}]},{"role":"assistant","content":"b"}`,
		&OpenAIChat: `{"role":"user","content":"` + text + `"},{"role":"assistant","content":null,"reasoning_content":"r","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"c","content":"` + text + `"},{"role":"assistant","content":"b","refusal":null}`,
		&OpenAIResponses: `{"role":"user","content":[{"type":"input_text","text":"` + text + `"}]},{"type":"reasoning","id":"r","summary":[],"encrypted_content":"x"},
			{"type":"function_call","call_id":"c","name":"f","arguments":"{}","id":"f","status":"completed"},{"type":"function_call_output","call_id":"c","output":"` + text + `"}`,
		&Gemini: `{"role":"user","parts":[{"text":"` + text + `"},{"inlineData":{"data":"eA=="}}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"s"}]},
			{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"` + text + `"}}}]},{"role":"model","parts":[{"text":"b","thought":true}]}`,
	} {
		body := []byte(`{"model":"m","` + p.MessagesField + `":[` + strings.Repeat(turn+",", 500) + turn + `],"system":"s","tools":[{"name":"f","cache_control":{}}]}`)
		if n := testing.AllocsPerRun(20, func() {
			in, err := Parse(*p, body)
			if err != nil {
				t.Fatal(err)
			}
			in.Release()
		}); n > 0 {
			t.Errorf("%s: %.0f allocations for %d bytes", p.Name, n, len(body))
		}
	}
}

// BenchmarkParse reads bodies of the Messages API; "ratio" is the time in those of
// encoding/json with the list as raw messages.
func BenchmarkParse(b *testing.B) {
	for _, turns := range []int{1, 10, 75} {
		var list []string
		for n := range turns {
			for _, m := range turnOf(b, n) {
				r, _, err := Build(parseAll(b, string(m.JSON())), Anthropic, targets[0], Options{CloseOpenCalls: true})
				if err == nil {
					list = append(list, string(r.Messages[len(r.Messages)-1]))
				}
			}
		}
		body := []byte(`{"model":"m","messages":[` + strings.Join(list, ",") + `]}`)
		b.Run(fmt.Sprintf("%dKB", len(body)>>10), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(Anthropic, body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
