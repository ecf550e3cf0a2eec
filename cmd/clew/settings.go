package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/gateway"
	"github.com/clew-dev/clew/hook"
	"github.com/clew-dev/clew/internal/provider"
	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/model/catalogue"
	"github.com/clew-dev/clew/session"
)

func newSettings(cmd *cobra.Command) runFunc {
	return func([]string) (result, error) {
		s, err := loadSettings(nil)
		if err != nil {
			return nil, err
		}
		if _, err := s.Config(); err != nil {
			return nil, err
		}
		if !wantsJSON(cmd) {
			tell(cmd, s.Warnings)
		}
		return &settingsReport{settings.UserFile(), s.All(), append([]string{}, s.Warnings...)}, nil
	}
}

// settingsReport is what settings prints.
type settingsReport struct {
	UserFile string             `json:"userFile,omitempty"`
	Settings []settings.Setting `json:"settings"`
	Warnings []string           `json:"warnings"`
}

func (r *settingsReport) text(rep *report) {
	wide := 0
	for _, v := range r.Settings {
		wide = max(wide, len(v.Key))
	}
	for _, v := range r.Settings {
		line := pad(printable(v.Key), wide) + "  " + printable(v.Value)
		if v.Origin.Source == settings.FromDefault {
			rep.line(rep.p.paint(styleDim, line))
		} else {
			rep.line(line, rep.p.paint(styleDim, "  ("+printable(v.Origin.String())+")"))
		}
	}
}

// loadSettings reads the settings for the working directory. flags are those that the
// settings are to know.
func loadSettings(flags map[string]string) (*settings.Settings, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	s, err := settings.Load(settings.Options{UserFile: settings.UserFile(), Dir: dir, Environ: os.Environ(), Flags: flags})
	if bad, ok := errors.AsType[*settings.Error](err); ok && bad.Flag != "" {
		return nil, wrongUse(err)
	}
	return s, err
}

// withKeys returns the environment, in which the keys count that the user has given to clew.
func withKeys() (func(string) string, error) {
	keys, err := provider.ReadKeys(provider.KeysFile(settings.UserFile()))
	if err != nil {
		return nil, err
	}
	return keys.Getenv(os.Getenv), nil
}

// tell says what was passed over.
func tell(cmd *cobra.Command, warnings []string) {
	for _, w := range warnings {
		fmt.Fprintf(cmd.ErrOrStderr(), "clew: %s\n", printable(w))
	}
}

// commandHooks returns the programs of the settings for events that a command causes.
func commandHooks(cmd *cobra.Command, events ...string) ([]clew.Hooks, error) {
	s, err := loadSettings(nil)
	if err != nil {
		return nil, err
	}
	tell(cmd, s.Warnings)
	return hooksFor(s, events...)
}

// hooksFor returns the programs for some events.
func hooksFor(s *settings.Settings, events ...string) ([]clew.Hooks, error) {
	s.Hooks = slices.DeleteFunc(s.Hooks, func(c hook.Config) bool { return !slices.Contains(events, c.Event) })
	return s.SessionHooks()
}

// warn says what went wrong beside the point.
func warn(cmd *cobra.Command, warnings []error) {
	for _, w := range warnings {
		complain(cmd, w)
	}
}

// complain says what went wrong.
func complain(cmd *cobra.Command, err error) {
	fmt.Fprintf(cmd.ErrOrStderr(), "clew: %s\n", printable(advise(err).Error()))
}

// modelPolicy is a policy that may differ for single models.
type modelPolicy struct {
	compact.Policy
	settings *settings.Settings // nil: it does not differ
	flags    []string           // what the command line says, which counts for all models
}

// of returns the policy for a model, and how its window is known.
func (p modelPolicy) of(m session.Model) (compact.Policy, string) {
	cfg := clew.Config{Policy: p.Policy}
	if p.settings != nil {
		cfg.Models = p.settings.Overrides(p.flags...)
	}
	policy, from := cfg.PolicyFor(m)
	policy.Window = cmp.Or(policy.Window, compact.DefaultWindow)
	return policy, from
}

// windowGateway says that the window is the one to which a gateway has kept the session.
const windowGateway = "gateway"

// at is of, where a session has come to an entry that may say to which window a gateway kept it:
// upstreams may have told it another one than the catalogue has.
func (p modelPolicy) at(last *session.Entry, m session.Model) (compact.Policy, string) {
	of, by := p.of(m)
	if last == nil || by == clew.WindowSet {
		return of, by
	}
	if epoch, err := gateway.EpochOf(last); err == nil && epoch != nil && epoch.Window > 0 {
		of.Window, by = epoch.Window, windowGateway
	}
	return of, by
}

// modelsReport is what models --json prints.
type modelsReport struct {
	Default   string           `json:"default,omitempty"`
	NoDefault string           `json:"noDefault,omitempty"`
	Providers []listedProvider `json:"providers"`
	Models    []listedModel    `json:"models"`

	filtered bool // not all of them are wanted
}

type listedProvider struct {
	provider.Provider
	Ready bool `json:"ready"`
}

type listedModel struct {
	Name      string       `json:"name"`
	Provider  string       `json:"provider,omitempty"`
	Model     string       `json:"model"`
	Family    bool         `json:"family,omitempty"`
	Ready     bool         `json:"ready"`
	Window    int64        `json:"window,omitempty"`
	MaxInput  int64        `json:"maxInput,omitempty"`
	MaxOutput int64        `json:"maxOutput,omitempty"`
	Images    bool         `json:"images"`
	Reasoning string       `json:"reasoning,omitempty"`
	Price     *listedPrice `json:"price,omitempty"`
	Source    string       `json:"source,omitempty"`
	Date      string       `json:"date,omitempty"`
}

