package model_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/anthropic"
	"github.com/clew-dev/clew/model/gemini"
	"github.com/clew-dev/clew/model/openai"
)

var update = flag.Bool("update", false, "write what the adapters write into testdata/requests.txt")

// open returns an adapter by its name in testdata/requests.txt, at the vendor's
// address unless base names another.
func open(t testing.TB, name, id, base string) model.Model {
	t.Helper()
	e := model.Endpoint{
		Model: id, BaseURL: base, Key: model.NewKey("k"),
		Now: func() time.Time { return at }, NewID: func() string { return "id" },
	}
	var m model.Model
	var err error
	switch name {
	case "anthropic":
		m, err = anthropic.New(anthropic.Config{Endpoint: e})
	case "chat":
		m, err = openai.NewChat(openai.Config{Endpoint: e})
	case "responses":
		m, err = openai.NewResponses(openai.Config{Endpoint: e})
	case "gemini":
		m, err = gemini.New(gemini.Config{Endpoint: e})
	default:
		t.Fatalf("no adapter %q", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// option changes a request as a word of testdata/requests.txt says.
func option(t testing.TB, r *model.Request, word string) (base string) {
	t.Helper()
	key, val, _ := strings.Cut(word, "=")
	num := func() int64 {
		n, err := strconv.ParseInt(val, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	switch key {
	case "max":
		r.MaxOutput = num()
	case "reasoning":
		r.Reasoning = model.Reasoning(val)
	case "budget":
		r.ReasoningBudget = num()
	case "temperature":
		f, err := strconv.ParseFloat(val, 64)
		if err != nil {
			t.Fatal(err)
		}
		r.Temperature = &f
	case "stop":
		r.Stop = []string{val}
	case "choice":
		r.ToolChoice = model.ToolChoice(val)
	case "cache":
		r.Cache = model.Cache(val)
	case "key":
		r.CacheKey = val
	case "extra":
		r.Extra = json.RawMessage(val)
	case "tools":
		r.Tools = []model.Tool{{Name: "now", Description: "the time"}}
	case "turn": // an answer with a call, and its result
		a := message.Assistant(at, message.TextBlock("I look."), message.ToolCallBlock("call_1", "now", json.RawMessage(`{}`)))
		r.Messages = append(r.Messages, a, message.ToolResult("call_1", "now", "noon", false, at))
	case "base":
		return val
	default:
		t.Fatalf("no option %q", word)
	}
	return ""
}

// What the adapters write for each option, member by member.
func TestRequests(t *testing.T) {
	const file = "testdata/requests.txt"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	head, rest, _ := strings.Cut(string(data), "\n\n")
	out.WriteString(head + "\n")
	cases := 0
	for _, c := range strings.Split(strings.TrimSpace(rest), "\n\n") {
		spec, want, _ := strings.Cut(c, "\n")
		words := strings.Fields(spec)
		r := &model.Request{System: "Be brief.", Messages: []*message.Message{message.User("hi", at)}}
		base := ""
		for _, w := range words[2:] {
			if b := option(t, r, w); b != "" {
				base = b
			}
		}
		got := ""
		body, err := open(t, words[0], words[1], base).(model.Renderer).Render(r)
		if err != nil {
			got = "  error: " + err.Error()
		} else {
			got = members(body)
		}
		if got != want && !*update {
			t.Errorf("%s\ngot\n%s\nwant\n%s", spec, got, want)
		}
		fmt.Fprintf(&out, "\n%s\n%s\n", spec, got)
		cases++
	}
	if cases < 25 {
		t.Errorf("only %d cases", cases)
	}
	if *update && out.String() != string(data) {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// members writes the members of an object one a line.
func members(obj []byte) string {
	var lines []string
	jsonx.Members(obj, func(key, val []byte) bool {
		lines = append(lines, fmt.Sprintf("  %s: %s", key, val))
		return true
	})
	return strings.Join(lines, "\n")
}

// What can't be asked is refused before anything is sent.
func TestBadRequests(t *testing.T) {
	for _, a := range adapters {
		m := open(t, a.name, a.model, "")
		for name, bad := range map[string]func(*model.Request){
			"level":    func(r *model.Request) { r.Reasoning = "enormous" },
			"choice":   func(r *model.Request) { r.ToolChoice = "maybe" },
			"cache":    func(r *model.Request) { r.Cache = "forever" },
			"negative": func(r *model.Request) { r.MaxOutput = -1 },
			"extra": func(r *model.Request) {
				r.Extra = json.RawMessage(`{"model":"x","contents":1,"tools":1,"messages":1,"input":1}`)
			},
			"no object":  func(r *model.Request) { r.Extra = json.RawMessage(`[1]`) },
			"no JSON":    func(r *model.Request) { r.Extra = json.RawMessage(`{`) },
			"nil":        func(r *model.Request) { r.Messages = append(r.Messages, nil) },
			"no message": func(r *model.Request) { r.Messages = nil },
			"pending": func(r *model.Request) {
				r.Messages = append(r.Messages, message.Assistant(at, message.ToolCallBlock("c", "read", json.RawMessage(`{}`))))
			},
		} {
			r := ask("hi")
			bad(r)
			if name == "no message" && a.name == "chat" {
				continue // there the system text is a message
			}
			_, err := m.(model.Renderer).Render(r)
			var e *model.Error
			if !asError(err, &e) || e.Kind != model.KindRequest || e.Error() == "" {
				t.Errorf("%s, %s: %v", a.name, name, err)
			}
		}
	}
}

func asError(err error, e **model.Error) bool {
	x, ok := err.(*model.Error) //nolint:errorlint // the adapters return it bare
	*e = x
	return ok
}

// One word for how much to reason becomes the nearest that the model takes.
func TestReasoningWords(t *testing.T) {
	all := []model.Reasoning{"", "none", "minimal", "low", "medium", "high", "xhigh", "max"}
	for _, c := range []struct{ adapter, model, member, want string }{
		{"responses", "o3-2025-04-16", "effort", "- low low low medium high high high"},
		{"responses", "gpt-5", "effort", "- minimal minimal low medium high high high"},
		{"responses", "gpt-5-pro", "effort", "- high high high high high high high"},
		{"responses", "gpt-5.1", "effort", "- none low low medium high high high"},
		{"responses", "gpt-5.1-codex-max", "effort", "- low low low medium high xhigh xhigh"},
		{"responses", "gpt-5.4", "effort", "- none low low medium high xhigh xhigh"},
		{"responses", "gpt-5.6-sol", "effort", "- none low low medium high xhigh max"},
		{"responses", "gpt-4.1", "effort", "- - - - - - - -"},
		{"chat", "openai/gpt-5.2", "reasoning_effort", "- none low low medium high xhigh xhigh"},
		{"chat", "qwen3:8b", "reasoning_effort", "- none low low medium high high high"},
		{"anthropic", "claude-opus-4-6", "effort", "- - low low medium high max max"},
		{"anthropic", "claude-opus-4-8", "effort", "- - low low medium high xhigh max"},
		{"gemini", "gemini-2.5-pro", "thinkingBudget", "- 128 1024 2048 8192 16384 32768 32768"},
		{"gemini", "gemini-2.5-flash", "thinkingBudget", "- 0 1024 2048 8192 16384 24576 24576"},
		{"gemini", "gemini-3-pro-preview", "thinkingLevel", "- LOW LOW LOW HIGH HIGH HIGH HIGH"},
		{"gemini", "gemini-3.5-flash", "thinkingLevel", "- LOW LOW LOW MEDIUM HIGH HIGH HIGH"},
	} {
		m := open(t, c.adapter, c.model, "")
		member := regexp.MustCompile(`"` + c.member + `":"?([A-Za-z0-9]+)`)
		var got []string
		for _, r := range all {
			body, err := m.(model.Renderer).Render(&model.Request{Messages: ask("hi").Messages, Reasoning: r})
			if err != nil {
				t.Fatal(err)
			}
			word := "-"
			if found := member.FindSubmatch(body); found != nil {
				word = string(found[1])
			}
			got = append(got, word)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s %s: %s, want %s", c.adapter, c.model, strings.Join(got, " "), c.want)
		}
	}
}

// A request that asks for nothing has nothing but what its API needs, and the
// same request gives the same bytes.
func TestRequestsAreDeterministic(t *testing.T) {
	for _, a := range adapters {
		m := open(t, a.name, a.model, "").(model.Renderer)
		first, err := m.Render(ask("hi"))
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if again, err := m.Render(ask("hi")); err != nil || !bytes.Equal(first, again) {
				t.Fatalf("%s\n%s", first, again)
			}
		}
	}
}
