package ledger

import (
	"strconv"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
)

// look is how much of each end of a result is looked at.
const look = 16 << 10

// ends returns the beginning and the end of a result.
func ends(s string) (head, tail string) {
	if len(s) <= look {
		return s, s
	}
	return s[:look], s[len(s)-look:]
}

// exitLine matches the lines in which tools tell the exit status of a command:
// pi, Claude Code, Codex, Gemini CLI, OpenHands, mini-SWE-agent and others.
var exitLine = text.Pattern(`(?m)^[\[(<*\s]*(?:(?:[Tt]he |[Tt]his )?(?:[Cc]ommand|[Pp]rocess|[Ss]hell|[Ss]cript) )?(?:[Ee]xited|[Cc]ompleted|[Ff]inished|[Ff]ailed|[Tt]erminated|[Ee]nded|[Rr]eturned) with (?:a )?(?:non-zero )?(?:exit |return |status )?(?:code|status)?:? ?(-?[0-9]{1,10})\b|^[\[(<*\s]*(?:[Ee]xit|[Rr]eturn) ?(?:[Cc]ode|[Ss]tatus)[:=>]* ?(-?[0-9]{1,10})\b|^<(?:returncode|exit_?code)>\s*(-?[0-9]{1,10})`)

// exitMember matches the exit status in a result that is JSON.
var exitMember = text.Pattern(`"exit_?[cC]ode" ?: ?(-?[0-9]{1,10})`)

// exitOf returns the exit status that a result tells. It stands in the first or
// the last lines.
func exitOf(out string) (code int, ok bool) {
	const near = 400
	first, last := out[:min(near, len(out))], out[max(0, len(out)-near):]
	for _, part := range []string{first, last} {
		m := exitLine().FindStringSubmatch(part)
		if m == nil && strings.HasPrefix(out, "{") {
			m = exitMember().FindStringSubmatch(part)
		}
		if m != nil {
			code, err := strconv.Atoi(strings.Join(m[1:], ""))
			return code, err == nil
		}
	}
	return 0, false
}

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
	status  Status
	exit    *int
	refused bool
	text    string // the result
}

func readOutcome(c call, m *message.Message) outcome {
	o := outcome{status: StatusOK, text: m.Text()}
	if m.IsError {
		o.status = StatusFailed
	}
	head := o.text[:min(len(o.text), 500)]
	o.refused = refusal().MatchString(head)
	switch c.act {
	case actShell, actPatch:
		if code, ok := exitOf(o.text); ok {
			o.exit = &code
			if code != 0 {
				o.status = StatusFailed
			}
		}
		o.text = unwrap(o.text)
	default:
	}
	switch c.act {
	case actWrite, actEdit, actPatch:
		if editFailed().MatchString(head) {
			o.status = StatusFailed
		}
	case actRead:
		if strings.HasPrefix(head, "<tool_use_error>") {
			o.status = StatusFailed
		}
	default:
	}
	return o
}

// outputMark matches what stands before the output in Codex's results.
var outputMark = text.Pattern(`\A(?:(?:Exit code|Chunk ID|Wall time|Process exited|Process running|Original token count|Script completed|Total output lines)[^\n]*\n)+Output:\n`)

// unwrap returns the output in a result that holds more: Codex's JSON and
// mini-SWE-agent's tags.
func unwrap(s string) string {
	if strings.HasPrefix(s, "{") {
		if _, err := jsonx.Scan([]byte(s), 0); err == nil {
			if out, ok := jsonx.String(jsonx.Get([]byte(s), "output")); ok {
				return out
			}
		}
		return s
	}
	if k := outputMark().FindStringIndex(s[:min(len(s), 500)]); k != nil {
		return s[k[1]:]
	}
	if strings.HasPrefix(s, "<returncode>") {
		if _, out, ok := strings.Cut(s, "<output>"); ok {
			return strings.TrimSuffix(strings.TrimSpace(out), "</output>")
		}
	}
	return s
}
