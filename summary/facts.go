package summary

import (
	"math"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
)

// facts is what one message says, whatever stands around it: so it is found once
// and kept, see Cache.
type facts struct {
	lines []factLine
	uses  []factUse
	// said are the sentences of an answer, without code and secrets.
	said []string
	// text is a message of the user without secrets.
	text string
	op   ledger.Op // of the call that a result belongs to
	// gone is the source whose earlier lines the result makes untrue: all of them,
	// or those with the keys in old.
	// oldPart are texts within a line that were replaced.
	gone    string
	goneAll bool
	old     []int32
	oldPart []string
	size    int // bytes, about
}

// factLine is a line that may go into the document.
type factLine struct {
	text   string
	key    int32  // the same for the same line of the same source
	spots  []spot // identifiers and plain words, in order
	from   string // what it is a line of, "" for prose
	factor float64
	focus  float64 // worth of what it shares with the instructions
	kind   lineKind
	row    int32 // as rowShape has it
}

// spot is where an identifier, or a plain word, stands in a line.
type spot struct {
	from, to uint16
	id       int32 // -1 for a word
}

type lineKind uint8

const (
	lineProse lineKind = iota
	lineUser
	lineCommand
	lineCode
	lineOutput
)

// factUse is an identifier in a message.
type factUse struct {
	id    int32
	agent bool // the agent wrote it
}

// codeSource is where code in an answer comes from.
const codeSource = "Code"

const (
	minExcerpt = 12  // bytes
	maxExcerpt = 260 // runes; longer ones are cut
	maxSource  = 60  // runes of what a line is taken from
)

// extractor finds the facts of one message.
type extractor struct {
	f     *facts
	names *names
	cwd   string
	focus map[string]bool
	place map[int32]int // where in f.uses an identifier stands
}

// extract finds the facts of a message; call is the call that a result belongs to.
func extract(n *names, m *message.Message, call *message.Block, cwd string, focus map[string]bool) *facts {
	x := extractor{f: &facts{}, names: n, cwd: cwd, focus: focus, place: map[int32]int{}}
	switch m.Role {
	case message.RoleAssistant:
		x.answer(m)
	case message.RoleToolResult:
		x.result(m, call)
	case message.RoleBashExecution:
		x.output(x.command(redact.Text(m.Command)), redact.Text(m.Output))
	case message.RoleUser:
		t := redact.Text(m.Text())
		if !m.UserWords() {
			x.output("", t)
			break
		}
		x.f.text = t
		for _, st := range text.Statements(lookAt(t)) {
			x.add(factLine{text: st, factor: 1, kind: lineUser}, true)
		}
	case message.RoleBranchSummary:
		for _, st := range text.Statements(text.OutsideFences(lookAt(redact.Text(m.Summary)))) {
			x.add(factLine{text: st, factor: 1}, true)
		}
	case message.RoleCustom:
		x.output(oneLine(m.CustomType), redact.Text(m.Text()))
	default:
	}
	return x.f
}

func (x *extractor) answer(m *message.Message) {
	t := text.Plain(redact.Text(m.Text()))
	x.f.said = text.Statements(text.OutsideFences(t))
	for _, st := range text.Statements(lookAt(text.OutsideFences(t))) {
		x.add(factLine{text: st, factor: narration(st)}, true)
	}
	for line := range strings.SplitSeq(text.InsideFences(lookAt(t)), "\n") {
		x.add(factLine{from: codeSource, text: line, factor: codeWorth(line), kind: lineCode}, true)
	}
	for _, b := range m.ToolCalls() {
		x.call(b)
	}
}

// result takes in the result of a call. What a change made untrue is taken away.
//
// What the agent has read again from the log is no news: it was taken in where it was
// said first, and as a result of its own it would come back with every summary.
func (x *extractor) result(m *message.Message, call *message.Block) {
	if recall.IsResult(m) || m.IsError && recall.IsTool(m.ToolName) {
		return
	}
	if call != nil {
		x.f.op = ledger.Operation(call.Name, call.Arguments, ledger.Options{Cwd: x.cwd})
		switch x.f.op.Kind {
		case ledger.OpWrite:
			if !m.IsError {
				x.f.gone, x.f.goneAll = x.path(x.f.op.Path), true
				return
			}
		case ledger.OpEdit:
			if !m.IsError {
				x.f.gone = x.path(x.f.op.Path)
				argumentTexts(call.Arguments, func(name, s string) {
					if oldText[name] && len(s) >= minExcerpt && len(s) <= 4*maxExcerpt && !strings.Contains(strings.TrimSpace(s), "\n") {
						x.f.oldPart = append(x.f.oldPart, oneLine(s))
					}
					if oldText[name] {
						for line := range strings.SplitSeq(s, "\n") {
							x.f.old = append(x.f.old, x.names.line(lineKey(x.f.gone, text.Clip(oneLine(line), maxExcerpt))))
						}
					}
				})
				return
			}
		case ledger.OpPatch:
			if !m.IsError {
				return
			}
		default:
		}
	}
	x.output(x.source(call), redact.Text(m.Text()))
}

