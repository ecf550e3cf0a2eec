package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/message"
)

// recallReport is what recall --json prints.
type recallReport struct {
	File string `json:"file"`
	// Recalled are the entries that were named, in that order.
	Recalled []recalledEntry `json:"recalled,omitempty"`
	// Search is the answer to --search, and to filters alone.
	Search *clew.Found `json:"search,omitempty"`
}

// recalledEntry is what one handle gave.
type recalledEntry struct {
	Handle string `json:"handle"`
	clew.Recalled
}

// recallFlags are the flags of recall.
type recallFlags struct {
	search, tool, path, since, until string
	roles                            []string
	all, left, raw                   bool
	limit, offset                    int
}

func newRecall() *cobra.Command {
	var fl recallFlags
	cmd := &cobra.Command{
		Use:   "recall FILE [HANDLE...]",
		Short: "Read again what left the context, or search for it",
		Long: `recall prints entries word for word as they were appended, whatever has become
of them in the context. A HANDLE is how summaries and notes refer to an entry,
such as 1a2b3c4d or '[#1a2b3c4d]': an entry's id or the beginning of one, the
hash of output kept beside the file, or a range on a path, a..b, which begins
at the root without a and ends at the leaf without b.

With --search it finds entries by words, best match first: those with any of
the words and all "phrases in quotes". Names match whole or in part, paths by
their end, hashes by their beginning, in every language. --role, --tool,
--path, --since and --until narrow the search; without --search they list what
they match.`,
		Example: `  clew recall session.jsonl 1a2b3c4d
  clew recall session.jsonl 1a2b3c4d..5e6f7081
  clew recall --search 'token expiry' --left session.jsonl
  clew recall --search '"connection refused"' --tool bash session.jsonl`,
		GroupID: groupLook,
		Args:    argCount(1, -1),
	}
	f := cmd.Flags()
	f.StringVar(&fl.search, "search", "", "find entries by `WORDS`")
	f.BoolVar(&fl.all, "all", false, "search every branch, not only the path to the leaf")
	f.BoolVar(&fl.left, "left", false, "search only what left the context")
	f.StringSliceVar(&fl.roles, "role", nil, "only entries of these `ROLES`: user, assistant, result, shell, custom, system, summary, branch")
	f.StringVar(&fl.tool, "tool", "", "only calls and results of the tool `NAME`")
	f.StringVar(&fl.path, "path", "", "only calls and results about paths that begin with `PATH`")
	f.StringVar(&fl.since, "since", "", "only entries from `HANDLE` on")
	f.StringVar(&fl.until, "until", "", "only entries up to `HANDLE`")
	f.IntVar(&fl.limit, "limit", 0, "print at most `N` hits (default 10, at most 100), or N characters of each HANDLE (default all)")
	f.IntVar(&fl.offset, "offset", 0, "begin after `N` hits, or N characters")
	f.BoolVar(&fl.raw, "raw", false, "print the stored JSON of each HANDLE instead of its text")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := fl.check(cmd, args); err != nil {
			return err
		}
		file, err := openSession(cmd, args[0], true)
		if err != nil {
			return err
		}
		s, err := clew.OpenFile(cmd.Context(), file, clew.Config{})
		if err != nil {
			_ = file.Close() // it was only read, and err says more
			return err
		}
		defer s.Close()
		r := &recallReport{File: file.Path()}
		if len(args) > 1 {
			err = r.recall(cmd, s, args[1:], fl)
		} else {
			err = r.find(cmd, s, fl)
		}
		switch {
		case err != nil:
			return err
		case *asJSON:
			return printJSON(cmd, r)
		case r.Search != nil:
			return r.printFound(cmd)
		}
		return r.printRecalled(cmd)
	}
	return cmd
}

// roleNames are the words for roles, as other commands print them and as they stand
// in the file.
func roleNames() map[string]message.Role {
	names := map[string]message.Role{}
	for _, r := range []message.Role{
		message.RoleUser, message.RoleAssistant, message.RoleToolResult, message.RoleBashExecution, message.RoleCustom,
		message.RoleSystem, message.RoleCompactionSummary, message.RoleBranchSummary,
	} {
		names[string(r)], names[kindOf(r)] = r, r
	}
	return names
}

// check refuses flags that go together badly.
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
	case len(args) > 1 && set(narrow...) != "":
		return usagef("recall: %s does not go with the handle %s; drop one of them", set(narrow...), args[1])
	case len(args) == 1 && set("search", "role", "tool", "path") == "":
		return usagef("recall: nothing to recall: give a HANDLE, or --search and words; clew tree lists the entries")
	case len(args) == 1 && fl.raw:
		return usagef("recall: --raw is for a HANDLE")
	case fl.all && fl.left:
		return usagef("recall: --all and --left exclude each other")
	case fl.limit < 0 || set("limit") != "" && fl.limit == 0:
		return usagef("recall: --limit %d: it must be at least 1", fl.limit)
	case len(args) == 1 && fl.limit > recall.MaxLimit:
		return usagef("recall: --limit %d: a page has at most %d hits; --offset continues", fl.limit, recall.MaxLimit)
	case fl.offset < 0:
		return usagef("recall: --offset %d: it must not be negative", fl.offset)
	}
	for _, name := range fl.roles {
		if _, ok := roleNames()[name]; !ok {
			return usagef("recall: no role %q; there are user, assistant, result, shell, custom, system, summary and branch", name)
		}
	}
	return nil
}

