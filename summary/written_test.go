package summary_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/testchat"
	"github.com/clew-dev/clew/summary"
)

// TestWrittenSections: what somebody else wrote stands as it is, whatever it says; code adds
// what it vouches for, and nothing that it says already.
func TestWrittenSections(t *testing.T) {
	conv := testchat.New()
	conv.User("Add a cache to the store. Never change the file format.")
	conv.Call("TodoWrite", `{"todos":[{"content":"write lruCache in store/lru.go","status":"completed"},{"content":"update docs/store.md","status":"pending"},{"content":"ask about the limit","status":"pending"}]}`, "ok")
	conv.Call("edit", testchat.Args("path", "store/session.go", "oldText", "x", "newText", "func (s *SessionStore) Load(id string) (*Session, error) {"), "Successfully replaced text")
	conv.Call("read", `{"path":"store/limits.go"}`, "// maxSessions is how many sessions cacheLimits allows.\nconst maxSessions = cacheLimits * 2\n")
	conv.Bash("go test ./store", "--- FAIL: TestLoadTwice (0.00s)\n\nCommand exited with code 1").Failed()
	conv.Bash("npm run lint", "src/index.ts(3,14): error TS2339: Property 'lru' does not exist\n\nCommand exited with code 1").Failed()
	conv.Say("Load never asks the cache, which is why TestLoadTwice fails.")
	conv.User("And now find out why.")
	written := &summary.Document{
		Goal:    []summary.Line{{Text: "A cache for the store, of which the user is fond"}},
		Done:    []summary.Line{{Text: "lruCache is written"}},
		Blocked: []summary.Line{{Text: "`npm run lint` fails since a property is missing"}},
		Next:    []summary.Line{{Text: "find out why Load never asks"}, {Text: "ask about the limit"}},
		Story:   []summary.Line{{Text: "The user asked for a cache and got half of one"}},
		// What code has itself is not taken from it.
		Files:  summary.Files{Modified: summary.FileList{Paths: []string{"made/up.go"}}},
		Quotes: []summary.Quote{{Text: "I never said this"}}, Pins: []summary.Quote{{Text: "nor pinned this"}}, Note: "and noted nothing",
	}
	out := summarize(t, summary.Input{Items: conv.Items(), Cwd: cwd, Budget: 2000, Written: written, Pins: []summary.Quote{{Ref: "abcdef01", Text: "pinned by code"}}})
	d := out.Document
	texts := func(lines []summary.Line) (all []string) {
		for _, l := range lines {
			all = append(all, l.Text)
		}
		return all
	}
	for _, c := range []struct {
		name      string
		got, want []string
	}{
		{"goal", texts(d.Goal), []string{"A cache for the store, of which the user is fond"}},
		{"rules", texts(d.Constraints), nil}, // the user's words have them
		{"done", texts(d.Done), []string{"lruCache is written"}},
		{"failing", texts(d.Blocked), []string{"`npm run lint` fails since a property is missing", "`go test ./store` fails: --- FAIL: TestLoadTwice (0.00s)"}},
		{"next", texts(d.Next), []string{"find out why Load never asks", "ask about the limit", "update docs/store.md"}},
		{"story", texts(d.Story), []string{"The user asked for a cache and got half of one"}},
		{"decisions", texts(d.Decisions), nil},
		{"modified", d.Files.Modified.Paths, []string{"store/session.go"}},
		{"read", d.Files.Read.Paths, []string{"store/limits.go"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s is %q, want %q", c.name, c.got, c.want)
		}
	}
	if len(d.Quotes) != 2 || d.Quotes[0].Text != "Add a cache to the store. Never change the file format." || len(d.Pins) != 1 || d.Pins[0].Text != "pinned by code" {
		t.Errorf("quotes %+v, pins %+v", d.Quotes, d.Pins)
	}
	if !strings.Contains(out.Text, "maxSessions is how many sessions cacheLimits allows") {
		t.Errorf("the sources are missing:\n%s", out.Text)
	}
	if strings.Contains(out.Text, "noted nothing") || !strings.Contains(d.Note, "[#id]") {
		t.Errorf("the note is %q", d.Note)
	}
	// What was written stands there where there is room for little else.
	small := summarize(t, summary.Input{Items: conv.Items(), Cwd: cwd, Budget: 150, Written: written}).Document
	if !slices.Equal(texts(small.Story), texts(written.Story)) || !slices.Equal(texts(small.Goal), texts(written.Goal)) {
		t.Errorf("of what was written is left %+v", small)
	}
	// Where the template has one place for the story and the sources, it is the story's alone.
	one := summarize(t, summary.Input{Items: conv.Items(), Cwd: cwd, Budget: 2000, Written: written, Template: summary.Structured})
	if strings.Contains(one.Text, "maxSessions is how many") {
		t.Errorf("sources stand among what was written:\n%s", one.Text)
	}
}

// TestOneHandleForASource: the lines of a source stand under its name, once, with the
// handle of the latest of them; a source read in two places has no second heading.
func TestOneHandleForASource(t *testing.T) {
	conv := testchat.New()
	conv.User("How does the importer work?")
	conv.Call("read", `{"path":"lib/pantry.go"}`, "// readRows reads the rows of a pantry list.\n// mergeShelves puts twoLists together.\n")
	conv.Call("read", `{"path":"lib/other.go"}`, "// openPantry finds the file pantry.txt.\n")
	last := conv.Call("read", `{"path":"lib/pantry.go","offset":90}`, "// countShelves says how many shelfRows there are.\n").ID
	out := summarize(t, summary.Input{Items: conv.Items(), Cwd: cwd, Budget: 2000})
	want := "- lib/pantry.go [#" + last[:8] + "]\n  - // readRows reads the rows of a pantry list.\n  - // mergeShelves puts twoLists together.\n" +
		"  - // countShelves says how many shelfRows there are.\n- lib/other.go [#"
	if !strings.Contains(out.Text, want) {
		t.Errorf("want %q in:\n%s", want, out.Text)
	}
}

// What somebody else wrote takes nothing from the room of the user's words, however long it is.
func TestWrittenLeavesTheUsersWords(t *testing.T) {
	conv := testchat.New()
	asked := []string{"Add a cache to the store, please.", "Now let Load ask it first.", "Write down in docs/store.md how it works.", "And keep the format of the file as it is."}
	for _, s := range asked {
		conv.User(s)
		conv.Say("The store asks lruCache first, as you wanted.")
	}
	written := &summary.Document{}
	for range 12 {
		written.Story = append(written.Story, summary.Line{Text: "The user asked for one more thing about the cache of the store, and the assistant did it in store/session.go"})
	}
	for _, quotes := range []int64{0, 400} {
		out := summarize(t, summary.Input{Items: conv.Items(), Cwd: cwd, Budget: 1200, QuoteBudget: quotes, ClipLast: true, Written: written})
		var got []string
		for _, q := range out.Document.Quotes {
			got = append(got, q.Text)
		}
		if !slices.Equal(got, asked) {
			t.Errorf("quote budget %d: the quotes are %q", quotes, got)
		}
	}
}