// oldText holds the arguments that say what an edit replaces.
var oldText = map[string]bool{"oldText": true, "old_string": true, "old_str": true, "oldString": true, "search": true}

// pathArgument holds the arguments that name a file or a folder.
var pathArgument = map[string]bool{
	"path": true, "file_path": true, "notebook_path": true, "workdir": true, "cwd": true, "filePath": true, "absolute_path": true,
	"dir_path": true, "directory": true, "target_file": true,
}

// call takes in what a call says: the lines it writes, its command.
func (x *extractor) call(b message.Block) {
	if recall.IsTool(b.Name) {
		// Not its handles: they lead where the summary's own do.
		if words, ok := jsonx.String(jsonx.Get(b.Arguments, "query")); ok {
			x.use(redact.Text(words))
		}
		return
	}
	ops := ledger.Operations(b.Name, b.Arguments, ledger.Options{Cwd: x.cwd})
	if len(ops) != 1 || ops[0].Kind == ledger.OpPatch {
		for _, op := range ops {
			x.operation(op)
		}
		return
	}
	from := x.path(pathIn(b))
	argumentTexts(b.Arguments, func(name, s string) {
		s = redact.Text(s)
		switch {
		case pathArgument[name], lookArgument[name]:
			x.use(s)
		case ops[0].Kind == ledger.OpShell && s == ops[0].Command, name == "command" || name == "cmd":
			x.commandLine(s)
		case oldText[name]:
			x.use(lookAt(s))
		case from == "" && ops[0].Kind == "":
			// Words for another tool, or for another agent.
			x.prose(s)
		default:
			x.code(from, s)
		}
	})
}

// lookArgument holds the arguments that say what to look for.
var lookArgument = map[string]bool{"pattern": true, "glob": true, "include": true, "regex": true, "query": true}

// operation takes in one call of a script, or a patch.
func (x *extractor) operation(op ledger.Op) {
	switch op.Kind {
	case ledger.OpShell:
		x.commandLine(redact.Text(op.Command))
	case ledger.OpPatch:
		from := ""
		for line := range strings.SplitSeq(lookAt(redact.Text(op.Command)), "\n") {
			switch p, ok := ledger.PatchFile(line); {
			case ok:
				from = x.path(p)
				x.use(p)
			case strings.HasPrefix(line, "+"):
				x.code(from, line)
			default:
				x.use(line)
			}
		}
	default:
		x.use(op.Path)
	}
}

func (x *extractor) prose(s string) {
	for _, st := range text.Statements(lookAt(text.OutsideFences(s))) {
		x.add(factLine{text: st, factor: narration(st)}, true)
	}
}

func (x *extractor) code(from, s string) {
	if from == "" {
		from = codeSource
	}
	for line := range strings.SplitSeq(lookAt(s), "\n") {
		line = strings.TrimPrefix(line, "+")
		x.add(factLine{from: from, text: line, factor: codeWorth(line), kind: lineCode}, true)
	}
}

// intoFile matches the beginning of a command that writes a here document to a file.
var intoFile = text.Pattern(`^(?:cat|tee)\s*(?:(?:>{1,2}\s*)?([^\s<>|&;]+)\s*<<|<<-?\s*['"]?\w+['"]?\s*(?:>{1,2}|\|\s*tee)\s*([^\s<>|&;]+))`)

// commandLine takes in a command. The text of a here document is that of the file
// it is written to.
func (x *extractor) commandLine(s string) {
	first, rest, more := strings.Cut(strings.TrimSpace(s), "\n")
	if !more {
		x.add(factLine{text: x.command(s), factor: 1, kind: lineCommand}, true)
		return
	}
	x.add(factLine{text: x.command(s), factor: 1, kind: lineCommand}, true)
	if m := intoFile().FindStringSubmatch(first); m != nil {
		x.code(x.path(m[1]+m[2]), rest)
		return
	}
	x.code(clipName(x.command(s), maxSource), rest)
}

// command returns a command line on one line, as it is shown: without a change
// to the directory where the session is anyway.
func (x *extractor) command(s string) string { return "$ " + shownCommand(s, x.cwd) }

func shownCommand(s, cwd string) string {
	s = strings.TrimSpace(s)
	if cwd != "" {
		for _, sep := range []string{" && ", "; "} {
			s = strings.TrimPrefix(s, "cd "+cwd+sep)
		}
	}
	first, _, more := strings.Cut(s, "\n")
	if more {
		first += " " + text.Ellipsis
	}
	return oneLine(first)
}

// pathIn returns the path that a call names, as written.
func pathIn(call message.Block) string {
	for _, name := range []string{"path", "file_path", "notebook_path", "filePath", "absolute_path", "target_file"} {
		if p, ok := jsonx.String(jsonx.Get(call.Arguments, name)); ok && p != "" {
			return p
		}
	}
	return ""
}