// recall reads the entries that are named.
func (r *recallReport) recall(cmd *cobra.Command, s *clew.Session, handles []string, fl recallFlags) error {
	most := fl.limit
	if most == 0 {
		most = -1
	}
	for _, handle := range handles {
		if recall.Handle(handle) == "" {
			return usagef("recall: an empty handle; clew tree lists the ids")
		}
		got, err := s.RecallText(cmd.Context(), handle, clew.RecallOptions{Offset: fl.offset, Max: most, Raw: fl.raw})
		if err != nil {
			return err
		}
		r.Recalled = append(r.Recalled, recalledEntry{handle, *got})
	}
	return nil
}

// find searches.
func (r *recallReport) find(cmd *cobra.Command, s *clew.Session, fl recallFlags) (err error) {
	q := clew.Query{Text: fl.search, Tool: fl.tool, Path: fl.path, Since: fl.since, Until: fl.until, Offset: fl.offset, Limit: fl.limit}
	for _, name := range fl.roles {
		if role := roleNames()[name]; !slices.Contains(q.Roles, role) {
			q.Roles = append(q.Roles, role)
		}
	}
	switch {
	case fl.all:
		q.Scope = clew.ScopeAll
	case fl.left:
		q.Scope = clew.ScopeLeft
	}
	bar := newProgress(cmd)
	defer bar.done()
	bar.say("reading %s", r.File)
	r.Search, err = s.Search(cmd.Context(), q)
	return err
}

// printRecalled prints texts. One alone goes out as it is, so that it can be kept in a file;
// on a terminal, control characters are gone.
func (r *recallReport) printRecalled(cmd *cobra.Command) error {
	w, p := output(cmd), newPainter(cmd)
	screen := isTerminal(cmd.OutOrStdout())
	for i, e := range r.Recalled {
		if len(r.Recalled) > 1 || screen {
			if i > 0 {
				w.WriteString("\n")
			}
			w.WriteString(p.paint(styleBold, e.head()) + "\n")
		}
		text := e.Text
		if screen {
			text = printableText(text)
		}
		w.WriteString(text)
		if (len(r.Recalled) > 1 || screen) && !strings.HasSuffix(text, "\n") {
			w.WriteString("\n")
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, e := range r.Recalled {
		e.note(cmd.ErrOrStderr())
	}
	return nil
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

// note says, beside the output, what is not on the page.
func (e *recalledEntry) note(w io.Writer) {
	handle := printable(e.Handle)
	end := e.Total
	if e.Next > 0 {
		end = e.Next
	}
	if e.Next > 0 || e.Offset > 0 {
		fmt.Fprintf(w, "clew: %s: characters %s to %s of %s", handle, number(int64(e.Offset)), number(int64(end)), number(int64(e.Total)))
		if e.Next > 0 {
			fmt.Fprintf(w, "; --offset %d continues", e.Next)
		}
		fmt.Fprintln(w)
	}
	if e.Purged {
		fmt.Fprintf(w, "clew: %s: part of it was purged and can't be recovered\n", handle)
	}
	if e.Excerpt {
		fmt.Fprintf(w, "clew: %s: an excerpt; the full output, kept beside the file, was purged or lost\n", handle)
	}
}

// printFound prints a page of hits.
func (r *recallReport) printFound(cmd *cobra.Command) error {
	w, p := output(cmd), newPainter(cmd)
	f := r.Search
	columns := min(width(cmd), 100)
	for _, h := range f.Hits {
		what := kindOf(h.Role)
		if len(h.Tools) > 0 && h.Role != message.RoleBashExecution {
			what += " " + strings.Join(h.Tools, ", ")
		}
		head := p.paint(styleYellow, "#"+short(h.Entry, maxID)) + "  "
		w.WriteString(head + cut(printable(fmt.Sprintf("turn %d  %s", h.Turn, what)), columns-len(h.Entry)-3) + "\n")
		wrap(w, "    ", printable(h.Snippet), 4, columns)
	}
	line := "found nothing"
	if f.Total > 0 {
		line = "found " + count(f.Total, "entry", "entries")
	}
	if n := len(f.Hits); n < f.Total {
		if n == 0 {
			line += ", all before --offset " + number(int64(f.Offset))
		} else {
			line += fmt.Sprintf("; these are %s to %s", number(int64(f.Offset+1)), number(int64(f.Offset+n)))
		}
	}
	if f.Next > 0 {
		line += fmt.Sprintf("; --offset %d continues", f.Next)
	}
	if f.Elsewhere > 0 {
		line += fmt.Sprintf("; %s on other branches: --all", number(int64(f.Elsewhere)))
	}
	if f.Partial > 0 {
		line += "; " + count(f.Partial, "output") + " kept beside the file could not be searched whole"
	}
	w.WriteString(p.paint(styleDim, line) + "\n")
	return w.Flush()
}
