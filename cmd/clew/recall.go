package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// recallReport is what recall --json prints.
type recallReport struct {
	File string `json:"file"`
	// Recalled are the entries that were named, in that order.
	Recalled []recalledEntry `json:"recalled,omitempty"`
	// Search is the answer to --search, and to filters alone.
	Search *clew.Found `json:"search,omitempty"`
	// Steps are a stretch, a line for each entry: those of a page.
	Steps *clew.StepPage `json:"steps,omitempty"`

	exact bool      // texts alone, so that they can be kept in a file
	notes io.Writer // where notes on such a text go
}

// recalledEntry is what one handle gave.
type recalledEntry struct {
	Handle string `json:"handle"`
	*clew.Recalled
}

// recallFlags are the flags of recall.
type recallFlags struct {
	clew.Query
	around, from, to      string
	roles                 []string
	all, left, raw, exact bool
	near                  int
}

func newRecall(cmd *cobra.Command) runFunc {
	var fl recallFlags
	f := cmd.Flags()
	f.StringVar(&fl.Text, "search", "", "find entries by `WORDS`")
	f.BoolVar(&fl.all, "all", false, "search every branch, not only the path to the leaf")
	f.BoolVar(&fl.left, "left", false, "search only what left the context")
	f.StringSliceVar(&fl.roles, "role", nil, "only entries of these `ROLES`: user, assistant, result, shell, custom, system, summary, branch")
	f.StringVar(&fl.Tool, "tool", "", "only calls and results of the tool `NAME`")
	f.StringVar(&fl.Path, "path", "", "only calls and results about paths that begin with `PATH`")
	f.StringVar(&fl.Since, "since", "", "only entries from `HANDLE` on")
	f.StringVar(&fl.Until, "until", "", "only entries up to `HANDLE`")
	f.StringVar(&fl.around, "around", "", "begin near the place of a HANDLE's text where `WORDS` stand")
	f.StringVar(&fl.from, "from", "", "list what happened from `HANDLE` on, one line for each entry")
	f.StringVar(&fl.to, "to", "", "list what happened up to `HANDLE`")
	f.IntVar(&fl.near, "near", 0, "list what happened `N` entries before and after HANDLE")
	f.BoolVar(&fl.exact, "exact", false, "print all of the text and nothing else: no pair, no notes, no limit but --limit")
	f.IntVar(&fl.Limit, "limit", 0, "print at most `N` hits (default 10, at most 100) or lines (default 50), or N characters of each HANDLE (default 8000 of all)")
	f.IntVar(&fl.Offset, "offset", 0, "begin after `N` entries, or N characters")
	f.BoolVar(&fl.raw, "raw", false, "print the stored JSON of each HANDLE instead of its text")
	return func(args []string) (result, error) {
		if err := fl.check(cmd, args); err != nil {
			return nil, err
		}
		return withSession(cmd, args[0], true, func(file kept) (result, error) {
			r := &recallReport{File: file.Path(), exact: fl.exact || fl.raw, notes: cmd.ErrOrStderr()}
			return r, r.run(cmd, file, args[1:], fl)
		})
	}
}

// run does what the flags and the arguments behind FILE ask for.
func (r *recallReport) run(cmd *cobra.Command, file kept, args []string, fl recallFlags) error {
	ctx := cmd.Context()
	s, err := engineOn(ctx, file, clew.Config{}) // the file is closed by who opened it
	if err != nil {
		return err
	}
	handles, err := fl.asked(ctx, s, args)
	if err != nil {
		return err
	}
	if named := recall.Handles(fl.Text); recall.AreHandles(fl.Text) && fl.Tool+fl.Path+fl.Since+fl.Until == "" && len(fl.Roles) == 0 {
		if _, err := s.RecallText(ctx, named[0], clew.RecallOptions{Max: 1}); err == nil {
			handles = named
		}
	}
	switch {
	case fl.from+fl.to != "":
		r.Steps, err = s.Steps(ctx, fl.from+".."+fl.to, 0, fl.Offset, fl.Limit)
	case fl.near > 0:
		r.Steps, err = s.Steps(ctx, handles[0], fl.near, fl.Offset, fl.Limit)
	case len(handles) > 0:
		err = r.recall(cmd, s, handles, fl)
	default:
		err = r.find(cmd, s, fl)
	}
	return err
}

