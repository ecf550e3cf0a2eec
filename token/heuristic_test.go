package token_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"image"
	"image/png"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/token"
)

var (
	now = time.UnixMilli(1_750_000_000_000)
	at  = now
)

func randomBytes(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// The weights are those that were fitted; an accidental change shows here.
func TestWeights(t *testing.T) {
	const text = "aBc DE fooBar\t\t12, 345;;--\n\n"
	// a B c · D E · f ooar B · \t\t 1 2 , · 3 45 ; ; - - \n \n
	times := [token.Kinds]int64{
		2 + 4, 2 /* a, f */, 1 /* E */, 2 /* B, B */, 1 /* D */, 3 /* 2, 45 */, 2 /* 1, 3 */, 1, 4, 2, 2 /* ;, - */, 1 /* - */, 2, /* , ; */
	}
	for f, weights := range map[token.Family][token.Kinds]int64{
		token.Claude:    {101, 567, 61, 882, 1451, 69, 1862, 139, 119, 1239, 15, 361, 865},
		token.ClaudeNew: {123, 889, 328, 1751, 2119, 84, 1752, 114, 148, 1164, 20, 248, 1216},
		token.GPT:       {70, 604, 106, 462, 992, 150, 1713, 102, 176, 588, 54, 162, 746},
		token.Universal: {59, 516, 206, 1152, 591, 220, 1860, 31, 348, 886, 54, 308, 686},
	} {
		var want int64 = 999
		for i, w := range weights {
			want += times[i] * w
		}
		want /= 1000
		c := token.Heuristic(f)
		if got := c.Text(text); got != want {
			t.Errorf("%s: %d, want %d", f, got, want)
		}
		if got, want := c.Name(), "heuristic/"+string(f); got != want {
			t.Errorf("Name() = %q, want %q", got, want)
		}
		if got := c.Text(""); got != 0 {
			t.Errorf("%s: nothing costs %d", f, got)
		}
	}
	if got := token.Heuristic("no such family").Name(); got != "heuristic/universal" {
		t.Errorf("an unknown family is counted by %q", got)
	}
}

// What is not sent costs nothing, and what is sent costs something.
func TestWhatIsSentIsCounted(t *testing.T) {
	stopped := func(reason message.StopReason) *message.Message {
		m := message.Assistant(now, message.TextBlock("half an answer"))
		m.StopReason = reason
		return m
	}
	unknown := parse(t, `{"role":"user","content":[{"type":"video","data":"a long film of a cat and its many friends"}]}`)
	c := token.Heuristic(token.Claude)
	overhead := c.Message(message.User("", now))
	for name, m := range map[string]*message.Message{
		"excluded shell run": {Role: message.RoleBashExecution, Command: "ls", Output: "secret", ExcludeFromContext: true},
		"failed answer":      stopped(message.StopError),
		"aborted answer":     stopped(message.StopAborted),
		"empty answer":       message.Assistant(now),
		"unknown role":       {Role: "narrator", Content: []message.Block{message.TextBlock("meanwhile")}},
	} {
		if got := c.Message(m); got != 0 {
			t.Errorf("%s costs %d", name, got)
		}
	}
	for name, m := range map[string]*message.Message{
		"shell run":                         {Role: message.RoleBashExecution, Command: "ls", Output: "a.txt"},
		"answer cut short":                  stopped(message.StopLength),
		"summary":                           {Role: message.RoleCompactionSummary, Summary: "we began"},
		"branch summary":                    {Role: message.RoleBranchSummary, Summary: "we tried"},
		"custom":                            {Role: message.RoleCustom, Content: []message.Block{message.TextBlock("reminder")}},
		"section":                           {Role: message.RoleSystem, Sections: []message.Section{{Name: "a", Text: "rules"}}},
		"tools":                             {Role: message.RoleSystem, ToolsAdded: json.RawMessage(`[{"name":"read"}]`)},
		"call":                              message.Assistant(now, message.ToolCallBlock("1", "read", json.RawMessage(`{"path":"a"}`))),
		"thinking":                          message.Assistant(now, message.ThinkingBlock("hm", "sig")),
		"block of a type that is not known": unknown,
	} {
		if got := c.Message(m); got <= overhead {
			t.Errorf("%s costs %d, an empty message %d", name, got, overhead)
		}
	}
}

func parse(t testing.TB, raw string) *message.Message {
	t.Helper()
	m, err := message.Parse([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Random data costs two to three times as much as prose of the same length, and at
// least what public tokenizers make of it: 0.68 tokens a character of base64,
// 0.57 of hexadecimal.
func TestRandomDataIsNotProse(t *testing.T) {
	data := randomBytes(1, 30_000)
	prose := strings.Repeat("the quick brown fox jumps over it ", 1000)
	for _, f := range families {
		c := token.Heuristic(f)
		perProse := float64(c.Text(prose)) / float64(len(prose))
		for name, d := range map[string]struct {
			text  string
			least float64
		}{
			"base64":          {base64.StdEncoding.EncodeToString(data), .68},
			"base64 for URLs": {base64.RawURLEncoding.EncodeToString(data), .68},
			"hexadecimal":     {hex.EncodeToString(data), .57},
			"HEXADECIMAL":     {strings.ToUpper(hex.EncodeToString(data)), .57},
			"base64 in lines": {wrap(base64.StdEncoding.EncodeToString(data), 64), .68},
		} {
			per := float64(c.Text(d.text)) / float64(len(d.text))
			if per < d.least {
				t.Errorf("%s, %s: %.3f tokens a character, want at least %.2f", f, name, per, d.least)
			}
			if per > 1 {
				t.Errorf("%s, %s: %.3f tokens a character", f, name, per)
			}
			if name == "base64" && per < 2*perProse {
				t.Errorf("%s: base64 costs %.3f a character, prose %.3f", f, per, perProse)
			}
		}
	}
}

func wrap(s string, width int) string {
	var b strings.Builder
	for len(s) > width {
		b.WriteString(s[:width] + "\n")
		s = s[width:]
	}
	return b.String() + s
}

// Long names, paths, rules and numbers are no random data: each character costs
// what it costs in a short text.
func TestOrdinaryRunsAreNotData(t *testing.T) {
	for _, s := range []string{
		"/home/user/projects/application/src/main/java/com/example/service/internal/adapters/http/",
		"src/components/AccountSettings/NotificationPreferences/EmailNotificationPreferencesPanel/index",
		"thisIsAVeryLongIdentifierThatSomebodyThoughtWouldBeAGoodIdeaToUseInTheirSourceCodeForReal",
		strings.Repeat("-", 200),
		strings.Repeat("a", 200),
		strings.Repeat("0123456789", 20),
		strings.Repeat("very_long_snake_case_name_", 8),
	} {
		for _, f := range families {
			c := token.Heuristic(f)
			single, pieces := int64(0), 0
			for from := 0; from < len(s); from += 40 {
				// With the character before it, which decides what the first one is.
				before := s[max(from-1, 0):from]
				single += c.Text(before+s[from:min(from+40, len(s))]) - max(0, c.Text(before)-1)
				pieces++
			}
			if got := c.Text(s); got > single || got < single-2*int64(pieces) {
				t.Errorf("%s: %.30s… costs %d, its pieces %d", f, s, got, single)
			}
		}
	}
}

// An image in a message is priced by its pixels, never by the characters of its
// data, and a data URL in a text is priced as data, even when it looks like
// something else.
func TestMediaIsNotText(t *testing.T) {
	var b bytes.Buffer
	shot := image.NewNRGBA(image.Rect(0, 0, 1024, 768))
	copy(shot.Pix, randomBytes(2, len(shot.Pix)))
	if err := (&png.Encoder{CompressionLevel: png.NoCompression}).Encode(&b, shot); err != nil {
		t.Fatal(err)
	}
	data := base64.StdEncoding.EncodeToString(b.Bytes())
	const onTheStandardTier = 37 * 28 // patches of 28 pixels
	c := token.HeuristicFor("anthropic", "claude-opus-4-5")
	plain := c.Message(message.ToolResult("1", "shot", "done", false, now))
	with := message.ToolResult("1", "shot", "done", false, now)
	with.Content = append(with.Content, message.ImageBlock("image/png", data))
	if got := c.Message(with) - plain; got != onTheStandardTier {
		t.Errorf("an image of %d characters costs %d, want %d", len(data), got, onTheStandardTier)
	}
	for _, role := range []message.Role{message.RoleUser, message.RoleCustom, message.RoleToolResult} {
		m := &message.Message{Role: role, Content: []message.Block{message.ImageBlock("image/png", data)}}
		if got := c.Message(m) - c.Message(&message.Message{Role: role}); got != onTheStandardTier {
			t.Errorf("%s: an image costs %d, want %d", role, got, onTheStandardTier)
		}
	}

	blank := strings.Repeat("A", 4000)
	args, err := json.Marshal(map[string]string{"html": `<img src="data:image/bmp;base64,` + blank + `">`})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		c := token.Heuristic(f)
		call := message.Assistant(now, message.ToolCallBlock("1", "write", args))
		if got, prose := c.Message(call), c.Text(blank); got < 2600 || prose > 1600 {
			t.Errorf("%s: a data URL of 4,000 characters costs %d, the same row of letters as text %d", f, got, prose)
		}
	}
}

// JSON costs what it costs on one line, however it is indented and its
// characters are spelled.
func TestJSONIsCountedAsSent(t *testing.T) {
	plain := `{"path":"src/日本.go","text":"a\nb \\u0041 \"c\" 🙂","n":[1,2,{"x":null}],"sha":"` + hex.EncodeToString(randomBytes(3, 100)) + `"}`
	var indented bytes.Buffer
	if err := json.Indent(&indented, []byte(plain), "\t", "    "); err != nil {
		t.Fatal(err)
	}
	escaped := strings.NewReplacer("日", `\u65e5`, "本", `\u672C`, "🙂", `\ud83d\ude42`).Replace(plain)
	call := func(args string) *message.Message {
		return message.Assistant(now, message.ToolCallBlock("1", "write", json.RawMessage(args)))
	}
	for _, f := range families {
		c := token.Heuristic(f)
		want := c.Message(call(plain))
		if got := c.Message(call(indented.String())); got != want {
			t.Errorf("%s: indented %d, on one line %d", f, got, want)
		}
		if got := c.Message(call(escaped)); got != want {
			t.Errorf("%s: escaped %d, plain %d", f, got, want)
		}
	}
	// Minified JSON has far less than 4 characters to a token: this is 1,501 in o200k.
	list := strings.Repeat(`{"id":17,"ok":true,"tags":["a","b"]},`, 100)
	for _, f := range families {
		if got := token.Heuristic(f).Text(list); got < 1501*85/100 || got > 1501*2 {
			t.Errorf("%s: %d characters of JSON cost %d", f, len(list), got)
		}
	}
	// Broken and hostile JSON is counted, too.
	for _, raw := range []string{"{", `{"a":"\u12`, `"\ud83d"`, "\n\"\\", "\n" + strings.Repeat(`\`, 9999) + "u0041", strings.Repeat(`\u`, 9999)} {
		if got := token.Heuristic(token.GPT).Message(call(raw)); got <= 0 {
			t.Errorf("%.20q costs %d", raw, got)
		}
	}
}

// A signature costs nothing where the text it signs is there, and stands for the
// text where that is withheld. An id is part of the overhead of a message, unless
// it is absurdly long.
func TestSignaturesAndIDs(t *testing.T) {
	signature := base64.StdEncoding.EncodeToString(randomBytes(4, 3000))
	text := strings.Repeat("let me think about that ", 100)
	for _, f := range families {
		c := token.Heuristic(f)
		cost := func(b ...message.Block) int64 { return c.Message(message.Assistant(now, b...)) }
		if a, b := cost(message.ThinkingBlock(text, "")), cost(message.ThinkingBlock(text, signature)); a != b {
			t.Errorf("%s: thinking costs %d, signed %d", f, a, b)
		}
		hidden := cost(message.Block{Type: message.BlockThinking, Redacted: true, Signature: signature})
		if hidden < 500 || hidden > 1500 {
			t.Errorf("%s: 3,000 encrypted bytes of thinking cost %d", f, hidden)
		}
		args := json.RawMessage("{}")
		short, long := cost(message.ToolCallBlock("toolu_01WTmHqePgu5iPeJH8WgQM2J", "a", args)), cost(message.ToolCallBlock("", "a", args))
		if short != long {
			t.Errorf("%s: a call costs %d with its id, %d without", f, short, long)
		}
		if got := cost(message.ToolCallBlock(signature, "a", args)); got < short+2000 {
			t.Errorf("%s: an id of %d characters adds %d", f, len(signature), got-short)
		}
	}
}

// Calls, their names and arguments, and the schemas of tools are counted.
func TestToolsAreCounted(t *testing.T) {
	tool := `{"name":"search_issues_#","description":"Searches the issues of a repository by words, labels and state.","parameters":{"type":"object","properties":{"query":{"type":"string"},"labels":{"type":"array","items":{"type":"string"}}},"required":["query"]}}`
	var list []string
	for i := range 200 {
		list = append(list, strings.Replace(tool, "#", strconv.Itoa(i), 1))
	}
	tools := json.RawMessage("[" + strings.Join(list, ",") + "]")
	msgs := []*message.Message{message.User("find the bug", now)}
	for _, model := range []string{"claude-opus-4-6", "gpt-5.5", "llama-4"} {
		with, without := meter(t, token.Config{Model: model, Tools: tools}), meter(t, token.Config{Model: model})
		grown := with.Measure(msgs, 0).Tokens - without.Measure(msgs, 0).Tokens
		const exact = 11_602 // by o200k, 4.4 characters to a token
		if grown < exact*95/100 || grown > 3*exact {
			t.Errorf("%s: 200 tools of %d characters cost %d tokens", model, len(tools), grown)
		}
		if got := with.Fixed(); got != grown {
			t.Errorf("%s: Fixed is %d, the difference %d", model, got, grown)
		}
		if got := with.Measure(msgs, 0).Categories[token.Tools]; got != grown {
			t.Errorf("%s: category tools is %d, want %d", model, got, grown)
		}
		inMessage := append([]*message.Message{{Role: message.RoleSystem, ToolsAdded: tools}}, msgs...)
		if got := without.Measure(inMessage, 0).Categories[token.Tools]; got != grown {
			t.Errorf("%s: in a system message they cost %d, want %d", model, got, grown)
		}
	}
}

func meter(t testing.TB, c token.Config) *token.Meter {
	t.Helper()
	m, err := token.NewMeter(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// oneByOne adds up what messages cost, each where it stands.
func oneByOne(c token.Counter, msgs []*message.Message) (sum int64) {
	for _, m := range msgs {
		sum += c.Message(m)
	}
	return sum
}
