package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/internal/database"
	"github.com/clew-dev/clew/internal/sessions"
	"github.com/clew-dev/clew/model/catalogue"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
)

// listedSession is a session in what ls --json prints.
type listedSession struct {
	Path          string            `json:"path"`
	Program       transcript.Format `json:"program"`
	ID            string            `json:"id"`
	Name          string            `json:"name,omitempty"`
	FirstMessage  string            `json:"firstMessage,omitempty"`
	Created       string            `json:"created,omitempty"`
	Last          string            `json:"last"`
	Cwd           string            `json:"cwd,omitempty"`
	ParentSession string            `json:"parentSession,omitempty"`
	Size          int64             `json:"size"`
	Model         string            `json:"model,omitempty"`
	Tokens        int64             `json:"tokens,omitempty"`
	Window        int64             `json:"window,omitempty"`
	Compacted     string            `json:"compacted,omitempty"`
	Entries       *int              `json:"entries,omitempty"`
	Messages      *int              `json:"messages,omitempty"`

	found sessions.Found
}

// sessionList is what ls --json prints.
type sessionList struct {
	Folder   string          `json:"folder,omitempty"`
	Sessions []listedSession `json:"sessions"`
	Other    int             `json:"otherFiles"`

	all bool // of all projects
	db  *database.Address
}

type lsFlags struct {
	all, long bool
	program   string
}

func newLs(cmd *cobra.Command) runFunc {
	var fl lsFlags
	names := formatNames(append([]transcript.Format{sessions.Clew}, sessions.Programs()...))
	f := cmd.Flags()
	f.BoolVar(&fl.all, "all", false, "list the sessions of all projects")
	f.BoolVar(&fl.long, "long", false, "read every file completely: count its messages, find its name")
	choiceFlag(cmd, &fl.program, "program", "list the sessions of this program alone: "+strings.Join(names, ", "), names)
	return func(args []string) (result, error) {
		out, err := fl.list(cmd, args)
		if err != nil {
			return nil, err
		}
		if fl.long {
			bar := newProgress(cmd)
			defer bar.done()
			for i := range out.Sessions {
				bar.say("reading %d of %d: %s", i+1, len(out.Sessions), out.Sessions[i].Path)
				if err := out.Sessions[i].count(cmd, out.db); err != nil {
					return nil, err
				}
			}
			bar.done()
		}
		return out, nil
	}
}

