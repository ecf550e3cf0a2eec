package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// logged is a session in the making.
type logged struct {
	t   testing.TB
	log *session.Log
	at  time.Time
	n   int
}

func newLogged(t testing.TB) *logged {
	l := &logged{t: t, at: time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)}
	log, err := session.NewLog(context.Background(), session.NewMemory(session.Header{ID: "s", Version: 3}), session.Options{
		Clock: func() time.Time { return l.at },
		NewID: func() string { l.n++; return fmt.Sprintf("%016x", l.n) },
	})
	if err != nil {
		t.Fatal(err)
	}
	l.log = log
	return l
}

func (l *logged) append(drafts ...session.Draft) []*session.Entry {
	l.t.Helper()
	entries, err := l.log.Append(context.Background(), drafts...)
	if err != nil {
		l.t.Fatal(err)
	}
	l.at = l.at.Add(10 * time.Second)
	return entries
}

func (l *logged) session(name string) Session {
	path, err := l.log.Path(context.Background())
	if err != nil {
		l.t.Fatal(err)
	}
	return Session{Name: name, Cwd: "/work/app", Path: path}
}

// talk adds turns: what the user wants, then calls with results of several hundred
// words. Every message holds a mark of its own, so that a test can tell whether it
// was seen.
func (l *logged) talk(rng *rand.Rand, steps int) {
	l.t.Helper()
	names := make([]string, 300)
	for i := range names {
		names[i] = fmt.Sprintf("handle%cCase%d", 'A'+i%26, i)
	}
	words := strings.Fields("the cache breaks when parser reads nested list of items and never checks bounds before it writes result into table because index starts after first row")
	from, wide := 0, len(names) // what an answer may name is more than what a result shows
	line := func() string {
		out := make([]string, 9)
		for i := range out {
			if rng.IntN(4) == 0 {
				out[i] = names[(from+rng.IntN(wide))%len(names)]
			} else {
				out[i] = words[rng.IntN(len(words))]
			}
		}
		return strings.Join(out, " ")
	}
	lines := func(n int) string {
		out := make([]string, n)
		for i := range out {
			out[i] = line()
		}
		return strings.Join(out, "\n")
	}
	for i := range steps {
		if i%8 == 0 {
			l.append(session.Message(message.User(fmt.Sprintf("Mark%dUser: you must keep %s as it is. %s", l.n, names[i%len(names)], line()), l.at)))
		}
		id := fmt.Sprintf("call%d", l.n)
		tool := []string{"read", "edit", "bash"}[rng.IntN(3)]
		args := map[string]any{"path": fmt.Sprintf("src/mod%d.go", rng.IntN(20)), "newText": line()}
		if tool == "bash" {
			args = map[string]any{"command": "go test ./" + names[rng.IntN(len(names))]}
		}
		raw, err := json.Marshal(args)
		if err != nil {
			l.t.Fatal(err)
		}
		answer := message.Assistant(l.at, message.TextBlock(fmt.Sprintf("Mark%dAgent: %s", l.n, lines(2))), message.ToolCallBlock(id, tool, raw))
		answer.Model = "model-x"
		l.append(session.Message(answer))
		from, wide = 5*i, 12
		l.append(session.Message(message.ToolResult(id, tool, fmt.Sprintf("Mark%dWorld\n%s", l.n, lines(36)), rng.IntN(9) == 0, l.at)))
		from, wide = 0, len(names)
	}
}

// longSession is long enough for points and costs.
func longSession(t testing.TB, seed uint64, steps int) Session {
	l := newLogged(t)
	l.append(session.Message(message.System("the rules of the house", l.at)))
	l.talk(rand.New(rand.NewPCG(seed, 1)), steps)
	return l.session(fmt.Sprintf("long-%d", seed))
}
