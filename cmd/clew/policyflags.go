package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/summary"
)

// policyFlags are the flags that make a policy.
type policyFlags struct {
	window, keep, target, reserve  string
	maxBytes                       string
	preset, template, instructions string
	counter                        counterFlag
}

func (fl *policyFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&fl.window, "window", "", "the model's window in tokens (default: that of the session's model, else 200000)")
	f.StringVar(&fl.reserve, "reserve", "", "what stays free for the answer (default: 16384, at most a quarter of the window)")
	f.StringVar(&fl.keep, "keep", "", "the newest part that stays as it is, at most half of the window (default: what the target leaves)")
	f.StringVar(&fl.target, "target", "", "how large the context is to be afterwards (default: half of the window, or what --keep gives)")
	f.StringVar(&fl.maxBytes, "max-bytes", "", "the most a request may take, in bytes of its JSON, such as 32M (default: no limit)")
	f.StringVar(&fl.preset, "preset", "", "the policy: "+strings.Join(compact.PresetNames(), ", ")+" (default: clew, or what clew settings says)")
	_ = cmd.RegisterFlagCompletionFunc("preset", cobra.FixedCompletions(compact.PresetNames(), cobra.ShellCompDirectiveNoFileComp))
	fl.counter.add(cmd)
	addSummaryFlags(cmd, &fl.template, &fl.instructions, "the preset's, else structured")
}

// addSummaryFlags adds the flags that say how a summary is to be.
func addSummaryFlags(cmd *cobra.Command, template, instructions *string, byDefault string) {
	f := cmd.Flags()
	f.StringVar(template, "template", "", "the form of the summary: "+strings.Join(templateNames(), ", ")+" (default: "+byDefault+")")
	f.StringVar(instructions, "instructions", "", "what the summary is to pay attention to")
	_ = cmd.RegisterFlagCompletionFunc("template", cobra.FixedCompletions(templateNames(), cobra.ShellCompDirectiveNoFileComp))
}

// policy makes the policy of the settings and the flags, and refuses what makes no
// sense. Its window is 0 where none was given.
func (fl *policyFlags) policy(cmd *cobra.Command) (modelPolicy, error) {
	given := map[string]string{}
	if fl.preset != "" {
		given["preset"] = fl.preset
	}
	s, err := loadSettings(given)
	if err != nil {
		return modelPolicy{}, err
	}
	warnSettings(cmd, s)
	p, err := s.Policy()
	if err != nil {
		return modelPolicy{}, err
	}
	all := modelPolicy{settings: s}
	for _, name := range []string{"window", "reserve", "target", "keep"} {
		if cmd.Flags().Changed(name) {
			all.flags = append(all.flags, name)
		}
	}
	all.Policy, err = fl.on(p)
	return all, err
}

// on returns a policy with what the flags say.
func (fl *policyFlags) on(p compact.Policy) (_ compact.Policy, err error) {
	p.Instructions = cmp.Or(fl.instructions, p.Instructions)
	if fl.template != "" {
		if p.Template, err = findTemplate(fl.template); err != nil {
			return p, err
		}
	}
	amounts := []struct {
		flag, value string
		to          *compact.Amount
	}{{"keep", fl.keep, &p.Keep}, {"reserve", fl.reserve, &p.Reserve}, {"target", fl.target, &p.Target}}
	for _, a := range amounts {
		if a.value == "" {
			continue
		}
		n, err := compact.ParseAmount(a.value)
		if err != nil {
			return p, usagef("--%s: %w", a.flag, err)
		}
		*a.to = n
	}
	bytes, err := parseBytes(fl.maxBytes)
	if err != nil {
		return p, err
	}
	window, err := parseWindow(fl.window)
	if err != nil {
		return p, err
	}
	p.MaxBytes, p.Window = cmp.Or(bytes, p.MaxBytes), cmp.Or(window, p.Window)
	if _, _, err := p.Resolve(); err != nil {
		if p.MaxBytes != 0 && p.MaxBytes < compact.MinBytes {
			return p, usagef("--max-bytes: %w", err)
		}
		return p, usagef("--window: %w", err)
	}
	return p, nil
}

// parseBytes reads --max-bytes; 0 means that it was not given.
func parseBytes(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := compact.ParseAmount(s)
	if err != nil || strings.HasSuffix(s, "%") || n.Of(0) == 0 {
		return 0, usagef("--max-bytes %s: write a number of bytes, such as 5000000 or 5M", s)
	}
	return n.Of(0), nil
}

// parseWindow reads --window; 0 means that it was not given.
func parseWindow(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := compact.ParseAmount(s)
	if err != nil || strings.HasSuffix(s, "%") {
		return 0, usagef("--window %s: write the model's window in tokens, such as 64000 or 64k", s)
	}
	if n.Of(0) == 0 {
		return 0, usagef("--window 0: a window of no tokens can't hold a prompt and an answer")
	}
	return n.Of(0), nil
}

func findTemplate(name string) (*summary.Template, error) {
	t, err := summary.FindTemplate(name)
	if err != nil {
		return nil, usagef("--template: there is no template %q; there are %s", name, strings.Join(templateNames(), ", "))
	}
	return t, nil
}

func templateNames() []string {
	var names []string
	for _, t := range summary.Templates() {
		names = append(names, t.Name())
	}
	return names
}