// recallWords puts what looks like a flag behind --, where it stands behind FILE and recall has no flag of such a name: people
// look for -race and --apply. Other commands have their arguments as they are.
func recallWords(root *cobra.Command, args []string) []string {
	cmd, _, err := root.Find(args)
	if err != nil || cmd.Name() != "recall" {
		return args
	}
	begin := slices.Index(args, "recall") + 1
	flags, words := args[:begin:begin], []string(nil)
	for i := begin; i < len(args); i++ {
		name, _, hasValue := strings.Cut(args[i], "=")
		flag := cmd.Flag(strings.TrimPrefix(name, "--"))
		switch {
		case args[i] == "--":
			words, i = append(words, args[i+1:]...), len(args)
		case !strings.HasPrefix(args[i], "-"):
			words = append(words, args[i])
		case strings.HasPrefix(name, "--") && flag != nil && flag.NoOptDefVal == "" && !hasValue:
			if i+1 == len(args) {
				return append(flags, args[i]) // its value is missing, which is said
			}
			flags = append(flags, args[i], args[i+1])
			i++
		case strings.HasPrefix(name, "--") && flag != nil, slices.Contains([]string{"-h", "--help"}, name), len(words) == 0, mistyped(cmd, name):
			flags = append(flags, args[i])
		default:
			words = append(words, args[i])
		}
	}
	return slices.Concat(flags, []string{"--"}, words)
}

// mistyped reports whether a word is a flag of a command but for a letter or two.
func mistyped(cmd *cobra.Command, word string) (near bool) {
	word, is := strings.CutPrefix(word, "--")
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		near = near || is && text.Distance(word, f.Name) <= max(1, len(f.Name)/3)
	})
	return near
}

// roles are those that --role takes, by the words for them or as they stand in the file.
var roles = []message.Role{
	message.RoleUser, message.RoleAssistant, message.RoleToolResult, message.RoleBashExecution, message.RoleCustom,
	message.RoleSystem, message.RoleCompactionSummary, message.RoleBranchSummary,
}

// check refuses flags that go together badly, and finds the roles.
func (fl *recallFlags) check(cmd *cobra.Command, args []string) error {
	set := func(names ...string) string {
		for _, name := range names {
			if cmd.Flags().Changed(name) {
				return "--" + name
			}
		}
		return ""
	}
	narrow := []string{"search", "role", "tool", "path", "since", "until", "all", "left"}
	switch {
	case set("from", "to") != "" && (len(args) > 1 || set(append(narrow, "around", "near", "raw", "exact")...) != ""):
		return usagef("recall: %s lists a stretch, and goes with --limit and --offset alone; --since and --until narrow a search", set("from", "to"))
	case set("from", "to") == "" && len(args) == 1 && set("search", "role", "tool", "path") == "":
		return usagef("recall: nothing to recall: give a HANDLE, or --search and words; clew tree lists the entries")
	case (len(args) == 1 || set(narrow...) != "") && set("raw", "exact", "around", "near") != "":
		return usagef("recall: %s is for a HANDLE", set("raw", "exact", "around", "near"))
	case fl.near > 0 && (len(args) != 2 || set("raw", "exact", "around") != ""):
		return usagef("recall: --near lists what happened near one HANDLE, and goes with --limit and --offset alone")
	case set("near") != "" && fl.near < 1:
		return usagef("recall: --near %d: it must be at least 1", fl.near)
	case fl.all && fl.left:
		return usagef("recall: --all and --left exclude each other")
	case fl.Limit < 0 || set("limit") != "" && fl.Limit == 0:
		return usagef("recall: --limit %d: it must be at least 1", fl.Limit)
	case len(args) == 1 && fl.from+fl.to == "" && fl.Limit > recall.MaxLimit:
		return usagef("recall: --limit %d: a page has at most %d hits; --offset continues", fl.Limit, recall.MaxLimit)
	case fl.Offset < 0:
		return usagef("recall: --offset %d: it must not be negative", fl.Offset)
	}
	for _, name := range fl.roles {
		at := slices.IndexFunc(roles, func(r message.Role) bool { return name == string(r) || name == kindOf(r) })
		if at < 0 {
			return usagef("recall: no role %q; there are user, assistant, result, shell, custom, system, summary and branch", name)
		}
		if !slices.Contains(fl.Roles, roles[at]) {
			fl.Roles = append(fl.Roles, roles[at])
		}
	}
	return nil
}

