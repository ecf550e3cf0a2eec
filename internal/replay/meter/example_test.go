package meter_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/replay/meter"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

func ExampleMeasure() {
	ctx, at := context.Background(), time.UnixMilli(0)
	log, err := session.NewLog(ctx, session.NewMemory(session.Header{ID: "s"}), session.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, prompt := range []int64{9000, 9440, 9880} {
		answer := message.Assistant(at, message.ToolCallBlock(fmt.Sprint("c", i), "read", []byte(`{"path":"a.go"}`)))
		answer.Provider, answer.Model = "openai", "gpt-5"
		answer.Usage = &message.Usage{Input: prompt, Output: 20}
		result := message.ToolResult(fmt.Sprint("c", i), "read", strings.Repeat("text of the file ", 120), false, at)
		if _, err := log.Append(ctx, session.Message(answer), session.Message(result)); err != nil {
			fmt.Println(err)
			return
		}
	}
	path, err := log.Path(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	errs := meter.Measure(path, token.HeuristicFor)
	fmt.Printf("%d calls; growth is off by %.0f %% in the median of %d samples\n", errs.Calls, 100*errs.Growth.Median(), len(errs.Growth))
	// Output: 3 calls; growth is off by 10 % in the median of 2 samples
}
