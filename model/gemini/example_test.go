package gemini_test

import (
	"context"
	"fmt"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/gemini"
	"github.com/clew-dev/clew/model/modeltest"
)

func ExampleNew() {
	srv := modeltest.Start(modeltest.Config{}, modeltest.Answer(message.TextBlock("I look."), modeltest.Call("", "read", `{"path":"go.mod"}`)))
	defer srv.Close()
	m, err := gemini.New(gemini.Config{Endpoint: srv.Gemini("gemini-2.5-flash")})
	if err != nil {
		panic(err)
	}
	req := &model.Request{
		Messages: []*message.Message{message.User("Which Go?", time.Now())},
		Tools:    []model.Tool{{Name: "read"}},
	}
	r, err := m.Complete(context.Background(), req)
	if err != nil {
		panic(err)
	}
	for _, c := range r.Message.ToolCalls() { // the API gave no id, the adapter did
		fmt.Println(c.Name, string(c.Arguments), c.ID != "")
	}
	n, err := m.Count(context.Background(), req)
	fmt.Println(n > 5, err)
	// Output:
	// read {"path":"go.mod"} true
	// true <nil>
}
