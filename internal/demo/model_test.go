package demo

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
)

var at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// request is one with tools, of texts of the user and the model in turns.
func request(texts ...string) *model.Request {
	r := &model.Request{System: "Be brief.", Tools: []model.Tool{{Name: "read", Description: "reads"}}}
	for i, text := range texts {
		m := message.User(text, at)
		if i%2 == 1 {
			m = message.Assistant(at, message.TextBlock(text))
			m.StopReason = message.StopEnd
		}
		r.Messages = append(r.Messages, m)
	}
	return r
}

func TestUsage(t *testing.T) {
	m := NewModel(0, nil)
	ctx := context.Background()
	one, err := m.Complete(ctx, request("hello"))
	if err != nil {
		t.Fatal(err)
	}
	size, err := m.Count(ctx, request("hello"))
	if err != nil {
		t.Fatal(err)
	}
	u := one.Message.Usage
	if u.CacheRead != 0 || u.Prompt() != size || u.Output == 0 {
		t.Errorf("the first request: %+v, counted are %d", u, size)
	}
	two, err := m.Complete(ctx, request("hello", one.Text(), "and now?"))
	if err != nil {
		t.Fatal(err)
	}
	if v := two.Message.Usage; v.CacheRead < size*8/10 || v.CacheRead >= v.Prompt() {
		t.Errorf("the second request: %+v after %+v", v, u)
	}
}

func TestTooLarge(t *testing.T) {
	_, err := NewModel(0, nil).Complete(context.Background(), request(strings.Repeat("word ", Window)))
	e := (*model.Error)(nil)
	if !errors.Is(err, model.ErrOverflow) || !errors.As(err, &e) || e.Overflow.Limit != Window || e.Overflow.Asked <= Window {
		t.Errorf("got %v, want an overflow with its numbers", err)
	}
}

// TestStream: the pieces are the answer, and the calls are whole JSON.
func TestStream(t *testing.T) {
	pieces := map[int]string{}
	done := 0
	resp, err := NewModel(0, nil).Stream(context.Background(), request("why does the check fail?"), func(e model.Event) error {
		switch e.Kind {
		case model.EventText, model.EventArguments:
			pieces[e.Block] += e.Text
		case model.EventDone:
			done++
		default:
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if resp.Finish != model.FinishToolUse || done != 1 || len(resp.Message.ToolCalls()) != 2 {
		t.Errorf("it ended by %q, with %d ends and the calls %v", resp.Finish, done, resp.Message.ToolCalls())
	}
	for i, b := range resp.Message.Content {
		want := b.Text
		if b.Type == message.BlockToolCall {
			want = string(b.Arguments)
			if !json.Valid(b.Arguments) {
				t.Errorf("block %d has the arguments %s", i, b.Arguments)
			}
		}
		if pieces[i] != want {
			t.Errorf("block %d came as %q, and is %q", i, pieces[i], want)
		}
	}
}

func TestStreamStops(t *testing.T) {
	m := NewModel(2*time.Millisecond, nil)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	said := ""
	_, err := m.Stream(ctx, request("hello"), func(e model.Event) error {
		said += e.Text
		if len(said) > 20 {
			cancel()
		}
		return nil
	})
	e := (*model.Error)(nil)
	if !errors.As(err, &e) || e.Kind != model.KindCanceled {
		t.Fatalf("got %v, want that it was cancelled", err)
	}
	if e.Partial == nil || e.Partial.Text() != said || said == "" {
		t.Errorf("what had arrived is %q, want %q", e.Partial.Text(), said)
	}
	mine := errors.New("enough")
	if _, err := m.Stream(context.Background(), request("hello"), func(model.Event) error { return mine }); !errors.Is(err, mine) || errors.As(err, &e) {
		t.Errorf("an error of the listener's own came back as %v", err)
	}
}

func TestPace(t *testing.T) {
	start := time.Now()
	resp, err := NewModel(time.Millisecond, nil).Complete(context.Background(), request("hello"))
	if err != nil {
		t.Fatal(err)
	}
	if words := len(strings.Fields(resp.Text())); time.Since(start) < time.Duration(words)*time.Millisecond {
		t.Errorf("%d words took %v", words, time.Since(start))
	}
}

func TestWithoutTools(t *testing.T) {
	r := request("find out why check.sh fails")
	r.Tools = nil
	resp, err := NewModel(0, nil).Complete(context.Background(), r)
	if err != nil || len(resp.Message.ToolCalls()) > 0 || !strings.Contains(resp.Text(), "no tools") {
		t.Errorf("got %q, %v", resp.Text(), err)
	}
}

// TestSameCall: what brings nothing is not tried for ever.
func TestSameCall(t *testing.T) {
	r := request("find out why check.sh fails")
	m := NewModel(0, nil)
	for i := 0; ; i++ {
		resp, err := m.Complete(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		calls := resp.Message.ToolCalls()
		if len(calls) == 0 {
			break
		}
		if i > 20 {
			t.Fatal("it goes on and on")
		}
		r.Messages = append(r.Messages, resp.Message)
		for _, c := range calls {
			r.Messages = append(r.Messages, message.ToolResult(c.ID, c.Name, "(gone)", false, at))
		}
	}
}

func TestLastQuoted(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "no quote": "", "> one": "one",
		"[#1]\n> one\n> more\n\n[#2]\n> two\n> lines\n\n## Recall\n- text": "two\nlines",
	} {
		if got := lastQuoted(text); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}

// FuzzReply: whatever is said and whatever the tools bring, there is an answer with calls
// that can be made.
func FuzzReply(f *testing.F) {
	for _, say := range []string{sayFix, sayRecall, sayTeach, "read README.txt", "what is here", "hello", "> quote"} {
		f.Add(say, "ok", "bash")
		f.Add(say, theError+"\n288 needed, 1 missing", "read")
		f.Add(say, "#1a2b3c4d result of bash, turn 1, at character 99999999999999999999 of 5\n  FAIL", "recall")
	}
	f.Fuzz(func(t *testing.T, say, result, tool string) {
		r := request(say)
		for range 12 {
			s := reply(r)
			if s.text == "" {
				t.Fatalf("%q gets no answer", say)
			}
			if len(s.calls) == 0 {
				return
			}
			m := message.Assistant(at)
			r.Messages = append(r.Messages, m)
			for i, c := range s.calls {
				if !json.Valid(c.arguments()) {
					t.Fatalf("%s", c.arguments())
				}
				id := string(rune('a' + i))
				m.Content = append(m.Content, message.ToolCallBlock(id, c.tool, c.arguments()))
				r.Messages = append(r.Messages, message.ToolResult(id, tool, result, len(result)%2 == 0, at))
			}
		}
		t.Fatalf("%q is never done", say)
	})
}
