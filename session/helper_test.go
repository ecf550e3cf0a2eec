package session_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

var testTime = time.UnixMilli(1_700_000_000_123)

// testLog is a log over a Memory whose ids count up: e1, e2, ...
func testLog(t testing.TB, entries ...*session.Entry) *session.Log {
	t.Helper()
	return logOn(t, session.NewMemory(session.Header{ID: "test"}, entries...))
}

func logOn(t testing.TB, s session.Store) *session.Log {
	t.Helper()
	n := 0
	for _, err := range s.All(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	log, err := session.NewLog(context.Background(), s, session.Options{
		Clock: func() time.Time { return testTime },
		NewID: func() string { n++; return fmt.Sprint("e", n) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func user(s string) session.Draft { return session.Message(message.User(s, testTime)) }

func answer(s string) session.Draft {
	return session.Message(message.Assistant(testTime, message.TextBlock(s)))
}

func appendAll(t testing.TB, log *session.Log, drafts ...session.Draft) []*session.Entry {
	t.Helper()
	entries, err := log.Append(context.Background(), drafts...)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// shows writes the context of a log in short: "user:hi [sum] ...".
func shows(t testing.TB, log *session.Log) string {
	t.Helper()
	c, err := log.Context(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, it := range c.Items {
		if it.Message.Role == message.RoleCompactionSummary {
			parts = append(parts, "["+it.Message.Summary+"]")
			continue
		}
		parts = append(parts, it.Message.Text())
	}
	return strings.Join(parts, " ")
}

func parse(t testing.TB, raw string) *session.Entry {
	t.Helper()
	e, err := session.ParseEntry([]byte(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return e
}
