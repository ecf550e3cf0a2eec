package model

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/clew-dev/clew/message"
)

// errorCase is one case of testdata/overflow.txt.
type errorCase struct {
	source, want  string
	failure       Failure
	body          string // instead of the text
	line          int
	text, hasBody bool
}

func errorCases(t testing.TB) (out []errorCase) {
	t.Helper()
	data, err := os.ReadFile("testdata/overflow.txt")
	if err != nil {
		t.Fatal(err)
	}
	var c errorCase
	for i, line := range strings.Split(string(data)+"\n\n", "\n") {
		key, val, _ := strings.Cut(line, ":")
		val = strings.TrimPrefix(val, " ")
		switch {
		case strings.HasPrefix(line, "#"):
		case line == "":
			if c.source != "" {
				out = append(out, c)
			}
			c = errorCase{line: i + 2}
		case key == "source":
			c.source = val
		case key == "fail":
			f := append(strings.Fields(val), "-", "-")
			c.failure.Provider, c.failure.Type, c.failure.Code = dash(f[0]), dash(f[2]), dash(f[3])
			if c.failure.Status, err = strconv.Atoi(f[1]); err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
		case key == "text":
			c.failure.Message, c.text = strings.ReplaceAll(val, `\n`, "\n"), true
		case key == "body":
			c.body, c.hasBody = val, true
		case key == "want":
			c.want = val
		default:
			t.Fatalf("line %d: %q", i+1, line)
		}
	}
	return out
}

