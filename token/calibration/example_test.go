package calibration_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
	"github.com/clew-dev/clew/token/calibration"
)

// recordedPath is a log of calls to a model that counts a fifth more than estimated.
func recordedPath() []*session.Entry {
	ctx, at := context.Background(), time.UnixMilli(1_750_000_000_000)
	log, err := session.NewLog(ctx, session.NewMemory(session.Header{ID: "s"}), session.Options{})
	if err != nil {
		panic(err)
	}
	counter, prompt := token.HeuristicFor("openai", "gpt-5"), int64(10_000)
	for i := range 40 {
		a := message.Assistant(at, message.ToolCallBlock(fmt.Sprint("c", i), "read", []byte(`{"path":"a.go"}`)))
		a.Provider, a.Model, a.Usage = "openai", "gpt-5", &message.Usage{Input: prompt, Output: 20}
		r := message.ToolResult(fmt.Sprint("c", i), "read", strings.Repeat("text of the file ", 120), false, at)
		if _, err := log.Append(ctx, session.Message(a), session.Message(r)); err != nil {
			panic(err)
		}
		prompt += (counter.Message(a) + counter.Message(r)) * 6 / 5
	}
	path, err := log.Path(ctx)
	if err != nil {
		panic(err)
	}
	return path
}

func ExampleCounter() {
	counter := token.HeuristicFor("openai", "gpt-5")
	text := strings.Repeat("How much is this? ", 100)
	before := counter.Text(text)
	counter, learned, err := calibration.Counter(counter, token.Calibration{}, recordedPath(), "openai", "gpt-5")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(before, counter.Text(text))
	fmt.Println(learned.Explain())
	// Output:
	// 378 449
	// openai/gpt-5 by heuristic/gpt: estimates times 1.188, learnt from 39 calls; guard 1.14 from 9 stretches; since 2025-06-15; last errors +1.1 %, +1.1 %, +1.1 %, +1.0 %, +1.0 %, +1.0 %, +0.9 %, +0.9 %
}

func ExampleSave() {
	dir, err := os.MkdirTemp("", "clew")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "calibration.json")

	_, learned, err := calibration.Counter(token.HeuristicFor("openai", "gpt-5"), token.Calibration{}, recordedPath(), "openai", "gpt-5")
	if err != nil {
		fmt.Println(err)
		return
	}
	set := &calibration.Set{}
	set.Put(learned)
	if err := calibration.Save(file, set); err != nil {
		fmt.Println(err)
		return
	}

	// Another day, another program.
	set, err = calibration.Load(file)
	known := set.For(token.HeuristicFor("openai", "gpt-5"), "openai", "gpt-5")
	fmt.Println(known.Calls, err)
	// Output: 39 <nil>
}
