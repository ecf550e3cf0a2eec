package summary

import (
	"strings"
	"unicode"

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
	lines []factLine // that may be sources
	said  []factLine // the sentences of an answer, in order
	uses  []factUse
	text  string    // of the user, without secrets
	op    ledger.Op // of the call that a result belongs to
	// edits are what the calls of an answer write to files, by path.
	edits []edit
	// gone is the source whose earlier lines the result makes untrue: all of them,
	// or those with the keys in old.
	gone    string
	goneAll bool
	old     []int32
	size    int // bytes, about
}

// edit is a change to a file as the call that makes it has it.
type edit struct {
	call string // its id
	path string
	what string // the line that says best what was changed, "" when none does
}

// factLine is a line or a sentence that may go into the document.
type factLine struct {
	text  string
	key   int32   // the same for the same line of the same source
	ids   []int32 // identifiers, each once
	sure  float64 // how sure a reader has them from this line
	from  string  // what it is a line of, "" for prose
	worth float64 // 1 for most
	row   int32   // as rowShape has it
	error bool    // it tells an error
	says  says    // of a sentence
}

// says is what kind of sentence it is.
type says uint8

const (
	saysRemark   says = iota
	saysNothing       // it is half of a list, or data
	saysRow           // of a table
	saysNext          // only what the agent does next
	saysSupposed      // what may be
	saysCause         // why something is so
	saysResult        // that something is so now
)

func whatItSays(s string) says {
	switch {
	case len(s) < minLine || unreadable(s) || plainWords(s) < 4 && !strings.ContainsAny(s, "0123456789"):
		return saysNothing
	case text.TableRow(s):
		return saysRow
	case leadsOver(s), announces(s):
		return saysNext
	case strings.HasSuffix(s, "?") || supposes().MatchString(s):
		return saysSupposed
	case causeWord().MatchString(s):
		return saysCause
	case doneWord().MatchString(s):
		return saysResult
	}
	return saysRemark
}

// factUse is an identifier in a message.
type factUse struct {
	id    int32
	agent bool // the agent wrote it
	user  bool
}

// Sources without a name of their own: code in an answer, and a long message of the user.
const (
	codeSource   = "Code"
	pastedSource = "User"
)

const (
	minLine   = 12  // bytes
	maxLine   = 240 // runes; longer ones are cut
	maxSource = 70  // runes of what a line is taken from
	maxSaid   = 400 // runes of a sentence

	longMessage = 1500 // bytes of a message of the user that is more than a request
)

// A reader has a name from a line with words in it, and hardly from one without.
const (
	withWords    = .85
	withoutWords = .15
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
		if len(t) > longMessage { // what does not fit as a quote may be a source
			for line := range strings.SplitSeq(lookAt(t), "\n") {
				x.add(factLine{from: pastedSource, text: line, worth: 1}, true)
			}
		}
		for id := range text.Identifiers(lookAt(t)) {
			x.f.uses[x.see(n.id(id), true)].user = true
		}
	case message.RoleBranchSummary:
		for _, st := range text.Statements(text.OutsideFences(lookAt(redact.Text(m.Summary)))) {
			x.add(factLine{text: st, worth: 1}, true)
		}
	case message.RoleCustom:
		x.output(oneLine(m.CustomType), redact.Text(m.Text()))
	default:
	}
	return x.f
}

func (x *extractor) answer(m *message.Message) {
	t := text.Plain(redact.Text(m.Text()))
	for _, st := range text.Statements(text.OutsideFences(lookAt(t))) {
		if l, ok := x.measured(factLine{text: clipName(oneLine(st), maxSaid), worth: 1}, true); ok || l.text != "" && !forbidden(l.text) {
			l.key = x.names.line(lineKey("", l.text))
			l.says = whatItSays(l.text)
			x.f.said = append(x.f.said, l)
			x.f.size += len(l.text) + 60
		}
	}
	for line := range strings.SplitSeq(text.InsideFences(lookAt(t)), "\n") {
		x.add(factLine{from: codeSource, text: line, worth: codeWorth(line)}, true)
	}
	for _, b := range m.ToolCalls() {
		x.call(b)
	}
}

