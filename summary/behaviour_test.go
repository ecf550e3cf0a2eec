package summary_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/testchat"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/summary"
)

// TestBehaviours reads testdata/behaviour: a file for each subject, in it cases that a
// person can check by reading. A case is a conversation, and what the summary of it says,
// nothing of it twice.
//
//	# the name of the case
//	budget 900                the most it may cost, else 2,000; "quotes N" is QuoteBudget
//	profile {"keepCodeBlocks":true}    what is on of the switches of a Profile, else it is guessed
//	> words of the user
//	< words of the agent; "thinks" what it thinks before a call; "injected" what a program put in
//	$ command                 a command; "! command" one that fails
//	  its output, indented as everything that belongs to the step above
//	edit path                 with lines "-old" and "+new"; "write path", "read path" with what is in it
//	call NAME {"json":1}      another call; "fail NAME {...}" one that fails
//	todo open: the text       or doing, or done
//	fill 30                   so many calls that read something else
//	kept                      what follows stays in the context
//	previous                  what stands above is in an earlier summary; what follows is new
//	---
//	Goal: the line            a line of the section that holds this; lines of one section in this order
//	Goal is: the line         a line that is this
//	no Goal: some text        no line of the section holds this
//	none Goal                 the section is empty
//	Profile: name: why        the profile in force
func TestBehaviours(t *testing.T) {
	files, err := filepath.Glob("testdata/behaviour/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			for c := range strings.SplitSeq("\n"+strings.ReplaceAll(string(data), "\r\n", "\n"), "\n# ") {
				if name, rest, ok := strings.Cut(c, "\n"); ok && name != "" {
					t.Run(name, func(t *testing.T) { behaves(t, rest) })
				}
			}
		})
	}
}

func behaves(t *testing.T, c string) {
	script, wants, ok := strings.Cut(c, "\n---\n")
	if !ok {
		t.Fatal("the case wants nothing")
	}
	out := summarize(t, scripted(t, script))
	lines := flat(out.Document)
	lines["Profile"] = []string{out.Profile.Name + ": " + out.Profile.Why}
	for section, all := range lines {
		if len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
			t.Errorf("%s has a line twice: %q", section, all)
		}
	}
	from := map[string]int{} // where in a section the next wanted line may stand
	for want := range strings.SplitSeq(strings.TrimSpace(wants), "\n") {
		name, text, _ := strings.Cut(want, ": ")
		section, not := strings.CutPrefix(name, "no ")
		section, whole := strings.CutSuffix(section, " is")
		at := -1
		for i, l := range lines[section] {
			if (not || i >= from[section]) && (l == text || !whole && strings.Contains(l, text)) {
				at = i
				break
			}
		}
		empty, none := strings.CutPrefix(want, "none ")
		switch {
		case none && len(lines[empty]) > 0:
			t.Errorf("%s is %q", empty, lines[empty])
		case none:
		case not && at >= 0:
			t.Errorf("%s has %q", section, lines[section][at])
		case !not && at < 0:
			t.Errorf("%s has no %q after line %d, but %q", section, text, from[section], lines[section])
		case !not:
			from[section] = at + 1
		}
	}
	if t.Failed() {
		t.Logf("the whole:\n%s", out.Text)
	}
}

// flat returns the lines of each section of a document, as a case has them.
func flat(d summary.Document) map[string][]string {
	out := map[string][]string{}
	add := func(section string, lines []summary.Line) {
		for _, l := range lines {
			s := l.Text
			if l.From != "" {
				s = l.From + " / " + s
			}
			if l.Replaced {
				s += " (replaced)"
			}
			out[section] = append(out[section], s)
		}
	}
	add("Goal", d.Goal)
	add("Rules", d.Constraints)
	add("Done", d.Done)
	add("In Progress", d.InProgress)
	add("Failing", d.Blocked)
	add("Next", d.Next)
	add("Last Seen", d.Seen)
	add("Decisions", d.Decisions)
	add("Story", d.Story)
	add("Sources", d.Context)
	for section, f := range map[string]summary.FileList{
		"Modified": d.Files.Modified, "Created": d.Files.Created, "Scratch": d.Files.Scratch, "Read": d.Files.Read,
		"Written by Commands": d.Files.Shell, "Deleted": d.Files.Deleted,
	} {
		for i, p := range f.Paths {
			note := ""
			if i < len(f.Notes) {
				note = f.Notes[i]
			}
			out[section] = append(out[section], p+" — "+note)
		}
	}
	for _, q := range d.Quotes {
		s := q.Text
		for _, g := range q.Gaps {
			s += " (…) " + g.Text
		}
		out["User"] = append(out["User"], s)
	}
	return out
}

