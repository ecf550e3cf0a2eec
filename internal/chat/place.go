package chat

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode"

	"github.com/clew-dev/clew/internal/commands"
	"github.com/clew-dev/clew/internal/text"
)

// place tells the model where it works. It is part of the prompt, so it names the day and
// not the time: what changes with each request would cost the provider's cache.
func (h *Host) place() string {
	var b strings.Builder
	b.WriteString("Where you work, as it was when this conversation or its latest part began\n")
	fmt.Fprintf(&b, "- Folder: %s\n", oneLine(h.cfg.Dir))
	fmt.Fprintf(&b, "- System: %s/%s\n", runtime.GOOS, runtime.GOARCH)
	fmt.Fprintf(&b, "- Date: %s\n", h.cfg.Clock().Format("Monday, 2006-01-02"))
	fmt.Fprintf(&b, "- Git: %s\n", gitState(h.base, h.cfg.Dir))
	var skills []commands.Command
	for _, c := range h.commands().Commands {
		if c.Skill && len(skills) < maxSkills {
			skills = append(skills, c)
		}
	}
	if len(skills) > 0 {
		b.WriteString("\nSkills: instructions in files. Read the file of one before you do what it is about.\n")
		for _, c := range skills {
			fmt.Fprintf(&b, "- %s: %s (%s)\n", c.Name, c.Description, oneLine(c.Path))
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// oneLine is the first line of a text, without what does not print.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text.FirstLine(s))
}

// maxSkills is how many skills the model is told of.
const maxSkills = 40

// gitWait is how long git may take to say what has changed.
const gitWait = 2 * time.Second

// gitState says on which branch a folder is and how many files have changed. Nothing of
// the project's configuration is run for it.
func gitState(ctx context.Context, dir string) string {
	ctx, cancel := context.WithTimeout(ctx, gitWait)
	defer cancel()
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", append([]string{"--no-optional-locks", "-c", "core.fsmonitor=false", "-C", dir}, args...)...)
		cmd.WaitDelay = gitWait
		out, err := cmd.Output()
		return strings.TrimRight(string(out), "\n"), err
	}
	top, err := git("rev-parse", "--show-toplevel")
	if err != nil {
		return "no repository"
	}
	line := "no branch"
	if branch, err := git("symbolic-ref", "--short", "-q", "HEAD"); err == nil {
		line = oneLine("branch " + branch)
	}
	if filepath.Clean(top) != filepath.Clean(dir) {
		line += " of " + oneLine(top)
	}
	changed, err := git("status", "--porcelain", "--ignore-submodules=all")
	switch {
	case err != nil:
		return line
	case changed == "":
		return line + ", nothing changed since the last commit"
	}
	return line + ", " + text.Counted(strings.Count(changed, "\n")+1, "file") + " changed since the last commit"
}
