package token_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/token"
)

// benchSession returns the messages of a session of 2.4 MB, and their bytes: the
// recorded one, or one that is made up where there is none.
func benchSession(b testing.TB) (msgs []*message.Message, raw []byte) {
	b.Helper()
	files, _ := filepath.Glob(filepath.Join(corpusRoot(), "sessions", "pi", "*before-compaction*.jsonl"))
	if len(files) > 0 {
		raw = readFile(b, files[0])
	} else {
		raw = madeUpSession(2_400_000)
	}
	for line := range bytes.Lines(raw) {
		var record struct{ Message json.RawMessage }
		if json.Unmarshal(line, &record) != nil || record.Message == nil {
			continue
		}
		m, err := message.Parse(record.Message)
		if err != nil {
			b.Fatal(err)
		}
		msgs = append(msgs, m)
	}
	return msgs, raw
}

func madeUpSession(size int) []byte {
	code := strings.Repeat("func open(path string) (*os.File, error) {\n\tif path == \"\" {\n\t\treturn nil, errEmpty // line 17\n\t}\n}\n", 40)
	var out []byte
	for i := 0; len(out) < size; i++ {
		now := time.UnixMilli(1_750_000_000_000 + int64(i))
		id := fmt.Sprintf("call_%d", i)
		args, _ := json.Marshal(map[string]string{"path": fmt.Sprintf("src/file%d.go", i), "content": code[:i%900]})
		for _, m := range []*message.Message{
			message.Assistant(now, message.TextBlock("I'll read that file and fix the test."), message.ToolCallBlock(id, "write", args)),
			message.ToolResult(id, "write", code, false, now),
		} {
			out = append(append(append(out, `{"type":"message","message":`...), m.JSON()...), '}', '\n')
		}
	}
	return out
}

// Metering costs less than checking that the same bytes are JSON: the metric
// "×json" is how many times faster it is. The sizes show that it is linear.
func BenchmarkMeasure(b *testing.B) {
	one, raw := benchSession(b)
	for _, c := range []token.Config{
		{Provider: "anthropic", Model: "claude-opus-4-5", AnyUsage: true},
		{Counter: token.Chars4(), AnyUsage: true},
	} {
		meter, err := token.NewMeter(c)
		if err != nil {
			b.Fatal(err)
		}
		for _, times := range []int{1, 10, 100} {
			msgs := make([]*message.Message, 0, times*len(one))
			for range times {
				msgs = append(msgs, one...)
			}
			b.Run(fmt.Sprintf("%s/%dx", meter.Name(), times), func(b *testing.B) {
				b.SetBytes(int64(times * len(raw)))
				var metering, scanning time.Duration
				for b.Loop() {
					start := time.Now()
					// No usage is fresh, so that everything is estimated.
					if r := meter.Measure(msgs, len(msgs)); r.Tokens == 0 {
						b.Fatal("nothing was measured")
					}
					metering += time.Since(start)
					start = time.Now()
					for range times {
						for line := range bytes.Lines(raw) {
							json.Valid(line)
						}
					}
					scanning += time.Since(start)
				}
				b.ReportMetric(float64(scanning)/float64(metering), "×json")
				b.ReportMetric(float64(metering.Nanoseconds())/float64(b.N), "ns-meter/op")
			})
		}
	}
}

// BenchmarkText shows the speed of the counters on text alone.
func BenchmarkText(b *testing.B) {
	msgs, _ := benchSession(b)
	var long strings.Builder
	for _, m := range msgs {
		long.WriteString(m.Text())
	}
	text := long.String()
	for _, c := range []token.Counter{token.Heuristic(token.Claude), token.Chars4()} {
		b.Run(c.Name(), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				c.Text(text)
			}
		})
	}
}