// source names what a result is the output of.
func (x *extractor) source(call *message.Block) string {
	if call == nil {
		return ""
	}
	if p := pathIn(*call); p != "" && jsonx.Get(call.Arguments, "pattern") == nil {
		return x.path(p)
	}
	if c := x.f.op.Command; x.f.op.Kind == ledger.OpShell && strings.TrimSpace(c) != "" {
		return clipName(x.command(redact.Text(c)), maxSource)
	}
	for _, name := range []string{"pattern", "query", "url", "prompt", "description"} {
		if s, ok := jsonx.String(jsonx.Get(call.Arguments, name)); ok && strings.TrimSpace(s) != "" {
			s = oneLine(redact.Text(s))
			if name == "pattern" {
				s = "/" + s + "/"
			}
			return clipName(s, maxSource)
		}
	}
	return ""
}

// path returns a path as the ledger spells it.
func (x *extractor) path(p string) string {
	if cwd := strings.TrimSuffix(x.cwd, "/"); cwd != "" {
		p = strings.TrimPrefix(p, cwd+"/")
	}
	return oneLine(strings.TrimPrefix(p, "./"))
}

// lineNumber is what reading tools put before a line of a file.
var lineNumber = text.Pattern(`^\s*\d{1,6}(?:→|\t|:|-\s|\s*\| ?)`)

// output takes in the lines of a result.
func (x *extractor) output(from, s string) {
	cwd := strings.TrimSuffix(x.cwd, "/") + "/"
	for line := range strings.SplitSeq(text.Plain(lookAt(s)), "\n") {
		if t := strings.TrimLeft(line, " "); t != "" && t[0] >= '0' && t[0] <= '9' {
			line = line[len(lineNumber().FindString(line)):]
		}
		if len(cwd) > 1 {
			line = strings.ReplaceAll(line, cwd, "")
		}
		x.add(factLine{from: from, text: line, factor: codeWorth(line), kind: lineOutput}, false)
	}
}

// use records the identifiers of a text of the agent of which no line is taken.
func (x *extractor) use(s string) {
	for id := range text.Identifiers(s) {
		x.see(x.names.id(id), true)
	}
}

func (x *extractor) see(id int32, byAgent bool) {
	if k, ok := x.place[id]; ok {
		u := &x.f.uses[k]
		u.agent = u.agent || byAgent
		return
	}
	x.place[id] = len(x.f.uses)
	x.f.uses = append(x.f.uses, factUse{id, byAgent})
}

// add takes in a line: its identifiers count, and if it says something it may
// be chosen.
func (x *extractor) add(l factLine, byAgent bool) {
	line := oneLine(l.text)
	if line == "" {
		return
	}
	words := wordCounter{s: line}
	l.row = rowShape(l.text)
	l.text = clipName(line, maxExcerpt)
	named := false
	for id := range text.Identifiers(line) {
		n := x.names.id(id)
		x.see(n, byAgent)
		// What is cut off is counted all the same.
		if end := id.At + len(id.Text); end <= len(l.text) && end <= math.MaxUint16 {
			words.skip(id.At, end, &l.spots)
			l.spots = append(l.spots, spot{uint16(id.At), uint16(end), n})
			named = true
		} else {
			words.skip(id.At, end, nil)
		}
	}
	l.focus = inFocus * float64(min(x.focusWords(l.text), 3))
	if !named && l.focus == 0 || len(l.text) < minExcerpt || unreadable(l.text) || forbidden(l.text) {
		return
	}
	if words.end(len(l.text), &l.spots) < 2 {
		l.factor *= fewWords
	}
	if leadsOver(l.text) {
		l.factor *= announces
	}
	l.key = x.names.line(lineKey(l.from, l.text))
	x.f.lines = append(x.f.lines, l)
	x.f.size += len(l.text) + 100
}

// lineKey is the same for lines that say the same of the same source.
func lineKey(from, line string) string {
	if from == "" {
		return strings.Trim(line, ".:;, ")
	}
	return from + "\x00" + line
}

// focusWords counts the words that a line shares with the instructions.
func (x *extractor) focusWords(s string) int {
	if len(x.focus) == 0 {
		return 0
	}
	n := 0
	for w := range contentWords(s) {
		if x.focus[w] {
			n++
		}
	}
	return n
}

// clipName cuts a line as text.Clip does, but not inside an identifier: the
// beginning of a name is the name of another thing.
func clipName(s string, n int) string {
	cut := text.Clip(s, n)
	if len(cut) == len(s) {
		return s
	}
	end := len(cut) - len(text.Ellipsis)
	for id := range text.Identifiers(s[:min(len(s), end+400)]) {
		if id.At < end && end < id.At+len(id.Text) {
			end = id.At
			break
		}
		if id.At >= end {
			break
		}
	}
	// A path is one token, of which only the end is the identifier.
	for end > 0 && end < len(s) && inToken(s[end]) && inToken(s[end-1]) {
		end--
	}
	return strings.TrimRight(s[:end], " ") + text.Ellipsis
}

// inToken reports whether a character may stand inside a name or a path.
func inToken(c byte) bool {
	return c == '_' || c == '-' || c == '/' || c == '.' || c == '~' || c == '@' || c == '+' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}
