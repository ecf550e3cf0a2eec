package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/database"
	"github.com/clew-dev/clew/internal/home"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/sessions"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/session/postgres"
	"github.com/clew-dev/clew/transcript"
)

// isRoot reports whether a TARGET argument stands for before the first entry.
func isRoot(name string) bool { return name == "root" || name == "0" }

// findTarget returns the id of the entry that a TARGET argument names: by its id, by its
// label, or by the beginning of its id, in this order. It is "" for before the first
// entry. The labels of the session come with it.
func findTarget(ctx context.Context, s session.Store, name string) (id string, labels []session.Label, err error) {
	if name == "" {
		return "", nil, usagef("an empty target; clew tree lists the ids and the labels")
	}
	if labels, err = labelsOf(ctx, s); err != nil || isRoot(name) {
		return "", labels, err
	}
	id, err = findID(ctx, s, name)
	if err == nil && id == name {
		return id, labels, nil
	}
	var found []string
	for _, l := range labels {
		if l.Label == name {
			found = append(found, l.TargetID)
		}
	}
	if len(found) > 0 {
		id, err = onlyOne(name, "entries have this label", "give the id of one", found)
	}
	return id, labels, err
}

// onlyOne returns the entry that was found, where it is one.
func onlyOne(name, several, hint string, found []string) (string, error) {
	if len(found) == 1 {
		return found[0], nil
	}
	const show = 4
	list := strings.Join(found[:min(show, len(found))], ", ")
	if len(found) > show {
		list += ", ..."
	}
	return "", &session.Error{Op: "get entry", Subject: name, Err: fmt.Errorf("%d %s: %s", len(found), several, list), Hint: hint}
}

// labelsOf returns the labels of a session as they stand now, in the order in
// which the entries got their first one.
func labelsOf(ctx context.Context, s session.Store) (labels []session.Label, err error) {
	now := map[string]string{}
	var order []string // of the entries, the newest label first
	for e, err := range mentioning(ctx, s, `"label"`) {
		if err != nil {
			return nil, err
		}
		if l, ok := e.Label(); ok {
			id := own(l.TargetID)
			if _, newer := now[id]; !newer {
				now[id] = own(l.Label)
			}
			order = append(order, id)
		}
	}
	for _, id := range slices.Backward(order) {
		if now[id] != "" {
			labels = append(labels, session.Label{TargetID: id, Label: now[id]})
			delete(now, id)
		}
	}
	return labels, nil
}

// maxLabel is how long a label or a name may be, in characters.
const maxLabel = 200

// cleanLabel makes a label or a name one line that is safe to print wherever it is
// shown.
func cleanLabel(cmd *cobra.Command, what, text string) (string, error) {
	clean := printable(strings.TrimSpace(text))
	switch {
	case clean == "" && text != "":
		return "", usagef("%s: %s without visible characters; give some words", cmd.Name(), what)
	case what == "a label" && isRoot(clean):
		return "", usagef("%s: %q means the start of the session, so it can't be a label; choose another one", cmd.Name(), clean)
	case utf8.RuneCountInString(clean) > maxLabel:
		return "", usagef("%s: %s of %s characters; the limit is %d", cmd.Name(), what, number(int64(utf8.RuneCountInString(clean))), maxLabel)
	}
	return clean, nil
}

// maxCompletions is how many entries are offered for a target, the newest.
const maxCompletions = 100

