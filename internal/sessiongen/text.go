package sessiongen

import (
	"strconv"
	"strings"
)

// Texts are made as the raw inside of a JSON string: what is in these lists is
// written to the file as it stands. That is how one character comes to be
// written in several ways ("é", "\u00e9"), and how halves of surrogate pairs,
// which no Go string can hold, get into a file.
var (
	words = strings.Fields(`add after agent and answer append because before branch build cache call change check
		clock close commit context count cut delete diff edit empty entry error fail file first fix flush fold found from
		function go has header hold index into is it keep key last leaf line list lock log long loop make message missing
		move name needs new next none not of old on one open order pair parent parse pass path plan print read record
		reply result retry root run same save see seed short size slow split start step still stop store sync tail task
		test text that the then this time to token tree turn two undo unit use user value wait was when with word write`)

	codeLines = []string{
		`func open(path string) (*os.File, error) {\n`,
		`\tif err != nil {\n\t\treturn nil, fmt.Errorf(\"open %s: %w\", path, err)\n\t}\n`,
		`\tfor i := 0; i < len(lines); i++ {\n`,
		`\t\tsum += lines[i].size // in bytes\n`,
		`const total = items.filter(x => x != null).map(x => x.n * 2);\n`,
		`    raise ValueError(f\"no such entry: {entry_id!r}\")\n`,
		`SELECT id, parent_id FROM entries WHERE type = 'message' ORDER BY seq;\n`,
		`export default function App({ items }: Props) {\r\n`,
		`  return <ul className=\"list\">{items.map(render)}<\/ul>;\n`,
		`}\n\n`,
		`static inline int max(int a, int b) { return a > b ? a : b; }\n`,
		`#include <stdio.h>\n`,
		`re := regexp.MustCompile(` + "`" + `^\\s*\\\"(\\d+)\\\"` + "`" + `)\n`,
	}
	diffLines = []string{
		`--- a/session/jsonl/read.go\n+++ b/session/jsonl/read.go\n`,
		`@@ -41,7 +41,9 @@ func (r *reader) next() bool {\n`,
		` \tline := r.line()\n`,
		`-\tif line == nil {\n`,
		`+\tif len(line) == 0 {\n+\t\tr.blank++\n`,
		` \t\treturn false\n`,
		`\\ No newline at end of file\n`,
	}
	logLines = []string{
		`2025-06-03T10:22:07.118Z INFO  server listening on 127.0.0.1:8080\n`,
		`ok  \texample.com/app/store\t0.412s\n`,
		`--- FAIL: TestOpen (0.00s)\n    open_test.go:31: got 3 entries, want 4\n`,
		`FAIL\texample.com/app/store\t0.020s\n`,
		`\u001b[31merror\u001b[0m: cannot find module 'left'\n`,
		`\u001b[32m✓\u001b[0m 118 passed\n`,
		`npm warn deprecated one@1.0.3: use two\n`,
		`Traceback (most recent call last):\n  File \"main.py\", line 12, in <module>\n`,
		`KeyError: 'parentId'\n`,
		`  45% |##########          |\r  90% |##################  |\r`,
		`panic: runtime error: index out of range [4] with length 4\n\ngoroutine 1 [running]:\n`,
		`exit status 1\n`,
		`fetch https:\/\/registry.example\/pkg\/one 200 in 31ms\n`,
	}
	jsonLines = []string{
		`{\"name\": \"one\", \"version\": \"1.4.0\", \"private\": true}\n`,
		`{\n  \"scripts\": {\n    \"test\": \"go test .\/...\"\n  }\n}\n`,
		`[1, 2.50, -3e10, null, \"four\"]\n`,
		`{\"type\":\"message\",\"id\":\"0badcafe\",\"parentId\":null}\n`,
		`{\"path\":\"C:\\\\work\\\\a.txt\"}\n`,
	}
	cjkLines = []string{
		`请先运行测试，再修改配置文件。`,
		`会话日志只追加，不改写。`,
		`为什么第三个结果没有返回？`,
		`\u4e0b\u4e00\u6b65\uff1a\u4fee\u590d`,
		`テストが失敗しました。`,
		`ファイルを読み込んでから続けてください。`,
		`エラーの原因を調べます：`,
		`세션 파일을 열 수 없습니다. `,
		`다음 단계로 넘어가기 전에 확인하세요. `,
		`𠮷野家で𩸽を食べた。`,
	}
	emojiBits = []string{
		`🙂`, `✅`, `🚀 `, `👩‍💻`, `👨‍👩‍👧‍👦`, `🏳️‍🌈`, `🇩🇪`, `👍🏽`, `\ud83d\ude00`, `\uD83D\uDC4D`, `e\u0301`, `❤️`,
	}
	surrogateBits = []string{`\ud83d `, ` \ude00`, `\uD800x`, `a\udfffb`, `\ude00\ud83d `}
	oddBits       = []string{
		`\u2028`, "\u2028", "\u2029", `\u0000`, `\u0001\u001f`, `\b\f`, `\u007f`, `\ufeff`, `\u00e9`, `é`, `ß`, `\/`, `\t`,
		`</summary>`, `<summary>`, `</conversation>`, `</previous-summary>`, `<system-reminder>`, `[User]: `, `\n\n---\n\n`,
		`\n## Goal\n`, "```\\n", `&lt;b&gt;`, `<b>&amp;`, `%s%d`, `${HOME}`, "\u200b", "\ufffd", `\\u0041`, `\\`, `\"`,
	}
)