// result takes in the result of a call. What a change made untrue is noted.
//
// What the agent has read again from the log is no news: it was taken in where it was
// said first, and as a result of its own it would come back with every summary.
func (x *extractor) result(m *message.Message, call *message.Block) {
	if recall.IsResult(m) || m.IsError && recall.IsTool(m.ToolName) {
		return
	}
	if call != nil {
		x.f.op = ledger.Operation(call.Name, call.Arguments, ledger.Options{Cwd: x.cwd})
		if !m.IsError {
			switch x.f.op.Kind {
			case ledger.OpWrite:
				x.f.gone, x.f.goneAll = x.path(x.f.op.Path), true
				return
			case ledger.OpEdit:
				x.f.gone = x.path(x.f.op.Path)
				argumentTexts(call.Arguments, func(name, s string) {
					if oldText[name] {
						for line := range strings.SplitSeq(s, "\n") {
							x.f.old = append(x.f.old, x.names.line(lineKey(x.f.gone, clipName(oneLine(line), maxLine))))
						}
					}
				})
				return
			case ledger.OpPatch:
				return
			default:
			}
		}
	}
	x.output(x.source(call), redact.Text(unwrapped(m.Text())))
}

// outputMark matches what Codex puts before the output of a command.
var outputMark = text.Pattern(`\A(?:(?:Exit code|Chunk ID|Wall time|Process exited|Process running|Original token count|Script completed|Total output lines)[^\n]*\n)+(?:Output:\n)?`)

// unwrapped returns the output in a result that has more around it.
func unwrapped(s string) string {
	if k := outputMark().FindStringIndex(s[:min(len(s), 500)]); k != nil {
		return s[k[1]:]
	}
	if !strings.HasPrefix(s, "{") {
		return s
	}
	if _, err := jsonx.Scan([]byte(s), 0); err == nil {
		if out, ok := jsonx.String(jsonx.Get([]byte(s), "output")); ok {
			return out
		}
	}
	return s
}

// Arguments of calls, by what they hold.
var (
	oldText = map[string]bool{"oldText": true, "old_string": true, "old_str": true, "oldString": true, "search": true}
	// Files and folders, and what to look for.
	lookArgument = map[string]bool{
		"path": true, "file_path": true, "notebook_path": true, "workdir": true, "cwd": true, "filePath": true, "absolute_path": true,
		"dir_path": true, "directory": true, "target_file": true,
		"pattern": true, "glob": true, "include": true, "regex": true, "query": true,
	}
	// Where to look, not what is known.
	coordinate = map[string]bool{
		"offset": true, "limit": true, "timeout": true, "line": true, "view_range": true, "yield_time_ms": true,
		"max_output_tokens": true, "head_limit": true,
	}
)

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
			x.operation(b.ID, op)
		}
		return
	}
	from := x.path(pathIn(b))
	var written strings.Builder
	argumentTexts(b.Arguments, func(name, s string) {
		s = redact.Text(s)
		switch {
		case ops[0].Kind == ledger.OpShell && s == ops[0].Command, name == "command" || name == "cmd":
			x.commandLine(s)
		case lookArgument[name], oldText[name]:
			x.use(lookAt(s))
		case from == "" && ops[0].Kind == "":
			// Words for another tool, or for another agent.
			for _, st := range text.Statements(lookAt(text.OutsideFences(s))) {
				x.add(factLine{text: st, worth: 1, from: b.Name}, true)
			}
		default:
			x.code(from, s)
			written.WriteString(lookAt(s) + "\n")
		}
	})
	if k := ops[0].Kind; k == ledger.OpWrite || k == ledger.OpEdit {
		x.f.edits = append(x.f.edits, edit{call: b.ID, path: x.path(ops[0].Path), what: definition(written.String())})
	}
}

// operation takes in one call of a script, or a patch.
func (x *extractor) operation(call string, op ledger.Op) {
	switch op.Kind {
	case ledger.OpShell:
		x.commandLine(redact.Text(op.Command))
	case ledger.OpPatch:
		from, written := "", ""
		flush := func() {
			if from != "" {
				x.f.edits = append(x.f.edits, edit{call: call, path: from, what: definition(written)})
			}
		}
		for line := range strings.SplitSeq(lookAt(redact.Text(op.Command)), "\n") {
			switch p, ok := ledger.PatchFile(line); {
			case ok:
				flush()
				from, written = x.path(p), ""
				x.use(p)
			case strings.HasPrefix(line, "@@") && len(line) > 4:
				written += strings.TrimSpace(line[2:]) + "\n"
				x.use(line)
			case strings.HasPrefix(line, "+"):
				written += line[1:] + "\n"
				x.code(from, line)
			default:
				x.use(line)
			}
		}
		flush()
	default:
		x.use(op.Path)
	}
}

