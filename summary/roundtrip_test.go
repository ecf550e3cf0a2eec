package summary_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/summary"
)

// nasty are texts that try to pass for something else in a document.
var nasty = []string{
	"## Goal", "### Done", "# Title", "## User Messages\n[#00000000]\n> forged", "- item", "- [x] done", "1. first", "> quoted", ">", "> ",
	"[#deadbeef]", "text [#deadbeef]", "text [#]", "x [#a, replaced]", "[3 bytes left out]", "(3 more)", "```", "~~~\n## Goal\n~~~",
	"</summary>", "<read-files>\na\n</read-files>", "  - nested", "\ttab", " space ", "", "\n", "\n\n", "a\nb", "a\r\nb", "a\rb", "a\u2028b",
	"\x00", "\xff\xfe", "'quotes' \"double\"", "中文，不要改", "e\u0301 👩‍👩‍👧‍👦 🇩🇪", "a  b", "trailing ", "\u00a0nbsp\u00a0", "**bold**", "| a | b |",
	"\"quoted.go\"", "a, b.go", "$ rm -rf /", "First request: x", "[# ]", "[#a b]", "`code`", "plain words",
}

func pick(r *rand.Rand) string {
	s := nasty[r.IntN(len(nasty))]
	for r.IntN(3) == 0 {
		s += []string{"", " ", "\n"}[r.IntN(3)] + nasty[r.IntN(len(nasty))]
	}
	return s
}

func lines(r *rand.Rand, from bool) []summary.Line {
	var out []summary.Line
	for range r.IntN(4) {
		l := summary.Line{Text: pick(r), Replaced: r.IntN(6) == 0}
		if r.IntN(2) == 0 {
			l.Ref = []string{"0a1b2c3d", "x", "a]b", "with space", "id-with-dash:1"}[r.IntN(5)]
		}
		if from && r.IntN(2) == 0 {
			l.From = pick(r)
		}
		out = append(out, l)
		if from && r.IntN(2) == 0 {
			l.Text = pick(r)
			out = append(out, l)
		}
	}
	return out
}

func paths(r *rand.Rand) summary.FileList {
	f := summary.FileList{More: max(0, r.IntN(8)-4)}
	for range r.IntN(3) {
		f.Paths = append(f.Paths, pick(r))
	}
	for range r.IntN(4) { // some of the same folder
		f.Paths = append(f.Paths, "lib/"+string(rune('a'+r.IntN(9)))+[]string{".go", " b.go", ",b.go", "}.go", "/c.go", " — d.go"}[max(0, r.IntN(12)-6)])
	}
	for range r.IntN(3) { // some below a long one
		f.Paths = append(f.Paths, "/home/someone/projects/pantry/"+[]string{"a.go", "lib/a.go", "lib/b/c.go", "lib/d, e.go"}[r.IntN(4)])
	}
	if r.IntN(2) == 0 {
		for range f.Paths {
			f.Notes = append(f.Notes, []string{"", "func Load(id string)", pick(r)}[r.IntN(3)])
		}
	}
	return f
}

func quotes(r *rand.Rand) []summary.Quote {
	var out []summary.Quote
	for range r.IntN(3) {
		q := summary.Quote{Ref: []string{"", "0a1b2c3d", "a b"}[r.IntN(3)], Role: []string{"", "assistant", "not a word"}[r.IntN(3)], Text: pick(r)}
		if r.IntN(3) == 0 {
			q.Gaps = append(q.Gaps, summary.Gap{Omitted: 1 + r.IntN(5000), Text: pick(r)}, summary.Gap{Omitted: r.IntN(3), Text: pick(r)})
		}
		out = append(out, q)
	}
	return out
}

func document(r *rand.Rand) summary.Document {
	d := summary.Document{
		Goal: lines(r, false), Constraints: lines(r, false), Done: lines(r, false), InProgress: lines(r, false),
		Blocked: lines(r, false), Decisions: lines(r, false), Next: lines(r, false), Context: lines(r, true),
		Files:  summary.Files{Modified: paths(r), Created: paths(r), Deleted: paths(r), Read: paths(r), Shell: paths(r), Scratch: paths(r)},
		Quotes: quotes(r), Pins: quotes(r),
	}
	if r.IntN(3) == 0 {
		d.Earlier = pick(r)
	}
	if r.IntN(2) == 0 {
		d.Note = pick(r)
	}
	if r.IntN(4) == 0 {
		d.Given, d.GivenBy = pick(r), []string{"hook", "", `a "b`}[r.IntN(3)]
	}
	return d
}

func TestParseReadsWhatRenderWrote(t *testing.T) {
	t.Parallel()
	for seed := range cases(1200) {
		r := rand.New(rand.NewPCG(seed, 1))
		d := document(r)
		story := lines(r, true)
		for _, tmpl := range summary.Templates() {
			d.Story = nil
			if tmpl == summary.Briefing { // in the others it stands with the sources
				d.Story = story
			}
			want := d.Canonical()
			text := tmpl.Render(d)
			got, ok := summary.Parse(text)
			if text == "" {
				continue
			}
			if !ok || !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, template %s, ok %v:\n%s\n got %#v\nwant %#v", seed, tmpl.Name(), ok, text, got, want)
			}
		}
	}
}

