package clew

import (
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/message"
)

// The beginning of a message that is kept beside the log, wherever it is cut inside its text,
// gives the beginning of the text.
func TestClosed(t *testing.T) {
	text := "line \"one\"\n\\ back\ttab \u0001 中文 🙂 end"
	for _, quoted := range []string{string(jsonx.Quote(text)), `"line \"one\"\n\\ back\ttab \u0001 \u4e2d\u6587 \ud83d\ude42 end"`} {
		whole := `{"role":"toolResult","toolCallId":"c","content":[{"type":"text","text":` + quoted + `}],"isError":false}`
		begin := strings.Index(whole, `"line`) + 1
		end := strings.Index(whole, ` end"`)
		for cut := begin; cut <= end; cut++ {
			m, err := message.Parse(closed([]byte(whole[:cut])))
			if err != nil {
				t.Fatalf("cut at %d, after %q: %v", cut, whole[max(cut-8, 0):cut], err)
			}
			got := strings.TrimSuffix(recall.Text(m), "\uFFFD") // half of a surrogate pair
			if !strings.HasPrefix(text, got) || len(got) < len(whole[begin:cut])/6-4 {
				t.Fatalf("cut at %d: %q", cut, got)
			}
		}
		if m, err := message.Parse(closed([]byte(whole))); err != nil || recall.Text(m) != text {
			t.Fatal(err)
		}
	}
}

// FuzzClosed: the beginning of anything is closed without a panic, and is longer only by
// what closes it.
func FuzzClosed(f *testing.F) {
	f.Add([]byte(`{"a":["b\u00`))
	f.Add([]byte("\"\xe4\xb8"))
	f.Add([]byte(`]]}}"\`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got := closed(data); len(got) > 2*len(data)+1 {
			t.Fatalf("%d bytes of %d", len(got), len(data))
		}
	})
}
