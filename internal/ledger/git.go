package ledger

import (
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// gitFiles takes in what git says about the files that were changed, by whatever:
// git status, and git diff of the working tree.
func (r *Reader) gitFiles(sc script, o outcome, dir string) {
	if sc.control {
		return
	}
	diff, status := false, false
	for _, c := range sc.cmds {
		if len(c.words) < 2 {
			continue
		}
		switch c.name() + " " + c.words[1].text {
		case "git status":
			status = true
		case "git diff":
			diff = diff || worksOnTree(c.words[2:])
		default:
			if c.name() == "cd" && !c.words[1].dynamic {
				dir = r.norm(c.words[1].text, dir)
			}
		}
	}
	if !diff && !status {
		return
	}
	for _, ch := range gitChanges(text.Head(o.text, look), diff, status) {
		p := r.norm(ch.path, dir)
		if f := r.files.get(p); p == "" || f != nil && f.State != StateRead {
			continue // what calls did is known better
		}
		w := r.weak.touch(p, File{Path: p})
		if ch.state != StateModified || w.State != StateCreated {
			w.State = ch.state
		}
		w.Entry = r.entry
	}
}

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

// gitStatus matches the lines in which git status names changed files, in its
// long and its short form.
var gitStatus = text.Pattern(`^(?:\s+(modified|new file|deleted):\s+(\S.*)|([MAD][ MD]| [MD]) (\S.*))$`)

// gitChanges returns the files that the output of git diff or git status names.
func gitChanges(out string, diff, status bool) []fileChange {
	var changes []fileChange
	inDiff := false
	for line := range strings.SplitSeq(out, "\n") {
		line = strings.TrimRight(line, "\r")
		header := diff && strings.HasPrefix(line, "diff --git a/")
		switch {
		case header:
			k := strings.LastIndex(line, " b/")
			if inDiff = k > 0; inDiff {
				changes = append(changes, fileChange{path: line[k+3:], state: StateModified})
			}
		case inDiff && strings.HasPrefix(line, "new file mode"):
			changes[len(changes)-1].state = StateCreated
		case inDiff && strings.HasPrefix(line, "deleted file mode"):
			changes[len(changes)-1].state = StateDeleted
		case status && !strings.Contains(line, " -> "):
			m := gitStatus().FindStringSubmatch(line)
			if m == nil {
				continue
			}
			ch := fileChange{path: m[2] + m[4], state: StateModified}
			if m[1] == "deleted" || strings.Contains(m[3], "D") {
				ch.state = StateDeleted
			}
			if m[1] == "new file" || strings.HasPrefix(m[3], "A") {
				ch.state = StateCreated
			}
			changes = append(changes, ch)
		}
	}
	return changes
}

// committed matches what git prints after a commit.
var committed = text.Pattern(`(?m)^\[[^\]\n]{1,200} ([0-9a-f]{7,40})\] (.+)$`)

func (r *Reader) commit(command, out string) {
	if !strings.Contains(command, "git") || !strings.Contains(out, "] ") {
		return
	}
	for _, m := range committed().FindAllStringSubmatch(text.Tail(out, look), 20) {
		r.ended = BoundaryCommit
		r.addCommits(Commit{Hash: m[1], Subject: clipText(m[2]), Entry: r.entry})
	}
}
