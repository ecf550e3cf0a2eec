package recall_test

import (
	"context"
	"fmt"
	"time"

	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

func exampleLog(ctx context.Context) (*session.Log, error) {
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	n := 0
	log, err := session.NewLog(ctx, session.NewMemory(session.Header{ID: "s", Version: session.Version}), session.Options{
		NewID: func() string { n++; return fmt.Sprintf("%d000000000000000", n) },
	})
	if err != nil {
		return nil, err
	}
	_, err = log.Append(ctx,
		session.Message(message.User("the staging database listens on port 54329", at)),
		session.Message(message.Assistant(at, message.TextBlock("I put it into parse_config."))),
		session.Message(message.User("移行スクリプトを実行して", at)))
	return log, err
}

func ExampleIndex_Search() {
	ctx := context.Background()
	log, err := exampleLog(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := recall.New(log.Store(), nil)
	for _, words := range []string{"database port", "parseConfig", "スクリプト"} {
		found, err := x.Search(ctx, recall.Query{Text: words}, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, h := range found.Hits {
			fmt.Printf("%s: turn %d, %s: %s\n", words, h.Turn, h.Role, h.Snippet)
		}
	}
	// Output:
	// database port: turn 1, user: the staging database listens on port 54329
	// parseConfig: turn 1, assistant: I put it into parse_config.
	// スクリプト: turn 2, user: 移行スクリプトを実行して
}

func ExampleFind() {
	ctx := context.Background()
	log, err := exampleLog(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := recall.Find(ctx, log.Store(), log.Leaf(), "[#20000000]") // as a summary names it
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := e.Message()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(recall.Text(m))
	// Output: I put it into parse_config.
}

func ExamplePager() {
	text := "one two three"
	for offset := 0; ; {
		pager := recall.Pager{Offset: offset, Most: 5}
		pager.Add(text)
		p := pager.Page()
		fmt.Printf("%q of %d characters\n", p.Text, p.Total)
		if p.Next == 0 {
			break
		}
		offset = p.Next
	}
	// Output:
	// "one t" of 13 characters
	// "wo th" of 13 characters
	// "ree" of 13 characters
}