// definition returns the line of a change that says best what it is about: the first
// that declares something, else the first heading of a text.
func definition(s string) string {
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.TrimLeft(line, " \t+-")
		word, rest, _ := strings.Cut(line, " ")
		if rest != "" && (declares(word, rest) || word == "#" && unicode.IsUpper([]rune(rest)[0])) && !forbidden(line) {
			return clipName(strings.TrimRight(oneLine(line), " {:("), 90)
		}
	}
	return ""
}

func (x *extractor) code(from, s string) {
	if from == "" {
		from = codeSource
	}
	for line := range strings.SplitSeq(lookAt(s), "\n") {
		line = strings.TrimPrefix(line, "+")
		x.add(factLine{from: from, text: line, worth: codeWorth(line)}, true)
	}
}

// intoFile matches the beginning of a command that writes a here document to a file.
var intoFile = text.Pattern(`^(?:cat|tee)\s*(?:(?:>{1,2}\s*)?([^\s<>|&;]+)\s*<<|<<-?\s*['"]?\w+['"]?\s*(?:>{1,2}|\|\s*tee)\s*([^\s<>|&;]+))`)

// commandLine takes in a command. The text of a here document is that of the file
// it is written to.
func (x *extractor) commandLine(s string) {
	first, rest, more := strings.Cut(strings.TrimSpace(s), "\n")
	x.add(factLine{text: x.command(s), worth: 1}, true)
	if !more {
		return
	}
	if m := intoFile().FindStringSubmatch(first); m != nil {
		x.code(x.path(m[1]+m[2]), rest)
		return
	}
	x.code(clipName(x.command(s), maxSource), rest)
}

// commandMark stands before a command line.
const commandMark = "$ "

// isCommand reports whether a line is a command line as sources show it.
func isCommand(s string) bool { return strings.HasPrefix(s, commandMark) }

// command returns a command line on one line, as it is shown: without a change
// to the directory where the session is anyway.
func (x *extractor) command(s string) string { return commandMark + shownCommand(s, x.cwd) }

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
		x.add(factLine{from: from, text: line, worth: codeWorth(line), error: tellsError(line)}, false)
	}
}

// use records the identifiers of a text of the agent of which no line is taken.
func (x *extractor) use(s string) {
	for id := range text.Identifiers(s) {
		x.see(x.names.id(id), true)
	}
}

// see records an identifier and returns its place in uses.
func (x *extractor) see(id int32, byAgent bool) int {
	k, ok := x.place[id]
	if !ok {
		k = len(x.f.uses)
		x.place[id] = k
		x.f.uses = append(x.f.uses, factUse{id: id})
	}
	x.f.uses[k].agent = x.f.uses[k].agent || byAgent
	return k
}

// add takes in a line that may be a source.
func (x *extractor) add(l factLine, byAgent bool) {
	l.row = rowShape(l.text)
	l.text = oneLine(l.text)
	l, ok := x.measured(l, byAgent)
	if !ok || len(l.text) < minLine || unreadable(l.text) || forbidden(l.text) {
		return
	}
	l.key = x.names.line(lineKey(l.from, l.text))
	x.f.lines = append(x.f.lines, l)
	x.f.size += len(l.text) + 100
}

// measured finds the identifiers of a line, which count as used, and cuts the line to
// its length. ok is false for a line that names nothing and is not asked for either.
func (x *extractor) measured(l factLine, byAgent bool) (_ factLine, ok bool) {
	whole := l.text
	most := maxLine
	if l.from == "" && !isCommand(whole) {
		most = maxSaid
	}
	l.text = clipName(whole, most)
	words, at := 0, 0
	for id := range text.Identifiers(whole) {
		n := x.names.id(id)
		x.see(n, byAgent)
		if id.At+len(id.Text) > len(l.text) {
			continue // what is cut off is used all the same
		}
		if id.At > at {
			words += plainWords(whole[at:id.At])
		}
		at = max(at, id.At+len(id.Text))
		seen := false
		for _, have := range l.ids {
			seen = seen || have == n
		}
		if !seen {
			l.ids = append(l.ids, n)
		}
	}
	if at < len(l.text) {
		words += plainWords(l.text[at:])
	}
	l.sure = withWords
	if words < 2 {
		l.sure = withoutWords
	}
	asked := x.focusWords(l.text)
	l.worth *= 1 + float64(min(asked, 3))
	return l, len(l.ids) > 0 || asked > 0
}

