package main

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/internal/home"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// listedSession is a session in what ls --json prints.
type listedSession struct {
	Path          string `json:"path"`
	ID            string `json:"id"`
	Name          string `json:"name,omitempty"`
	FirstMessage  string `json:"firstMessage,omitempty"`
	Created       string `json:"created,omitempty"`
	Last          string `json:"last"`
	Cwd           string `json:"cwd,omitempty"`
	ParentSession string `json:"parentSession,omitempty"`
	Version       int    `json:"version"`
	Size          int64  `json:"size"`
	Entries       *int   `json:"entries,omitempty"`
	Messages      *int   `json:"messages,omitempty"`

	last time.Time
}

// sessionList is what ls --json prints.
type sessionList struct {
	Folder   string          `json:"folder,omitempty"`
	Sessions []listedSession `json:"sessions"`
	Other    int             `json:"otherFiles"`

	all bool // of all projects
}

func newLs() *cobra.Command {
	cmd := newCommand("ls", groupLook)
	all := cmd.Flags().Bool("all", false, "list the sessions of all projects in the data folder")
	long := cmd.Flags().Bool("long", false, "read every file completely: count its messages, find its name")
	jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		folder, list, err := listSessions(cmd, args, *all)
		if err != nil {
			return err
		}
		out := sessionList{Folder: folder, Sessions: []listedSession{}, Other: list.Other, all: *all}
		bar := newProgress(cmd)
		defer bar.done()
		for i, info := range list.Sessions {
			s := listed(info)
			if *long {
				bar.say("reading %d of %d: %s", i+1, len(list.Sessions), info.Path)
				if err := s.count(cmd); err != nil {
					return err
				}
			}
			out.Sessions = append(out.Sessions, s)
		}
		bar.done()
		return show(cmd, &out)
	}
	return cmd
}

func listSessions(cmd *cobra.Command, args []string, all bool) (folder string, l home.Listing, err error) {
	ctx := cmd.Context()
	if len(args) == 1 {
		if all {
			return "", l, usagef("ls: --all lists the data folder; leave out %s", args[0])
		}
		l, err = home.ListFolder(ctx, args[0])
		return args[0], l, err
	}
	h, err := home.Default()
	if err != nil {
		return "", l, err
	}
	if all {
		l, err = h.ListAll(ctx)
		return h.Dir, l, err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return "", l, err
	}
	if folder, err = h.Project(cwd); err != nil {
		return "", l, err
	}
	l, err = h.List(ctx, cwd)
	return folder, l, err
}

func listed(info jsonl.Info) listedSession {
	return listedSession{
		Path: info.Path, ID: info.Header.ID, Name: info.Name, FirstMessage: cut(headline(info.First), 200),
		Created: jsonTime(info.Header.Timestamp), Last: jsonTime(info.Last), Cwd: info.Header.Cwd,
		ParentSession: info.Header.ParentSession, Version: info.Header.Version, Size: info.Size, last: info.Last,
	}
}

// count reads the whole file.
func (s *listedSession) count(cmd *cobra.Command) error {
	f, err := openSession(cmd, s.Path, true)
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
		if e.Type == session.TypeMessage {
			messages++
		}
		if name, ok := e.SessionName(); ok {
			s.Name = name
		}
	}
	s.Entries, s.Messages = &entries, &messages
	return nil
}

func (out *sessionList) text(rep *report) {
	w, p := rep.w, rep.p
	if len(out.Sessions) == 0 {
		w.WriteString("no sessions in " + printable(out.Folder) + "\n")
	}
	ids := make([]string, len(out.Sessions))
	for i, s := range out.Sessions {
		ids[i] = s.ID
	}
	n := shortest(ids, 8)
	// Where all have one folder, it says nothing, but in a list of all projects.
	oneCwd := !out.all && !slices.ContainsFunc(out.Sessions, func(s listedSession) bool { return s.Cwd != out.Sessions[0].Cwd })
	for _, s := range out.Sessions {
		if oneCwd {
			s.Cwd = ""
		}
		printListed(w, p, s, clock(s.last), n, rep.wide)
	}
	if out.Other > 0 {
		w.WriteString(p.paint(styleDim, "passed over "+count(out.Other, "file that is not a session", "files that are not sessions")) + "\n")
	}
}

func printListed(w *bufio.Writer, p painter, s listedSession, at string, idWidth, columns int) {
	id := pad(short(s.ID, idWidth), idWidth)
	facts := "  " + padLeft(size(s.Size), 7) + "  "
	if s.Messages != nil {
		facts += padLeft(count(*s.Messages, "message"), 15) + "  "
	}
	room := columns - textWidth(at+"  "+id+facts)
	cwd := printable(tilde(s.Cwd))
	if cwd != "" {
		cwd = "  " + cutLeft(cwd, room/3)
		room -= textWidth(cwd)
	}
	title, st := headline(s.Name), styleBold
	if title == "" {
		title, st = headline(s.FirstMessage), ""
	}
	title = cut(title, room)
	gap := ""
	if cwd != "" {
		gap = strings.Repeat(" ", max(room-textWidth(title), 0))
	}
	line := p.paint(styleDim, at) + "  " + p.paint(styleYellow, id) + facts + p.paint(st, title) + gap + p.paint(styleDim, cwd)
	w.WriteString(strings.TrimRight(line, " ") + "\n")
}

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
	return columns.TruncateLeft(s, w-n+1, "…")
}
