package summary

import (
	"iter"
	"slices"
	"strconv"
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
	// thought are the causes and results in what a model thought before calls that it says
	// nothing of.
	thought []factLine
	uses    []factUse
	text    string    // of the user, without secrets
	chose   []string  // what the user answered to the questions of a call
	op      ledger.Op // of the call that a result belongs to
	from    string    // what a result is of: a file, a command
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
	worth float64 // more where it is asked for
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
	case len(s) < minLine || unreadable(s) || plainWords(s, 4) < 4 && !strings.ContainsAny(s, "0123456789"):
		return saysNothing
	case text.TableRow(s):
		return saysRow
	case leadsOver(s), announces(s) && !givesReason.MatchString(s), doing().MatchString(s):
		return saysNext
	case strings.HasSuffix(s, "?") || supposes.MatchString(s):
		return saysSupposed
	case causeWord.MatchString(s):
		return saysCause
	case doneWord.MatchString(s):
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

	longCommand = 200  // bytes of what stands behind a slash command that is a request
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
	known map[string]*knownLine // what was found in lines before: most are read more than once
}

// knownLine is what a line holds, whatever message it stands in.
type knownLine struct {
	factLine
	uses []int32 // its identifiers, those that are cut off as well
	ok   bool    // it may be a source
}

func newExtractor(n *names, cwd, instructions string) *extractor {
	return &extractor{names: n, cwd: cwd, focus: text.Subject(instructions, stopWords()), known: map[string]*knownLine{}}
}

// begin starts another message.
func (x *extractor) begin() {
	x.f = &facts{}
	x.names.message++
}

// extract finds the facts of a message; call is the call that a result belongs to.
func (x *extractor) extract(m *message.Message, call *message.Block) *facts {
	x.begin()
	switch m.Role {
	case message.RoleAssistant:
		x.answer(m)
	case message.RoleToolResult:
		x.result(m, call)
	case message.RoleBashExecution:
		x.output(x.command(redact.Text(m.Command)), redact.Text(m.Output))
	case message.RoleUser:
		t := redact.Text(m.Text())
		if m.Source() == message.OriginInjected {
			break // a program put it in, and puts it in again
		} else if !m.UserWords() {
			x.output("", t)
			break
		}
		t = typed(t)
		x.f.text = t
		if len(t) > longMessage { // what does not fit as a quote may be a source
			for line := range strings.SplitSeq(lookAt(t), "\n") {
				x.add(factLine{from: pastedSource, text: line})
			}
		}
		for id := range text.Identifiers(lookAt(t)) {
			x.f.uses[x.see(x.names.id(id), true)].user = true
		}
	case message.RoleBranchSummary:
		x.prose("", text.OutsideFences(lookAt(redact.Text(m.Summary))))
	case message.RoleCustom:
		x.output(oneLine(m.CustomType), redact.Text(m.Text()))
	default:
	}
	return x.f
}

// typed returns what the user wrote behind a slash command, as Claude Code wraps it, where
// that is more than an option: then it is the request.
func typed(s string) string {
	if !strings.HasPrefix(strings.TrimSpace(s), "<command-") {
		return s
	}
	_, rest, _ := strings.Cut(s, "<command-args>")
	if args, _, ok := strings.Cut(rest, "</command-args>"); ok && len(args) >= longCommand {
		return strings.TrimSpace(args)
	}
	return s
}

func (x *extractor) answer(m *message.Message) {
	t := text.Plain(redact.Text(m.Text()))
	x.f.said = x.sentences(t, true)
	if len(x.f.said) == 0 { // what is only thought of is not used yet
		for _, l := range x.sentences(text.Plain(redact.Text(thinking(m))), false) {
			if l.says == saysCause || l.says == saysResult {
				x.f.thought = append(x.f.thought, l)
			}
		}
	}
	for line := range strings.SplitSeq(text.InsideFences(lookAt(t)), "\n") {
		x.line(codeSource, line, true)
	}
	for _, b := range m.ToolCalls() {
		x.call(b)
	}
}

