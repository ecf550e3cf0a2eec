package widget

import (
	"slices"
	"strings"
	"testing"
)

const sampleDiff = `--- a/agent/loop.go
+++ b/agent/loop.go
@@ -10,7 +10,8 @@ func (a *Agent) run(ctx context.Context) error {
 	for {
-		reply, err := a.model.Call(ctx, a.messages)
+		// 中文注释: 一次调用
+		reply, err := a.model.Call(ctx, a.session.Context(), withARatherLongOptionThatDoesNotFit(1234567890), another)
 		if err != nil {
 			return err
 		}
--- a comment of SQL that was taken out
\ No newline at end of file
`

const sampleMarkdown = "# Title\n\nSome **bold** and *soft* words with `a\\.b` code, a [link](http://example.org/x) and 中文字符" +
	"中文字符中文字符中文字符中文字符中文字符中文字符中文字符中文字符中文字符。\n\n- one\n- two\n  - three\n\n1. first\n2. second\n\n> quoted\n\n" +
	"```go\nfunc main() {\n\tfmt.Println(\"a\\.b\\*\")\n\n\n\tif x { return }\n}\n```\n\n| key | value |\n|---|---|\n| a | 中文 |\n| b | c |\n\n- [x] done\n- [ ] open\n\nThe end: &amp; &lt;b&gt; &#27;[2J &Tab; &rlm;.\n"

func sampleBlocks() []*Block {
	tool := func(status Status, title, text string) *Block {
		b := NewBlock(BlockTool, title, text)
		b.Status = status
		return b
	}
	opened := func(b *Block) *Block { b.Open = true; return b }
	edit := tool(StatusDone, "edit agent/loop.go", "replaced 1 place")
	edit.Diff = sampleDiff
	long := tool(StatusDone, "edit big.go", "")
	long.Diff = "@@ -1,40 +1,40 @@\n" + strings.Repeat("-old\n+new\n", 20)
	stream := NewBlock(BlockAssistant, "", "")
	grow(stream, "Still **stream")
	grow(stream, "ing**\nsecond line")
	thinking := NewBlock(BlockThinking, "", "")
	grow(thinking, "I wonder")
	return []*Block{
		NewBlock(BlockUser, "", "fix the flaky test in agent/loop_test.go, it fails about one time in twenty under the race detector\n\nand say why"),
		NewBlock(BlockThinking, "", "The test starts two goroutines.\nThe second may win."),
		opened(NewBlock(BlockThinking, "", "The test starts two goroutines.\nThe second may win.")),
		thinking,
		NewBlock(BlockAssistant, "", sampleMarkdown),
		stream,
		tool(StatusWaiting, "bash go test ./agent", ""),
		tool(StatusRunning, "bash go test ./agent", "line 1\nline 2\nline 3\nline 4\n"),
		tool(StatusDone, "bash go test -race -count=20 ./agent ./session ./session/jsonl ./internal/text ./cmd/clew", "ok\nok\nok\n"),
		opened(tool(StatusFailed, "bash make", "\x1b[31mmake: *** [all] Error 2\x1b[0m\n\ttab\n")),
		tool(StatusDenied, "bash rm -rf /", ""), tool(StatusCancelled, "grep TODO", ""),
		edit, opened(edit2(edit)), long,
		NewBlock(BlockCompaction, "152k → 38k tokens, 214 entries summarized", "## Goal\n\nMake the test pass."),
		opened(NewBlock(BlockCompaction, "152k → 38k tokens, 214 entries summarized", "## Goal\n\nMake the test pass.")),
		NewBlock(BlockBranch, "12 entries left behind", "Tried a mutex."),
		NewBlock(BlockNotice, "", "session resumed: 3 compactions, 812 entries"),
		NewBlock(BlockError, "", "the model answered 529 (overloaded) four times; try again, or choose another one with /model"),
	}
}

// grow adds to a text that streams in.
func grow(b *Block, more string) { b.Text, b.Streaming = b.Text+more, true }

func edit2(b *Block) *Block { c := *b; return &c }

func TestBlockGolden(t *testing.T) {
	golden(t, "blocks", func(theme *Theme, width, _ int) (out []string) {
		for _, b := range sampleBlocks() {
			out = append(append(out, b.Lines(theme, width)...), "")
		}
		return out
	})
}

