//go:build man

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra/doc"
)

// With the tag man the program writes its manual pages and completion scripts
// into the folder that is its only argument, for a release to pack:
//
//	go run -tags man ./cmd/clew dist/doc
func init() {
	if err := writeDocs(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "clew:", err)
		os.Exit(exitFailed)
	}
	os.Exit(exitDone)
}

func writeDocs(dir string) error {
	root := newRoot()
	root.DisableAutoGenTag = true
	for _, c := range append(root.Commands(), root) {
		// The generator takes it for Markdown, and help texts are laid out for 80 columns.
		c.Long = "```\n" + strings.ReplaceAll(c.Long, "```", "") + "\n```"
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	return errors.Join(
		os.MkdirAll(dir, 0o755),
		doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "clew", Manual: "clew", Date: &time.Time{}}, dir),
		root.GenBashCompletionFileV2(in("clew.bash"), true),
		root.GenFishCompletionFile(in("clew.fish"), true),
		root.GenPowerShellCompletionFileWithDesc(in("clew.ps1")),
		root.GenZshCompletionFile(in("_clew")),
	)
}