// asked returns the handles among what follows the file. Other words are to be looked for; behind handles, the text is to
// begin near them.
func (fl *recallFlags) asked(ctx context.Context, s *clew.Session, args []string) (handles []string, err error) {
	if len(args) == 0 || fl.raw || fl.exact || fl.near > 0 {
		return args, nil
	}
	words := func(from int) string { return strings.Join(args[from:], " ") }
	exists := func(id string) bool { // an id may look like anything
		_, err := s.Log().Store().Get(ctx, recall.Handle(id))
		return err == nil || id == ""
	}
	begins := func(handle string) bool {
		_, err := s.RecallText(ctx, handle, clew.RecallOptions{Max: 1})
		return !errors.Is(err, session.ErrNotFound)
	}
	n := slices.IndexFunc(args, func(a string) bool {
		if recall.AreHandles(a) {
			return !strings.ContainsAny(a, "#.0123456789") && !begins(a) // such as decade
		}
		return slices.ContainsFunc(recall.Handles(a), func(h string) bool {
			from, to, _ := strings.Cut(h, "..")
			return !exists(from) || !exists(to)
		})
	})
	if n < 0 {
		n = len(args)
	}
	narrow := fl.Text+fl.Tool+fl.Path+fl.Since+fl.Until != "" || len(fl.Roles) > 0 || fl.all || fl.left
	switch {
	case narrow && n == len(args):
		return nil, usagef("recall: the handle %s does not go with --search and what narrows it; drop one of them", args[0])
	case narrow:
		fl.Text = strings.TrimSpace(fl.Text + " " + words(0))
		return nil, nil
	case n == len(args):
		return args, nil
	case n > 0:
		fl.around = strings.TrimSpace(fl.around + " " + words(n))
		return args[:n], nil
	case fl.around != "", len(args) == 1 && begins(args[0]):
		return args[:1], nil // where it is none, that is said
	}
	fl.Text = words(0)
	return nil, nil
}

// recall reads the entries that are named.
func (r *recallReport) recall(cmd *cobra.Command, s *clew.Session, handles []string, fl recallFlags) error {
	handles = recall.Handles(strings.Join(handles, " "))
	if len(handles) == 0 {
		return usagef("recall: an empty handle; clew tree lists the ids")
	}
	opt := clew.RecallOptions{Offset: fl.Offset, Max: fl.Limit, Raw: fl.raw, Around: fl.around}
	switch {
	case fl.Limit == 0 && (fl.exact || fl.raw):
		opt.Max = -1
	case fl.Limit == 0:
		opt.Max = max(clew.DefaultRecall/len(handles), 1)
	}
	for _, handle := range handles {
		if recall.Handle(handle) == "" {
			return usagef("recall: an empty handle; clew tree lists the ids")
		}
		got, err := s.RecallPair(cmd.Context(), handle, opt)
		if err != nil {
			return err
		}
		if fl.exact || fl.raw {
			got = got[:1]
		}
		for _, part := range got {
			r.Recalled = append(r.Recalled, recalledEntry{handle, part})
		}
	}
	return nil
}

