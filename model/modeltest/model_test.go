package modeltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/anthropic"
	"github.com/clew-dev/clew/model/modeltest"
)

func question() *model.Request {
	return &model.Request{System: "Be brief.", Messages: []*message.Message{message.User("hi", time.UnixMilli(0))}}
}

// The scripted model gives what a server would.
func TestModel(t *testing.T) {
	m := modeltest.New(
		modeltest.Text("one, two, three, four"), modeltest.Overflow(210_000, 200_000), modeltest.RateLimited(time.Minute),
		modeltest.Answer(modeltest.Think("hm"), modeltest.Call("c", "read", `{"path":"a"}`)),
		modeltest.Text("cut in the middle").With(modeltest.Faults{Drop: true, DropAt: 5}),
		modeltest.Refused("no"),
	)
	ctx := context.Background()
	said := ""
	r, err := m.Stream(ctx, question(), func(e model.Event) error { said += e.Text; return nil })
	if err != nil || r.Text() != said || r.Message.Usage.Input <= 0 {
		t.Errorf("%v %v, said %q", r, err, said)
	}
	_, err = m.Complete(ctx, question())
	var e *model.Error
	if !errors.Is(err, model.ErrOverflow) || !errors.As(err, &e) || e.Overflow.Limit != 200_000 {
		t.Errorf("%v", err)
	}
	if _, err = m.Complete(ctx, question()); !errors.As(err, &e) || e.Kind != model.KindRateLimit || e.RetryAfter != time.Minute {
		t.Errorf("%v", err)
	}
	if r, err = m.Complete(ctx, question()); err != nil || r.Finish != model.FinishToolUse || len(r.Message.ToolCalls()) != 1 {
		t.Errorf("%v %v", r, err)
	}
	if _, err = m.Stream(ctx, question(), nil); !errors.As(err, &e) || e.Kind != model.KindDropped || e.Partial == nil {
		t.Errorf("%v", err)
	}
	if r, err = m.Complete(ctx, question()); err != nil || r.Finish != model.FinishRefusal || r.Message.StopReason != message.StopError {
		t.Errorf("%v %v", r, err)
	}
	if _, err = m.Complete(ctx, question()); err == nil {
		t.Error("the script goes on")
	}
	if len(m.Requests()) != 7 {
		t.Errorf("%d requests", len(m.Requests()))
	}
}

// Requests are checked as an adapter would, and a window is one.
func TestModelChecks(t *testing.T) {
	m := modeltest.New(modeltest.Text("x"))
	bad := question()
	bad.Messages = append(bad.Messages, message.Assistant(time.UnixMilli(0), message.ToolCallBlock("c", "read", json.RawMessage(`{}`))))
	var e *model.Error
	if _, err := m.Complete(context.Background(), bad); !errors.As(err, &e) || e.Kind != model.KindRequest {
		t.Errorf("a pending call: %v", err)
	}
	m.ModelInfo.Window = 10
	if _, err := m.Complete(context.Background(), question()); !errors.Is(err, model.ErrOverflow) {
		t.Errorf("a small window: %v", err)
	}
	if n, err := m.Count(context.Background(), question()); err != nil || n <= 10 {
		t.Errorf("%d, %v", n, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	m.Add(modeltest.Text("x"))
	if _, err := m.Complete(ctx, question()); !errors.As(err, &e) || e.Kind != model.KindCanceled || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func ExampleNew() {
	m := modeltest.New(modeltest.Text("A ball of thread."), modeltest.Overflow(210_000, 200_000))
	req := &model.Request{Messages: []*message.Message{message.User("What is a clew?", time.Now())}}

	r, err := m.Complete(context.Background(), req)
	fmt.Println(r.Text(), err)
	_, err = m.Complete(context.Background(), req)
	fmt.Println(errors.Is(err, model.ErrOverflow))
	// Output:
	// A ball of thread. <nil>
	// true
}

func ExampleStart() {
	srv := modeltest.Start(modeltest.Config{}, modeltest.Answer(
		modeltest.Think("The file will tell."),
		modeltest.Call("call_1", "read", `{"path":"go.mod"}`),
	))
	defer srv.Close()
	m, err := anthropic.New(anthropic.Config{Endpoint: srv.Endpoint("claude-sonnet-4-5")})
	if err != nil {
		panic(err)
	}
	r, err := m.Complete(context.Background(), &model.Request{
		Messages: []*message.Message{message.User("Which Go?", time.Now())},
		Tools:    []model.Tool{{Name: "read"}},
	})
	if err != nil {
		panic(err)
	}
	for _, c := range r.Message.ToolCalls() {
		fmt.Println(c.Name, string(c.Arguments))
	}
	fmt.Println(srv.Violations())
	// Output:
	// read {"path":"go.mod"}
	// []
}
