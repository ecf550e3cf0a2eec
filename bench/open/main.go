// Command open opens a session for work, builds the context of its leaf and says
// what that cost: the least that every use of a session does. It is a program of
// its own, so that the cost of a whole process can be measured.
//
//	go build -o /tmp/open ./bench/open
//	/tmp/open session.jsonl
//	/tmp/open -append session.jsonl
//	/tmp/open -all session.jsonl
//
// It prints one line of JSON: the messages of the context and their bytes, the
// size of the file, and, where the system tells, the CPU time used (user and
// system, in milliseconds) and the largest resident memory (in MiB).
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

type report struct {
	Messages int     `json:"messages"`
	Bytes    int     `json:"bytes"`
	File     int64   `json:"file"`
	Leaf     string  `json:"leaf"`
	Entries  int     `json:"entries,omitempty"`
	CPU      float64 `json:"cpuMs,omitempty"`
	Memory   float64 `json:"memoryMiB,omitempty"`
}

func main() {
	add := flag.Bool("append", false, "open for writing, and append a message before and after the context is built")
	all := flag.Bool("all", false, "read every entry of the file as well")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: open [-append] [-all] FILE")
		os.Exit(2)
	}
	r, err := run(context.Background(), flag.Arg(0), *add, *all)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	r.CPU, r.Memory = used()
	line, _ := json.Marshal(r)
	fmt.Printf("%s\n", line)
}

func run(ctx context.Context, path string, add, all bool) (r report, err error) {
	f, err := jsonl.Open(ctx, path, jsonl.Options{ReadOnly: !add, Program: "bench"})
	if err != nil {
		return r, err
	}
	defer f.Close()
	log, err := session.NewLog(ctx, f, session.Options{})
	if err != nil {
		return r, err
	}
	say := func(text string) {
		if add && err == nil {
			_, err = log.Append(ctx, session.Message(message.User(text, time.Now())))
		}
	}
	say("before")
	c, cerr := log.Context(ctx)
	if cerr != nil {
		return r, cerr
	}
	say("after")
	if err != nil {
		return r, err
	}
	for _, it := range c.Items {
		r.Messages++
		r.Bytes += len(it.Message.JSON())
	}
	if all {
		for _, err := range f.All(ctx) {
			if err != nil {
				return r, err
			}
			r.Entries++
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return r, err
	}
	r.File, r.Leaf = info.Size(), log.Leaf()
	return r, f.Close()
}
