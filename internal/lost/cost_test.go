package lost_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/lost"
)

// window is how many bytes are said before a compaction: more than 200,000 tokens.
const window = 800 << 10

// longWork writes a transcript of Claude Code of so many bytes that was compacted each time it
// was full and at its end, and returns the event of that.
func longWork(tb testing.TB, size int) (event string, data []byte) {
	var b bytes.Buffer
	n, parent := 0, "null"
	line := func(what string) {
		n++
		fmt.Fprintf(&b, `{"parentUuid":%s,"isSidechain":false,"cwd":"/src/app","sessionId":"s1234567","uuid":"u%d","timestamp":"2026-05-01T10:00:00Z",%s}`+"\n", parent, n, what)
		parent = fmt.Sprintf(`"u%d"`, n)
	}
	compact := func() {
		line(`"type":"system","subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{"trigger":"auto","preTokens":190000}`)
		line(`"type":"user","isCompactSummary":true,"message":{"role":"user","content":"This session is being continued. We worked on a clock."}`)
	}
	last := 0
	for i := 0; b.Len() < size; i++ {
		if b.Len()-last > window {
			compact()
			last = b.Len()
		}
		if i%20 == 0 {
			line(fmt.Sprintf(`"type":"user","message":{"role":"user","content":"Mend part %d of the clock. Never touch calendar%d.go."}`, i, i))
		}
		call := fmt.Sprintf(`{"type":"tool_use","id":"t%d","name":"Bash","input":{"command":"go test ./part%d"}}`, i, i)
		if i%3 == 0 {
			call = fmt.Sprintf(`{"type":"tool_use","id":"t%d","name":"Edit","input":{"file_path":"/src/app/part%d.go","old_string":"tick(%d)","new_string":"tock(%d)"}}`, i, i%200, i, i)
		}
		line(fmt.Sprintf(`"type":"assistant","message":{"id":"m%d","role":"assistant","model":"m","content":[{"type":"text","text":"Part %d is next, since its test fails."},%s],"usage":{"input_tokens":1000,"output_tokens":10}}`, i, i, call))
		var out strings.Builder
		for j := range 40 {
			fmt.Fprintf(&out, `%d: func part%d_%d(tick int) error {\n`, j, i, j*i%977)
		}
		line(fmt.Sprintf(`"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%s--- FAIL: TestPart%d (0.00s)"}]}`, i, out.String(), i))
	}
	compact()
	file := filepath.Join(tb.TempDir(), "s.jsonl")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		tb.Fatal(err)
	}
	name, _ := json.Marshal(file)
	return fmt.Sprintf(`{"hook_event_name":"SessionStart","source":"resume","session_id":"s1234567","transcript_path":%s}`, name), b.Bytes()
}

// hook answers an event, and fails where there is nothing to give.
func hook(tb testing.TB, event string) {
	h := lost.Hook{Program: "claude-code", Now: time.Now}
	if h.Answer(tb.Context(), strings.NewReader(event)) == "" {
		tb.Fatal("nothing is given")
	}
}

// BenchmarkHook gives back what a compaction of a transcript of 1 and of 10 MB lost. x-json is
// how often encoding/json could have checked the file in that time.
func BenchmarkHook(b *testing.B) {
	for _, mb := range []int{1, 10} {
		b.Run(fmt.Sprint(mb, "MB"), func(b *testing.B) {
			event, data := longWork(b, mb<<20)
			for b.Loop() {
				hook(b, event)
			}
			each := b.Elapsed() / time.Duration(b.N)
			begun := time.Now()
			for line := range bytes.Lines(data) {
				if !json.Valid(line) {
					b.Fatal("a line is no JSON")
				}
			}
			b.ReportMetric(float64(each.Milliseconds()), "ms/op")
			b.ReportMetric(each.Seconds()/time.Since(begun).Seconds(), "x-json")
		})
	}
}

// TestHookIsLinear: an agent waits for its hook. Ten times the transcript takes about ten times
// as long.
func TestHookIsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes time to measure time")
	}
	cost := func(size int) time.Duration {
		event, _ := longWork(t, size)
		best := time.Hour
		for range 3 {
			begun := time.Now()
			hook(t, event)
			best = min(best, time.Since(begun))
		}
		return best
	}
	small, large := cost(1<<20), cost(10<<20)
	t.Logf("1 MB: %v, 10 MB: %v", small, large)
	if large > 30*small {
		t.Errorf("1 MB takes %v and 10 MB %v", small, large)
	}
}
