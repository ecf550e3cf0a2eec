package text

import (
	"strings"
)

// control matches what a terminal takes as a command: ECMA-48 sequences and
// operating system commands.
var control = Pattern(`\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])`)

// Plain returns s without the commands to a terminal that are in it, and with
// only the last of the texts that a carriage return lets stand on one line.
func Plain(s string) string {
	if strings.IndexByte(s, '\x1b') >= 0 {
		s = control().ReplaceAllString(s, "")
	}
	if strings.IndexByte(s, '\r') < 0 {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		l = strings.TrimRight(l, "\r")
		lines[i] = l[strings.LastIndexByte(l, '\r')+1:]
	}
	return strings.Join(lines, "\n")
}
