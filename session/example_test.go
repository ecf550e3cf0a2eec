package session_test

import (
	"context"
	"fmt"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

func ExampleLog() {
	ctx := context.Background()
	now := time.Now()
	log, err := session.NewLog(ctx, session.NewMemory(session.Header{ID: "example"}), session.Options{})
	if err != nil {
		panic(err)
	}
	_, _ = log.Append(ctx, session.Message(message.User("fix the flaky test", now)))
	_, _ = log.Append(ctx, session.Message(message.Assistant(now, message.TextBlock("done"))))
	c, _ := log.Context(ctx)
	for _, it := range c.Items {
		fmt.Println(it.Message.Role, it.Message.Text())
	}
	// Output:
	// user fix the flaky test
	// assistant done
}

func ExampleLog_Undo() {
	ctx := context.Background()
	now := time.Now()
	log, err := session.NewLog(ctx, session.NewMemory(session.Header{ID: "example"}), session.Options{})
	if err != nil {
		panic(err)
	}
	show := func(what string) {
		c, _ := log.Context(ctx)
		fmt.Print(what, ":")
		for _, it := range c.Items {
			fmt.Print(" ", it.Message.Role)
		}
		fmt.Println()
	}
	entries, _ := log.Append(
		ctx,
		session.Message(message.User("fix the flaky test", now)),
		session.Message(message.Assistant(now, message.TextBlock("done"))),
		session.Message(message.User("and run it twice", now)),
	)
	show("before")
	last := entries[2].ID
	_, _ = log.AppendPass(ctx, last, session.PassInfo{Reason: "manual"},
		session.NewCompaction(session.Compaction{Summary: "A test was fixed.", FirstKeptEntryID: last}))
	show("after")
	_, _ = log.Undo(ctx, session.UndoOptions{})
	show("undone")
	// Output:
	// before: user assistant user
	// after: compactionSummary user
	// undone: user assistant user
}
