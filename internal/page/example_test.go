package page_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/page"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

func ExampleWrite() {
	ctx := context.Background()
	log, err := session.NewLog(ctx, session.NewMemory(session.Header{ID: "s1", Version: session.Version}), session.Options{})
	if err != nil {
		panic(err)
	}
	if _, err := log.Append(ctx, session.Message(message.User("is 1 < 2?", time.Now()))); err != nil {
		panic(err)
	}
	var html strings.Builder
	if err := page.Write(ctx, &html, log.Store(), log.Leaf(), page.Options{}); err != nil {
		panic(err)
	}
	fmt.Println(strings.Contains(html.String(), `<div class="said" dir="auto">is 1 &lt; 2?</div>`))
	// Output: true
}
