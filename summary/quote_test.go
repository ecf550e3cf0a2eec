package summary_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/testchat"
	"github.com/clew-dev/clew/summary"
)

// Of messages that are too long, what binds stands first, then the user's other
// sentences, and what is pasted last.
func TestLongMessages(t *testing.T) {
	conv := testchat.New()
	var plan strings.Builder
	for i := range 40 {
		fmt.Fprintf(&plan, "Step %d is about part number %d of the importer and its tests. ", i, i)
		fmt.Fprintf(&plan, "\n```go\nfunc pasted%d() { return pasted%d() + pasted%d() + pasted%d() }\n```\n", i, i, i, i)
		if i == 20 {
			plan.WriteString("You must never write to the archive.\n")
		}
	}
	conv.User(plan.String())
	conv.Say("I read the plan.")
	conv.User("start with the first step")
	out := summarize(t, summary.Input{Items: conv.Items(), Budget: 1400})
	q := out.Document.Quotes
	if len(q) != 2 || q[0].Whole() {
		t.Fatalf("quotes %+v", q)
	}
	shown := strings.Split(out.Text, "## User Messages")[1]
	if !strings.Contains(shown, "You must never write to the archive.") {
		t.Errorf("the rule is not quoted:\n%s", shown)
	}
	if n := strings.Count(shown, "of the importer and its tests"); n < 30 {
		t.Errorf("%d of 40 sentences are quoted:\n%s", n, shown)
	}
	if n := strings.Count(shown, "func pasted"); n > 5 {
		t.Errorf("%d blocks of code are quoted:\n%s", n, shown)
	}
	if whole, _ := q[0].Bytes(); whole != plan.Len() {
		t.Errorf("the quote says that the message has %d bytes, it has %d", whole, plan.Len())
	}
}

// Whatever the messages and the budget: a quote is what was said, in order, with
// gaps that add up.
func TestQuotesAddUp(t *testing.T) {
	t.Parallel()
	shortened := 0
	for seed := range cases(30) {
		r := rand.New(rand.NewPCG(seed, 51))
		conv := testchat.New()
		said := map[string]string{}
		for range 1 + r.IntN(6) {
			m := paragraph(r, 1+r.IntN(40))
			if r.IntN(3) == 0 {
				m += "\n```\n" + hostile(r) + "\n```\n" + paragraph(r, 5)
			}
			conv.User(m)
			conv.Say("ok")
		}
		for _, it := range conv.Items() {
			said[it.Entry.ID] = it.Message.Text()
		}
		out := summarize(t, summary.Input{Items: conv.Items(), Budget: int64(100 + r.IntN(3000)), ClipLast: true})
		for _, q := range out.Document.Quotes {
			whole := ""
			for id, m := range said {
				if strings.HasPrefix(id, q.Ref) {
					whole = m
				}
			}
			if n, _ := q.Bytes(); n != len(whole) {
				t.Fatalf("seed %d: %d bytes, the message has %d: %+v", seed, n, len(whole), q)
			}
			rest, ok := strings.CutPrefix(whole, q.Text)
			for _, g := range q.Gaps {
				shortened++
				if ok = ok && g.Omitted <= len(rest); ok {
					rest, ok = strings.CutPrefix(rest[g.Omitted:], g.Text)
				}
			}
			if !ok || rest != "" {
				t.Fatalf("seed %d: not what was said: %+v\n%s", seed, q, whole)
			}
		}
	}
	if shortened < 20 && !testing.Short() {
		t.Errorf("only %d gaps", shortened)
	}
}

func TestLanguages(t *testing.T) {
	for _, c := range []struct{ request, first, current string }{
		{"Please fix the parser in lib/parse.go, it does not read what it should.", "First request: ", "Current request: "},
		{"请修复 lib/parse.go 里的解析器，它读不了配置文件。", "最初的请求：", "当前请求："},
		{"lib/parse.go のパーサーを直してください。設定ファイルが読めません。", "最初の依頼：", "現在の依頼："},
		{"lib/parse.go의 파서를 고쳐 주세요. 설정 파일을 읽지 못합니다.", "첫 요청: ", "현재 요청: "},
		{"Bitte repariere den Parser in lib/parse.go, er liest die Einstellungen nicht und das ist schlecht.", "Erste Bitte: ", "Jetzige Bitte: "},
		{"Corrige le parseur dans lib/parse.go, il ne lit pas les réglages et c'est un problème pour nous.", "Première demande : ", "Demande actuelle : "},
		{"Arregla el analizador de lib/parse.go, no lee los ajustes y es un problema para el equipo.", "Primera petición: ", "Petición actual: "},
		{"Почини парсер в lib/parse.go, он не читает настройки.", "Первая просьба: ", "Текущая просьба: "},
	} {
		conv := testchat.New()
		conv.User(c.request)
		conv.Say("parseEntry in lib/parse.go is the place.")
		conv.User(c.request + " 2.0.1")
		out := summarize(t, summary.Input{Items: conv.Items(), Budget: 1200})
		g := out.Document.Goal
		if len(g) != 2 || !strings.HasPrefix(g[0].Text, c.first+c.request) || !strings.HasPrefix(g[1].Text, c.current) {
			t.Errorf("the goal is %+v, want it to begin with %q and %q", g, c.first, c.current)
			continue
		}
		// The next summary is in English, and knows the first request all the same.
		next := testchat.New()
		next.Tag = "n"
		for range 3 {
			next.User("And now please write the documentation of the parser, it is what we need for the release.")
			next.Say("ok")
		}
		in := summary.Input{Items: next.Items(), Previous: out.Text, Budget: 1200, Earlier: []summary.Quote{}}
		g = summarize(t, in).Document.Goal
		if len(g) != 2 || g[0].Text != "First request: "+c.request {
			t.Errorf("after %q the goal is %+v", c.request, g)
		}
	}
}