// sentences returns those of an answer; used says whether what they name counts as used.
func (x *extractor) sentences(t string, used bool) (out []factLine) {
	for _, st := range text.Statements(text.OutsideFences(lookAt(t))) {
		if strings.HasPrefix(st, "::") {
			continue // Codex tells its app what it did: ::git-push{...}
		}
		l, uses, ok := x.measured(factLine{text: clipName(oneLine(st), maxSaid)})
		for _, id := range uses {
			if used {
				x.see(id, true)
			}
		}
		if ok || l.text != "" && !forbidden(l.text) {
			l.key = x.names.line("", l.text)
			l.says = whatItSays(l.text)
			out = append(out, l)
			x.f.size += len(l.text) + 60
		}
	}
	return out
}

// thinking returns what the model thought before its calls, where the log has it: all that
// some models say of why they do what they do.
func thinking(m *message.Message) string {
	var out []string
	for _, b := range m.Content {
		if b.Type == message.BlockThinking {
			out = append(out, b.Text)
		}
	}
	return strings.Join(out, "\n")
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
	}
	if call != nil && asksUser()[call.Name] || m.IsError {
		x.f.chose = choices(call, redact.Text(m.Text()))
	}
	switch kind := x.f.op.Kind; {
	case m.IsError:
	case kind == ledger.OpPatch:
		return
	case kind == ledger.OpWrite:
		x.f.gone, x.f.goneAll = x.path(x.f.op.Path), true
		return
	case kind == ledger.OpEdit:
		x.f.gone = x.path(x.f.op.Path)
		argumentTexts(call.Arguments, func(name, s string) {
			if oldText()[name] {
				for line := range strings.SplitSeq(s, "\n") {
					x.f.old = append(x.f.old, x.names.line(x.f.gone, clipName(oneLine(line), maxLine)))
				}
			}
		})
		return
	}
	x.f.from = x.source(call)
	x.output(x.f.from, prose(redact.Text(ledger.Output(m.Text()))))
}

// asksUser are the tools that ask the user, of Claude Code, Copilot CLI, Codex, opencode and
// Gemini CLI.
var asksUser = text.Words(`AskUserQuestion ask_user request_user_input question`)

// choice matches a question and its answer in a result of Claude Code.
var choice = text.Pattern(`"([^"]{4,600})"="([^"]{1,600})"`)

// choices returns what the user answered, each behind its question; and what the user said
// in refusing a call.
func choices(call *message.Block, result string) (out []string) {
	if _, said, ok := strings.Cut(result, "the user said:\n"); ok {
		if first, _, _ := strings.Cut(said, "\n"); !strings.HasPrefix(first, "The user wants to clarify") {
			out = append(out, oneLine(first))
		}
		return out
	}
	if call == nil || !asksUser()[call.Name] {
		return nil
	}
	for _, m := range choice().FindAllStringSubmatch(result, 8) {
		question := text.Sentences(oneLine(m[1]))
		asks := max(slices.IndexFunc(question, func(s string) bool { return strings.HasSuffix(s, "?") }), 0)
		if asks > 0 && plainWords(question[asks], 3) < 3 { // "Include it?"
			question[asks] = question[asks-1] + " " + question[asks]
		}
		out = append(out, clipName(question[asks], maxQuestion)+answered+oneLine(m[2]))
	}
	if _, s, ok := strings.Cut(result, "User selected: "); ok && len(out) == 0 {
		_, question := argument(call, "question")
		out = append(out, clipName(oneLine(question), maxQuestion)+answered+text.FirstLine(s))
	}
	return out
}

// answered stands between a question and what the user answered.
const answered = ledger.Answered

