package summary

import (
	"math"
	"path"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
)

// What a statement of the story is worth beyond the identifiers in it, in tokens of
// sources for each token of its own.
const (
	reportWorth  = 4.0 // of the answer that ends a turn
	repliedTo    = 1.5 // more, of a report that the user answered with a few words
	causeWorth   = 2.5
	resultWorth  = 1.2 // says that something is so now
	remarkWorth  = .3
	changeWorth  = 2.5 // files that were changed
	failureWorth = 1.5 // what was tried and failed
)

// age is how much less something is worth by how long ago it was.
func (d *digest) age(at int) float64 {
	return math.Exp(-1.5 * float64(len(d.msgs)-1-max(at, 0)) / float64(max(len(d.msgs), 1)))
}

// story offers, for each request, what the agent reported, what was changed, and what
// was tried and failed.
func (d *digest) story() []piece {
	var out []piece
	if d.prev != nil {
		for i, l := range d.prev.Story {
			p := d.statement(kindStory, l, i-len(d.prev.Story))
			p.worth = 1
			out = append(out, p)
		}
	}
	for i, t := range d.turns {
		going := i == len(d.turns)-1 && !t.ended
		replied := 1.0
		if i+1 < len(d.turns) && len(d.turns[i+1].ask.Text) < maxAsked {
			replied = repliedTo
		}
		head, report := d.asked(t), d.report(t)
		ref := t.ask.Ref
		if report >= 0 {
			ref = d.msgs[report].ref
		}
		add := func(at, seq int, s string, ids []int32, worth float64) {
			out = append(out, piece{
				kind: kindStory, line: Line{Text: s, Ref: ref, From: head}, order: 1000*at + min(seq, 999),
				ids: ids, sure: withWords, worth: worth * d.profile.prose * d.age(at),
			})
		}
		for at := t.from; at < t.to; at++ {
			m := d.msgs[at]
			if m.Role != message.RoleAssistant && m.Role != message.RoleBranchSummary {
				continue
			}
			for seq, l := range m.said {
				if worth, ok := sentenceWorth(l, at == report); ok {
					if at == report {
						worth *= replied
					}
					if going && len(l.ids) > 0 && worth > 0 {
						worth = max(worth, resultWorth) // no report sums it up
					}
					add(at, seq, l.text, l.ids, worth)
				}
			}
		}
		for _, f := range d.failures(t) {
			add(f.at, 998, f.text, d.idsIn(f.text), failureWorth)
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

// report returns the message that ends a turn: the agent's own report on the request.
func (d *digest) report(t turn) int {
	for i := t.to - 1; i >= t.from; i-- {
		if m := d.msgs[i]; m.Role == message.RoleAssistant && len(m.said) > 0 {
			if t.ended && len(m.ToolCalls()) == 0 {
				return i
			}
			return -1
		}
	}
	return -1
}

// sentenceWorth weighs a sentence of the agent. One that only announces what comes is
// worth what it names.
func sentenceWorth(l factLine, report bool) (worth float64, ok bool) {
	names := len(l.ids) > 0
	switch says := l.says; {
	case says == saysNothing:
		return 0, false
	case says == saysRow:
		return remarkWorth, report
	case says == saysNext, says == saysSupposed && !report:
		return 0, names
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

// failure is a call of a turn that failed.
type failure struct {
	at   int
	text string
}

// failures returns what was tried in a turn and failed, each command once, with the
// first line that tells the error. What went well later is not told.
func (d *digest) failures(t turn) []failure {
	var out []failure
	seen := map[string]bool{}
	for i := t.to - 1; i >= t.from && len(out) < 6; i-- {
		m := d.msgs[i]
		if m.Role != message.RoleToolResult || m.call == nil {
			continue
		}
		what, failed := m.call.Name, m.IsError
		if m.op.Kind == ledger.OpShell {
			what = clipName(shownCommand(redacted(m.op.Command), d.in.Cwd), 120)
			failed = d.failed(m.id) // and no later run of the same did not
		} else if m.op.Path != "" {
			what += " " + oneLine(m.op.Path)
			seen[what] = seen[what] || !failed
		}
		if !failed || seen[what] || what == "" {
			continue
		}
		seen[what] = true
		for _, l := range m.lines {
			if saysError().MatchString(l.text) {
				out = append(out, failure{i, "`" + what + "`" + d.words.failed + ": " + clipName(l.text, 160)})
				break
			}
		}
	}
	return out
}

// saysError matches a line that is the message of an error, not one about errors.
var saysError = text.Pattern(`^(?:\W*|\S+: )(?:error|fatal|panic|Error|ERROR|FAIL|FAILED|Traceback|E  )\b|^\W*(?:\w+\.)*\w*(?:Error|Exception)\b|--- FAIL|: error|[Cc]ould not|[Cc]annot |not found|No such file`)

// failed reports whether the ledger knows the result as that of a command that failed.
func (d *digest) failed(entry string) bool {
	if d.failedRuns == nil {
		d.failedRuns = map[string]bool{}
		for _, c := range d.led.Commands {
			if c.Status == ledger.StatusFailed {
				d.failedRuns[c.Entry] = true
			}
		}
	}
	return entry != "" && d.failedRuns[entry]
}

// changes says which files a turn changed, and what in each.
func (d *digest) changes(t turn) string {
	var paths []string
	what := map[string][]string{}
	for i := t.from; i < t.to; i++ {
		for _, e := range d.msgs[i].done {
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
	if len(paths) == 0 {
		return ""
	}
	var b strings.Builder
	for i, p := range paths {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(pathEnd(p))
		if w := what[p]; len(w) > 0 {
			b.WriteString(" (" + strings.Join(w[max(0, len(w)-2):], ", ") + ")")
		}
	}
	return d.words.changed + clipName(b.String(), maxStatement)
}

// pathEnd returns the last two parts of a path.
func pathEnd(p string) string {
	if k := strings.LastIndexByte(p, '/'); k > 0 {
		if k = strings.LastIndexByte(p[:k], '/'); k >= 0 {
			return p[k+1:]
		}
	}
	return p
}

// phrases returns for each file what its latest changes were about.
func (d *digest) phrases() map[string]string {
	all := map[string][]string{}
	for _, m := range d.msgs {
		for _, e := range m.done {
			if e.what != "" && !slices.Contains(all[e.path], e.what) {
				all[e.path] = append(all[e.path], e.what)
			}
		}
	}
	out := map[string]string{}
	for p, list := range all {
		out[p] = clipName(strings.Join(list[max(0, len(list)-2):], "; "), 120)
	}
	return out
}

// fileLists offers the files of the ledger, the last touched first.
func (d *digest) fileLists() (changed, read, shell []piece) {
	strong := map[string]bool{}
	notes := d.phrases()
	if d.prev != nil {
		for _, k := range []kind{kindModified, kindCreated} {
			f := d.prev.files(k)
			for i, p := range f.Paths {
				if n := f.note(i); n != "" && notes[p] == "" {
					notes[p] = n
				}
			}
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
		switch f.State {
		case ledger.StateModified:
			changed = append(changed, file(d.scratch(f.Path, kindModified), f.Path, notes[f.Path], n-i))
		case ledger.StateCreated:
			changed = append(changed, file(d.scratch(f.Path, kindCreated), f.Path, notes[f.Path], n-i))
		case ledger.StateDeleted:
			changed = append(changed, file(kindDeleted, f.Path, "", n-i))
		case ledger.StateRead:
			if !folders[f.Path] {
				read = append(read, file(kindRead, f.Path, "", n-i))
			}
		}
	}
	for _, f := range slices.Backward(d.led.Weak) {
		if strong[f.Path] || folders[f.Path] || f.To != "" || strings.HasSuffix(f.Path, "/") || !d.spelled(f.Path) {
			continue
		}
		switch f.State {
		case ledger.StateDeleted:
			shell = append(shell, file(kindDeleted, f.Path, "", 0))
		case ledger.StateRead:
			read = append(read, file(kindRead, f.Path, "", 0))
		default:
			if k := d.scratch(f.Path, kindShell); k == kindShell {
				shell = append(shell, file(k, f.Path, "", 0))
			}
		}
	}
	return changed, read, shell
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
func (d *digest) scratch(p string, k kind) kind {
	if strings.HasPrefix(p, "/tmp/") || strings.HasPrefix(p, "/var/folders/") || strings.HasPrefix(p, "/private/tmp/") || strings.HasPrefix(p, "/dev/shm/") {
		return kindScratch
	}
	return k
}