// completeTarget completes the first argument as a file and the second as a target
// in it: labels, and what the user said.
func completeTarget(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	switch {
	case len(args) == 0:
		return nil, cobra.ShellCompDirectiveDefault
	case len(args) > 1 || args[0] == "-":
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	s, err := openSession(cmd, args[0], true)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer s.Close()
	var targets, said []string
	labels, err := labelsOf(cmd.Context(), s)
	for _, l := range labels {
		targets = append(targets, printable(l.Label)+"\tlabel of "+short(l.TargetID, maxID))
	}
	for e, eerr := range s.All(cmd.Context()) {
		if err = cmp.Or(err, eerr); err != nil {
			break
		}
		if m, err := e.Message(); err == nil && m.Role == message.RoleUser {
			said = append(said, own(short(e.ID, maxID)+"\t"+cut(describe(e).line(), 60)))
		}
	}
	return append(targets, said[max(0, len(said)-maxCompletions):]...), cobra.ShellCompDirectiveNoFileComp
}

// kept is a session that a command works on, in a file or in a database.
type kept interface {
	session.Store
	Path() string // or its address
	Version() int
}

// openSession opens the session that a FILE argument names: a path, the id of a
// session in the data folder or the beginning of one, the address of one in a
// database, or - for standard input. To read, that may be a session of another
// program. The caller closes it.
func openSession(cmd *cobra.Command, name string, readOnly bool) (kept, error) {
	switch {
	case database.Is(name):
		at, err := database.Parse(name)
		if err != nil {
			return nil, err
		}
		return openAddress(cmd, at, readOnly)
	case readOnly:
		f, _, err := openAny(cmd, name)
		return opened(f, err)
	case name == "-":
		return nil, usagef("%s: standard input can't be changed; name a file", cmd.Name())
	}
	path, err := resolveSession(cmd.Context(), name)
	if err != nil {
		return nil, err
	}
	if sessions.InOpenCode(path) {
		return nil, readOnlyError(path)
	}
	return opened(jsonl.Open(cmd.Context(), path, jsonl.Options{Program: "clew " + cmd.Name()}))
}

func openAddress(cmd *cobra.Command, at database.Address, readOnly bool) (kept, error) {
	return opened(database.Open(cmd.Context(), at, postgres.Options{ReadOnly: readOnly, Program: "clew " + cmd.Name()}))
}

// opened keeps a nil pointer from becoming an interface that is not nil.
func opened[S kept](s S, err error) (kept, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// onFile refuses a session that is in a database, for commands that work on files.
func onFile(s kept) (*jsonl.File, error) {
	if f, ok := s.(*jsonl.File); ok {
		return f, nil
	}
	return nil, notInFile(s.Path())
}

func notInFile(address string) error {
	return &session.Error{Op: "open", Subject: address, Err: errors.New("this command works on files alone"), Hint: "clew db export writes the session to one"}
}

// withSession opens a session for what a command does with it. On an error there is no result.
func withSession(cmd *cobra.Command, name string, readOnly bool, do func(f kept) (result, error)) (result, error) {
	f, err := openSession(cmd, name, readOnly)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := do(f)
	if err != nil {
		r = nil
	}
	return r, err
}

// withLeaf is withSession for a command that reads the path to the entry which a flag names, or to the leaf.
func withLeaf(cmd *cobra.Command, name, flag string, do func(f kept, leaf string) (result, error)) (result, error) {
	return withSession(cmd, name, true, func(f kept) (result, error) {
		leaf, err := leafOf(cmd, f, flag)
		if err != nil {
			return nil, err
		}
		return do(f, leaf)
	})
}

// withLog is withSession for a command that appends to the session.
func withLog(cmd *cobra.Command, name string, do func(f kept, log *session.Log) (result, error)) (result, error) {
	return withSession(cmd, name, false, func(f kept) (result, error) {
		log, err := session.NewLog(cmd.Context(), f, session.Options{})
		if err != nil {
			return nil, err
		}
		return do(f, log)
	})
}

// engineOn takes a session into use that is not the engine's to close.
func engineOn(ctx context.Context, s kept, cfg clew.Config) (*clew.Session, error) {
	switch s := s.(type) {
	case *jsonl.File:
		return clew.OpenFile(ctx, s, cfg)
	case *database.Store:
		set, err := loadSettings(nil)
		if err != nil {
			return nil, err
		}
		h, err := home.Default()
		if err != nil {
			return nil, err
		}
		if cfg.Blobs, err = database.Blobs(cmp.Or(set.Blobs, h.Database()), s.Tenant(), s.Header().ID); err != nil {
			return nil, err
		}
	}
	return clew.OpenStore(ctx, s, cfg)
}

// stdinName is what errors call standard input.
const stdinName = "standard input"

// minID is how many characters of a session's id are needed to name it, so that
// a short file name with a slip in it is not taken for one.
const minID = 4

// resolveSession returns the path of the file that a FILE argument names: a session of the
// data folder is preferred to one of another program.
func resolveSession(ctx context.Context, name string) (string, error) {
	if database.Is(name) {
		at, err := database.Parse(name)
		if err != nil {
			return "", err
		}
		return "", notInFile(at.String())
	}
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) || len(name) < minID || strings.ContainsAny(name, `/\:`) {
		return name, nil // what is wrong with it is for the opener to say
	}
	h, err := home.Default()
	if err != nil {
		return name, nil
	}
	found, err := sessions.Find(ctx, h, name)
	if err == nil && len(found) == 0 {
		var all []sessions.Found
		all, _, err = everywhere(ctx, programsOf(name)...)
		found = sessions.WithID(all, name)
	}
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return name, nil
	case len(found) == 1:
		return found[0].Path, nil
	}
	return "", &session.Error{
		Op: "open", Subject: name, Err: fmt.Errorf("%d sessions have ids with this beginning", len(found)),
		Hint: "give more of the id, or the path; clew ls --all lists them",
	}
}