func dash(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

// verdict says what a failure is taken for, as the file writes it.
func verdict(c errorCase) string {
	f := c.failure
	if c.hasBody {
		e := ErrorFromBody(f.Provider, f.Status, nil, []byte(c.body))
		if e.Overflow == nil {
			return string(e.Kind)
		}
		return written(*e.Overflow)
	}
	if o, ok := ClassifyOverflow(f); ok {
		return written(o)
	}
	return string(classify(f))
}

func written(o Overflow) string {
	s := fmt.Sprintf("overflow %s %d %d", o.Kind, o.Asked, o.Limit)
	if o.Output != 0 {
		s += fmt.Sprintf(" %d", o.Output)
	}
	return s
}

// Every real text is taken for what it is, with its numbers; nothing else is
// taken for an overflow.
func TestOverflowTexts(t *testing.T) {
	overflows, others := 0, 0
	for _, c := range errorCases(t) {
		if c.text == c.hasBody || c.want == "" || !strings.HasPrefix(c.source, "https://") {
			t.Errorf("line %d: a case has a source, a text or a body, and a verdict", c.line)
		}
		if got := verdict(c); got != c.want {
			t.Errorf("line %d (%s)\n%s%s\ngot  %s\nwant %s", c.line, c.source, c.failure.Message, c.body, got, c.want)
		}
		if strings.HasPrefix(c.want, "overflow") {
			overflows++
		} else {
			others++
		}
	}
	t.Logf("%d overflows, %d others", overflows, others)
	if overflows < 80 || others < 60 {
		t.Errorf("%d overflows and %d others are too few to judge by", overflows, others)
	}
}

// The verdict does not hang on case, white space or what stands around a text.
func TestOverflowWrapped(t *testing.T) {
	for _, c := range errorCases(t) {
		if c.hasBody || c.failure.Message == "" || c.want == "unknown" {
			continue
		}
		for _, wrap := range []string{"%s", "Error: %s", "  %s\n", `{"detail":"%s"}`, "upstream said (%s)"} {
			w := c
			w.failure.Message = fmt.Sprintf(wrap, strings.ToUpper(c.failure.Message))
			want, got := c.want, verdict(w)
			if strings.HasPrefix(want, "overflow") != strings.HasPrefix(got, "overflow") {
				t.Errorf("line %d wrapped as %q: got %s, want %s", c.line, wrap, got, want)
			}
		}
	}
}

// A text of a rate limit that quotes an overflow stays a rate limit.
func TestOverflowVeto(t *testing.T) {
	for _, c := range errorCases(t) {
		if c.hasBody || !strings.HasPrefix(c.want, "overflow") || c.failure.Code != "" || c.failure.Message == "" || strings.Contains(c.want, " rate ") {
			continue
		}
		f := c.failure
		f.Message = "Rate limit reached, please wait. The last error was: " + f.Message
		if o, ok := ClassifyOverflow(f); ok {
			t.Errorf("line %d as a rate limit: %+v", c.line, o)
		}
		f = c.failure
		f.Status = 429
		if o, ok := ClassifyOverflow(f); ok {
			t.Errorf("line %d with status 429: %+v", c.line, o)
		}
	}
}

// What decides, where two things speak against each other.
func TestOverflowOrder(t *testing.T) {
	for _, c := range []struct {
		f    Failure
		want OverflowKind
	}{
		{Failure{Status: 400, Code: "context_length_exceeded", Message: "something is wrong"}, OverflowTokens},
		{Failure{Status: 429, Code: "context_length_exceeded", Message: "too many requests"}, OverflowTokens},
		{Failure{Status: 400, Type: "exceed_context_size_error", Message: "something is wrong"}, OverflowTokens},
		{Failure{Status: 400, Code: "rate_limit_exceeded", Message: "prompt is too long"}, ""},
		{Failure{Status: 400, Message: `{'error': 'The model\'s context length is 4096 tokens'}`}, OverflowTokens},
		// The whole minute's allowance is less than this request, or more.
		{Failure{Status: 429, Message: "Request too large on tokens per min (TPM): Limit 30000, Requested 40000."}, OverflowRate},
		{Failure{Status: 429, Message: "Rate limit reached on tokens per min (TPM): Limit 30000, Requested 385."}, ""},
		{Failure{Status: 413, Message: "<html>413</html>"}, OverflowBytes},
		{Failure{Status: 413}, ""},
		{Failure{Status: 400}, ""},
		{Failure{Status: 400, Provider: "cerebras"}, OverflowTokens},
	} {
		if o, ok := ClassifyOverflow(c.f); o.Kind != c.want || ok != (c.want != "") {
			t.Errorf("%+v: %v %+v", c.f, ok, o)
		}
	}
}

// No rule is dead: each is what some case is recognized by.
func TestOverflowRulesAreUsed(t *testing.T) {
	used := map[string]bool{}
	for _, c := range errorCases(t) {
		if c.hasBody {
			if e := ErrorFromBody(c.failure.Provider, c.failure.Status, nil, []byte(c.body)); e.Overflow != nil {
				used[e.Overflow.Rule] = true
			}
			continue
		}
		o, _ := ClassifyOverflow(c.failure)
		used[o.Rule] = true
	}
	for _, r := range known().overflow {
		if !used[r.name] {
			t.Errorf("no case is recognized by %s", r.name)
		}
	}
}

// FuzzClassifyOverflow: whatever a provider says, the numbers are sane, and
// nothing but a known text or code is an overflow.
func FuzzClassifyOverflow(f *testing.F) {
	for _, c := range errorCases(f) {
		f.Add(c.failure.Provider, c.failure.Status, c.failure.Type, c.failure.Code, c.failure.Message+c.body)
	}
	digits := regexp.MustCompile(`\d`)
	f.Fuzz(func(t *testing.T, provider string, status int, typ, code, text string) {
		o, ok := ClassifyOverflow(Failure{provider, status, typ, code, text})
		if o.Asked < 0 || o.Limit < 0 || o.Output < 0 || o.Output > o.Asked && o.Asked > 0 {
			t.Fatalf("%+v", o)
		}
		if ok != (o.Rule != "") || ok && o.Kind == "" {
			t.Fatalf("%v %+v", ok, o)
		}
		if o.Asked+o.Limit > 0 && !digits.MatchString(text) {
			t.Fatalf("numbers out of nothing: %+v", o)
		}
		_ = ErrorFromBody(provider, status, nil, []byte(text))
	})
}

func TestSilentOverflow(t *testing.T) {
	u := func(input, read, write, output int64) *message.Usage {
		return &message.Usage{Input: input, CacheRead: read, CacheWrite: write, Output: output}
	}
	for i, c := range []struct{ got, want bool }{
		{OverWindow(u(200_001, 0, 0, 1), 200_000), true},
		{OverWindow(u(1, 100_000, 100_001, 1), 200_000), true}, // what was written counts too
		{OverWindow(u(200_000, 0, 0, 50), 200_000), false},
		{OverWindow(u(10, 0, 0, 1), 0), false},
		{OverWindow(nil, 100), false},
		{NoRoom(FinishLength, u(198_000, 0, 0, 0), 200_000), true},
		{NoRoom(FinishLength, u(0, 99_000, 99_000, 0), 200_000), true},
		{NoRoom(FinishLength, u(197_999, 0, 0, 0), 200_000), false},
		{NoRoom(FinishLength, u(198_000, 0, 0, 1), 200_000), false},
		{NoRoom(FinishEnd, u(198_000, 0, 0, 0), 200_000), false},
		{NoRoom(FinishLength, nil, 200_000), false},
		{CutInput(65_530, u(32_770, 0, 0, 5)), false},
		{CutInput(91_541, u(2_048, 0, 0, 5)), true}, // https://github.com/ollama/ollama/issues/9452
		{CutInput(3_858, u(2_048, 0, 0, 5)), false}, // an estimate may err by that much
		{CutInput(999, u(10, 0, 0, 5)), false},
		{CutInput(5_000, u(0, 0, 0, 5)), false}, // nothing was counted
		{CutInput(5_000, nil), false},
	} {
		if c.got != c.want {
			t.Errorf("case %d: got %v", i, c.got)
		}
	}
}