// Arguments of calls, by what they hold.
var (
	oldText = text.Words(`oldText old_string old_str oldString search`)
	// Files and folders, and what to look for.
	lookArgument = text.Words(`path file_path notebook_path workdir cwd filePath absolute_path dir_path directory target_file
		pattern glob include regex query`)
	// Where to look, not what is known.
	coordinate = text.Words(`offset limit timeout line view_range yield_time_ms max_output_tokens head_limit`)
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
	if len(ops) != 1 || ops[0].Kind == ledger.OpPatch || ops[0].Script {
		for _, op := range ops {
			x.operation(b.ID, op)
		}
		return
	}
	from := x.path(pathIn(&b))
	var written strings.Builder
	argumentTexts(b.Arguments, func(name, s string) {
		s = redact.Text(s)
		switch {
		case ops[0].Kind == ledger.OpShell && s == ops[0].Command, name == "command" || name == "cmd":
			x.commandLine(s)
		case lookArgument()[name], oldText()[name], name == "description":
			x.use(lookAt(s))
		case from == "" && ops[0].Kind == "":
			// Words for another tool, or for another agent.
			x.prose(b.Name, lookAt(text.OutsideFences(s)))
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
		from := ""
		var written strings.Builder
		flush := func() {
			if from != "" {
				x.f.edits = append(x.f.edits, edit{call: call, path: from, what: definition(written.String())})
			}
			written.Reset()
		}
		for line := range strings.SplitSeq(lookAt(redact.Text(op.Command)), "\n") {
			switch p, ok := ledger.PatchFile(line); {
			case ok:
				flush()
				from = x.path(p)
				x.use(p)
			case strings.HasPrefix(line, "@@") && len(line) > 4:
				written.WriteString(strings.TrimSpace(line[2:]) + "\n")
				x.use(line)
			case strings.HasPrefix(line, "+"):
				written.WriteString(line[1:] + "\n")
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
		if rest != "" && !strings.HasSuffix(rest, ",") && (declares(word, rest) || word == "#" && unicode.IsUpper([]rune(rest)[0])) && !forbidden(line) {
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
		x.line(from, strings.TrimPrefix(line, "+"), true)
	}
}

// commandLine takes in a command.
func (x *extractor) commandLine(s string) {
	x.add(factLine{text: x.command(s)})
	if _, rest, more := strings.Cut(strings.TrimSpace(s), "\n"); more {
		x.code(clipName(x.command(s), maxSource), rest)
	}
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
		for _, dir := range []string{cwd, `"` + cwd + `"`, "'" + cwd + "'"} {
			for _, sep := range []string{" && ", "; "} {
				s = strings.TrimPrefix(s, "cd "+dir+sep)
			}
		}
		if cwd = strings.TrimSuffix(cwd, "/"); cwd != "" {
			s = strings.ReplaceAll(s, cwd+"/", "")
		}
	}
	if first, _, more := strings.Cut(s, "\n"); more {
		s = first + " " + text.Ellipsis
	}
	s = oneLine(s)
	return s[:len(s)-len(shortens().FindString(s))]
}

// shortens matches the end of a command line that only makes less of what is printed.
var shortens = text.Pattern(`(?: 2>(?:/dev/null|&1)| \| (?:head|tail)(?: -n)?(?: -?\d+)?)+$`)

// argument returns the first of the named arguments of a call that says something.
func argument(call *message.Block, names ...string) (name, s string) {
	for _, name := range names {
		if s, ok := jsonx.String(jsonx.Get(call.Arguments, name)); ok && strings.TrimSpace(s) != "" {
			return name, s
		}
	}
	return "", ""
}

// pathIn returns the path that a call names, as written.
func pathIn(call *message.Block) string {
	_, p := argument(call, "path", "file_path", "notebook_path", "filePath", "absolute_path", "target_file")
	return p
}

// source names what a result is the output of.
func (x *extractor) source(call *message.Block) string {
	if call == nil {
		return ""
	}
	if p := pathIn(call); p != "" && jsonx.Get(call.Arguments, "pattern") == nil {
		return x.path(p)
	}
	if c := x.f.op.Command; x.f.op.Kind == ledger.OpShell && strings.TrimSpace(c) != "" {
		return clipName(x.command(redact.Text(c)), maxSource)
	}
	name, s := argument(call, "pattern", "query", "url", "prompt", "description")
	switch s = oneLine(redact.Text(s)); name {
	case "pattern":
		s = "/" + s + "/"
	case "":
		s = call.Name
	}
	return clipName(s, maxSource)
}

// path returns a path as the ledger spells it.
func (x *extractor) path(p string) string {
	if cwd := strings.TrimSuffix(x.cwd, "/"); cwd != "" {
		p = strings.TrimPrefix(p, cwd+"/")
	}
	return oneLine(strings.TrimPrefix(p, "./"))
}

// lineNumber is what reading tools put before a line of a file.
var lineNumber = text.Pattern(`^\s*(?:Line |L)?\d{1,6}(?:→|\t|:|-\s|\s*\| ?)`)

// output takes in the lines of a result.
func (x *extractor) output(from, s string) {
	for line := range bare(s, x.cwd) {
		x.line(from, line, false)
	}
}

// bare yields the lines of a result without the numbers that tools put before them, and with
// paths as they are from the working directory.
func bare(s, cwd string) iter.Seq[string] {
	cwd = strings.TrimSuffix(cwd, "/") + "/"
	number := 1 // of the next line, as Copilot CLI counts them
	return func(yield func(string) bool) {
		for line := range strings.SplitSeq(text.Plain(lookAt(s)), "\n") {
			if t := strings.TrimLeft(line, " "); t != "" && (t[0] >= '0' && t[0] <= '9' || t[0] == 'L') {
				line = line[len(lineNumber().FindString(line)):]
				if rest, ok := strings.CutPrefix(line, strconv.Itoa(number)+". "); ok {
					line = rest
					number++
				}
			}
			if len(cwd) > 1 {
				line = strings.ReplaceAll(line, cwd, "")
			}
			if !yield(line) {
				return
			}
		}
	}
}

// prose takes in sentences.
func (x *extractor) prose(from, s string) {
	for _, st := range text.Statements(s) {
		x.add(factLine{text: st, from: from})
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
	seen := &x.names.seen[id]
	if seen.message != x.names.message {
		*seen = place{x.names.message, int32(len(x.f.uses))}
		x.f.uses = append(x.f.uses, factUse{id: id})
	}
	u := &x.f.uses[seen.at]
	u.agent = u.agent || byAgent
	return int(seen.at)
}

// line takes in a line of code or output.
func (x *extractor) line(from, line string, byAgent bool) {
	if from == "" {
		k := x.look(factLine{text: line})
		k.worth *= codeWorth(line)
		x.take(k, byAgent)
		return
	}
	k := x.known[line]
	if k == nil {
		k = x.look(factLine{from: from, text: line})
		k.worth *= codeWorth(line)
		x.known[line] = k
	}
	if k.ok && k.from != from {
		k.from, k.key = from, x.names.line(from, k.text)
	}
	x.take(k, byAgent)
}

// add takes in another line that may be a source.
func (x *extractor) add(l factLine) { x.take(x.look(l), true) }

func (x *extractor) take(k *knownLine, byAgent bool) {
	for _, id := range k.uses {
		x.see(id, byAgent)
	}
	if k.ok {
		x.f.lines = append(x.f.lines, k.factLine)
		x.f.size += len(k.text) + 100
	}
}

// look finds out whether a line may be a source.
func (x *extractor) look(l factLine) *knownLine {
	l.text = oneLine(l.text)
	l, uses, ok := x.measured(l)
	if ok = ok && len(l.text) >= minLine && !unreadable(l.text) && !forbidden(l.text); ok {
		l.key = x.names.line(l.from, l.text)
	}
	return &knownLine{l, uses, ok}
}

// measured finds the identifiers of a line, which count as used, and cuts the line to
// its length. ok is false for a line that names nothing and is not asked for either.
func (x *extractor) measured(l factLine) (_ factLine, uses []int32, ok bool) {
	whole := l.text
	most := maxLine
	if l.from == "" && !isCommand(whole) {
		most = maxSaid
	}
	l.text = clipName(whole, most)
	words, at := 0, 0
	cut := false
	for id := range text.Identifiers(whole) {
		n := x.names.id(id)
		if id.At+len(id.Text) > len(l.text) {
			if !cut { // what is cut off is used all the same
				cut, uses = true, slices.Clone(l.ids)
			}
			uses = append(uses, n)
			continue
		}
		if id.At > at && words < 2 {
			words += plainWords(whole[at:id.At], 2)
		}
		at = max(at, id.At+len(id.Text))
		if !slices.Contains(l.ids, n) {
			l.ids = append(l.ids, n)
		}
	}
	if !cut {
		uses = l.ids
	}
	if at < len(l.text) && words < 2 {
		words += plainWords(l.text[at:], 2)
	}
	l.sure = withWords
	if words < 2 {
		l.sure = withoutWords
	}
	asked := 0
	if len(x.focus) > 0 {
		for w := range text.ContentWords(l.text, stopWords()) {
			if x.focus[strings.ToLower(w)] {
				asked++
			}
		}
	}
	l.worth = 1 + float64(min(asked, 3))
	return l, uses, len(l.ids) > 0 || asked > 0
}

// plainWords counts the words of a text that say what it is about, up to most.
func plainWords(s string, most int) int {
	n := 0
	for range text.ContentWords(s, stopWords()) {
		if n++; n == most {
			break
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
		case depth > 9:
		case jsonx.IsString(val):
			s, _ := jsonx.String(val)
			fn(name, s)
		case jsonx.IsArray(val):
			jsonx.Elements(val, func(v []byte) bool {
				leaf(name, v, depth+1)
				return true
			})
		default:
			jsonx.Members(val, func(k, v []byte) bool {
				if depth > 0 || !coordinate()[string(k)] {
					leaf(string(k), v, depth+1)
				}
				return true
			})
		}
	}
	leaf("", args, 0)
}

// maxLook is how much of one text is looked at: its beginning and its end.
const maxLook = 64 << 10

func lookAt(s string) string { return text.Ends(s, maxLook*3/4, maxLook/4) }

// clipName cuts a line as text.Clip does, but not inside an identifier: the
// beginning of a name is the name of another thing.
func clipName(s string, n int) string {
	cut := text.Clip(s, n)
	if len(cut) == len(s) {
		return s
	}
	end := len(cut) - len(text.Ellipsis)
	for id := range text.Identifiers(s[:min(len(s), end+400)]) {
		if id.At+len(id.Text) > end {
			end = min(end, id.At)
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
	return c < 0x80 && letterOrDigit(rune(c)) || strings.IndexByte("_-/.~@+", c) >= 0
}

// codeWorth weighs a line of code or output: declarations, comments and sentences say more
// than statements, imports little.
func codeWorth(line string) float64 {
	line = strings.TrimLeft(line, " \t+-")
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case importing()[word] || rest == "" && strings.HasPrefix(word, `"`),
		strings.HasPrefix(line, "├") || strings.HasPrefix(line, "└") || strings.HasPrefix(line, "│"): // a tree of files
		return .3
	case declares(word, rest):
		return 1.3
	}
	worth := 1.0
	if commenting()[word] {
		worth = 1.2
	}
	// A sentence in a file is what somebody wanted known: a rule most of all.
	if strings.Count(rest, " ") >= 6 && !strings.ContainsAny(line, "{};") {
		worth *= 1.2
		if slices.ContainsFunc(strings.Fields(line), func(w string) bool { return binding()[w] }) {
			worth *= 1.4
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

// longString matches a long string of JSON, in a line of which the end may be cut off.
var longString = text.Pattern(`"(?:[^"\\]|\\.){80,}"`)

// prose returns a result with the texts in long lines of JSON as lines of their own: the body
// of an issue, the text of a page.
func prose(s string) string {
	if !strings.Contains(s, `\n`) {
		return s
	}
	var b strings.Builder
	for line := range strings.SplitSeq(s, "\n") {
		long := 0
		if t := strings.TrimLeft(line, " \t"); len(t) > maxLine && strings.IndexByte(`{["`, t[0]) >= 0 {
			for _, quoted := range longString().FindAllString(line, 40) {
				if said, ok := jsonx.String([]byte(quoted)); ok && strings.Count(said, " ") > 8 {
					b.WriteString(said + "\n")
					long += len(quoted)
				}
			}
		}
		if long*2 < len(line) {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
