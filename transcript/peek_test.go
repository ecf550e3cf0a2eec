package transcript_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/clew-dev/clew/transcript"
)

// TestPeekSeesWhatReadReads: what is seen at both ends of a recorded session is what the
// whole of it says.
func TestPeekSeesWhatReadReads(t *testing.T) {
	for n, file := range corpus(t) {
		if underRace && n%8 > 0 {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		g, err := transcript.Peek(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		tr := readFile(t, file, transcript.ReadOptions{})
		if g.Format != tr.Format {
			t.Errorf("%s: %s, and it is %s", file, g.Format, tr.Format)
		}
		if g.ID == "" {
			continue // a list in a file says nothing of the session
		}
		if g.ID != tr.Header.ID || g.Cwd != "" && g.Cwd != tr.Header.Cwd {
			t.Errorf("%s: %s in %s, and it is %s in %s", file, g.ID, g.Cwd, tr.Header.ID, tr.Header.Cwd)
		}
		said := g.First == ""
		for _, e := range tr.Entries {
			if m, err := e.Message(); err == nil && m != nil && m.UserWords() {
				said = said || strings.Contains(m.Text(), g.First)
			}
		}
		if !said {
			t.Errorf("%s: the user is said to have begun with %q", file, g.First)
		}
		// The last line of one file has two records, of which a glance sees none.
		if at := lastUsage(tr); g.Tokens != 0 && at != 0 && (g.Tokens < at*99/100 || g.Tokens > at) {
			t.Errorf("%s: %d tokens at the end, and they are %d", file, g.Tokens, at)
		}
	}
}

func lastUsage(tr *transcript.Transcript) (n int64) {
	for _, e := range tr.Entries {
		if m, err := e.Message(); err == nil && m != nil && m.Usage != nil {
			n = m.Usage.Total()
		}
	}
	return n
}