// scripted is what the script of a case says.
func scripted(t *testing.T, script string) summary.Input {
	t.Helper()
	in := summary.Input{Cwd: cwd, Budget: 2000}
	conv := testchat.New()
	parts, kept := 0, false
	flush := func() {
		if kept {
			in.Kept = conv.Items()
		} else {
			in.Items = conv.Items()
		}
		parts++
		conv = testchat.New()
		conv.Tag = fmt.Sprintf("p%d", parts)
	}
	todos := ""
	lines := strings.Split(script, "\n")
	for i := 0; i < len(lines); i++ {
		var body []string
		step := lines[i]
		for i+1 < len(lines) && (strings.HasPrefix(lines[i+1], "  ") || lines[i+1] == "") {
			i++
			body = append(body, strings.TrimPrefix(lines[i], "  "))
		}
		text := strings.TrimRight(strings.Join(body, "\n"), "\n")
		word, rest, _ := strings.Cut(step, " ")
		said := strings.TrimSpace(rest + "\n" + text)
		number, _ := strconv.Atoi(rest)
		if word != "todo" {
			todos = ""
		}
		switch word {
		case "":
		case "budget":
			in.Budget = int64(number)
		case "profile":
			in.Profile = &summary.Profile{}
			if err := json.Unmarshal([]byte(rest), in.Profile); err != nil {
				t.Fatalf("%s: %v", step, err)
			}
		case "quotes":
			in.QuoteBudget = int64(number)
		case ">":
			conv.User(said)
		case "injected":
			conv.Add(&message.Message{Role: message.RoleUser, Origin: message.OriginInjected, Content: []message.Block{message.TextBlock(said)}})
		case "<":
			conv.Say(said)
		case "thinks":
			conv.Call("read", testchat.Args("path", "lib/shelf.go"), "nothing")
			m := conv.Items()[len(conv.Items())-2].Message
			m.Content = append([]message.Block{message.ThinkingBlock(said, "")}, m.Content...)
		case "$":
			conv.Bash(rest, text)
		case "!":
			conv.Bash(rest, text+"\n\nCommand exited with code 1").Failed()
		case "read":
			conv.Call("read", testchat.Args("path", rest), text)
		case "write":
			conv.Call("write", testchat.Args("path", rest, "content", text), "Successfully wrote the file")
		case "edit":
			parts := map[byte]string{}
			for _, l := range body {
				if l != "" {
					parts[l[0]] += l[1:] + "\n"
				}
			}
			conv.Call("edit", testchat.Args("path", rest, "oldText", parts['-'], "newText", parts['+']), "Successfully replaced text")
		case "call", "fail":
			name, arguments, _ := strings.Cut(rest, " ")
			if r := conv.Call(name, arguments, text); word == "fail" {
				r.Failed()
			}
		case "open": // a command that has no result
			conv.Bash(rest, "")
			answered := conv.Items()
			conv = testchat.New()
			for _, it := range answered[:len(answered)-1] {
				conv.Add(it.Message)
			}
		case "todo":
			status, what, _ := strings.Cut(rest, ": ")
			if todos != "" {
				todos += ","
			}
			status = map[string]string{"open": "pending", "doing": "in_progress", "done": "completed"}[status]
			todos += fmt.Sprintf(`{"content":%q,"status":%q}`, what, status)
			if i+1 == len(lines) || !strings.HasPrefix(lines[i+1], "todo ") {
				conv.Call("TodoWrite", `{"todos":[`+todos+`]}`, "ok")
			}
		case "fill":
			for k := range number {
				conv.Call("read", testchat.Args("path", fmt.Sprintf("lib/part%02d.go", k)), fmt.Sprintf("func loadPart%02d is called by the importer of tableRow%02d", k, k))
			}
		case "previous":
			flush()
			facts, err := json.Marshal(map[string]any{"clew": map[string]any{"ledger": ledger.Read(in.Items, ledger.Options{Cwd: in.Cwd})}})
			if err != nil {
				t.Fatal(err)
			}
			in.Previous, in.PreviousDetails, in.Items = summarize(t, in).Text, facts, nil
		case "kept":
			flush()
			kept = true
		default:
			t.Fatalf("what is %q?", step)
		}
	}
	flush()
	return in
}
