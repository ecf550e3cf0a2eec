package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/session"
)

// nameReport is what name --json prints.
type nameReport struct {
	File string `json:"file"`
	Name string `json:"name"`
	Was  string `json:"was,omitempty"`
}

func newName() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "name FILE [NAME]",
		Short: "Name a session, or print its name",
		Long: `name gives a session a name, which clew ls shows. Without NAME it prints the
name it has. An empty NAME takes it away.`,
		Example: `  clew name session.jsonl 'faster import'
  clew name session.jsonl
  clew name session.jsonl ''`,
		GroupID: groupChange,
		Args:    argCount(1, 2),
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return printName(cmd, args[0], *asJSON)
		}
		name, err := cleanLabel(cmd, "a name", args[1])
		if err != nil {
			return err
		}
		r, err := runName(cmd, args[0], name)
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(cmd, r)
		}
		return r.print(cmd)
	}
	return cmd
}

// printName prints the name alone, for scripts.
func printName(cmd *cobra.Command, file string, asJSON bool) error {
	f, err := openSession(cmd, file, true)
	if err != nil {
		return err
	}
	defer f.Close()
	name, err := sessionNameOf(cmd, f)
	switch {
	case err != nil:
		return err
	case asJSON:
		return printJSON(cmd, &nameReport{File: f.Path(), Name: name})
	case name == "":
		fmt.Fprintln(cmd.ErrOrStderr(), "clew: note: the session has no name")
		return nil
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), printable(name))
	return err
}

func runName(cmd *cobra.Command, file, name string) (*nameReport, error) {
	ctx := cmd.Context()
	f, err := openSession(cmd, file, false)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := &nameReport{File: f.Path(), Name: name}
	if r.Was, err = sessionNameOf(cmd, f); err != nil || r.Was == name {
		return r, err
	}
	log, err := session.NewLog(ctx, f, session.Options{})
	if err != nil {
		return nil, err
	}
	_, err = log.Append(ctx, session.NewSessionInfo(name))
	return r, err
}

// sessionNameOf returns the name of a session: that of the last record which
// gives one, on whatever branch.
func sessionNameOf(cmd *cobra.Command, s session.Store) (name string, err error) {
	for e, err := range mentioning(cmd.Context(), s, `"session_info"`) {
		if err != nil {
			return "", err
		}
		if n, ok := e.SessionName(); ok {
			return own(n), nil
		}
	}
	return "", nil
}

func (r *nameReport) print(cmd *cobra.Command) error {
	rep := newReport(cmd)
	rep.row("session", "%s", r.File)
	switch {
	case r.Name == r.Was && r.Name == "":
		rep.row("name", "none, as before")
	case r.Name == r.Was:
		rep.row("name", "%s, as before", r.Name)
	case r.Name == "":
		rep.row("name", "none; it was %s", r.Was)
	case r.Was != "":
		rep.row("name", "%s; it was %s", r.Name, r.Was)
	default:
		rep.row("name", "%s", r.Name)
	}
	return rep.w.Flush()
}