// find searches.
func (r *recallReport) find(cmd *cobra.Command, s *clew.Session, fl recallFlags) (err error) {
	q := fl.Query
	switch {
	case fl.all:
		q.Scope = clew.ScopeAll
	case fl.left:
		q.Scope = clew.ScopeLeft
	}
	if isTerminal(cmd.OutOrStdout()) { // a person skims, a model would ask again
		q.Snippet = 300
	}
	defer working(cmd, "reading %s", r.File)()
	r.Search, err = s.Search(cmd.Context(), q)
	return err
}

func (r *recallReport) text(rep *report) {
	switch {
	case r.Search != nil:
		r.printFound(rep)
	case r.Steps != nil:
		for _, step := range r.Steps.Lines {
			rep.line(printable(step.String()))
		}
		rep.line(rep.p.paint(styleDim, count(r.Steps.Total, "entry", "entries")+r.Steps.Part("--offset %d continues")))
	default:
		r.printRecalled(rep)
	}
}

// printRecalled prints texts. One alone goes out as it is; on a terminal, control characters
// are gone.
func (r *recallReport) printRecalled(rep *report) {
	w := rep.w
	heads := len(r.Recalled) > 1 || rep.screen
	for i, e := range r.Recalled {
		if i > 0 && heads {
			rep.line()
		}
		if heads {
			rep.line(rep.p.paint(styleBold, e.head()))
		}
		before, after := e.Frame("--offset %d")
		if r.exact {
			before, after = "", ""
		}
		text := e.Text
		if rep.screen {
			text = printableText(text)
		}
		w.WriteString(printableText(before) + text + printableText(after))
		var notes string
		if e.Purged {
			notes += "[part of it was purged and can't be recovered]\n"
		}
		if e.Excerpt {
			notes += "[an excerpt; the full output, kept beside the file, was purged or lost]\n"
		}
		if r.exact {
			fmt.Fprint(r.notes, notes)
			notes = ""
		}
		if (heads || notes != "") && !strings.HasSuffix(text+after, "\n") {
			rep.line()
		}
		w.WriteString(notes)
	}
}

// head names what follows.
func (e *recalledEntry) head() string {
	head := printable(e.Handle)
	if len(e.Entries) == 1 {
		head = "#" + short(e.Entries[0], maxID)
	}
	if e.Role != "" {
		head += "  " + printable(strings.TrimSpace(kindOf(e.Role)+" "+e.Tool))
	}
	return head
}

// printFound prints a page of hits.
func (r *recallReport) printFound(rep *report) {
	f := r.Search
	for _, h := range f.Hits {
		what := kindOf(h.Role)
		if len(h.Tools) > 0 && h.Role != message.RoleBashExecution {
			what += " " + strings.Join(h.Tools, ", ")
		}
		head := rep.p.paint(styleYellow, "#"+short(h.Entry, maxID)) + "  "
		rep.line(head, cut(printable(fmt.Sprintf("turn %d  %s", h.Turn, what)), rep.columns-textWidth(head)))
		for _, line := range append([]string{h.Snippet}, h.Rest()...) {
			rep.wrap("    ", line, rep.columns)
		}
	}
	line := "found nothing"
	if f.Total > 0 {
		line = "found " + count(f.Total, "entry", "entries")
	}
	line += printable(f.Words())
	if f.Total > 0 && len(f.Hits) == 0 {
		line += ", all before --offset " + number(int64(f.Offset))
	}
	line += f.Part("--offset %d continues")
	if f.Elsewhere > 0 {
		line += fmt.Sprintf("; %s on other branches: --all", number(int64(f.Elsewhere)))
	}
	if f.Partial > 0 {
		line += "; " + count(f.Partial, "output") + " kept beside the file could not be searched whole"
	}
	rep.line(rep.p.paint(styleDim, line))
	if fewer := f.Narrow(askFor); fewer != "" {
		rep.line(rep.p.paint(styleDim, printable(fewer)))
	}
}

// askFor writes a filter as it is given to the command.
func askFor(name, value string) string {
	if name == "role" {
		value = kindOf(message.Role(value))
	}
	return strings.TrimSpace("--" + name + " " + value)
}
