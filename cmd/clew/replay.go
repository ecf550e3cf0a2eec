package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/internal/replay"
	"github.com/clew-dev/clew/internal/replay/page"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	policies             []string
	budget, tail, window string
	prices, html, dump   string
	probe, reader, curve string
	repair               bool
}

func newReplay(cmd *cobra.Command) runFunc {
	var fl replayFlags
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if fl.probe != "" {
			return nil // without files it reads the grades
		}
		return argCount(cmd, args)
	}
	f := cmd.Flags()
	f.StringSliceVar(&fl.policies, "policy", nil, "the policies to compare, separated by commas: "+strings.Join(replay.PolicyNames(), ", ")+" (default: all; the last six are always shown)")
	f.StringVar(&fl.budget, "budget", "4k", "size of a policy's text for what is dropped, in tokens of three UTF-16 units")
	f.StringVar(&fl.tail, "tail", "8k", "size of what is kept as it is at a point, in the same tokens")
	f.StringVar(&fl.window, "window", "100k", "the context size at which a policy rewrites, for comparing costs")
	f.StringVar(&fl.prices, "prices", "anthropic", "what tokens cost: anthropic, openai, none (no cache), or a JSON file")
	f.StringVar(&fl.html, "html", "", "write a report with plots to this file")
	f.StringVar(&fl.dump, "dump", "", "write each text and what it lacks to a file in this folder")
	f.BoolVar(&fl.repair, "repair", false, "also measure what clew hook gives beside each recorded summary")
	f.StringVar(&fl.curve, "curve", "", "also measure cCR at these budgets, such as 1300,2600,8000")
	f.StringVar(&fl.probe, "probe", "", "write the last point of each session as a test for readers into this folder; without FILE print its grades")
	f.StringVar(&fl.reader, "reader", "", "with --probe and without FILE: the program that writes the questions, answers and grades that are missing")
	_ = cmd.RegisterFlagCompletionFunc("policy", cobra.FixedCompletions(replay.PolicyNames(), cobra.ShellCompDirectiveNoFileComp))
	return func(args []string) (result, error) {
		opt, err := fl.options()
		if err != nil {
			return nil, err
		}
		if fl.probe != "" {
			probe := replay.Probe{Dir: fl.probe}
			if len(args) == 0 {
				return fl.grades(cmd, probe)
			}
			if err := probe.Prepare(); err != nil {
				return nil, err
			}
			opt.Probe, opt.Chain = &probe, false
		}
		pr := newProgress(cmd)
		defer pr.done()
		var texts dumper
		if fl.dump != "" {
			if err := os.MkdirAll(fl.dump, 0o700); err != nil {
				return nil, err
			}
			texts.folder, opt.Text = fl.dump, texts.write
		}
		r, in, err := play(cmd, args, pr, opt)
		if err != nil {
			return nil, err
		}
		if in.files == 0 {
			return nil, in.nothing()
		}
		if err := cmp.Or(texts.err, fl.writeHTML(r, in)); err != nil {
			return nil, err
		}
		curve, err := fl.measureCurve(cmd, args, pr, opt)
		if err != nil {
			return nil, err
		}
		if n, _ := r.Count(false); n == 0 {
			err = fmt.Errorf("nothing was measured: %s, none of them long enough", count(len(r.Sessions), "session"))
		}
		return &replayed{r, curve, in}, err
	}
}

// play reads the sessions of the arguments and measures them.
func play(cmd *cobra.Command, args []string, pr *progress, opt replay.Options) (*replay.Report, *replayInput, error) {
	in, err := findReplay(cmd, args)
	if err != nil {
		return nil, nil, err
	}
	r, err := replay.Play(cmd.Context(), in.sessions(cmd, pr), opt)
	return r, in, cmp.Or(in.err, err)
}

// measureCurve plays the sessions once more at each budget of --curve.
func (fl *replayFlags) measureCurve(cmd *cobra.Command, args []string, pr *progress, opt replay.Options) (out []curvePoint, err error) {
	opt.Chain, opt.Text, opt.Probe = false, nil, nil
	for _, b := range strings.FieldsFunc(fl.curve, func(r rune) bool { return r == ',' }) {
		n, err := numberFlag("curve", b, budgetNumber)
		if err != nil {
			return nil, err
		}
		opt.Budget = int(n)
		r, _, err := play(cmd, args, pr, opt)
		if err != nil {
			return nil, err
		}
		at := curvePoint{Budget: opt.Budget, CCR: map[string]float64{}}
		for _, row := range r.Rows(false) {
			at.CCR[row.Policy] = row.Contextual.Value
		}
		out = append(out, at)
	}
	return out, nil
}

// probeGrades is what --probe prints without files.
type probeGrades struct {
	Grades []replay.Grade `json:"grades"`
}

func (g *probeGrades) text(rep *report) { rep.w.WriteString(replay.GradeTable(g.Grades)) }