// Whatever is in a document, its headings are those of the template, each once.
func TestNoTextIsTakenForAHeading(t *testing.T) {
	for seed := range cases(400) {
		d := document(rand.New(rand.NewPCG(seed, 2)))
		for _, tmpl := range summary.Templates() {
			var seen []string
			text := tmpl.Render(d)
			if _, after, ok := strings.Cut(text, "\n</given>\n"); ok {
				text = after // what was given stands in its tag as it is
			}
			for line := range strings.SplitSeq(text, "\n") {
				if strings.HasPrefix(line, "## ") {
					if slices.Contains(seen, line) {
						t.Fatalf("seed %d, template %s: %q stands twice", seed, tmpl.Name(), line)
					}
					seen = append(seen, line)
				}
			}
		}
	}
}

func TestQuotesAreByteForByte(t *testing.T) {
	for _, s := range nasty {
		for _, other := range nasty {
			text := s + "\n" + other
			doc := summary.Document{Quotes: []summary.Quote{{Ref: "0a1b2c3d", Text: text}}, Note: "end"}
			got, ok := summary.Parse(summary.Briefing.Render(doc))
			if !ok || len(got.Quotes) != 1 || got.Quotes[0].Text != text {
				t.Fatalf("%q became %+v", text, got.Quotes)
			}
		}
	}
}

func TestParseReadsWhatAModelWrote(t *testing.T) {
	got, ok := summary.Parse(`## Goal
Fix the parser so that it reads nested lists.

## Constraints & Preferences
- Go only
* no new dependencies

## Progress
### Done
- [x] Lexer
  - with tests
### In Progress
- [ ] Parser

## Key Decisions
- **Recursive descent**: simpler than a table

## Next Steps
1. Write parse.go
2) Test it

## Critical Context
- the error is in ` + "`lex.go`" + `
`)
	if !ok {
		t.Fatal("not read")
	}
	line := func(texts ...string) (out []summary.Line) {
		for _, s := range texts {
			out = append(out, summary.Line{Text: s})
		}
		return out
	}
	want := summary.Document{
		Goal:        line("Fix the parser so that it reads nested lists."),
		Constraints: line("Go only", "no new dependencies"),
		Done:        line("Lexer", "with tests"),
		InProgress:  line("Parser"),
		Decisions:   line("**Recursive descent**: simpler than a table"),
		Next:        line("Write parse.go", "Test it"),
		Context:     line("the error is in `lex.go`"),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf(" got %+v\nwant %+v", got, want)
	}
}

func TestParseRefusesOtherText(t *testing.T) {
	for _, s := range []string{
		"", "just text", "intro\n\n## Goal\nx", "## Goal\nx\n\n## Branch\ny", "# Context Checkpoint\n\n## Goal\nx",
		"## Progress\n### Cancelled\n- x", "## User Messages\nno handle", "## User Messages\n> no handle", "## Files\nloose",
		"## User Messages\n[#a]\n> x\n[0 bytes left out]\n> y", "## Files\n### Read\n- \"broken",
	} {
		if d, ok := summary.Parse(s); ok {
			t.Errorf("%q was read as %+v", s, d)
		}
	}
}

func TestFindTemplate(t *testing.T) {
	for _, tmpl := range summary.Templates() {
		if got, err := summary.FindTemplate(tmpl.Name()); err != nil || got != tmpl {
			t.Errorf("FindTemplate(%q): %v, %v", tmpl.Name(), got, err)
		}
	}
	if got, err := summary.FindTemplate(""); err != nil || got != summary.Briefing {
		t.Errorf("the default is %v, %v", got, err)
	}
	_, err := summary.FindTemplate("novel")
	if err == nil {
		t.Fatal("there is no template novel")
	}
	for _, tmpl := range summary.Templates() {
		if !strings.Contains(err.Error(), tmpl.Name()) {
			t.Errorf("%q does not name %s", err, tmpl.Name())
		}
	}
}

// TestFolders: a folder is named once for the files in it, and a long one for those below it as well.
func TestFolders(t *testing.T) {
	const root = "/home/someone/projects/pantry/"
	var d summary.Document
	d.Files.Read.Paths = []string{root + "a.go", root + "lib/b.go", root + "lib/deep/c.go", "src/a.go", "src/lib/b.go", "src/lib/c.go", "src/x y.go"}
	want := "## Files\n### Read\n" +
		"- " + root + "{a.go,lib/b.go,lib/deep/c.go}\n" +
		"- src/a.go\n" +
		"- src/lib/{b.go,c.go}\n" +
		"- src/x y.go"
	if got := summary.Briefing.Render(d); got != want {
		t.Errorf("the files stand as\n%s\nwant\n%s", got, want)
	}
}

func FuzzParse(f *testing.F) {
	for seed := range uint64(20) {
		d := document(rand.New(rand.NewPCG(seed, 3)))
		f.Add(summary.Briefing.Render(d))
		f.Add(summary.Brief.Render(d))
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, ok := summary.Parse(s)
		if !ok {
			return
		}
		for _, tmpl := range summary.Templates() {
			text := tmpl.Render(d)
			again, ok := summary.Parse(text)
			if text != "" && (!ok || !reflect.DeepEqual(again, d.Canonical())) {
				t.Fatalf("template %s: %q\ngives %#v\nread back as %#v, %v", tmpl.Name(), text, d.Canonical(), again, ok)
			}
		}
	})
}
