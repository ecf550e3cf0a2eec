package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/hook"
	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/session"
)

func newSettings() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "settings",
		Short: "Show what is set, and where",
		Long: `settings prints every setting as it counts in this folder, and where it comes
from: a variable of the environment, the project's file (.clew/settings.json
here or above, up to the folder with .git), the user's file, the preset, or the
default. Flags of other commands count before all of them.

A mistake in any of these places is an error that says where it is.`,
		Example: `  clew settings
  CLEW_PRESET=pi clew settings --json`,
		GroupID: groupOther,
		Args:    argCount(0, 0),
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := loadSettings(nil)
		if err != nil {
			return err
		}
		if _, err := s.Config(); err != nil {
			return err
		}
		if *asJSON {
			return printJSON(cmd, settingsJSON{settings.UserFile(), s.All(), append([]string{}, s.Warnings...)})
		}
		return printSettings(cmd, s)
	}
	return cmd
}

// settingsJSON is what settings --json prints.
type settingsJSON struct {
	UserFile string             `json:"userFile,omitempty"`
	Settings []settings.Setting `json:"settings"`
	Warnings []string           `json:"warnings"`
}

func printSettings(cmd *cobra.Command, s *settings.Settings) error {
	out := output(cmd)
	all := s.All()
	wide := 0
	for _, v := range all {
		wide = max(wide, len(v.Key))
	}
	paint := newPainter(cmd)
	for _, v := range all {
		line := fmt.Sprintf("%-*s  %s", wide, printable(v.Key), printable(v.Value))
		if v.Origin.Source == settings.FromDefault {
			line = paint.paint(styleDim, line)
		} else {
			line += paint.paint(styleDim, "  ("+printable(v.Origin.String())+")")
		}
		fmt.Fprintln(out, line)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	warnSettings(cmd, s)
	return nil
}

// loadSettings reads the settings for the working directory. flags are those that the
// settings are to know.
func loadSettings(flags map[string]string) (*settings.Settings, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	s, err := settings.Load(settings.Options{UserFile: settings.UserFile(), Dir: dir, Environ: os.Environ(), Flags: flags})
	if bad := (*settings.Error)(nil); errors.As(err, &bad) && bad.Flag != "" {
		return nil, &usageError{err}
	}
	return s, err
}

// warnSettings says what was passed over.
func warnSettings(cmd *cobra.Command, s *settings.Settings) {
	for _, w := range s.Warnings {
		fmt.Fprintf(cmd.ErrOrStderr(), "clew: %s\n", oneLine(w))
	}
}

// commandHooks returns the programs of the settings for events that a command causes.
func commandHooks(cmd *cobra.Command, events ...string) ([]clew.Hooks, error) {
	s, err := loadSettings(nil)
	if err != nil {
		return nil, err
	}
	warnSettings(cmd, s)
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
		fmt.Fprintf(cmd.ErrOrStderr(), "clew: %s\n", oneLine(w.Error()))
	}
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