// grades lets readers do what is left of a probe, and returns their grades.
func (fl *replayFlags) grades(cmd *cobra.Command, probe replay.Probe) (result, error) {
	if program := strings.Fields(fl.reader); len(program) > 0 {
		if err := probe.Ask(cmd.Context(), program); err != nil {
			return nil, err
		}
	}
	grades, err := probe.Grades()
	if err == nil && len(grades) == 0 && !wantsJSON(cmd) {
		err = fmt.Errorf("%s: there are no grades yet; README.md in it says what readers do", fl.probe)
	}
	if err != nil {
		return nil, err
	}
	return &probeGrades{grades}, nil
}

// options makes the options, and refuses what makes no sense.
func (fl *replayFlags) options() (opt replay.Options, err error) {
	opt.Chain, opt.Repair = true, fl.repair
	if len(fl.policies) > 0 {
		// The baselines are always there to compare with; readers have no time for them.
		names := slices.Clone(fl.policies)
		if fl.probe == "" {
			names = append(names, replay.BaselineNames()...)
		}
		if opt.Policies, err = replay.FindPolicies(names); err != nil {
			return opt, usagef("--policy: %w", err)
		}
	}
	for _, n := range []struct {
		flag, value string
		to          *int
	}{{"budget", fl.budget, &opt.Budget}, {"tail", fl.tail, &opt.Tail}, {"window", fl.window, &opt.Cost.Window}} {
		read, err := numberFlag(n.flag, n.value, budgetNumber)
		if err != nil {
			return opt, err
		}
		*n.to = int(read)
	}
	if opt.Cost.Prices, err = readPrices(fl.prices); err != nil {
		return opt, err
	}
	if err := opt.Check(); err != nil {
		return opt, usagef("%w", err)
	}
	return opt, fl.checkHTML()
}

