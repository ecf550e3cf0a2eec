package main

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
)

const compactedByClaude = `{"parentUuid":null,"isSidechain":false,"cwd":"/w","sessionId":"5c1a7f00-0000-4000-8000-000000000000","uuid":"u1","timestamp":"2026-05-01T10:00:00Z","type":"user","message":{"role":"user","content":"Mend the clock. Never touch calendar.go, it is not ours."}}
{"parentUuid":"u1","isSidechain":false,"cwd":"/w","sessionId":"5c1a7f00-0000-4000-8000-000000000000","uuid":"u2","timestamp":"2026-05-01T10:00:01Z","type":"assistant","message":{"id":"m1","role":"assistant","model":"m","content":[{"type":"text","text":"The clock is mended."}],"usage":{"input_tokens":100000,"output_tokens":10}}}
{"parentUuid":null,"logicalParentUuid":"u2","isSidechain":false,"cwd":"/w","sessionId":"5c1a7f00-0000-4000-8000-000000000000","uuid":"u3","timestamp":"2026-05-01T10:00:02Z","type":"system","subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{"trigger":"auto","preTokens":100010}}
{"parentUuid":"u3","isSidechain":false,"cwd":"/w","sessionId":"5c1a7f00-0000-4000-8000-000000000000","uuid":"u4","timestamp":"2026-05-01T10:00:02Z","type":"user","isCompactSummary":true,"isVisibleInTranscriptOnly":true,"message":{"role":"user","content":"This session is being continued. We worked on a clock."}}
{"parentUuid":"u4","isSidechain":false,"cwd":"/w","sessionId":"5c1a7f00-0000-4000-8000-000000000000","uuid":"u5","timestamp":"2026-05-01T10:00:03Z","type":"user","message":{"role":"user","content":"And now the bell."}}
{"parentUuid":"u5","isSidechain":false,"cwd":"/w","sessionId":"5c1a7f00-0000-4000-8000-000000000000","uuid":"u6","timestamp":"2026-05-01T10:00:04Z","type":"assistant","message":{"id":"m2","role":"assistant","model":"m","content":[{"type":"text","text":"It rings."}],"usage":{"input_tokens":9000,"output_tokens":10}}}
`

// TestResumeOfACompactedSession: what another program's compaction took out is in the context
// again, to be summarized by clew, without the sizes of contexts that are no more. Where it is
// not in the file, the program's summary is all there is, and stays.
func TestResumeOfACompactedSession(t *testing.T) {
	context := func(text string) (words string, usages int) {
		tr, err := transcript.Read(strings.NewReader(text), transcript.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		store := tr.Store()
		last, err := store.Last(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		path, err := session.Path(t.Context(), store, last.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range session.Project(asSaid(path)).Items {
			words += it.Message.Text() + it.Message.Summary + "\n"
			if it.Message.Usage.Total() > 0 {
				usages++
			}
		}
		return words, usages
	}
	words, usages := context(compactedByClaude)
	if !strings.Contains(words, "Never touch calendar.go") || strings.Contains(words, "We worked on a clock") || !strings.Contains(words, "It rings") || usages != 1 {
		t.Errorf("%d usages in\n%s", usages, words)
	}
	_, behind, _ := strings.Cut(compactedByClaude, "\n")
	_, behind, _ = strings.Cut(behind, "\n")
	if words, usages = context(behind); !strings.Contains(words, "We worked on a clock") || usages != 1 {
		t.Errorf("%d usages in\n%s", usages, words)
	}
}

// TestShellWord: a shell takes the word for the path, whatever the folder is called.
func TestShellWord(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs sh")
	}
	for _, path := range []string{"/home/me/app.jsonl", "/tmp/a b", "/tmp/`echo no`", "/tmp/$(echo no)", `/tmp/it's "new"`, `/tmp/a\b`, "/tmp/a;b", "/tmp/a*b|c<d>e#f~!"} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+shellWord(path)).CombinedOutput()
		if err != nil || string(out) != path {
			t.Errorf("%s is %s, which the shell takes for %s, %v", path, shellWord(path), out, err)
		}
	}
}
