package jsonl_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

func ExampleCreate() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "clew-example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "session.jsonl")

	f, err := jsonl.Create(ctx, path, session.Header{ID: "example", Timestamp: time.Now(), Cwd: dir}, jsonl.Options{})
	if err != nil {
		panic(err)
	}
	log, err := session.NewLog(ctx, f, session.Options{})
	if err != nil {
		panic(err)
	}
	if _, err := log.Append(ctx, session.Message(message.User("fix the flaky test", time.Now()))); err != nil {
		panic(err) // nothing was written
	}
	// From here on the message is on the disk, whatever happens.
	if err := f.Close(); err != nil {
		panic(err)
	}

	f, err = jsonl.Open(ctx, path, jsonl.Options{})
	if err != nil {
		panic(err)
	}
	defer f.Close()
	last, _ := f.Last(ctx)
	m, _ := last.Message()
	fmt.Println(m.Text())
	// Output: fix the flaky test
}

func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "clew-example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "session.jsonl")
	torn := `{"type":"session","version":3,"id":"s","cwd":"/x"}
{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"hello"}}
{"type":"message","id":"b","parentId":"a","mess`
	if err := os.WriteFile(path, []byte(torn), 0o600); err != nil {
		panic(err)
	}

	f, err := jsonl.Open(ctx, path, jsonl.Options{ReadOnly: true})
	if err != nil {
		panic(err)
	}
	defer f.Close()
	last, _ := f.Last(ctx)
	fmt.Println("leaf:", last.ID)
	for _, p := range f.Problems() {
		fmt.Printf("%s: %s\n", p.Code, p.What)
	}
	// Output:
	// leaf: a
	// torn-tail: the last line breaks off after 47 bytes
}