func readPrices(name string) (replay.Prices, error) {
	if p, ok := replay.NamedPrices(name); ok {
		return p, nil
	}
	info, err := os.Stat(name)
	switch {
	case err != nil && !strings.ContainsAny(name, `./\`):
		return replay.Prices{}, usagef("--prices %s: there is no such price list, and no such file; there are anthropic, openai and none", name)
	case err != nil:
		return replay.Prices{}, err
	case info.Size() > 1<<20:
		return replay.Prices{}, usagef("--prices %s: %s is too large for a price list", name, size(info.Size()))
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return replay.Prices{}, err
	}
	p, err := replay.ParsePrices(data)
	if err != nil {
		return p, usagef("--prices %s: %w", name, err)
	}
	p.Name = filepath.Base(name)
	return p, nil
}

// progressBar draws how far something is.
func progressBar(done, all int) string {
	const width = 20
	n := width * done / max(all, 1)
	return "replaying [" + strings.Repeat("#", n) + strings.Repeat(".", width-n) + "]"
}

// dumper writes texts for reading, one a file. It keeps the first error.
type dumper struct {
	folder string
	err    error
}

func (d *dumper) write(t replay.Text) {
	if d.err != nil {
		return
	}
	kind := "free"
	if t.Recorded {
		kind = "recorded"
	}
	name := fmt.Sprintf("%s-%05d-%s-%s.txt", fileName(t.Session), t.Point, kind, t.Policy)
	funcs := template.FuncMap{"share": measuredText, "list": func(title string, lines any) any { return map[string]any{"Title": title, "Lines": lines} }}
	form, err := template.New("dump.tmpl").Funcs(funcs).ParseFS(helpTexts, "help/dump.tmpl")
	var b bytes.Buffer
	if err == nil {
		err = form.Execute(&b, t)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(d.folder, name), b.Bytes(), 0o600)
	}
	d.err = err
}

// fileName makes the end of a path the beginning of a file name.
func fileName(path string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == ':' || r < ' ' {
			return '_'
		}
		return r
	}, filepath.Base(path))
}

// checkHTML looks whether the report can be written, before the long work.
func (fl *replayFlags) checkHTML() error {
	if fl.html == "" {
		return nil
	}
	dir, err := os.Stat(filepath.Dir(fl.html))
	file, ferr := os.Stat(fl.html)
	switch {
	case err != nil:
		return usagef("--html %s: its folder: %s", fl.html, errorText(err))
	case !dir.IsDir():
		return usagef("--html %s: %s is no folder", fl.html, filepath.Dir(fl.html))
	case ferr == nil && file.IsDir():
		return usagef("--html %s: that is a folder; name a file in it", fl.html)
	}
	return nil
}

// writeHTML writes the report with plots, when it is asked for: whole or not at all.
func (fl *replayFlags) writeHTML(r *replay.Report, in *replayInput) error {
	if fl.html == "" {
		return nil
	}
	notes := page.Notes{Passed: in.passed, Unread: in.unread, Damaged: in.damaged}
	return writeWhole("--html", fl.html, 0o644, true, func(w io.Writer) error { return page.Write(w, r, notes) })
}

// replayInput is what replay was given.
type replayInput struct {
	paths   []string
	named   map[string]bool // paths that are arguments themselves
	files   int             // that were read
	unread  []replay.Note
	damaged []replay.Note // read but for some of it
	passed  int           // files of a folder that are no sessions
	err     error         // what ended the reading
}

// nothing is the error of an input without a session.
func (in *replayInput) nothing() error {
	switch {
	case len(in.unread) == 1:
		return fmt.Errorf("%s: %s", in.unread[0].Path, in.unread[0].Why)
	case len(in.unread) > 0:
		return fmt.Errorf("none of %d files could be read; the first, %s: %s", len(in.unread), in.unread[0].Path, in.unread[0].Why)
	}
	return fmt.Errorf("no session found: there are %s, and none ends in .jsonl, .json or .traj and holds a conversation", count(in.passed, "file"))
}

// findReplay looks for the files that are to be read.
func findReplay(cmd *cobra.Command, args []string) (*replayInput, error) {
	in := &replayInput{named: map[string]bool{}}
	seen := map[string]bool{}
	take := func(path string) {
		if clean := filepath.Clean(path); !seen[clean] {
			seen[clean] = true
			in.paths = append(in.paths, path)
		}
	}
	for _, arg := range args {
		path, err := resolveSession(cmd.Context(), arg)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			in.named[path] = true
			take(path)
			continue
		}
		err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
			switch {
			case cmd.Context().Err() != nil:
				return cmd.Context().Err()
			case err != nil:
				in.unread = append(in.unread, replay.Note{Path: p, Why: errorText(err)})
				if d != nil && d.IsDir() {
					return fs.SkipDir
				}
			case d.IsDir() || !d.Type().IsRegular():
			case slices.Contains([]string{".jsonl", ".json", ".traj"}, strings.ToLower(filepath.Ext(p))):
				take(p)
			default:
				in.passed++
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return in, nil
}

// sessions reads the files, each when it is asked for.
func (in *replayInput) sessions(cmd *cobra.Command, pr *progress) iter.Seq[replay.Session] {
	return func(yield func(replay.Session) bool) {
		for i, p := range in.paths {
			pr.say("%s %d of %d: %s", progressBar(i, len(in.paths)), i+1, len(in.paths), filepath.Base(p))
			if !in.read(cmd, p, yield) {
				return
			}
		}
	}
}

// read reads the sessions of a file. What is wrong with it is noted; a file that was
// not named itself and is no session is passed over. It reports whether to go on.
func (in *replayInput) read(cmd *cobra.Command, path string, yield func(replay.Session) bool) (more bool) {
	for n, all := 0, 1; n < all; n++ {
		t, err := readTranscript(path, n)
		switch {
		case err == nil:
		case !in.named[path] && (errors.Is(err, transcript.ErrUnknown) || errors.Is(err, transcript.ErrEmpty)):
			in.passed++
			return true
		default:
			in.unread = append(in.unread, replay.Note{Path: path, Why: errorText(err)})
			return true
		}
		if all = t.Sessions; n == 0 {
			in.files++
		}
		if bad := t.Report.Count(transcript.Damaged); bad > 0 {
			in.damaged = append(in.damaged, replay.Note{Path: path, Why: fmt.Sprintf("%s of it could not be read", count(bad, "part"))})
		}
		var sessions []replay.Session
		if sessions, in.err = conversations(cmd, path, n, t); in.err != nil {
			return false
		}
		for _, s := range sessions {
			if !yield(s) {
				return false
			}
		}
	}
	return true
}

func readTranscript(path string, n int) (*transcript.Transcript, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return transcript.Read(f, transcript.ReadOptions{Select: n})
}

// conversations returns those of a session: of each root the path to the newest
// entry below it.
func conversations(cmd *cobra.Command, path string, n int, t *transcript.Transcript) ([]replay.Session, error) {
	root, newest := map[string]string{}, map[string]string{}
	var roots []string
	for _, e := range t.Entries {
		r, ok := root[e.ParentID]
		if !ok {
			r = e.ID
			roots = append(roots, r)
		}
		root[e.ID], newest[r] = r, e.ID
	}
	store := t.Store()
	var out []replay.Session
	for i, r := range roots {
		entries, err := session.Path(cmd.Context(), store, newest[r])
		if err != nil {
			return nil, err
		}
		name := path
		if t.Sessions > 1 {
			name += fmt.Sprintf("#%d", n+1)
		}
		if len(roots) > 1 {
			name += fmt.Sprintf("#root%d", i+1)
		}
		out = append(out, replay.Session{
			Name: name, Group: string(t.Format), Cwd: t.Header.Cwd, Path: entries,
			ID: fmt.Sprintf("%s %s %s", t.Format, t.Header.ID, entries[0].ID),
		})
	}
	return out, nil
}

// errorText is an error without the path that stands beside it anyway.
func errorText(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}
