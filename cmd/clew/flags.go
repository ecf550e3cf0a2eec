package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/provider"
	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
	"github.com/clew-dev/clew/summary/llm"
	"github.com/clew-dev/clew/token"
)

// choice is a flag that takes one of some names.
type choice struct {
	to    *string
	names []string
}

// choiceFlag adds such a flag; its default is what to holds.
func choiceFlag(cmd *cobra.Command, to *string, name, usage string, names []string) {
	cmd.Flags().Var(choice{to, names}, name, usage)
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

// String implements pflag.Value.
func (c choice) String() string {
	if c.to == nil {
		return "" // pflag asks the zero value
	}
	return *c.to
}

// Type implements pflag.Value.
func (c choice) Type() string { return "string" }

// Set implements pflag.Value.
func (c choice) Set(s string) error {
	if !slices.Contains(c.names, s) {
		return errors.New("there are " + strings.Join(c.names, ", "))
	}
	*c.to = s
	return nil
}

// counterFlag is the name of what estimates tokens.
type counterFlag string

const counterHeuristic counterFlag = "heuristic"

// add adds the flag to a command.
func (c *counterFlag) add(cmd *cobra.Command) {
	*c = counterHeuristic
	choiceFlag(cmd, (*string)(c), "counter", "how tokens are estimated: heuristic, bpe (exact for OpenAI models), chars4 (one token per four characters)",
		[]string{string(counterHeuristic), "bpe", "chars4"})
}

// of returns the counter for a model.
func (c counterFlag) of(m session.Model) token.Counter {
	switch c {
	case "bpe":
		return token.BPE(m.Provider, m.ID)
	case "chars4":
		return token.Chars4()
	default:
		return token.HeuristicFor(m.Provider, m.ID)
	}
}

// sameModel stands for the session's own model.
const sameModel = "same"

// summarizerFlags say which model writes summaries; without them the settings do.
type summarizerFlags struct{ name, baseURL, keyEnv string }

func (fl *summarizerFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&fl.name, "summarizer", "", "the model that writes the summary, as provider/model or a name that clew models lists; same: the session's own; none: no model (default: the setting, else none)")
	f.StringVar(&fl.baseURL, "base-url", "", "base URL of another server with the provider's API or OpenAI's, such as http://localhost:11434/v1")
	f.StringVar(&fl.keyEnv, "key-env", "", "environment variable that holds the key (default: the provider's own, and only for its own address)")
}

// summarizer returns what the flags or the settings name, nil when they name no model.
func (fl summarizerFlags) summarizer(cmd *cobra.Command, set *settings.Settings, s session.Store) (summary.Summarizer, error) {
	switch named := set.SummaryModel; {
	case fl.name == "none":
		fl.name = ""
	case fl.name == "" && (named == sameModel || strings.Contains(named, "/")):
		fl.name = named
	case fl.name == "" && named != "":
		warn(cmd, []error{fmt.Errorf("setting summarizer.model: %s names no provider, so no model is asked; write it as provider/model", named)})
	}
	switch fl.name {
	case "":
		if fl.baseURL != "" || fl.keyEnv != "" {
			return nil, usagef("--base-url and --key-env need a model; name it with --summarizer")
		}
		return nil, nil
	case sameModel:
		p, err := newPlanning(cmd, s, modelPolicy{}, "")
		if err != nil {
			return nil, err
		}
		if fl.name = modelName(p.Model); !strings.Contains(fl.name, "/") {
			return nil, usagef("--summarizer same: no answer in the session names a model with its provider; write --summarizer provider/model")
		}
	}
	getenv, err := withKeys()
	if err != nil {
		return nil, err
	}
	m, err := provider.Open(provider.Config{Name: fl.name, BaseURL: fl.baseURL, KeyEnv: fl.keyEnv, Settings: set, Getenv: getenv})
	if errors.As(err, new(*provider.NameError)) {
		return nil, usagef("--summarizer %w", err)
	}
	if err != nil {
		return nil, err
	}
	return llm.New(llm.Config{Model: m})
}

// policyFlags are the flags that make a policy. Each stands for a setting, which says what it
// takes.
type policyFlags struct {
	quiet   bool // what was passed over has been told
	counter counterFlag
}

func (fl *policyFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.String("window", "", "the model's window in tokens (default: that of the session's model, or 200000)")
	f.String("reserve", "", "tokens kept free for the answer (default: 16384; at most a quarter of the window)")
	f.String("keep", "", "size of the newest part that is kept as it is; at most half of the window (default: what the target leaves)")
	f.String("target", "", "size of the context afterwards (default: half of the window, or what --keep implies)")
	f.String("max-bytes", "", "maximum size of a request in bytes of JSON, such as 32M (default: no limit)")
	f.String("preset", "", "the policy: "+strings.Join(compact.PresetNames(), ", ")+" (default: clew, or what clew settings says)")
	_ = cmd.RegisterFlagCompletionFunc("preset", cobra.FixedCompletions(compact.PresetNames(), cobra.ShellCompDirectiveNoFileComp))
	fl.counter.add(cmd)
	addSummaryFlags(cmd, new(string), new(string), "the preset's, else briefing")
	addStrategyFlag(cmd, new(string), "the setting, else auto, a guess")
}

func addStrategyFlag(cmd *cobra.Command, strategy *string, byDefault string) {
	names := summary.ProfileNames()
	usage := "what the summary keeps: " + strings.Join(names, ", ") + " (default: " + byDefault + ")"
	cmd.Flags().StringVar(strategy, "strategy", "", usage)
	_ = cmd.RegisterFlagCompletionFunc("strategy", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

// addSummaryFlags adds the flags that say how a summary is to be.
func addSummaryFlags(cmd *cobra.Command, template, instructions *string, byDefault string) {
	f := cmd.Flags()
	f.StringVar(template, "template", "", "the template of the summary: "+strings.Join(templateNames(), ", ")+" (default: "+byDefault+")")
	f.StringVar(instructions, "instructions", "", "what the summary should pay attention to")
	_ = cmd.RegisterFlagCompletionFunc("template", cobra.FixedCompletions(templateNames(), cobra.ShellCompDirectiveNoFileComp))
}

// policy makes the policy of the settings and the flags, and refuses what makes no
// sense. Its window is 0 where none was given.
func (fl *policyFlags) policy(cmd *cobra.Command) (modelPolicy, error) {
	given := map[string]string{}
	all := modelPolicy{}
	for _, k := range settings.Keys() {
		if f := cmd.Flags().Lookup(k.Flag); f != nil && f.Changed && k.Flag != "summarizer" { // which takes more than the setting
			given[k.Flag] = f.Value.String()
			all.flags = append(all.flags, k.Flag)
		}
	}
	s, err := loadSettings(given)
	if err != nil {
		return all, err
	}
	if !fl.quiet {
		tell(cmd, s.Warnings)
	}
	all.settings = s
	if all.Policy, err = s.Policy(); err != nil && len(given) > 0 {
		err = wrongUse(err)
	}
	return all, err
}

// What flags that take a number are.
const (
	windowNumber = "the model's window in tokens, such as 64000 or 64k"
	budgetNumber = "a number of tokens from 1, such as 2000 or 2k"
)

// numberFlag reads a flag that takes a number and no share of one; 0 means that it was not given.
func numberFlag(flag, value, what string) (int64, error) {
	if value == "" {
		return 0, nil
	}
	n, err := compact.ParseAmount(value)
	if err != nil || strings.HasSuffix(value, "%") || n.Of(0) < 1 {
		return 0, usagef("--%s %s: write %s", flag, value, what)
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
