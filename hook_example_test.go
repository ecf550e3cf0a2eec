package clew_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
)

// A secret in a tool result is never stored.
func ExampleHooks_editToolResult() {
	ctx := context.Background()
	redact := clew.Hooks{EditToolResult: func(_ context.Context, e clew.ToolResultEvent) (clew.Decision, error) {
		text := strings.ReplaceAll(e.Message.Text(), "hunter2", clew.Redacted)
		return clew.Decision{Content: []message.Block{message.TextBlock(text)}}, nil
	}}
	s, err := clew.New(clew.Config{Hooks: []clew.Hooks{redact}})
	must(err)
	ids, err := s.Append(ctx,
		message.User("What is in .env?", at),
		message.Assistant(at, message.ToolCallBlock("c1", "read", []byte(`{"path":".env"}`))),
		message.ToolResult("c1", "read", "PASSWORD=hunter2", false, at))
	must(err)
	m, err := s.Recall(ctx, ids[2])
	must(err)
	fmt.Println(m.Text())
	// Output:
	// PASSWORD=[redacted]
}

// What a hook takes out of the context stays in the log, and is gone from every request.
func ExampleHooks_editContext() {
	ctx := context.Background()
	forget := clew.Hooks{EditContext: func(_ context.Context, e clew.ContextEvent) (clew.Decision, error) {
		var d clew.Decision
		for _, it := range e.Context() {
			if strings.Contains(it.Message.Text(), "[debug]") {
				d.Edits = append(d.Edits, clew.Edit{Entry: it.Entry.ID, Omit: true})
			}
		}
		return d, nil
	}}
	s, err := clew.New(clew.Config{Hooks: []clew.Hooks{forget}})
	must(err)
	_, err = s.Append(ctx, message.User("Say hello.", at), message.Assistant(at, message.TextBlock("[debug] x=1")), message.User("Again.", at))
	must(err)
	p, err := s.Prepare(ctx)
	must(err)
	fmt.Print(clew.Serialize(p.Messages))
	// Output:
	// [User]: Say hello.
	//
	// [User]: Again.
}

// What a hook stores with its summary it gets back at the next pass.
func ExampleHookDetails() {
	s := example(40, clew.Hooks{BeforeCompact: func(ctx context.Context, e clew.BeforeCompactEvent) (clew.Decision, error) {
		entries, err := e.BranchEntries(ctx)
		if err != nil {
			return clew.Decision{}, err
		}
		fmt.Printf("before: %q\n", clew.HookDetails(entries))
		return clew.Decision{Summary: "The port is 8377.", Details: []byte(`{"ports":[8377]}`)}, nil
	}})
	p, err := s.Prepare(context.Background())
	must(err)
	first, _, _ := strings.Cut(p.Plan.Summary.Text, "\n\n")
	fmt.Println(first)
	_, err = s.Append(context.Background(), message.Assistant(at, message.TextBlock("Done.")), message.User("Go on.", at))
	must(err)
	_, err = s.Compact(context.Background(), clew.CompactOptions{Keep: compact.Tokens(1)})
	must(err)
	// Output:
	// before: ""
	// <given by="hook">
	// The port is 8377.
	// </given>
	// before: "{\"ports\":[8377]}"
}

// The summary may come from elsewhere; what it is to be of is in the preparation.
func ExampleBeforeCompactEvent_Preparation() {
	s := example(40, clew.Hooks{BeforeCompact: func(_ context.Context, e clew.BeforeCompactEvent) (clew.Decision, error) {
		p, err := e.Preparation()
		if err != nil {
			return clew.Decision{}, err
		}
		text := clew.Serialize(append(p.History, p.TurnPrefix...)) // for a model of one's own
		return clew.Decision{Summary: fmt.Sprintf("The agent made %d calls.", strings.Count(text, "[Assistant tool calls]: read("))}, nil
	}})
	p, err := s.Prepare(context.Background())
	must(err)
	fmt.Println(p.Plan.Summary.Summarizer, strings.Contains(p.Plan.Summary.Text, " calls."))
	// Output:
	// hook true
}
