// Package lost finds what a compaction took out of a context and its summary does not say:
// the user's rules and requests word for word, checks that fail, the last commands, the
// state of files, decisions, open points, and whole lines with the names that are missing.
//
//	text := lost.Find(lost.Input{Dropped: dropped, Kept: kept, Summary: summary, Cwd: cwd})
//
// No model is asked, and everything stands in the log as it is given.
package lost

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Input is what there is to find.
type Input struct {
	// Dropped is what left the context, Kept what stays in it beside the summary.
	Dropped, Kept []session.Item
	// Summary is what the program put in the place of what it dropped; empty where that
	// is not known yet.
	Summary string
	Cwd     string
	// Max is the size of the text, in characters. Default: 9,000.
	Max int
	// Recall is how a part is read word for word, such as a command or a tool. Optional.
	Recall string
}

// MaxText is the default of Input.Max: Claude Code takes 10,000 characters of a hook.
const MaxText = 9_000

// The shares of the text, in percent, that its parts take at most.
const (
	rulesShare = 8
	userShare  = 20
	stateShare = 27
	worthwhile = 40 // words that less than this many characters would say are not worth a note
)

// Find returns what is missing, at most Max characters; empty if nothing is.
func Find(in Input) string {
	if in.Max == 0 {
		in.Max = MaxText
	}
	head := "What the compaction of this conversation left out, word for word from its log.\n"
	if in.Recall != "" {
		head += "[#...] names the place: " + in.Recall + " reads it whole.\n"
	}
	head += "\n"
	w := &writer{left: in.Max - utf8.RuneCountInString(head), known: in.Summary, taken: map[string]bool{}}
	for _, it := range in.Kept {
		if it.Message != nil && it.Message.UserWords() {
			w.known += "\n" + it.Message.Text()
		}
	}
	room := w.left
	led := ledger.Read(in.Dropped, ledger.Options{Cwd: in.Cwd})
	w.user(in.Dropped, led.Rules, room-room*rulesShare/100, room-room*userShare/100)
	w.until(room - room*stateShare/100)
	w.checks(&led)
	w.files(led.Files)
	w.open(&led)
	w.until(0)
	w.lines(&in)
	out := strings.TrimSpace(strings.Join(w.parts, "\n"))
	if utf8.RuneCountInString(out) < worthwhile {
		return ""
	}
	out = redact.Text(head+out) + "\n"
	for utf8.RuneCountInString(out) > in.Max { // a mark may be longer than what it hides
		out = out[:strings.LastIndexByte(strings.TrimSpace(out), '\n')+1]
	}
	return out
}

// writer collects parts within a size.
type writer struct {
	parts []string
	left  int // characters
	floor int // of left, for the part that is written
	known string
	runs  map[string]bool // of five words in known
	taken map[string]bool // lines that stand in a part
}

func (w *writer) until(floor int) { w.floor = floor }

// section writes lines under a heading, those that fit.
func (w *writer) section(title string, lines []string) {
	cost := utf8.RuneCountInString(title) + 4 // the marks of a heading, and the line end
	out := []string{"## " + title}
	for _, l := range lines {
		n := utf8.RuneCountInString(l) + 1
		if w.left-cost-n < w.floor || w.taken[l] {
			continue
		}
		w.taken[l] = true
		cost += n
		out = append(out, l)
	}
	if len(out) > 1 {
		w.left -= cost
		w.parts = append(w.parts, strings.Join(out, "\n"))
	}
}

// handle names an entry.
func handle(id string) string {
	if id == "" {
		return ""
	}
	return " [#" + id[:min(7, len(id))] + "]"
}

// said are the sentences of the user that are missing, by message: of the newest, of the
// first, which has the task, and from the newest back. What was pasted is left out.
func (w *writer) said(items []session.Item) (all []saying) {
	seen := map[string]bool{}
	for _, it := range slices.Backward(items) {
		if it.Message == nil || it.Entry == nil || !it.Message.UserWords() {
			continue
		}
		s := saying{entry: it.Entry.ID}
		for _, sentence := range text.Statements(text.OutsideFences(it.Message.Text())) {
			sentence = text.Line(sentence)
			n := utf8.RuneCountInString(sentence)
			if n >= minSentence && n <= maxSentence && !strings.HasPrefix(sentence, "/") && !tag().MatchString(sentence) && !seen[sentence] && !w.has(sentence) {
				seen[sentence] = true
				s.sentences = append(s.sentences, sentence)
			}
		}
		all = append(all, s)
	}
	if n := len(all); n > 2 {
		all = slices.Insert(all[:n-1:n-1], 1, all[n-1])
	}
	return all
}

// saying is what a message of the user says that is missing.
type saying struct {
	entry     string
	sentences []string
}

const (
	minSentence = 8
	maxSentence = 400 // characters: what is longer was pasted
)

var tag = text.Pattern(`</?[a-z][a-z-]+>`)

