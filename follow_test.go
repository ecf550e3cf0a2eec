package clew_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/wire"
)

// asked is a request of the user with a call, its result and an answer.
func asked(n int) []*message.Message {
	id := fmt.Sprintf("call_%d", n)
	return []*message.Message{
		message.User(fmt.Sprintf("Request %d: change src/part%d.go.", n, n), start),
		message.Assistant(start, message.Block{Type: message.BlockToolCall, ID: id, Name: "read", Arguments: json.RawMessage(fmt.Sprintf(`{"path":"src/part%d.go"}`, n))}),
		message.ToolResult(id, "read", strings.Repeat(fmt.Sprintf("func part%d() error { return nil }\n", n), 60), false, start),
		message.Assistant(start, message.TextBlock(fmt.Sprintf("Changed src/part%d.go.", n))),
	}
}

func texts(list []clew.Followed) (out []string) {
	for _, m := range list {
		out = append(out, string(m.Message.JSON()))
	}
	return out
}

// A list that is given whole each time begins with the same messages until the next pass,
// also after the session was opened again; who goes back gets what held there; and what left
// is found.
func TestFollow(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	open := func() *clew.Follower {
		t.Helper()
		cfg := fixed(small(20_000))
		cfg.NewID = nil // its ids begin again
		s, err := clew.Open(ctx, path, cfg)
		if err != nil {
			t.Fatal(err)
		}
		f, err := clew.Follow(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := open()
	list := []*message.Message{message.System("Be brief.", start)}
	var before []string
	passes, atTen := 0, []string(nil)
	for n := range 60 {
		list = append(list, asked(n)...)
		out, err := f.Prepare(ctx, list)
		if err != nil {
			t.Fatal(n, err)
		}
		now := texts(out)
		if len(before) > 0 && !slices.Equal(now[:min(len(before), len(now))], before) {
			passes++
		}
		before = now
		for _, m := range out {
			if m.From >= 0 && !m.Edited && m.Message != list[m.From] && string(m.Message.JSON()) != string(list[m.From].JSON()) {
				t.Fatalf("turn %d: message %d is another one", n, m.From)
			}
		}
		send := make([]*message.Message, len(out))
		for i := range out {
			send[i] = out[i].Message
		}
		if _, _, err := wire.Build(send, wire.Anthropic, wire.Target{}, wire.Options{}); err != nil {
			t.Fatalf("turn %d: %v", n, err)
		}
		if n == 10 {
			atTen = now
		}
		if n == 30 {
			if err := f.Session().Close(); err != nil {
				t.Fatal(err)
			}
			f = open()
			again, err := f.Prepare(ctx, list)
			if err != nil || !slices.Equal(texts(again), now) {
				t.Fatalf("opened again, the list is another one: %v", err)
			}
		}
	}
	if passes < 2 || passes > 15 {
		t.Errorf("%d passes", passes)
	}
	back, err := f.Prepare(ctx, list[:1+11*4])
	if err != nil || !slices.Equal(texts(back), atTen) {
		t.Errorf("who goes back gets another list: %v", err)
	}
	edited := append(slices.Clone(list[:1+59*4]), message.User("No: leave it.", start))
	out, err := f.Prepare(ctx, edited)
	if err != nil || out[len(out)-1].From != len(edited)-1 || !slices.ContainsFunc(out, func(m clew.Followed) bool { return m.From < 0 }) {
		t.Errorf("an edited list: %v", err)
	}
	if found, err := f.Session().RecallTool(ctx, json.RawMessage(`{"query":"part3 error"}`)); err != nil || !strings.Contains(found, "part3") {
		t.Errorf("recall: %.200s, %v", found, err)
	}
	if err := f.Session().Close(); err != nil {
		t.Fatal(err)
	}
}