func TestBlockIsRedrawnWhenItChanges(t *testing.T) {
	theme := none()
	b := NewBlock(BlockTool, "bash ls", "")
	seen := map[string]bool{}
	look := func(what string) {
		t.Helper()
		s := strings.Join(b.Lines(theme, 40), "\n")
		if seen[s] {
			t.Errorf("after %s it looks as before:\n%s", what, s)
		}
		seen[s] = true
		if again := b.Lines(theme, 40); strings.Join(again, "\n") != s {
			t.Errorf("drawn twice: %q, then %q", s, again)
		}
	}
	look("nothing")
	b.Status = StatusRunning
	look("a status")
	grow(b, "out")
	look("output")
	grow(b, "put\n")
	look("more output")
	b.Streaming = false
	b.Status = StatusDone
	look("the end")
	b.Open = true
	look("unfolding")
	b.Text = "other"
	look("a text")
	b.Title = "bash ls -l"
	look("a title")
	b.Diff = "+x"
	look("a diff")
	if n := len(b.Lines(theme, 6)); n <= len(b.Lines(theme, 40))-1 {
		t.Error("the width is not looked at")
	}
}

// TestBlockStreamsAsItEnds: text in pieces looks as text at once.
func TestBlockStreamsAsItEnds(t *testing.T) {
	r := newRand(t, 8)
	for range 300 {
		text := randomText(r, 60)
		b := NewBlock(BlockAssistant, "", "")
		width := 5 + r.IntN(60)
		for rest := text; rest != ""; {
			n := 1 + r.IntN(len(rest))
			grow(b, rest[:n])
			rest = rest[n:]
			if r.IntN(10) == 0 {
				width = 5 + r.IntN(60)
			}
			checkWidth(t, "streaming", b.Lines(none(), width), width)
		}
		grow(b, "")
		if got, want := b.Lines(none(), width), Wrap(Sanitize(text), width); !slices.Equal(got, want) {
			t.Fatalf("%q in pieces:\n%q\nat once:\n%q", text, got, want)
		}
	}
}

func TestBlockWidth(t *testing.T) {
	r := newRand(t, 9)
	for range 600 {
		width := 1 + r.IntN(100)
		for _, theme := range []*Theme{none(), NewTheme(ModeDark, true)} {
			b := NewBlock(BlockKind(r.IntN(8)), randomText(r, 10), randomText(r, 60))
			b.Status = []Status{StatusNone, StatusWaiting, StatusRunning, StatusDone, StatusFailed, StatusDenied, StatusCancelled}[r.IntN(7)]
			b.Open = r.IntN(2) == 0
			if r.IntN(3) == 0 {
				b.Diff = randomText(r, 30)
			}
			lines := b.Lines(theme, width)
			checkWidth(t, "block", lines, width)
			if theme.Mode == ModeNone && strings.Contains(strings.Join(lines, ""), "\x1b") {
				t.Fatalf("an escape without colour: %q", lines)
			}
		}
	}
}

func TestDiffCap(t *testing.T) {
	lines := Diff(none(), strings.Repeat("+x\n", 30), 20, 10)
	if len(lines) != 11 || lines[10] != "… 20 more lines" {
		t.Errorf("%q", lines)
	}
	if lines := Diff(none(), strings.Repeat("+x\n", 11), 20, 10); lines[10] != "… 1 more line" {
		t.Errorf("%q", lines)
	}
	if lines := Diff(none(), "+rm \x1b]0;x\a\u202e", 40, 0); !slices.Equal(lines, []string{`+rm \x1b]0;x\a\u202e`}) {
		t.Errorf("hidden: %q", lines)
	}
}

// TestLongMessageIsFolded: a paste of thousands of lines takes a dozen lines of the screen.
func TestLongMessageIsFolded(t *testing.T) {
	b := NewBlock(BlockUser, "", "look:\n"+strings.Repeat("line\n", 4_999))
	lines := b.Lines(none(), 80)
	if len(lines) != 11 || lines[0] != "> look:" || !strings.Contains(lines[10], "4990 more lines") {
		t.Errorf("%d lines: %q", len(lines), lines[max(len(lines)-2, 0):])
	}
	b.Open = true
	if len(b.Lines(none(), 80)) != 5_000 {
		t.Errorf("unfolded it has %d lines", len(b.Lines(none(), 80)))
	}
	b = NewBlock(BlockUser, "", strings.Repeat("x", 100_000))
	if n := len(b.Lines(none(), 80)); n > 60 {
		t.Errorf("one long line takes %d", n)
	}
	tool := NewBlock(BlockTool, "bash: one\ntwo", "")
	if got := tool.Lines(none(), 80)[0]; !strings.Contains(got, "one ⏎ two") {
		t.Errorf("a command of two lines: %q", got)
	}
}