// user writes the rules first, then whatever else the user said, a line a message.
func (w *writer) user(items []session.Item, rules []ledger.Statement, ruleFloor, floor int) {
	old := map[string]bool{}
	for _, r := range rules {
		if r.Replaced {
			old[r.Text] = true
		}
	}
	all := w.said(items)
	var binding, others []string
	for _, s := range all {
		var rest []string
		for _, sentence := range s.sentences {
			if ledger.Binding(sentence) && !old[sentence] {
				binding = append(binding, "- "+sentence+handle(s.entry))
				continue
			}
			rest = append(rest, sentence)
		}
		for len(rest) > 0 {
			n, line := 0, "-"
			for _, sentence := range rest {
				if n > 0 && utf8.RuneCountInString(line+sentence) > maxSentence {
					break
				}
				line += " " + sentence
				n++
			}
			others = append(others, line+handle(s.entry))
			rest = rest[n:]
		}
	}
	w.until(ruleFloor)
	w.section("The user's rules", binding)
	w.until(floor)
	w.section("The user said", others)
}

const (
	lastCommands = 4
	maxCommand   = 110 // characters
)

// checks are those that fail, with what failed in them, errors that are open, and the last
// commands.
func (w *writer) checks(led *ledger.Ledger) {
	var failing []string
	told := map[string]bool{}
	for _, c := range led.Commands {
		if c.Failing() {
			line := "- `" + clip(c.Text) + "`: " + ended(c)
			if len(c.Failed) > 0 {
				line += ":" + text.Clip(strings.ReplaceAll(" "+strings.Join(c.Failed, ", "), " ::", " "), 2*maxCommand)
			}
			failing = append(failing, line+handle(c.Entry))
		}
	}
	for _, f := range led.Errors {
		if len(f.Lines) > 0 && f.Check == "" && !w.has(f.Lines[0]) {
			told[f.Entry] = f.Entry != ""
			failing = append(failing, "- "+clip(strings.TrimSpace(f.Tool+" "+f.Subject))+": "+text.Clip(strings.Join(f.Lines, " | "), 2*maxCommand)+handle(f.Entry))
		}
	}
	slices.Reverse(failing)
	w.section("Failing when the compaction came", failing[:min(len(failing), 8)])
	var last []string
	for i, c := range led.Commands {
		if !c.Failing() && !told[c.Entry] && (c.Check != "" || i >= len(led.Commands)-lastCommands) {
			last = append(last, "- `"+clip(c.Text)+"`: "+ended(c)+handle(c.Entry))
		}
	}
	w.section("Last commands", last[max(0, len(last)-2*lastCommands):])
}

func clip(s string) string { return text.Clip(text.Line(s), maxCommand) }

// ended says how a command ended.
func ended(c ledger.Command) string {
	switch {
	case c.Exit != nil:
		return fmt.Sprintf("exit code %d", *c.Exit)
	case c.Status == ledger.StatusUnknown:
		return "outcome not in the log"
	}
	return string(c.Status)
}

// files are those that were changed, the last first.
func (w *writer) files(files []ledger.File) {
	var out []string
	for _, f := range slices.Backward(files) {
		if f.State == ledger.StateRead {
			continue
		}
		line := "- " + string(f.State) + " " + f.Path
		if f.To != "" {
			line += ", moved to " + f.To
		}
		if !w.names(f.Path) || f.State == ledger.StateDeleted {
			out = append(out, line+handle(f.Entry))
		}
	}
	w.section("Files that were changed", out)
}

// names reports whether what is known names a file, by its whole path or its last two parts.
func (w *writer) names(path string) bool {
	parts := strings.Split(path, "/")
	return strings.Contains(w.known, strings.Join(parts[max(0, len(parts)-2):], "/"))
}

const mostDecisions = 4

// open are the todos that are not done, and what was decided.
func (w *writer) open(led *ledger.Ledger) {
	var todo []string
	for _, t := range led.Todos {
		if t.Status != ledger.TodoDone && !w.has(t.Text) {
			todo = append(todo, "- "+t.Text+handle(t.Entry))
		}
	}
	w.section("Open points", todo)
	var decided []string
	for _, d := range slices.Backward(led.Decisions) {
		if !d.Replaced && !w.has(d.Text) && len(decided) < mostDecisions {
			decided = append(decided, "- "+d.Text+handle(d.Entry))
		}
	}
	w.section("Decided", decided)
}

// run is how many words in a row are the same where one text quotes another.
const run = 5

// has reports whether what is known says a sentence in its own words: six tenths of its
// runs of five words, or a short one whole.
func (w *writer) has(s string) bool {
	if w.known == "" {
		return false
	}
	if w.runs == nil {
		w.runs = map[string]bool{}
		for r := range runs(w.known) {
			w.runs[r] = true
		}
	}
	found, all := 0, 0
	for r := range runs(s) {
		all++
		if w.runs[r] {
			found++
		}
	}
	if all == 0 {
		return strings.Contains(strings.ToLower(w.known), strings.ToLower(strings.TrimSpace(s)))
	}
	return found*10 >= all*6
}

// runs yields the runs of words in a text.
func runs(s string) func(yield func(string) bool) {
	words := strings.Fields(strings.ToLower(s))
	return func(yield func(string) bool) {
		for i := 0; i+run <= len(words); i++ {
			if !yield(strings.Join(words[i:i+run], " ")) {
				return
			}
		}
	}
}

// prose is what a message says, and the texts of its calls.
func prose(m *message.Message) string {
	switch m.Role {
	case message.RoleBashExecution:
		return m.Command + "\n" + m.Output
	case message.RoleCompactionSummary, message.RoleBranchSummary:
		return m.Summary
	default:
	}
	return m.Text()
}