func plainWords(s string) int {
	n := 0
	for range contentWordsAt(s) {
		n++
	}
	return n
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

// argumentTexts calls fn with the strings in the arguments of a call and the
// names of the members they stand in.
func argumentTexts(args []byte, fn func(name, s string)) {
	var leaf func(name string, val []byte, depth int)
	leaf = func(name string, val []byte, depth int) {
		switch {
		case depth > 8:
		case jsonx.IsString(val):
			s, _ := jsonx.String(val)
			fn(name, s)
		case jsonx.IsArray(val):
			jsonx.Elements(val, func(v []byte) bool {
				leaf(name, v, depth+1)
				return true
			})
		case jsonx.IsObject(val):
			jsonx.Members(val, func(k, v []byte) bool {
				leaf(string(k), v, depth+1)
				return true
			})
		}
	}
	jsonx.Members(args, func(key, val []byte) bool {
		if name := string(key); !coordinate[name] {
			leaf(name, val, 0)
		}
		return true
	})
}

// maxLook is how much of one text is looked at: its beginning and its end.
const maxLook = 64 << 10

func lookAt(s string) string {
	if len(s) <= maxLook {
		return s
	}
	return text.Head(s, maxLook*3/4) + "\n" + text.Tail(s, maxLook/4)
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

// codeWorth weighs a line of code or output: errors and declarations say more
// than statements, imports and what git reports on files say little.
func codeWorth(line string) float64 {
	line = strings.TrimLeft(line, " \t+-")
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case importing()[word] || word == "export" && strings.Contains(rest, " from ") || rest == "" && strings.HasPrefix(word, `"`):
		return 0.3
	case tellsError(line):
		return 1.5
	case declares(word, rest):
		return 1.3
	}
	worth := 1.0
	if commenting()[word] {
		worth = 1.2
	}
	// A sentence in a file is what somebody wanted known: a rule most of all.
	if n := strings.Count(line, " "); n >= 7 && !strings.ContainsAny(line, "{};") {
		worth *= 1.2
		for w := range strings.FieldsSeq(line) {
			if binding()[w] {
				worth *= 1.4
				break
			}
		}
	}
	return worth
}

// binding are words of a sentence that says what has to be, or why.
var binding = text.Words(`must never always only not don't should required requires because since otherwise instead until unless
	Must Never Always Only Don't Do NOT MUST NEVER ALWAYS ONLY`)

var (
	importing = text.Words(`import from use #include package require rename copy create delete Auto-merging diff index @@ using`)
	modifiers = text.Words(`export public private protected static async pub default abstract final override`)
	declaring = text.Words(`func function class interface type enum struct trait impl def fn module namespace CREATE`)
	// A constant or variable is declared where its name begins in upper case.
	naming     = text.Words(`const var let`)
	commenting = text.Words(`// # * /* -- """ ///`)
)

func declares(word, rest string) bool {
	for modifiers()[word] {
		word, rest, _ = strings.Cut(rest, " ")
	}
	return declaring()[word] || naming()[word] && rest != "" && rest[0] >= 'A' && rest[0] <= 'Z'
}

// tellsError reports whether a line has a word of an error message.
func tellsError(line string) bool {
	for _, part := range []string{
		"error", "Error", "ERROR", "failed", "Failed", "FAIL", "failure", "fatal", "panic", "xception", "cannot find", "undefined",
	} {
		if strings.Contains(line, part) {
			return true
		}
	}
	return false
}

// rowShape is the same, and not 0, for lines that look like rows of the same table: as many
// cells between the same separators. A line of code is no row.
func rowShape(line string) int32 {
	line = strings.TrimSpace(line)
	const (
		pipes = 1 + iota
		members
		tabs
		gaps
		commas
		kinds
	)
	shape := func(kind, cells int) int32 { return int32(cells*kinds + kind) }
	if n := strings.Count(line, "|"); n >= 3 && text.TableRow(line) || n >= 2 && strings.Count(line, " | ") == n {
		return shape(pipes, n)
	}
	if n := strings.Count(line, `":`); n >= 2 && line[0] == '{' && strings.HasSuffix(strings.TrimSuffix(line, ","), "}") {
		return shape(members, n)
	}
	if strings.ContainsAny(line, "(){}[]<>=;`") {
		return 0
	}
	if n := strings.Count(line, "\t"); n >= 2 {
		return shape(tabs, n)
	}
	if n := len(wideGap().FindAllStringIndex(line, -1)); n >= 2 {
		return shape(gaps, n)
	}
	if n := strings.Count(line, ","); n >= 2 && !strings.Contains(line, ", ") {
		return shape(commas, n)
	}
	return 0
}

var wideGap = text.Pattern(`\S {2,}`)
