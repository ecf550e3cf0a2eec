package summary

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
)

// What a statement of the story is worth, beside its age: what is worth most is told first.
const (
	reportWorth  = 4.0 // of the answer that ends a turn
	leadWorth    = 3.0 // more, of its first sentence
	shortSaid    = 60  // bytes of a sentence of a report that is joined with the next one
	nextToLead   = .75 // that much of it, of each sentence after
	causeWorth   = 2.5
	resultWorth  = 1.2 // says that something is so now
	remarkWorth  = .3
	changeWorth  = 2.5 // files that were changed
	ranWorth     = 1.0 // a command that ran
	failureWorth = 1.5 // one that failed
	refusalWorth = 3.0 // what the user said in refusing one

	wordWeight = .15 // of a word that is no identifier
)

// age is how much less something is worth by how long ago it was.
func (d *digest) age(at int) float64 {
	return math.Exp(-1.5 * float64(len(d.msgs)-1-max(at, 0)) / float64(max(len(d.msgs), 1)))
}

// story offers, for each request, what the agent reported, what was changed, and what
// was tried and failed.
func (d *digest) story() []piece {
	var out []piece
	for i, l := range d.prev.Story {
		if d.ranAgain(l.Text) {
			continue // how it came out then is history
		}
		p := d.statement(kindStory, l, i-len(d.prev.Story))
		p.worth = 1
		out = append(out, p)
	}
	for i, t := range d.turns {
		going := i == len(d.turns)-1 && !t.ended
		head, report := d.asked(t), d.report(t)
		ref := t.ask.Ref
		if report >= 0 {
			ref = d.msgs[report].ref
		}
		add := func(at, seq int, s string, ids []int32, worth float64) {
			out = append(out, piece{
				kind: kindStory, line: Line{Text: s, Ref: ref, From: head}, order: 1000*at + min(seq, 999),
				ids: slices.Concat(ids, d.terms(s)), sure: withWords, worth: worth * d.age(at),
			})
		}
		for at := t.from; at < t.to; at++ {
			m := d.msgs[at]
			for _, said := range m.chose {
				if m.call != nil && !strings.Contains(said, answered) { // in refusing a call
					s := "`" + clipName(shownCommand(cmp.Or(m.op.Command, strings.TrimSpace(m.call.Name+" "+m.op.Path)), d.in.Cwd), 120) + "`: the user said: " + said
					add(at, 0, s, d.idsIn(s), refusalWorth)
				}
			}
			lead := leadWorth
			for seq, l := range d.sentences(at, report) {
				if worth, ok := sentenceWorth(l, at == report); ok {
					if at == report {
						worth *= max(lead, 1)
						if worth > 0 {
							lead *= nextToLead
						}
					}
					if going && len(l.ids) > 0 && worth > 0 {
						worth = max(worth, resultWorth) // no report sums it up
					}
					if d.profile.KeepKeyFindings && (l.says == saysCause || l.says == saysResult) {
						worth *= keyFinding / d.age(at) // it stays true
					}
					add(at, seq, l.text, l.ids, worth)
				}
			}
		}
		for i, c := range d.led.Commands {
			if at := d.place(c.Entry); at >= t.from && at < t.to && !ledger.Looks(c.Text) {
				s, worth := d.ran(c, at)
				add(at, 900+min(i, 98), s, d.idsIn(s), worth)
			}
		}
		for i, f := range d.led.Errors { // of commands, the ledger has each once above
			if at := d.place(f.Entry); at >= t.from && at < t.to && f.Check == "" && !d.msgs[at].ran() && len(f.Lines) > 0 {
				s := "`" + strings.TrimSpace(f.Tool+" "+f.Subject) + "`" + d.words.failed + ": " + clipName(oneLine(f.Lines[0]), 140)
				add(at, 850+min(i, 49), s, d.idsIn(s), failureWorth)
			}
		}
		if s := d.changes(t); s != "" {
			add(t.to-1, 999, s, d.idsIn(s), changeWorth)
		}
	}
	return out
}

// asked is what stands above the story of a turn.
func (d *digest) asked(t turn) string {
	if t.ask.Text == "" {
		return d.words.before
	}
	return d.words.asked + clipName(request(t.ask), maxAsked)
}

