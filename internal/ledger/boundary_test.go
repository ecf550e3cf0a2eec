package ledger_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/testchat"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// What the agent and the user say is finished is, in the languages that the word lists know: not where they ask, deny
// or plan it.
func TestSaidToBeDone(t *testing.T) {
	agent := map[ledger.Boundary][]string{
		ledger.BoundaryAgent: {
			"Done.", "Done — the importer reads every row.", "I've finished the importer.", "The importer is now complete.",
			"The parser has been implemented and wired in. It reads `pantry.txt`.", "You're all set.",
			"All done! Shall I commit it?", "The rows keep their order.\n\nEverything is done.",
			"功能实现完毕", "已完成", "登录功能已完成，可以开始测试。", "全部搞定！", "問題を修正しました。", "実装が完了しました。", "구현이 완료되었습니다.",
			"Fertig.", "Der Parser ist fertig und liest jede Zeile.", "C'est terminé.", "Listo: el analizador lee todo.", "Готово.",
		},
		"": {
			"The importer is not done yet.", "When this is done, I commit it.", "Once the tests are finished I'll go on.",
			"Is it done?", "It will be done in a minute.", "This should be finished by tomorrow.", "Let me get this done.",
			"The sorting is done by readRows.", "The index is almost finished.", "If the import finished, the rows are there.",
			"I look at the importer.", "The parser is one way to do it.",
			"还没完成", "尚未完成了一半", "登录功能完成了吗？", "测试完毕后我会提交。", "如果已完成就提交。",
			"まだ完了していません。", "完了したら教えてください。", "아직 완료되지 않았습니다.",
			"Noch nicht fertig.", "Wenn das fertig ist, geht es weiter.", "Ce n'est pas terminé.", "Todavía no está listo.", "Ещё не готово.",
			"```\nDone.\n```\nThis is what it prints.",
		},
	}
	user := map[ledger.Boundary][]string{
		ledger.BoundaryUser: {"done", "Thanks, that works!", "lgtm", "没问题了", "搞定，谢谢", "passt, danke", "ありがとう"},
		"":                  {"is it done?", "that does not look done to me", "when it's done, commit", "还没完成", "谢谢，但是还没好吗？", "fix the parser"},
	}
	check := func(who string, say func(c *testchat.Chat, text string), cases map[ledger.Boundary][]string) {
		for want, texts := range cases {
			for _, text := range texts {
				c := testchat.New()
				c.User("Write the importer.")
				say(c, text)
				r := ledger.NewReader(ledger.Options{})
				if r.Add(c.Items()); r.Boundary() != want {
					t.Errorf("%s says %q: %q, want %q", who, text, r.Boundary(), want)
				}
			}
		}
	}
	check("the agent", func(c *testchat.Chat, text string) { c.Say(text) }, agent)
	check("the user", func(c *testchat.Chat, text string) { c.User(text) }, user)
}

// The word of the agent counts beside what was done: not while a check fails, not a second time, not in the middle of a
// turn. The ledger keeps the checkpoints, those of an earlier summary first.
func TestCheckpoints(t *testing.T) {
	c := testchat.New()
	c.User("Fix the parser.")
	c.Bash("go test ./...", "--- FAIL: TestA\nFAIL\tx\t0.1s")
	c.Say("Done.") // a check fails
	c.User("No.")
	c.Call("edit", `{"path":"a.go","oldText":"a","newText":"b"}`, "ok")
	check := c.Bash("go test ./...", "ok  \tx\t0.1s").ID
	c.Say("Done.") // known from the check
	c.User("Now the importer.")
	c.Call("edit", `{"path":"b.go","oldText":"a","newText":"b"}`, "ok")
	said := c.Say("Done.")
	c.User("And the writer.")
	again := c.Bash("go test ./...", "ok  \tx\t0.1s").ID
	c.Call("edit", `{"path":"c.go","oldText":"a","newText":"b"}`, "ok")
	last := c.Say("Done.")
	want := []ledger.Checkpoint{
		{Entry: check, Why: ledger.BoundaryCheck},
		{Entry: said, Why: ledger.BoundaryAgent},
		{Entry: again, Why: ledger.BoundaryCheck},
		{Entry: last, Why: ledger.BoundaryAgent},
	}
	led := ledger.Read(c.Items(), ledger.Options{})
	if !slices.Equal(led.Checkpoints, want) {
		t.Fatalf("got %v, want %v", led.Checkpoints, want)
	}
	details, err := json.Marshal(map[string]any{"clew": map[string]any{"v": 1, "ledger": &led}})
	if err != nil {
		t.Fatal(err)
	}
	next := testchat.New()
	next.Tag = "n"
	next.User("Go on.")
	want = append(want, ledger.Checkpoint{Entry: next.Say("已完成"), Why: ledger.BoundaryAgent})
	before := session.Item{Message: &message.Message{Role: message.RoleCompactionSummary, Summary: "x", Details: details}}
	led = ledger.Read(append([]session.Item{before, before}, next.Items()...), ledger.Options{})
	if !slices.Equal(led.Checkpoints, want) {
		t.Errorf("after a summary: got %v, want %v", led.Checkpoints, want)
	}
}
