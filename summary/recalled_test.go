package summary_test

import (
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/internal/testchat"
	"github.com/clew-dev/clew/summary"
)

// TestRecalledIsNoNews: what the tool recall has brought does not come into a summary as if it
// had been said now, under whatever name the tool was offered.
func TestRecalledIsNoNews(t *testing.T) {
	conv := testchat.New()
	conv.User("Why did the build of `pkg/zulu` break last week?")
	hits := recall.ResultLine("search: 2 found; give an id to read the whole") +
		"#1a2b3c4d result of bash, turn 3, at character 0 of 900\n  FAIL pkg/xray/quebec.go:17: undefined: WhiskeyTango\n" +
		"#5e6f7081 assistant calling recall, turn 4, at character 0 of 90\n  The handler reads settings from https://example.org/sierra and fails.\n"
	conv.Call(recall.ToolName, `{"query":"pkg zulu broke"}`, hits)
	conv.Call("mcp__clew__recall", `{"id":"1a2b3c4d"}`, recall.ResultLine("#1a2b3c4d result of bash: characters 0 to 900 of 900")+
		"Exit code 2\nerror: undefined: WhiskeyTango\npkg/xray/quebec.go:17: undefined: WhiskeyTango\n- [ ] repair yankeeFunction() in pkg/xray\n[main 1507f8b] Repair the handler\n").Failed()
	conv.Call(recall.ToolName, `{"id":"9d8c7b6a"}`, "recall 9d8c7b6a: no such entry: uniformError() knows of none").Failed()
	conv.Call("read", `{"path":"pkg/zulu/zulu.go"}`, "package zulu\n\n// Handler calls novemberFunction() of the other package.\nfunc Handler() error { return novemberFunction() }\n")
	conv.Say("The build of `pkg/zulu` broke because Handler calls novemberFunction(), which is gone.")
	out := summarize(t, summary.Input{Items: conv.Items(), Cwd: cwd, Budget: 4000})
	for _, gone := range []string{"WhiskeyTango", "quebec", "sierra", "yankee", "undefined", "1507f8b", "calling recall", "1a2b3c4d", "9d8c7b6a", "Blocked", "turn 3", "search:"} {
		if strings.Contains(out.Text, gone) {
			t.Errorf("%q came back:\n%s", gone, out.Text)
		}
	}
	for _, stays := range []string{"novemberFunction", "pkg/zulu", "Why did the build"} {
		if !strings.Contains(out.Text, stays) {
			t.Errorf("%q is gone:\n%s", stays, out.Text)
		}
	}
	// An output that only looks like one, of another tool, is output.
	other := testchat.New()
	other.User("what does the log say?")
	other.Call("read", `{"path":"app.log"}`, recall.ResultLine("x")+"the kiloProcess() of juliett.go gave up after nine attempts\n")
	if out := summarize(t, summary.Input{Items: other.Items(), Cwd: cwd, Budget: 4000}); !strings.Contains(out.Text, "kiloProcess") {
		t.Errorf("the output of another tool is gone:\n%s", out.Text)
	}
	l := ledger.Read(conv.Items(), ledger.Options{Cwd: cwd})
	if len(l.Errors) > 0 || len(l.Commands) > 0 || len(l.Commits) > 0 || len(l.Todos) > 0 || len(l.Files) != 1 {
		t.Errorf("the ledger: %+v", l)
	}
}