func (fl *lsFlags) list(cmd *cobra.Command, args []string) (*sessionList, error) {
	out := &sessionList{Sessions: []listedSession{}, all: fl.all}
	var found []sessions.Found
	var err error
	if len(args) == 1 {
		if fl.all || fl.program != "" {
			return nil, usagef("ls: --all and --program list where programs keep their sessions; leave out %s", args[0])
		}
		out.Folder = args[0]
		if database.Is(args[0]) {
			at, aerr := database.Parse(args[0])
			if aerr != nil {
				return nil, aerr
			}
			out.Folder, out.db = at.String(), &at
			found, err = database.List(cmd.Context(), at)
		} else {
			found, out.Other, err = sessions.Folder(cmd.Context(), args[0])
		}
	} else {
		var names []transcript.Format
		if fl.program != "" {
			names = append(names, transcript.Format(fl.program))
		}
		found, out.Other, err = everywhere(cmd.Context(), names...)
	}
	if err != nil {
		return nil, err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if len(args) == 0 && !fl.all {
		// What is no session may belong to any project.
		out.Folder, out.Other = cwd, 0
		found = slices.DeleteFunc(found, func(f sessions.Found) bool { return !f.In(cwd) })
	}
	for _, f := range found {
		if f.Window == 0 && f.Model != "" {
			info, _ := catalogue.Default().Lookup("", f.Model)
			f.Window = info.Window
		}
		out.Sessions = append(out.Sessions, listedSession{
			Path: f.Path, Program: f.Program, ID: f.ID, Name: f.Name, FirstMessage: cut(headline(f.First), 200),
			Created: jsonTime(f.Begun), Last: jsonTime(f.Last), Cwd: f.Cwd, ParentSession: f.Parent, Size: f.Size,
			Model: f.Model, Tokens: f.Tokens, Window: f.Window, Compacted: jsonTime(f.Compacted), found: f,
		})
	}
	return out, nil
}

// everywhere finds the sessions of programs where they keep them, of all where none is named.
func everywhere(ctx context.Context, names ...transcript.Format) ([]sessions.Found, int, error) {
	if len(names) == 0 {
		names = append(sessions.Programs(), sessions.Clew)
	}
	user, err := os.UserHomeDir()
	if err != nil {
		user = os.DevNull // nothing is below it, and clew's own may be elsewhere
	}
	return sessions.Elsewhere(ctx, os.Getenv, user, names...)
}

// programsOf are those whose sessions may have an id that begins so: opencode, which has to
// be started for it, is asked for its own alone.
func programsOf(id string) []transcript.Format {
	if strings.HasPrefix(id, "ses_") {
		return []transcript.Format{transcript.OpenCode}
	}
	return slices.DeleteFunc(append(sessions.Programs(), sessions.Clew), func(f transcript.Format) bool { return f == transcript.OpenCode })
}

// openListed opens a session that was found. Its path has no password, which the address has that was listed.
func openListed(cmd *cobra.Command, path string, db *database.Address) (kept, error) {
	if db == nil {
		return openSession(cmd, path, true)
	}
	at, err := database.Parse(path)
	if err != nil {
		return nil, err
	}
	return openAddress(cmd, at.Login(db), true)
}

// count reads the whole file.
func (s *listedSession) count(cmd *cobra.Command, db *database.Address) error {
	f, err := openListed(cmd, s.Path, db)
	if err != nil {
		return err
	}
	defer f.Close()
	entries, messages := 0, 0
	for e, err := range f.All(cmd.Context()) {
		if err != nil {
			return err
		}
		entries++
		switch e.Type {
		case session.TypeMessage:
			messages++
		case session.TypeCompaction:
			s.found.Compacted = e.Time()
			s.Compacted = jsonTime(e.Time())
		default:
		}
		if name, ok := e.SessionName(); ok {
			s.Name = name
		}
	}
	s.Entries, s.Messages = &entries, &messages
	return nil
}

func (l *sessionList) text(rep *report) {
	if len(l.Sessions) == 0 {
		in := ""
		if l.Folder != "" {
			in = " in " + printable(l.Folder)
		}
		rep.line("no sessions", in)
	}
	same := func(of func(s listedSession) string) bool {
		return !slices.ContainsFunc(l.Sessions, func(s listedSession) bool { return of(s) != of(l.Sessions[0]) })
	}
	oneProgram := same(func(s listedSession) string { return string(s.Program) })
	// Where all have one folder, it says nothing, but in a list of all projects.
	oneCwd := !l.all && same(func(s listedSession) string { return s.Cwd })
	full := slices.ContainsFunc(l.Sessions, func(s listedSession) bool { return s.Tokens > 0 })
	programs := 0 // columns of the longest name
	for _, s := range l.Sessions {
		programs = max(programs, len(s.Program))
	}
	n := min(shortestOf(l.Sessions, func(s *listedSession) string { return s.ID }), 13) // ids of Codex begin with the time
	for _, s := range l.Sessions {
		facts := rep.p.paint(styleDim, clock(s.found.Last)) + "  " + rep.p.paint(styleYellow, pad(short(s.ID, n), n)) + "  "
		if !oneProgram {
			facts += pad(string(s.Program), programs) + "  "
		}
		if s.Size > 0 { // of a session in a database it is not known
			facts += padLeft(size(s.Size), 7) + "  "
		} else {
			facts += strings.Repeat(" ", 9)
		}
		if full {
			facts += padLeft(s.found.Fullness(), 5) + "  "
		}
		if s.Messages != nil {
			facts += padLeft(count(*s.Messages, "message"), 15) + "  "
		}
		if oneCwd {
			s.Cwd = ""
		}
		rep.line(facts, s.about(rep.p, rep.wide-textWidth(facts)))
	}
	if l.Other > 0 {
		rep.line(rep.p.paint(styleDim, "passed over "+count(l.Other, "file that is not a session", "files that are not sessions")))
	}
}

// about says in so many columns what a session is about, when it was compacted, and where it was.
func (s *listedSession) about(p painter, room int) string {
	cwd := printable(tilde(s.Cwd))
	if cwd != "" {
		cwd = "  " + cutLeft(cwd, room/3)
	}
	if c := s.found.Compacted.Local(); !s.found.Compacted.IsZero() {
		when := c.Format("15:04")
		if last := s.found.Last.Local(); c.YearDay() != last.YearDay() || last.Sub(c) > 24*time.Hour {
			when = c.Format("01-02")
		}
		if note := "  compacted " + when; room-textWidth(cwd+note) >= minTitle {
			cwd = note + cwd
		}
	}
	room -= textWidth(cwd)
	title := p.paint(styleBold, cut(headline(s.Name), room))
	if title == "" {
		title = cut(headline(s.FirstMessage), room)
	}
	if cwd == "" {
		return title
	}
	return pad(title, room) + p.paint(styleDim, cwd)
}

// minTitle is how many columns of what a session is about are left by what may be left out.
const minTitle = 15

// tilde writes the user's home folder as ~.
func tilde(path string) string {
	user, err := os.UserHomeDir()
	if err != nil || user == "" || user == "/" {
		return path
	}
	if rest, ok := strings.CutPrefix(path, user); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		return "~" + rest
	}
	return path
}

func padLeft(s string, n int) string {
	return strings.Repeat(" ", max(n-textWidth(s), 0)) + s
}

// cutLeft shortens s to at most n columns from its beginning, of a path the
// part that says less.
func cutLeft(s string, n int) string {
	w := textWidth(s)
	if w <= n {
		return s
	}
	if n <= 1 {
		return ""
	}
	return ansi.TruncateLeft(s, w-n+1, "…")
}
