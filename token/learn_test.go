package token_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

const (
	provider = "acme"
	model    = "m-1"
)

// path makes a path of answers and results whose prompts grow by a quarter more
// than chars4 says. between is put before every third answer.
func path(t *testing.T, calls int, between ...session.Draft) []*session.Entry {
	t.Helper()
	log, err := session.NewLog(t.Context(), session.NewMemory(session.Header{ID: "s"}), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	prompt := int64(9000)
	for i := range calls {
		at := time.UnixMilli(1_750_000_000_000 + int64(i)*1000)
		a := message.Assistant(at, message.ToolCallBlock(fmt.Sprint("c", i), "read", []byte(`{"path":"x"}`)))
		a.Provider, a.Model, a.Usage = provider, model, &message.Usage{Input: prompt, Output: 30}
		r := message.ToolResult(fmt.Sprint("c", i), "read", strings.Repeat("some words ", 50+rnd.IntN(100)), false, at)
		prompt += (token.Chars4().Message(a) + token.Chars4().Message(r)) * 5 / 4
		drafts := []session.Draft{session.Message(a), session.Message(r)}
		if i%3 == 2 {
			drafts = append(drafts, between...)
		}
		if _, err := log.Append(t.Context(), drafts...); err != nil {
			t.Fatal(err)
		}
	}
	p, err := log.Path(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func learn(p []*session.Entry) token.Calibration {
	_, c, err := token.Learn(token.Chars4(), token.Calibration{}, p, provider, model)
	if err != nil {
		panic(err)
	}
	return c
}

// What changes the context, or may, ends what is learnt from; what does not, does not.
func TestLearnFromPath(t *testing.T) {
	for name, c := range map[string]struct {
		between []session.Draft
		calls   int64 // of the 29 pairs
	}{
		"nothing":           {nil, 29},
		"a label":           {[]session.Draft{session.NewLabel("", "x")}, 29},
		"a name":            {[]session.Draft{session.NewSessionInfo("x")}, 29},
		"a custom entry":    {[]session.Draft{session.NewCustom("theirs", []byte("{}"))}, 29},
		"a mark of ours":    {[]session.Draft{session.NewCustom("clew.something", []byte("{}"))}, 20},
		"a custom message":  {[]session.Draft{session.NewCustomMessage("theirs", []message.Block{message.TextBlock("note")}, false, nil)}, 20},
		"a thinking level":  {[]session.Draft{session.NewThinkingLevel("high")}, 20},
		"words of the user": {[]session.Draft{session.Message(message.User("go on", time.UnixMilli(1)))}, 20},
	} {
		p := path(t, 30, c.between...)
		got := learn(p)
		if got.Calls != c.calls {
			t.Errorf("%s: learnt from %d calls, want %d", name, got.Calls, c.calls)
		}
		if f := got.Factor(); f < 1.18 || f > 1.3 {
			t.Errorf("%s: the factor is %v", name, f)
		}
		if !reflect.DeepEqual(got, learn(p)) {
			t.Errorf("%s: not the same when it is learnt again", name)
		}
	}
}

// The usage of an answer that stands in the path again is that of another context.
func TestCopiesAreNotLearntFrom(t *testing.T) {
	p := path(t, 6)
	all := append([]*session.Entry{}, p...)
	for i, e := range p {
		raw := strings.Replace(string(e.Raw()), "{", fmt.Sprintf(`{"clew":{"copyOf":%q,"lines":%d},`, e.ID, len(p)), 1)
		again, err := session.ParseEntry([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if again.CopyOf() != e.ID {
			t.Fatalf("entry %d is no copy: %s", i, raw)
		}
		all = append(all, again)
	}
	if got, want := learn(all), learn(p); got.Calls != want.Calls || want.Calls != 5 {
		t.Errorf("%d calls with the copies, %d without", got.Calls, want.Calls)
	}
}
