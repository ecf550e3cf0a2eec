package measure

import (
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/text"
)

// runHistory is how a command ended, each time it ran.
type runHistory struct {
	passed, failed bool
	last           State
}

// shell takes a shell call whose result is there.
func (r *trailReader) shell(c *Call, result *Message) {
	command := shellText(c)
	if command == "" {
		return
	}
	if strings.Contains(command, "*** Begin Patch") {
		if !result.Failed {
			r.patch(strings.ReplaceAll(command, `\n`, "\n"), result) // it may stand in a string of a script
		}
		return
	}
	if in := scripted().FindAllStringSubmatch(command, -1); in != nil {
		for _, m := range in {
			if inner, ok := jsonx.String([]byte(m[1])); ok {
				for _, words := range commandsOf(inner) {
					r.effects(words, result.Failed)
				}
			}
		}
		return
	}
	if m := goesOn().FindStringSubmatch(result.Text[:min(len(result.Text), 300)]); m != nil {
		r.running[m[1]+m[2]] = *c
		delete(r.commands, commandName(command)) // how it ends is not known yet
		return
	}
	r.outcome(command, result)
	exit, known := exitCode(result.Text)
	failed := result.Failed || known && exit != 0
	for _, words := range commandsOf(command) {
		r.effects(words, failed)
	}
}

// goesOn finds the id of a command that its result says is still running.
var goesOn = text.Pattern(`(?:Process running with session ID (\w+)|running in background with ID: (\w+))`)

// polled returns the id of the command that a call may ask about.
func (c *Call) polled() string {
	for _, name := range []string{"session_id", "task_id", "bash_id"} {
		if id := strings.Trim(string(jsonx.Get(c.Arguments, name)), `"`); id != "" {
			return id
		}
	}
	return ""
}

// scripted finds the commands in a script that calls a shell tool.
var scripted = text.Pattern(`exec_command\(\{\s*"?cmd"?\s*:\s*("(?:[^"\\]|\\.)*")`)

func shellText(c *Call) string {
	if s := c.argument("command", "cmd", "script", "input", "code"); s != "" {
		return s
	}
	longest := ""
	c.Strings(func(s string) { // ["bash", "-lc", "..."]
		if len(s) > len(longest) {
			longest = s
		}
	})
	return longest
}

// outcome notes how a command ended, where that is beyond doubt: an exit code or a
// failed result says that it failed; for it to have passed, no line may tell of a
// failure, because the last command of a pipe hides how the first one ended.
func (r *trailReader) outcome(command string, result *Message) {
	name := commandName(command)
	if len(name) < 4 || strings.Contains(command, "<<") {
		return
	}
	exit, known := exitCode(result.Text)
	h := r.commands[name]
	if h == nil {
		h = &runHistory{}
		r.commands[name] = h
	}
	switch {
	case result.Failed || known && exit != 0:
		h.failed, h.last = true, Failing
	case !failureLine().MatchString(result.Text):
		h.passed, h.last = true, Passing
	default: // not to be told: the last state is not known any more
		delete(r.commands, name)
	}
}

var failureLine = text.Pattern(`(?im)^\W*(FAIL|error|fatal|panic|not ok)\b|\b[1-9]\d* (failed|failures?|errors?)\b`)

// commandName is the form of a command in which it is compared: its first line with
// single spaces, without the change of folder before it and the redirections and the
// pipe behind it.
func commandName(command string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(command), "\n")
	line = strings.Join(strings.Fields(line), " ")
	for {
		rest := cdBefore().ReplaceAllString(line, "")
		rest = pipeBehind().ReplaceAllString(rest, "")
		if rest == line {
			return line
		}
		line = rest
	}
}

var (
	cdBefore   = text.Pattern(`^(?:cd [^ &;|]+ ?(?:&&|;) ?|[A-Z_][A-Z0-9_]*=[^ ]* )`)
	pipeBehind = text.Pattern(` ?(?:2>&1|2?> ?/dev/null|\|&? ?(?:tail|head|cat|less|grep)\b[^|&;]*)$`)
)

