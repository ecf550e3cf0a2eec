package clew_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/wire"
)

// at is when everything in the examples happens.
var at = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// readFiles makes a conversation in which an agent reads n files.
func readFiles(n int) []*message.Message {
	msgs := []*message.Message{message.User("Find out where the timeout is set. Don't touch config.go.", at)}
	for i := range n {
		id, path := fmt.Sprintf("call_%d", i), fmt.Sprintf("pkg/file%d.go", i)
		msgs = append(
			msgs,
			message.Assistant(at, message.ToolCallBlock(id, "read", []byte(`{"path":"`+path+`"}`))),
			message.ToolResult(id, "read", strings.Repeat("func retry() error { return wait(30) }\n", 60), false, at),
		)
	}
	return append(msgs, message.Assistant(at, message.TextBlock("It is set in pkg/file3.go.")))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// example returns a session of a small window with a conversation in it.
func example(files int, hooks ...clew.Hooks) *clew.Session {
	s, err := clew.New(clew.Config{Policy: compact.Policy{Window: 16_000}, Hooks: hooks})
	must(err)
	_, err = s.Append(context.Background(), readFiles(files)...)
	must(err)
	return s
}

func Example() {
	ctx := context.Background()
	s, err := clew.New(clew.Config{Provider: "anthropic", Model: "claude-opus-4-6"})
	must(err)
	defer s.Close()

	// The model is not really called here.
	ask := func(*wire.Request) *message.Message { return message.Assistant(at, message.TextBlock("Hello!")) }

	_, err = s.Append(ctx, message.User("Say hello.", at))
	must(err)
	p, err := s.Prepare(ctx)
	must(err)
	req, _, err := p.Render(wire.Anthropic)
	must(err)
	fmt.Printf("%s\n", req.List())
	_, err = s.Append(ctx, ask(req))
	must(err)
	// Output:
	// [{"role":"user","content":[{"type":"text","text":"Say hello."}]}]
}

func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "clew")
	must(err)
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "session.jsonl")

	s, err := clew.Open(ctx, path, clew.Config{})
	must(err)
	_, err = s.Append(ctx, message.User("Remember the number 8377.", at))
	must(err)
	must(s.Close())

	s, err = clew.Open(ctx, path, clew.Config{})
	must(err)
	defer s.Close()
	p, err := s.Prepare(ctx)
	must(err)
	fmt.Println(p.Messages[0].Text())
	// Output: Remember the number 8377.
}

func ExampleSession_Append() {
	ctx := context.Background()
	s, err := clew.New(clew.Config{})
	must(err)
	_, err = s.Append(
		ctx,
		message.User("List the files.", at),
		message.Assistant(at, message.ToolCallBlock("call_1", "ls", []byte(`{}`))),
	)
	must(err)
	_, err = s.Prepare(ctx)
	fmt.Println(err)

	_, err = s.Append(ctx, message.ToolResult("call_1", "ls", "go.mod\nmain.go", false, at))
	must(err)
	p, err := s.Prepare(ctx)
	must(err)
	fmt.Println(len(p.Messages), "messages")
	// Output:
	// prepare: a tool call is waiting for its result: ls (call_1); append the results first, or call CloseOpenCalls if they will never come
	// 3 messages
}

func ExampleSession_Prepare() {
	ctx := context.Background()
	s := example(3)
	p, err := s.Prepare(ctx)
	must(err)
	fmt.Println("pass:", p.Plan.Act)

	s = example(40)
	p, err = s.Prepare(ctx)
	must(err)
	fmt.Println("pass:", p.Plan.Act)
	fmt.Println("fits:", p.Reading.Guarded() <= p.Plan.Budget.Limit)
	// Output:
	// pass: false
	// pass: true
	// fits: true
}