type listedPrice struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead,omitempty"`
	CacheWrite float64 `json:"cacheWrite,omitempty"`
}

// String is the price of input and output in few letters; "" where it is not known.
func (p *listedPrice) String() string {
	if p == nil {
		return ""
	}
	dollars := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	return dollars(p.Input) + "/" + dollars(p.Output)
}

func newModels(cmd *cobra.Command) runFunc {
	ready := cmd.Flags().Bool("ready", false, "list only models that are ready to use")
	return func(args []string) (result, error) {
		out, err := readModels(cmd)
		if err != nil {
			return nil, err
		}
		filter := strings.Fields(strings.ToLower(strings.Join(args, " ")))
		out.Models = slices.DeleteFunc(out.Models, func(m listedModel) bool {
			return *ready && !m.Ready || slices.ContainsFunc(filter, func(word string) bool { return !strings.Contains(strings.ToLower(m.Name), word) })
		})
		out.filtered = len(filter) > 0 || *ready
		return &out, nil
	}
}

func readModels(cmd *cobra.Command) (modelsReport, error) {
	out := modelsReport{Providers: []listedProvider{}, Models: []listedModel{}}
	s, err := loadSettings(nil)
	if err != nil {
		return out, err
	}
	tell(cmd, s.Warnings)
	getenv, err := withKeys()
	if err != nil {
		return out, err
	}
	if out.Default, err = provider.Default(getenv, s); err != nil {
		out.NoDefault = err.Error()
	}
	for _, p := range provider.All(s) {
		out.Providers = append(out.Providers, listedProvider{p, p.Ready(getenv)})
	}
	for _, m := range provider.Models(catalogue.Default(), s) {
		i := m.Info
		j := listedModel{
			Name: m.Name(), Provider: m.Provider.Name, Model: i.Model, Family: m.Family, Ready: m.Provider.Ready(getenv),
			Window: i.Window, MaxInput: i.MaxInput, MaxOutput: i.MaxOutput, Images: i.Images, Reasoning: string(i.Thinking),
		}
		if p := i.Price; p != nil {
			j.Price = &listedPrice{p.Input, p.Output, p.CacheRead, p.CacheWrite}
		}
		j.Source, j.Date, _ = strings.Cut(strings.TrimSuffix(i.Source, ")"), " (")
		out.Models = append(out.Models, j)
	}
	rank := map[string]int{} // those that can be asked come first, and each provider's together
	for i, p := range out.Providers {
		rank[p.Name] = i - len(out.Providers)
	}
	order := func(m listedModel) int {
		if m.Ready {
			return rank[m.Provider] - 1 - len(out.Providers)
		}
		return rank[m.Provider]
	}
	slices.SortStableFunc(out.Models, func(a, b listedModel) int { return cmp.Compare(order(a), order(b)) })
	return out, nil
}

func (out *modelsReport) text(rep *report) {
	rows := [][]string{{"MODEL", "NOW", "WINDOW", "OUTPUT", "$ IN/OUT", "IMG", "AS OF"}}
	for _, m := range out.Models {
		rows = append(rows, []string{m.Name, yes(m.Ready), tokens(m.Window), tokens(m.MaxOutput), m.Price.String(), yes(m.Images), m.Date})
	}
	if len(out.Models) == 0 {
		rep.line("no known model matches; you can also use others, as PROVIDER/ID")
	} else {
		rep.table(rows, 2, 5)
	}
	if !out.filtered {
		rows := [][]string{{"PROVIDER", "NOW", "KEY", "ADDRESS"}}
		for _, p := range out.Providers {
			rows = append(rows, []string{p.Name, yes(p.Ready), cmp.Or(strings.Join(p.KeyEnv, ", "), "none needed"), cmp.Or(p.BaseURL, "none: set providers."+p.Name+".baseURL")})
		}
		rep.line()
		rep.table(rows, 0, 0)
	}
	rep.line()
	rep.row("default", "%s", cmp.Or(out.Default, out.NoDefault))
}

// table writes rows under each other: the first is the heading, and what is not ready, as the
// second column says, is dim. The columns from one to before another are numbers, which stand to
// the right; where there are any, the first column gives way.
func (r *report) table(rows [][]string, from, to int) {
	wide := make([]int, len(rows[0]))
	over := -2 - r.wide
	for c := range wide {
		for _, row := range rows {
			row[c] = printable(row[c])
			wide[c] = max(wide[c], textWidth(row[c]))
		}
		over += wide[c] + 2
	}
	if to > 0 && over > 0 {
		wide[0] = max(wide[0]-over, 12)
	}
	for i, row := range rows {
		line := ""
		for c, cell := range row {
			if c >= from && c < to {
				cell = padLeft(cell, wide[c])
			}
			line += pad(cut(cell, wide[c]), wide[c]) + "  "
		}
		switch line = strings.TrimRight(line, " "); {
		case i == 0:
			line = r.p.paint(styleBold, line)
		case row[1] != yes(true):
			line = r.p.paint(styleDim, line)
		}
		r.line(line)
	}
}

func yes(b bool) string { return map[bool]string{true: "yes", false: "no"}[b] }

// tokens prints a number of tokens in few letters; "" where it is not known.
func tokens(n int64) string {
	if n <= 0 {
		return ""
	}
	return text.Tokens(n)
}