// mentioning yields the entries whose records hold text, the newest first, without
// parsing the others where the store can do that.
func mentioning(ctx context.Context, s session.Store, text string) iter.Seq2[*session.Entry, error] {
	if f, ok := s.(*jsonl.File); ok {
		return f.Mentioning(ctx, text)
	}
	return func(yield func(*session.Entry, error) bool) {
		var found []*session.Entry
		for e, err := range s.All(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			if bytes.Contains(e.Raw(), []byte(text)) {
				found = append(found, e)
			}
		}
		for _, e := range slices.Backward(found) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// findID returns the id of an entry, or the only one that begins so. It costs a look at the
// bytes of the file.
func findID(ctx context.Context, s session.Store, id string) (string, error) {
	if id == "" {
		return "", usagef("an empty entry id; clew tree lists the ids")
	}
	var found []string
	quoted := jsonx.Quote(id)
	for e, err := range mentioning(ctx, s, string(quoted[:len(quoted)-1])) {
		switch {
		case err != nil:
			return "", err
		case e.ID == id:
			return id, nil
		case strings.HasPrefix(e.ID, id) && !slices.Contains(found, e.ID):
			found = append(found, own(e.ID))
		}
	}
	if len(found) == 0 {
		_, err := s.Get(ctx, id) // however the file spells it
		return id, err
	}
	slices.Reverse(found) // oldest first
	return onlyOne(id, "entries have ids with this beginning", "give more of the id", found)
}

// openAny opens the session that a FILE argument names for reading. A file of another
// program is converted in memory, and what is known of the source comes with it; of a
// session that is nil.
func openAny(cmd *cobra.Command, name string) (*jsonl.File, *transcript.Transcript, error) {
	if name == "-" {
		data, err := io.ReadAll(cmd.InOrStdin())
		if err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", stdinName, err)
		}
		f, err := jsonl.Read(cmd.Context(), stdinName, bytes.NewReader(data))
		if !errors.Is(err, session.ErrNotSession) {
			return f, nil, err
		}
		return convert(cmd, stdinName, bytes.NewReader(data), transcript.ReadOptions{}, err)
	}
	path, err := resolveSession(cmd.Context(), name)
	if err != nil {
		return nil, nil, err
	}
	if !sessions.InOpenCode(path) {
		f, ferr := jsonl.Open(cmd.Context(), path, jsonl.Options{ReadOnly: true, Program: "clew " + cmd.Name()})
		if !errors.Is(ferr, session.ErrNotSession) {
			return f, nil, ferr
		}
		err = ferr
	}
	src, info, serr := openFile(cmd.Context(), path)
	if serr != nil {
		return nil, nil, cmp.Or(err, serr)
	}
	defer src.Close()
	return convert(cmd, path, src, transcript.ReadOptions{Time: info.ModTime()}, err)
}

// convert makes a session of a file of another program. Where it is of none that is known,
// notSession stands: it says what the file looks like.
func convert(cmd *cobra.Command, name string, r io.Reader, opt transcript.ReadOptions, notSession error) (*jsonl.File, *transcript.Transcript, error) {
	t, err := transcript.Read(r, opt)
	switch {
	case errors.Is(err, transcript.ErrUnknown), t != nil && t.Format == transcript.Pi:
		return nil, nil, notSession // pi's are ours, and this one is damaged
	case err != nil:
		return nil, nil, importError("open", name, err)
	}
	var buf bytes.Buffer
	if err := printSession(&buf, t); err != nil {
		return nil, nil, err
	}
	f, err := jsonl.Read(cmd.Context(), name, &buf)
	return f, t, err
}

// openFile opens a file, or a session of opencode.
func openFile(ctx context.Context, path string) (*os.File, os.FileInfo, error) {
	f, err := sessions.Open(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("it is a folder; name files in it")
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, nil, err
	}
	return f, info, nil
}

// readOnlyError says of a file of another program what a command that would change it can
// do instead; nil where it is no such file.
func readOnlyError(path string) error {
	of := transcript.OpenCode
	if !sessions.InOpenCode(path) {
		f, info, err := openFile(context.Background(), path)
		if err != nil {
			return nil //nolint:nilerr // the error that led here says more
		}
		defer f.Close()
		g, err := transcript.Peek(f, info.Size())
		if err != nil || g.Format == transcript.Pi {
			return nil //nolint:nilerr // likewise
		}
		of = g.Format
	}
	return fmt.Errorf("%s is a session of %s, which is read and never changed; clew import %s writes one that clew can change", path, of, path)
}

// damageOf lists what could not be read of a file of another program.
func damageOf(t *transcript.Transcript) (problems []session.Problem) {
	for _, n := range t.Report.Notes {
		if n.Class != transcript.Damaged {
			continue
		}
		what := n.What
		if n.Count > 1 {
			what += fmt.Sprintf("; there are %d, this is the first", n.Count)
		}
		problems = append(problems, session.Problem{Severity: session.SevError, Code: n.Kind, Line: n.Line, What: what})
	}
	return problems
}

// loaded is a session as commands look at it. They write nothing.
type loaded struct {
	*compact.Snapshot
	windowBy string          // a Window of package clew, or windowGateway
	leaf     string          // where the session stands
	closing  []session.Draft // results of the calls that were interrupted, with which plans are made
}

// load takes the snapshot of a session at a leaf, for the model that is in force there, or for
// another one. It reads no more of the log than the context needs.
func load(ctx context.Context, s session.Store, leaf string, model session.Model, policy modelPolicy, counter counterFlag) (*loaded, error) {
	last, err := s.Get(ctx, leaf)
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return nil, err
	}
	l := &loaded{leaf: leaf}
	l.Snapshot, err = compact.Load(ctx, s, leaf, &compact.Setup{Model: model, Counter: counter.of, Policy: func(m session.Model) compact.Policy {
		of, by := policy.at(last, m)
		l.windowBy = by
		return of
	}})
	return l, err
}

// newPlanning takes the snapshot of a session at its newest entry, with results of the calls that
// were interrupted. Where there are any, its plans are to be looked at and not to be applied.
func newPlanning(cmd *cobra.Command, s session.Store, policy modelPolicy, counter counterFlag) (*loaded, error) {
	leaf, err := leafOf(cmd, s, "")
	if err != nil {
		return nil, err
	}
	p, err := load(cmd.Context(), s, leaf, session.Model{}, policy, counter)
	if err != nil {
		return nil, err
	}
	p.closing = compact.Interrupted(p.Context.Items, time.Now())
	p.Snapshot = p.Preview(p.closing...)
	return p, nil
}
