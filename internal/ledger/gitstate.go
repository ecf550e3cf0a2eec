package ledger

import (
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// gitStatus matches the lines in which git status names changed files, in its
// long and its short form.
var gitStatus = text.Pattern(`^(?:\s+(modified|new file|deleted):\s+(\S.*)|([ MAD])([ MD]) (\S.*))$`)

// worksOnTree reports whether the arguments of git diff ask for what is not
// committed: no revision, only options and what follows "--".
func worksOnTree(words []word) bool {
	for _, w := range words {
		if w.text == "--" {
			return true
		}
		if !strings.HasPrefix(w.text, "-") && w.text != "HEAD" {
			return false
		}
	}
	return true
}

// gitChanges yields the files that the output of git diff or git status names.
func gitChanges(out string, diff, status bool) func(func(string, State) bool) {
	return func(yield func(string, State) bool) {
		last := ""
		state := StateModified
		for line := range strings.SplitSeq(out, "\n") {
			line = strings.TrimRight(line, "\r")
			switch {
			case diff && strings.HasPrefix(line, "diff --git a/"):
				if last != "" && !yield(last, state) {
					return
				}
				last, state = "", StateModified
				if k := strings.LastIndex(line, " b/"); k > 0 {
					last = line[k+3:]
				}
			case last != "" && strings.HasPrefix(line, "new file mode"):
				state = StateCreated
			case last != "" && strings.HasPrefix(line, "deleted file mode"):
				state = StateDeleted
			case status:
				m := gitStatus().FindStringSubmatch(line)
				if m == nil || strings.Contains(line, " -> ") {
					continue
				}
				name, s := m[2]+m[5], StateModified
				switch {
				case m[1] == "new file" || m[3] == "A":
					s = StateCreated
				case m[1] == "deleted" || m[3] == "D" || m[4] == "D":
					s = StateDeleted
				case m[1] == "" && m[3] == " " && m[4] == " ":
					continue
				}
				if !yield(name, s) {
					return
				}
			}
		}
		if last != "" {
			yield(last, state)
		}
	}
}