// text returns about size bytes of one kind of content, or of a mix. What it
// uses of scripts and emoji is counted as a feature of the session.
func (g *gen) text(size int) string {
	var b strings.Builder
	b.Grow(size + 64)
	cjk, emoji, lone := g.r.chance(g.o.Odds.CJK), g.r.chance(g.o.Odds.Emoji), g.r.chance(g.o.Odds.Surrogate)
	odd := g.r.chance(0.3)
	lines := pick(&g.r, [][]string{nil, nil, nil, codeLines, codeLines, diffLines, logLines, logLines, jsonLines})
	if cjk && g.r.chance(0.5) {
		lines = cjkLines
	}
	for b.Len() < size {
		if lines != nil {
			b.WriteString(pick(&g.r, lines))
		} else {
			g.sentence(&b)
		}
		if g.r.chance(0.3) {
			switch {
			case cjk && g.r.chance(0.6):
				b.WriteString(pick(&g.r, cjkLines))
			case emoji && g.r.chance(0.6):
				b.WriteString(pick(&g.r, emojiBits))
			case odd:
				b.WriteString(pick(&g.r, oddBits))
			}
		}
	}
	// What was drawn is there at least once, however short the text is.
	if cjk {
		b.WriteString(pick(&g.r, cjkLines))
		g.mark(CJK)
	}
	if emoji {
		b.WriteString(pick(&g.r, emojiBits[:9]))
		g.mark(Emoji)
	}
	if lone {
		// The letter before keeps two such texts from making a pair between them.
		b.WriteString("x" + pick(&g.r, surrogateBits) + "x")
		g.mark(LoneSurrogates)
	}
	return b.String()
}

func (g *gen) sentence(b *strings.Builder) {
	n := g.r.between(2, 14)
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		if g.r.chance(0.05) {
			b.WriteString(g.path())
		} else {
			b.WriteString(pick(&g.r, words))
		}
	}
	b.WriteString(pick(&g.r, []string{". ", ". ", ".\\n", "? ", ":\\n", "\\n\\n- ", ", "}))
}

// huge returns size bytes and a little more: numbered lines around a few kinds
// of content, made quickly.
func (g *gen) huge(size int) string {
	block := g.text(4096)
	var b strings.Builder
	b.Grow(size + len(block) + 32)
	for i := 1; b.Len() < size; i++ {
		b.WriteString(strconv.Itoa(i))
		b.WriteString(": ")
		b.WriteString(block)
		b.WriteString(`\n`)
	}
	return b.String()
}

func (g *gen) path() string {
	return pick(&g.r, []string{
		"main.go", "./main.go", "/home/user/app/main.go", "src/App.tsx", "docs/read me.md", "a/b/../b/c.py", `C:\\app\\main.go`,
		"internal/store/store.go", "internal/store/store_test.go", "go.mod", "日本/説明.md", "README.md", "pkg/é.txt",
	})
}

// shortText is for names, labels and commands.
func (g *gen) shortText() string {
	n := g.r.between(1, 4)
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(pick(&g.r, words))
	}
	if g.r.chance(g.o.Odds.CJK / 2) {
		b.WriteString(pick(&g.r, cjkLines))
		g.mark(CJK)
	}
	return b.String()
}