func ExampleSession_Compact() {
	ctx := context.Background()
	s := example(8)
	r, err := s.Compact(ctx, clew.CompactOptions{Keep: compact.Tokens(1_000)})
	must(err)
	fmt.Println("smaller:", r.Plan.After.Tokens < r.Plan.Before.Tokens)
	p, err := s.Prepare(ctx)
	must(err)
	fmt.Println(p.Messages[0].Role)
	fmt.Println("quotes the user:", strings.Contains(p.Messages[0].Summary, "Don't touch config.go."))
	// Output:
	// smaller: true
	// compactionSummary
	// quotes the user: true
}

func ExampleSession_Explain() {
	ctx := context.Background()
	s := example(8)
	_, err := s.Compact(ctx, clew.CompactOptions{Keep: compact.Tokens(1_000)})
	must(err)
	x, err := s.Explain(ctx)
	must(err)
	fmt.Println("would act:", x.Plan.Act)
	fmt.Println("the request:", x.Fates[0].Fate)
	fmt.Println("the first result:", x.Fates[2].Fate)
	// Output:
	// would act: false
	// the request: quoted
	// the first result: summarized
}

func ExampleSession_Undo() {
	ctx := context.Background()
	s := example(8)
	count := func() int {
		p, err := s.Prepare(ctx)
		must(err)
		return len(p.Messages)
	}
	before := count()
	_, err := s.Compact(ctx, clew.CompactOptions{Keep: compact.Tokens(1_000)})
	must(err)
	fmt.Println("fewer messages:", count() < before)
	_, err = s.Undo(ctx, session.UndoOptions{})
	must(err)
	fmt.Println("as before:", count() == before)
	// Output:
	// fewer messages: true
	// as before: true
}

func ExampleSession_Pin() {
	ctx := context.Background()
	s, err := clew.New(clew.Config{Policy: compact.Policy{Window: 16_000}})
	must(err)
	ids, err := s.Append(
		ctx,
		message.User("What is the plan?", at),
		message.Assistant(at, message.TextBlock("First the parser, then the printer.")),
	)
	must(err)
	must(s.Pin(ctx, ids[1]))
	_, err = s.Append(ctx, readFiles(40)...)
	must(err)
	p, err := s.Prepare(ctx)
	must(err)
	fmt.Println(p.Plan.Act, strings.Contains(p.Messages[0].Summary, "First the parser, then the printer."))
	// Output: true true
}

func ExampleSession_Recall() {
	ctx := context.Background()
	s := example(40)
	path, err := s.Log().Path(ctx)
	must(err)
	_, err = s.Prepare(ctx) // makes a pass
	must(err)
	m, err := s.Recall(ctx, path[0].ID)
	must(err)
	fmt.Println(m.Text())
	// Output: Find out where the timeout is set. Don't touch config.go.
}

func ExampleFit() {
	ctx := context.Background()
	msgs := readFiles(40)
	out, r, err := clew.Fit(ctx, msgs, clew.Config{Policy: compact.Policy{Window: 16_000}})
	must(err)
	fmt.Println("acted:", r.Plan.Act, "shorter:", len(out) < len(msgs))
	fmt.Println(out[0].Role)
	// Output:
	// acted: true shorter: true
	// compactionSummary
}

func ExampleHooks() {
	ctx := context.Background()
	s := example(40, clew.Hooks{BeforeCompact: func(_ context.Context, e clew.BeforeCompactEvent) (clew.Decision, error) {
		return clew.Decision{Summary: "The agent read 40 files. The timeout is set in pkg/file3.go."}, nil
	}}, clew.Hooks{AfterCompact: func(_ context.Context, e clew.Event) (clew.Decision, error) {
		fmt.Println("a pass was written for the reason", e.Reason)
		return clew.Decision{}, nil
	}})
	p, err := s.Prepare(ctx)
	must(err)
	fmt.Println(strings.Contains(p.Messages[0].Summary, "set in pkg/file3.go"))
	// Output:
	// a pass was written for the reason threshold
	// true
}
