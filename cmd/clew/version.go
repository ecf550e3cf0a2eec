package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/session"
)

// versionInfo is what version --json prints.
type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Format   int    `json:"format"`
}

func newVersion() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of clew",
		Example: "  clew version --json",
		GroupID: groupOther,
		Args:    argCount(0, 0),
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		v := readVersion()
		if *asJSON {
			return printJSON(cmd, v)
		}
		line := "clew " + v.Version
		if v.Revision != "" {
			line += " (" + v.Revision[:min(12, len(v.Revision))]
			if v.Modified {
				line += ", with changes"
			}
			line += ")"
		}
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s, session format %d, %s, %s\n", line, v.Format, v.Go, v.Platform)
		return err
	}
	return cmd
}

// readVersion tells the version from what the go command put into the binary.
func readVersion() versionInfo {
	v := versionInfo{
		Version: "unknown", Format: session.Version,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
