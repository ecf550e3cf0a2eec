package ledger

import (
	"slices"
	"strconv"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
)

// testNames matches how test runners name what failed: Go (a test, or a package after its
// tests), pytest, unittest, Jest and Vitest, Cargo, TAP and Bats, RSpec, PHPUnit, JUnit under
// Gradle, CTest.
var testNames = text.Pattern(`(?m)^(?:--- FAIL: (\S+)|FAIL\t(\S+)|` +
	`(?:FAILED|ERROR) (\S+::\S+|\S+\.py)|(?:FAIL|ERROR): (\w+) \(|\s*(?:FAIL|❯|×|✕)\s+(\S+\.[cm]?[jt]sx?)\b|` +
	`test (\S+) \.\.\. FAILED|not ok [0-9]+ (?:- )?(.{1,200})$|rspec (\S+)|[0-9]+\) (\S+::\S+)|(\S+) > \S.* FAILED|` +
	`\s*[0-9]+ - (\S+) \((?:Failed|SEGFAULT|Timeout))`)

// failedTests returns what failed as an output names it, a test of Go as package::test. More
// than maxFailed is as good as everything: then there are none.
func failedTests(out string) (names []string) {
	var found, tests []string
	for _, m := range testNames().FindAllStringSubmatch(lookAt(out), -1) {
		switch {
		case m[1] != "":
			tests = append(tests, "::"+m[1])
		case m[2] != "":
			for _, t := range append(tests, "")[:max(len(tests), 1)] {
				found = append(found, m[2]+t)
			}
			tests = nil
		default:
			found = append(found, text.Line(strings.Join(m[3:], "")))
		}
	}
	for _, name := range append(found, tests...) {
		if len(name) <= maxText && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > maxFailed {
		return nil
	}
	return names
}

// failedSurely matches the lines in which test runners sum up that they failed.
var failedSurely = text.Pattern(`(?m)^(?:FAIL\b|FAILED\b|\s*--- FAIL|npm ERR!|make(?:\[\d+\])?: \*\*\*|error: test failed|BUILD FAILED|not ok \d)|^=+ .*\b[1-9]\d* failed\b|\bTests:\s+[1-9]\d* failed\b|test result: FAILED`)

// failMark matches the lines in which checks tell that they failed. It is
// needed where the exit status is that of another command of the line.
var failMark = text.Pattern(`(?m)^\s*(?:--- FAIL|FAIL\b|FAILED\b|not ok \d|npm ERR!|npm error|make(?:\[\d+\])?: \*\*\*|error(?:\[E\d+\])?:|panic:|E   )|error TS\d+:|\b[1-9]\d* (?:tests? )?(?:failed|failures?|failing|errors?)\b|\bBUILD FAILED\b|ELIFECYCLE|\bERROR task failed\b|\bexited with (?:status|exit) code [1-9]`)

// neverRan matches the lines in which a shell or an interpreter tells that what it was asked to run
// is not there.
var neverRan = text.Pattern(`(?m)^(?:(?:\S*sh|env|make|xargs): (?:line \d+: )?(?:\S*: ){1,2}No such file or directory$|(?:\S*: (?:line \d+: )?){1,3}(?:command not found\b|not found$|No module named \S+$|can't open file ))|^(?:ModuleNotFoundError|ImportError): |^Error: Cannot find module `)

// misused matches what a checker says of a command line that it does not understand, or that is not there: nothing
// was checked.
var misused = text.Pattern(`(?m)\b(?:unexpected argument|unrecognized arguments?|unknown (?:shorthand )?flag|unknown option|no such (?:option|subcommand))\b|^flag provided but not defined|python[\d.]*: No module named \S+$`)

// mended matches the line of a linter that has put right all that it found, noneFailed the sum of Bun's tests where
// each passed, whatever they have printed.
var (
	mended     = text.Pattern(`\bFound \d+ errors? \(\d+ fixed, 0 remaining\)`)
	noneFailed = text.Pattern(`(?m)^ *[1-9]\d* pass$(?:\n *\d+ (?:skip|todo)$)*\n *0 fail$`)
)

// passMark matches the lines in which test runners sum up that what ran passed.
var passMark = text.Pattern(`(?m)^\s*(?:ok\b|OK\b|PASS|[✓✔] |# pass [1-9])|\[100%\]$|\b[1-9]\d* pass$|(?i:\bpassed\b|\bpassing\b|\bsuccess(?:ful|fully|ful!)?\b)|test result: ok|\b0 (?:failed|failures)\b`)

// errorWord and errorName match the lines of an output that tell what went wrong.
var (
	errorWord = text.NewWording(`error|errors|exception|failed|failure|failing|panic|fatal|undefined|undeclared|cannot|can't|could not|couldn't|not found|no such|denied|refused|unexpected|invalid|missing|mismatch|timed? ?out|assert\w*|expected|conflict|segmentation fault`, `错误|失败|异常`)
	errorName = text.Pattern(`got .*want|--- FAIL|^FAIL\s+\S|[a-z]Error\b`)
)

func tellsError(l string) bool {
	may := strings.Contains(l, "Error") || strings.Contains(l, "got ") || strings.Contains(l, "FAIL")
	return errorWord.MatchString(l) || may && errorName().MatchString(l)
}

// errorLines returns the lines that tell an error, at most n: the first ones and
// the last. Without any such line it is the last line that says something.
func errorLines(out string, n int) []string {
	var found []string
	tells := func(l string) bool { return telling().MatchString(l) && !exitLine().MatchString(l) }
	lines := strings.Split(text.Plain(lookAt(out)), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSpace(l)
		if l = lines[i]; tellsError(l) && tells(l) {
			if l = text.Clip(l, maxText); len(found) == 0 || found[len(found)-1] != l {
				found = append(found[:min(len(found), n-1)], l)
			}
		}
	}
	for i := len(lines) - 1; i >= 0 && found == nil; i-- {
		if tells(lines[i]) {
			found = []string{text.Clip(lines[i], maxText)}
		}
	}
	return found
}

// telling matches what has a word in it: four letters, or two that are not of ASCII.
var telling = text.Pattern(`(?:[^A-Za-z\x{80}-\x{10FFFF}]*[A-Za-z\x{80}-\x{10FFFF}]){4}|^[^\x00-\x7F].*[A-Za-z\x{80}-\x{10FFFF}]`)

const look = 16 << 10

// lookAt returns both ends of a long text.
func lookAt(s string) string { return text.Ends(s, look, look) }

// beginning is where tools say what became of a call.
func beginning(s string) string { return s[:min(len(s), 500)] }

// exitLine matches the lines in which tools tell the exit status of a command:
// pi, Claude Code, Codex, Gemini CLI, OpenHands, mini-SWE-agent and others.
var exitLine = text.Pattern(`(?m)^[\[(<*\s]*(?:(?:[Tt]he |[Tt]his )?(?:[Cc]ommand|[Pp]rocess|[Ss]hell|[Ss]cript) )?(?:[Ee]xited|[Cc]ompleted|[Ff]inished|[Ff]ailed|[Tt]erminated|[Ee]nded|[Rr]eturned) with (?:a )?(?:non-zero )?(?:exit |return |status )?(?:code|status)?:? ?(-?[0-9]{1,10})\b|^[\[(<*\s]*(?:[Ee]xit|[Rr]eturn) ?(?:[Cc]ode|[Ss]tatus)[:=>]* ?(-?[0-9]{1,10})\b|^<(?:returncode|exit_?code)>\s*(-?[0-9]{1,10})`)

var exitMember = text.Pattern(`"exit_?[cC]ode" ?: ?(-?[0-9]{1,10})`)

// exitOf returns the exit status that a result tells. It stands in the first or
// the last lines.
func exitOf(out string) (code int, ok bool) {
	for _, part := range []string{out[:min(400, len(out))], out[max(0, len(out)-400):]} {
		if !strings.Contains(part, "xit") && !strings.Contains(part, "eturn") && !strings.Contains(part, " with ") {
			continue
		}
		m := exitLine().FindStringSubmatch(part)
		if m == nil && strings.HasPrefix(body(out), "{") {
			m = exitMember().FindStringSubmatch(part)
		}
		if m != nil {
			code, err := strconv.Atoi(strings.Join(m[1:], ""))
			return code, err == nil
		}
	}
	return 0, false
}

// leftRunning matches what tells that a command goes on: in the lines before the output of Codex's results, and in Claude
// Code's.
var leftRunning = text.Pattern(`(?m)^Process running with session ID ([0-9]+)$|\ACommand (?:running in|was manually moved to the) background with ID: (\w+)`)

// LeftRunning returns the id by which later calls name a command that goes on by its result; "" where it has ended.
func LeftRunning(result string) string {
	head := outputMark().FindString(beginning(result))
	if said := strings.TrimLeft(result[len(head):], "\n"); strings.HasPrefix(said, "{") { // a script of Codex that prints what the tool gave it
		r := jsonx.One([]byte(said))
		if id := string(jsonx.Get(r, "session_id")); text.AllDigits(id) && jsonx.Get(r, "exit_code") == nil {
			return id
		}
	}
	if strings.HasPrefix(result, "Command ") {
		head = beginning(result)
	}
	if m := leftRunning().FindStringSubmatch(head); m != nil {
		return m[1] + m[2]
	}
	return ""
}

// notice matches Claude Code's message that a command that was left running has ended.
var notice = text.Pattern(`(?s)<task-id>(\w+)</task-id>.*<status>(?:completed|failed)</status>.*\(exit code (\d{1,3})\)`)

// refusal matches results of calls that did not run because the user said no.
var refusal = text.Pattern(`(?i)^\W*(?:the user (?:doesn't want|rejected|declined)|\[?request interrupted by user|command aborted|operation aborted|tool (?:execution|use) (?:was )?(?:aborted|rejected|cancelled))`)

// editFailed matches what editing tools without an error flag say when they
// changed nothing.
var editFailed = text.Pattern(`(?i)^\W*(?:<tool_use_error>|error\b|failed\b|could not (?:find|edit)|no replacement was performed|no changes (?:were )?made|apply_patch verification failed|invalid patch|` +
	`your (?:proposed edit has introduced|changes have not been applied)|string (?:to replace )?not found|(?:0|no) occurrences? (?:of .{0,200} )?found|the edit was not applied|old_?str(?:ing)? (?:was )?not found|file (?:does not exist|not found))`)

// saysExisted matches what writing tools say about a file that was there before.
var saysExisted = text.Pattern(`(?i)^\W*(?:the file .{1,400} has been updated|(?:successfully )?(?:overwrote|overwritten|updated)|.{0,40}existing file)`)

// saysCreated matches what they say about a new one.
var saysCreated = text.Pattern(`(?i)^\W*(?:new )?(?:successfully created|file created|created)`)

// outcome is what a result says about its call.
type outcome struct {
	status Status
	exit   *int
	text   string // the result
	// running is the id of a command that goes on.
	running string
}

func readOutcome(c call, m *message.Message) outcome {
	o := outcome{status: StatusOK, text: m.Text()}
	head := beginning(o.text)
	if n := len(c.inner); n > 0 { // the result of a script is that of its last call
		c = c.inner[n-1]
	}
	if c.act == OpShell || c.act == OpPatch || c.act == actPoll {
		o.running = LeftRunning(o.text)
		if c.act == actPoll && strings.Contains(head, "<status>running</status>") {
			o.running = c.polls
		}
		if code, ok := exitOf(o.text); ok {
			o.exit = &code
		}
		o.text = Output(o.text)
	}
	edits := c.act == OpWrite || c.act == OpEdit || c.act == OpPatch
	if m.IsError || o.exit != nil && *o.exit != 0 || edits && editFailed().MatchString(head) ||
		c.act == OpRead && strings.HasPrefix(head, "<tool_use_error>") {
		o.status = StatusFailed
	} else if o.running != "" || c.act == actPoll && o.exit == nil {
		o.status = StatusUnknown
	}
	return o
}

// outputMark matches what stands before the output in Codex's results.
var outputMark = text.Pattern(`\A(?:(?:Command:|Exit code|Chunk ID|Wall time|Process exited|Process running|Original token count|Script completed|Script running|Total output lines|Warning: truncated output)[^\n]*\n)+(?:Output:(?:\n|\z))?`)

// body returns what stands below outputMark.
func body(s string) string {
	s = s[len(outputMark().FindString(beginning(s))):]
	if t := strings.TrimLeft(s, "\n"); strings.HasPrefix(t, "{") {
		return t
	}
	return s
}

// Output returns the output in a result that has more around it: Codex's lines or JSON,
// the tags of mini-SWE-agent and of Claude Code's background tasks.
func Output(s string) string {
	s = body(s)
	if strings.HasPrefix(s, "{") {
		if out, ok := jsonx.String(jsonx.Get(jsonx.One([]byte(s)), "output")); ok {
			return out
		}
	}
	if strings.HasPrefix(s, "<returncode>") || strings.HasPrefix(s, "<retrieval_status>") {
		if _, out, ok := strings.Cut(s, "<output>"); ok {
			return strings.TrimSuffix(strings.TrimSpace(out), "</output>")
		}
	}
	return s
}