// report returns the message that ends a turn: the agent's own report on the request, or -1.
func (d *digest) report(t turn) int {
	i := d.lastIn(t, func(m *msg) bool { return m.Role == message.RoleAssistant && len(m.said) > 0 })
	if i >= 0 && (!t.ended || len(d.msgs[i].ToolCalls()) > 0) {
		return -1
	}
	return i
}

// sentences returns those of an answer; report is the place of the one that ends its turn.
func (d *digest) sentences(at, report int) []factLine {
	m := &d.msgs[at]
	switch {
	case m.Role != message.RoleAssistant && m.Role != message.RoleBranchSummary:
		return nil
	case at == report:
		return joinShort(m.said)
	}
	return m.said
}

// joinShort joins a sentence of a report that is too short to tell much with the one after it.
func joinShort(said []factLine) (out []factLine) {
	tells := func(l factLine) bool { return l.says == saysRemark || l.says > saysNext }
	for _, l := range said {
		if n := len(out); n > 0 && tells(out[n-1]) && tells(l) {
			if before := out[n-1]; len(before.text) < shortSaid && between(before.text) == " " { // not items of a list
				l.text, l.ids = before.text+" "+l.text, slices.Concat(before.ids, l.ids)
				out = out[:n-1]
			}
		}
		out = append(out, l)
	}
	return out
}

// sentenceWorth weighs a sentence of the agent; ok is false for one that only announces what
// comes.
func sentenceWorth(l factLine, report bool) (worth float64, ok bool) {
	names := len(l.ids) > 0
	switch says := l.says; {
	case says == saysNothing:
		return 0, false
	case says == saysRow:
		return remarkWorth, report
	case says == saysNext, says == saysSupposed && !report:
		return 0, false
	case report && !names && !strings.ContainsAny(l.text, "0123456789`"):
		return reportWorth / 3, true
	case report:
		return reportWorth, true
	case says == saysCause:
		return causeWorth, true
	case says == saysResult:
		return resultWorth, true
	}
	return remarkWorth, names
}

// ranAgain reports whether the command that a line of an earlier story tells ran again since.
func (d *digest) ranAgain(line string) bool {
	line, quoted := strings.CutPrefix(line, "`")
	return quoted && slices.ContainsFunc(d.led.Commands, func(c ledger.Command) bool {
		return d.place(c.Entry) >= 0 && strings.HasPrefix(line, d.shown(c)+"`")
	})
}

// shown returns a command as the story has it.
func (d *digest) shown(c ledger.Command) string {
	return clipName(shownCommand(c.Text, d.in.Cwd), 120)
}

// ran tells a command and how it came out, the last time that it ran: that it passes, where it is a check, or the line
// that tells the error, else the first and the last line.
func (d *digest) ran(c ledger.Command, at int) (s string, worth float64) {
	s, worth = "`"+d.shown(c)+"`", ranWorth
	if c.Check != "" && c.Status == ledger.StatusOK {
		return s + d.words.passes + d.counted(at), worth
	}
	failed := c.Status == ledger.StatusFailed
	if failed {
		s, worth = s+d.words.failed, failureWorth
	}
	first, last := "", ""
	for line := range d.msgs[at].printed() {
		line = oneLine(line)
		if len(line) < 4 || forbidden(line) || len(line) > 40 && unreadable(line) || noOutcome().MatchString(line) {
			continue
		}
		if failed && saysError().MatchString(line) {
			first, last = line, line
			break
		}
		first, last = cmp.Or(first, line), line
	}
	if first == last && first != "" {
		s += ": " + clipName(first, 140)
	} else if first != "" {
		s += ": " + clipName(first, 80) + " " + text.Ellipsis + " " + clipName(last, 80)
	}
	return s, worth
}

// noOutcome matches a line that says nothing of how a command came out.
var noOutcome = text.Pattern(`(?i)^\((?:bash completed with )?no output|^command exited with|^(?:traceback \(|warning\b|note:|\[?notice|npm warn)`)

// saysError matches a line that is the message of an error, not one about errors.
var saysError = text.Pattern(`^(?:\W*|\S+: )(?:error|fatal|panic|Error|ERROR|FAIL|FAILED|E  )\b|^\W*(?:\w+\.)*\w*(?:Error|Exception)\b|--- FAIL|: error|[Cc]ould not|[Cc]annot |not found|No such file`)

