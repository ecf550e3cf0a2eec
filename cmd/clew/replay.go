package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/replay"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	policies             []string
	budget, tail, window string
	prices, html, dump   string
}

func newReplay() *cobra.Command {
	var fl replayFlags
	cmd := &cobra.Command{
		Use:   "replay FILE|DIR...",
		Short: "Say what each policy would keep of recorded sessions, and what it costs",
		Long: `replay plays recorded sessions under compaction policies. At points of each
session the old part is dropped, each policy puts its text in its place, and
the text is held against what the recorded agent wrote next: no model is asked.
Then every call of each session is priced as if the policy had been in force.

It reads the session files of every program that import reads. Of a folder it
takes all files ending in .jsonl, .json and .traj. Nothing is written to them.
docs/replay.md defines the figures and says how far to trust them.`,
		Example: `  clew replay ~/.claude/projects/-home-me-app
  clew replay --policy clew,mask,extract --budget 2k session.jsonl
  clew replay --html report.html --prices prices.json sessions`,
		GroupID: groupLook,
		Args:    argCount(1, -1),
	}
	f := cmd.Flags()
	f.StringSliceVar(&fl.policies, "policy", nil, "the policies to compare, with commas between: "+strings.Join(replay.PolicyNames(), ", ")+" (default: all; the last four are always shown)")
	f.StringVar(&fl.budget, "budget", "4k", "what a policy may put in the place of what is dropped, in tokens of three UTF-16 units")
	f.StringVar(&fl.tail, "tail", "8k", "what stays as it is behind a point, in the same tokens")
	f.StringVar(&fl.window, "window", "100k", "the size at which a context is rewritten, where costs are compared")
	f.StringVar(&fl.prices, "prices", "anthropic", "what tokens cost: anthropic, openai, none (no cache), or a JSON file")
	f.StringVar(&fl.html, "html", "", "write a report with plots to this file")
	f.StringVar(&fl.dump, "dump", "", "write each text, and what it misses, to a file in this folder")
	asJSON := jsonFlag(cmd)
	_ = cmd.RegisterFlagCompletionFunc("policy", cobra.FixedCompletions(replay.PolicyNames(), cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opt, err := fl.options()
		if err != nil {
			return err
		}
		pr := newProgress(cmd)
		defer pr.done()
		in, err := findReplay(cmd, args)
		if err != nil {
			return err
		}
		var texts dumper
		if fl.dump != "" {
			if err := os.MkdirAll(fl.dump, 0o700); err != nil {
				return err
			}
			texts.folder, opt.Text = fl.dump, texts.write
		}
		r, err := replay.Play(cmd.Context(), in.sessions(cmd, pr), opt)
		if err = cmp.Or(in.err, err); err != nil {
			return err
		}
		if in.files == 0 {
			return in.nothing()
		}
		if err := cmp.Or(texts.err, fl.writeHTML(r, in)); err != nil {
			return err
		}
		pr.done()
		if *asJSON {
			err = printJSON(cmd, newReplayJSON(r, in))
		} else {
			err = printReplay(cmd, r, in)
		}
		if n, _ := countPoints(r, false); n == 0 && err == nil {
			err = fmt.Errorf("nothing was measured: %s, and none is long enough", count(len(r.Sessions), "session"))
		}
		return err
	}
	return cmd
}

// options makes the options, and refuses what makes no sense.
func (fl *replayFlags) options() (opt replay.Options, err error) {
	opt.Chain = true
	if len(fl.policies) > 0 {
		// The baselines are always there to compare with.
		if opt.Policies, err = replay.FindPolicies(append(slices.Clone(fl.policies), replay.BaselineNames()...)); err != nil {
			return opt, usagef("--policy: %w", err)
		}
	}
	for _, n := range []struct {
		flag, value string
		to          *int
	}{{"budget", fl.budget, &opt.Budget}, {"tail", fl.tail, &opt.Tail}, {"window", fl.window, &opt.Cost.Window}} {
		a, err := compact.ParseAmount(n.value)
		const most = 1e9
		if err != nil || strings.HasSuffix(n.value, "%") || a.Of(0) < 1 || a.Of(0) > most {
			return opt, usagef("--%s %s: write it in tokens, such as 4000 or 4k, from 1 to a billion", n.flag, n.value)
		}
		*n.to = int(a.Of(0))
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
		return replay.Prices{}, usagef("--prices %s: %s are too much for a price list", name, size(info.Size()))
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
	d.err = os.WriteFile(filepath.Join(d.folder, name), []byte(dumpText(t)), 0o600)
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

func dumpText(t replay.Text) string {
	var b strings.Builder
	b.WriteString(t.Text)
	s := t.Score
	fmt.Fprintf(&b, "\n\n======== %s, point %d\n", t.Session, t.Point)
	fmt.Fprintf(&b, "cCR %s  CR %s  IR %s  IR-c %s  trail %s  fresh %s  made up %s  plain %.2f  tokens %d\n",
		measuredText(s.Contextual), measuredText(s.Recall), measuredText(s.Instructions), measuredText(s.Constraints),
		measuredText(s.TrailF1), measuredText(s.Fresh), measuredText(s.Foreign), s.Plain, s.Tokens)
	for _, list := range []struct {
		title string
		lines []string
	}{
		{"needed, and not there", s.Missed},
		{"needed and there, but not in context", s.MissedContext},
		{"sentences of the user that are missing", s.MissedSentences},
		{"made up", s.ForeignIDs},
		{"missing from the trail of files", stringsOf(s.MissedPairs)},
		{"wrong in the trail of files", stringsOf(s.WrongPairs)},
		{"not the last state", stringsOf(s.Stale)},
	} {
		if len(list.lines) > 0 {
			fmt.Fprintf(&b, "\n== %s\n%s\n", list.title, strings.Join(list.lines, "\n"))
		}
	}
	return b.String()
}

func stringsOf[T fmt.Stringer](list []T) []string {
	var out []string
	for _, v := range list {
		out = append(out, v.String())
	}
	return out
}