// commandsOf splits a command line into simple commands of words. It is no shell:
// quotes keep words together, the body of a here document is left out, and anything
// else stays as it is written.
func commandsOf(text string) [][]string {
	var (
		all  [][]string
		cur  []string
		end  string // of a here document
		word strings.Builder
		open bool
	)
	flushWord := func() {
		if open {
			cur = append(cur, word.String())
			word.Reset()
			open = false
		}
	}
	flush := func() {
		flushWord()
		if len(cur) > 0 {
			all = append(all, cur)
			cur = nil
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if end != "" {
			if strings.TrimSpace(line) == end {
				end = ""
			}
			continue
		}
		if m := hereDoc().FindStringSubmatch(line); m != nil {
			end = m[1]
		}
		var quote byte
		for i := 0; i < len(line); i++ {
			c := line[i]
			switch {
			case quote != 0:
				if c == quote {
					quote = 0
				} else {
					word.WriteByte(c)
				}
			case c == '\'' || c == '"':
				quote, open = c, true
			case c == '\\' && i+1 < len(line):
				i++
				word.WriteByte(line[i])
				open = true
			case c == ' ' || c == '\t':
				flushWord()
			case c == ';' || c == '|' || c == '&' && (i == 0 || line[i-1] != '>') && (i+1 == len(line) || line[i+1] != '>'):
				flush()
			case c == '>':
				if s := word.String(); s == "1" || s == "2" || s == "&" {
					word.Reset()
					open = false
				}
				flushWord()
				if n := len(cur); n > 0 && cur[n-1] == ">" {
					continue
				}
				cur = append(cur, ">")
			default:
				word.WriteByte(c)
				open = true
			}
		}
		flush()
	}
	return all
}

var hereDoc = text.Pattern(`<<-?\s*['"]?([A-Za-z_][A-Za-z0-9_]*)['"]?`)

// effects notes what a simple command may have done to files.
func (r *trailReader) effects(words []string, failed bool) {
	for len(words) > 0 && (words[0] == "sudo" || strings.Contains(words[0], "=") && !strings.HasPrefix(words[0], "-")) {
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	name, args := words[0], words[1:]
	if name == "git" && len(args) > 0 {
		name, args = "git "+args[0], args[1:]
	}
	for i, w := range words {
		switch {
		case w == ">" && i+1 < len(words):
			r.mayPair(OpChanged, words[i+1])
		case i > 0 && w != ">":
			r.mayPair(OpRead, w)
		}
	}
	var plain []string
	for _, a := range args {
		if a == ">" {
			break
		}
		if !strings.HasPrefix(a, "-") {
			plain = append(plain, a)
		}
	}
	if name == "sed" || name == "perl" {
		if !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") && strings.Contains(a, "i") }) {
			return
		}
	}
	switch name {
	case "sed", "perl", "tee", "touch", "cp", "patch", "gofmt", "prettier", "git apply", "git stash", "git reset", "truncate", "dd":
		for _, p := range plain {
			r.mayPair(OpChanged, p)
		}
	case "rm", "git rm", "unlink":
		for _, p := range plain {
			r.simple(p, Gone, failed)
		}
	case "mv", "git mv":
		if len(plain) == 2 {
			r.simple(plain[0], Gone, failed)
			r.simple(plain[1], Present, failed)
		}
	case "git checkout", "git restore":
		for _, w := range words {
			if w == "--staged" || w == "-S" || w == "--ours" || w == "--theirs" {
				return // it takes back no change of a file
			}
		}
		for _, p := range plain {
			if strings.Contains(base(p), ".") {
				r.simple(p, Reverted, failed)
			}
		}
	}
}

// simple notes the effect of a plain command on a path. A path that a shell would
// expand may be anything.
func (r *trailReader) simple(p string, s State, failed bool) {
	r.mayPair(OpChanged, p)
	r.mayPair(OpDeleted, p)
	if failed || strings.ContainsAny(p, "*?[]{}$~`") || !strings.Contains(base(p), ".") {
		return
	}
	r.set(p, s, false)
}

func (r *trailReader) mayPair(op Op, p string) {
	if p == "" || strings.HasPrefix(p, "-") || strings.HasPrefix(p, "/dev/") || len(p) > 300 {
		return
	}
	r.optional[Pair{op, cleanPath(p, r.cwd)}] = true
}