// changes says which files a turn changed, and what in each.
func (d *digest) changes(t turn) string {
	paths, what := d.edited(t.from, t.to)
	if len(paths) == 0 || !d.profile.KeepFileOperations {
		return ""
	}
	for i, p := range paths {
		paths[i] = strings.Join(latest(strings.Split(p, "/")), "/")
		if what[p] != nil {
			paths[i] += " (" + strings.Join(latest(what[p]), ", ") + ")"
		}
	}
	return d.words.changed + clipName(strings.Join(paths, "; "), maxStatement)
}

// edited returns the files that messages changed, and what was changed in each.
func (d *digest) edited(from, to int) (paths []string, what map[string][]string) {
	what = map[string][]string{}
	for _, m := range d.msgs[from:to] {
		for _, e := range m.done {
			if e.path == "" {
				continue
			}
			if _, ok := what[e.path]; !ok {
				paths = append(paths, e.path)
				what[e.path] = nil
			}
			if e.what != "" && !slices.Contains(what[e.path], e.what) {
				what[e.path] = append(what[e.path], e.what)
			}
		}
	}
	return paths, what
}

// latest returns the last two.
func latest(what []string) []string { return what[max(0, len(what)-2):] }

// fileLists offers the files of the ledger, the last touched first.
func (d *digest) fileLists() (changed, read, shell []piece) {
	strong := map[string]bool{}
	notes := map[string]string{}
	for _, f := range []FileList{d.prev.Files.Modified, d.prev.Files.Created} {
		for i, p := range f.Paths {
			notes[p] = f.note(i)
		}
	}
	paths, what := d.edited(0, len(d.msgs))
	for _, p := range paths {
		if what[p] != nil && d.profile.KeepFileOperations {
			notes[p] = clipName(strings.Join(latest(what[p]), "; "), 120)
		}
	}
	file := func(k kind, p, note string, order int) piece {
		return piece{kind: k, path: p, note: note, order: order, ids: d.idsIn(p + " " + note), sure: withWords}
	}
	folders := map[string]bool{".": true} // what holds other files is none itself
	for _, list := range [][]ledger.File{d.led.Files, d.led.Weak} {
		for _, f := range list {
			for dir := path.Dir(f.Path); !folders[dir] && dir != "/"; dir = path.Dir(dir) {
				folders[dir] = true
			}
		}
	}
	n := len(d.led.Files)
	for i, f := range slices.Backward(d.led.Files) {
		strong[f.Path] = true
		if _, here := d.index[f.Entry]; here && (!d.spelled(f.Path) || !d.spelled(f.To)) {
			continue // in a folder that was moved
		}
		switch k := stateKinds[f.State]; k {
		case kindModified, kindCreated:
			changed = append(changed, file(scratch(f.Path, k), f.Path, notes[f.Path], n-i))
		case kindDeleted:
			changed = append(changed, file(k, f.Path, "", n-i))
		default:
			if !folders[f.Path] {
				read = append(read, file(k, f.Path, "", n-i))
			}
		}
	}
	for _, f := range slices.Backward(d.led.Weak) {
		if strong[f.Path] || folders[f.Path] || f.To != "" || strings.HasSuffix(f.Path, "/") || !d.spelled(f.Path) {
			continue
		}
		switch k := stateKinds[f.State]; k {
		case kindDeleted:
			shell = append(shell, file(k, f.Path, "", 0))
		case kindRead:
			read = append(read, file(k, f.Path, "", 0))
		default:
			if scratch(f.Path, k) == k {
				shell = append(shell, file(kindShell, f.Path, "", 0))
			}
		}
	}
	return changed, read, shell
}

var stateKinds = map[ledger.State]kind{
	ledger.StateModified: kindModified, ledger.StateCreated: kindCreated, ledger.StateDeleted: kindDeleted, ledger.StateRead: kindRead,
}

// spelled reports whether a path stands somewhere as it is. That of a file which a
// command names after it went to another folder was put together.
func (d *digest) spelled(p string) bool {
	for id := range text.Identifiers(p) {
		if _, ok := d.names.ids[id.Text]; !ok {
			return false
		}
	}
	return true
}

// scratch tells files for the moment apart: those outside of the working directory in
// a folder for temporary files.
func scratch(p string, k kind) kind {
	if strings.HasPrefix(p, "/tmp/") || strings.HasPrefix(p, "/var/folders/") || strings.HasPrefix(p, "/private/tmp/") || strings.HasPrefix(p, "/dev/shm/") {
		return kindScratch
	}
	return k
}