func TestProfiles(t *testing.T) {
	research := testchat.New()
	research.User("Find out how the three libraries store their indexes.")
	chat := testchat.New()
	for i := range 12 {
		name := fmt.Sprintf("index_%d", i)
		research.Call("webfetch", testchat.Args("url", "https://example.org/doc/"+name), "The library stores "+name+" in blocks of 4096 bytes, see "+name+"_writer.\nerror: "+name+"_reader is slow")
		research.Say("We found that " + name + " is written in blocks because " + name + "_writer needs them.")
		chat.User("What do you think of plan " + name + "?")
		chat.Say("I think that " + name + " is good because the weather is fine. We decided to take " + name + " in week " + fmt.Sprint(i) + ".")
		chat.Say("The cost of " + name + " is about " + fmt.Sprint(i*7) + " euros.")
	}
	chat.Call("read", `{"path":"plan.md"}`, strings.Repeat("- index_3 costs 21 euros\n- index_4 costs 28 euros, error: too much\n", 20))
	for _, c := range []struct {
		talk *testchat.Chat
		want *summary.Profile
		why  string
	}{
		{coding(), summary.Coding, "10 of 11 calls of tools change files or run commands, in 27 messages"},
		{research, summary.Research, "no changed file, and 0 commands among 12 calls of tools"},
		{chat, summary.Chat, "no changed file, and 1 calls of tools in 25 answers"},
	} {
		t.Run(c.want.Name, func(t *testing.T) {
			in := summary.Input{Items: c.talk.Items(), Cwd: cwd, Budget: 500}
			got := summarize(t, in).Profile
			if got.Profile != *c.want || got.Why != c.why {
				t.Errorf("got %+v, want %s: %s", got, c.want.Name, c.why)
			}
			for _, in.Profile = range []*summary.Profile{summary.Coding, summary.Research, summary.Chat} {
				if got = summarize(t, in).Profile; got.Profile != *in.Profile || got.Why != "asked for" {
					t.Errorf("got %+v, asked for %s", got, in.Profile.Name)
				}
			}
		})
	}
}

// A secret does not come through by way of an earlier summary either.
func TestSecretsInEarlierSummaries(t *testing.T) {
	secret := "ghp_" + "9fK2mQ7xT4vB1nR8" + "wZ3cY6pL5sD0"
	conv := testchat.New()
	conv.User("go on with parseEntry")
	for _, before := range []string{
		"We pushed with " + secret + " to example.org and fixed parseEntry.",
		"## Goal\nPush with " + secret + "\n\n## Critical Context\n- parseEntry needs " + secret + " to read\n\n## User Messages\n[#a]\n> my token is " + secret,
	} {
		for _, details := range []string{"", `{"clew":{"ledger":{"commands":[{"text":"push ` + secret + `","status":"ok","runs":1}],"users":[{"entry":"a","text":"` + secret + `","bytes":9}]}}}`} {
			out := summarize(t, summary.Input{
				Items: conv.Items(), Previous: before, PreviousDetails: []byte(details), Budget: 900,
				Earlier: []summary.Quote{{Ref: "b", Text: "use " + secret}}, Pins: []summary.Quote{{Ref: "c", Text: "pin " + secret}},
			})
			if strings.Contains(out.Text, secret) || !strings.Contains(out.Text, "[redacted:key]") {
				t.Errorf("of %q:\n%s", before, out.Text)
			}
		}
	}
}

// The research profile gives what is said more room against code than the coding profile.
func TestResearchKeepsFindings(t *testing.T) {
	conv := testchat.New()
	conv.User("Compare the stores.")
	for i := range 60 {
		conv.Call("write", testchat.Args("path", fmt.Sprintf("lib/store%d.go", i), "content", fmt.Sprintf("func openStore%d reads header_%d of the store", i, i)), "ok")
		word := func(k int) string { // no two alike, or they would be taken for the same said twice
			return string([]byte{"bdfgklmnprst"[k%12], "aeiou"[k%5], "bdfgklmnprst"[k/12%12], "aeiou"[k/5%5], "bdfgklmnprst"[k/7%12]})
		}
		conv.Say(fmt.Sprintf("The paper says %s %s %s %s of index_%d.", word(i*5), word(i*7+1), word(i*11+2), word(i*13+3), i))
	}
	count := func(p *summary.Profile) (said, code int) {
		text := summarize(t, summary.Input{Items: conv.Items(), Budget: 1500, Profile: p}).Text
		return strings.Count(text, "The paper says"), strings.Count(text, "func openStore")
	}
	saidResearch, codeResearch := count(summary.Research)
	saidCoding, codeCoding := count(summary.Coding)
	if saidResearch <= saidCoding || codeResearch >= codeCoding {
		t.Errorf("research: %d findings, %d lines of code; coding: %d and %d", saidResearch, codeResearch, saidCoding, codeCoding)
	}
}
