package ledger

import (
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

var (
	// queries are subcommands that tell in a few lines how things stand that are in no file, moves those of git that
	// change it.
	queries = text.Words(`git:status git:branch git:log git:worktree docker:ps kubectl:get brew:info systemctl:status launchctl:list npm:ls`)
	moves   = text.Words(`checkout switch commit push pull merge rebase reset stash cherry-pick revert`)
	// hubs are what gh tells of.
	hubs = text.Words(`pr run release`)
	// diffLists make git diff name the files alone, otherLogs make a query one about something else.
	diffLists = text.Words(`--stat --name-only --name-status --shortstat`)
	otherLogs = text.Words(`-p -- --all --log --log-failed --list`)
	searches  = text.Words(`grep rg egrep fgrep ag`)
)

// tell notes of what one command of a line tells, see Command.Tells. One whose output is searched tells only what was
// searched for.
func (l *line) tell(words []string, p place, dir string, searched bool) {
	if git, in := gitWords(words); git != nil {
		words = slices.Concat(words[:1], git)
		if l.tree = dir; in != "" {
			l.tree = p.dir(in, dir)
		}
	}
	if len(words) < 2 {
		return
	}
	of, sub := words[0], words[1]
	if of == "gh" && hubs()[sub] && len(words) > 2 {
		of, sub = of+" "+sub, words[2]
	}
	hub := of != "gh" && strings.HasPrefix(of, "gh ")
	changes := of == "git" && moves()[sub] || hub && !hubLooks()[sub]
	if changes {
		l.changes = append(l.changes, of)
		l.tells = slices.DeleteFunc(l.tells, func(k string) bool { return strings.HasPrefix(k, of+" ") })
	}
	if sub == "checkout" && hub {
		l.changes = append(l.changes, "git")
	}
	asks := queries()[of+":"+sub] || of+" "+sub == "git diff" && hasWord(words, diffLists()) || hub && sub != "diff"
	if (asks && !hasWord(words, otherLogs()) || changes && sub != "commit") && !searched {
		l.tells = append(l.tells, of+" "+sub)
	}
}
