// Package setup puts clew into the settings of other agents, and takes it out again: hooks
// that give back what a compaction lost, and the MCP server that remembers.
//
//	changes, err := setup.Plan("claude-code", setup.Options{UserHome: home, Getenv: os.Getenv, Command: "clew"})
//	for _, c := range changes {
//		err = c.Write()
//	}
package setup

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/sessions"
	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/transcript"
)

// Options say what is set up, and where.
type Options struct {
	Getenv   func(string) string
	UserHome string
	// Command is how clew is started: its name, or its path.
	Command string
	// Undo takes clew out again.
	Undo bool
}

// Change is a file as it is and as it will be.
type Change struct {
	Path          string
	Before, After []byte // nil where there is no file
}

// file is a file that a program reads, and how clew is put into it.
type file struct {
	path []string // below the program's folder
	home []string // below the user's home instead, where no variable names the program's folder
	edit func(data []byte, o *Options) ([]byte, error)
}

// at returns the path of the file.
func (f *file) at(program string, o *Options) string {
	name := transcript.Format(program)
	dir := sessions.ProgramDir(name, o.Getenv, o.UserHome)
	// Without a user's home a folder is relative, unless a variable names it.
	if f.home != nil && !filepath.IsAbs(sessions.ProgramDir(name, o.Getenv, "")) {
		return filepath.Join(append([]string{o.UserHome}, f.home...)...)
	}
	return filepath.Join(append([]string{dir}, f.path...)...)
}

var (
	//go:embed files/pi.ts
	piExtension string
	//go:embed files/opencode.js
	opencodePlugin string
)

// programs are those that can be set up. What their settings are called is from their
// documentation.
var programs = []struct {
	name  string
	files []file
}{
	{"claude-code", []file{
		{[]string{"settings.json"}, nil, hooks("claude-code")},
		{[]string{".claude.json"}, []string{".claude.json"}, server("mcpServers", "claude-code", stdio)},
	}},
	{"codex", []file{
		{[]string{"hooks.json"}, nil, hooks("codex")},
		{[]string{"config.toml"}, nil, codexConfig},
	}},
	{"opencode", []file{ // whose settings are apart from its sessions
		{nil, []string{".config", "opencode", "opencode.json"}, server("mcp", "opencode", local)},
		{nil, []string{".config", "opencode", "plugins", "clew.js"}, whole(&opencodePlugin)},
	}},
	{"pi", []file{{[]string{"extensions", "clew.ts"}, nil, whole(&piExtension)}}},
	{"gemini-cli", []file{{[]string{"settings.json"}, nil, server("mcpServers", "gemini-cli", stdio)}}},
}

// Programs returns the names of the programs that can be set up.
func Programs() (names []string) {
	for _, p := range programs {
		names = append(names, p.name)
	}
	return names
}

// Plan returns the files that have to change for a program; none where everything is as it
// should be. It writes nothing. The error is of a file that can't be read or understood.
func Plan(program string, o Options) (changes []Change, err error) {
	i := slices.IndexFunc(programs, func(p struct {
		name  string
		files []file
	},
	) bool {
		return p.name == program
	})
	if i < 0 {
		return nil, fmt.Errorf("there is no program %q; there are %s", program, strings.Join(Programs(), ", "))
	}
	for _, f := range programs[i].files {
		c := Change{Path: f.at(program, &o)}
		if c.Before, err = os.ReadFile(c.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if c.After, err = f.edit(c.Before, &o); err != nil {
			return nil, fmt.Errorf("%s: %w; nothing was changed", c.Path, err)
		}
		if !bytes.Equal(c.Before, c.After) || (c.Before == nil) != (c.After == nil) {
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// Write makes the change, if the file is still as it was. A link stays a link.
func (c Change) Write() error {
	path := c.Path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	now, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !bytes.Equal(now, c.Before) {
		return fmt.Errorf("%s was changed meanwhile; run it again", c.Path)
	}
	if c.After == nil {
		return os.Remove(path)
	}
	perm := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		perm = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return vfs.Replace(vfs.OS{}, path, perm, c.After)
}

// shell is the command in a form that a shell takes, on Windows too, where hooks run in bash.
func (o *Options) shell() string {
	c := filepath.ToSlash(o.Command)
	if strings.ContainsAny(c, " ()&'$") {
		return `"` + strings.ReplaceAll(c, "$", `\$`) + `"`
	}
	return c
}

// whole is a file that is clew's alone. One of somebody else is left as it is.
func whole(template *string) func([]byte, *Options) ([]byte, error) {
	return func(data []byte, o *Options) ([]byte, error) {
		command, err := json.Marshal(o.Command)
		if err != nil {
			return nil, err
		}
		mark, _, _ := strings.Cut(*template, "\n")
		switch ours := bytes.HasPrefix(data, []byte(mark)); {
		case data != nil && !ours && o.Undo:
			return data, nil
		case data != nil && !ours:
			return nil, errors.New("there is a file of another origin; move it away")
		case o.Undo:
			return nil, nil
		}
		return []byte(strings.ReplaceAll(*template, `"CLEW"`, string(command))), nil
	}
}

// The marks around what is added to Codex's config.toml, and behind a line in a table that
// is there already.
const (
	tomlBegin = "# clew: begin; clew setup codex --undo removes it"
	tomlEnd   = "# clew: end"
	tomlLine  = " # clew"
)

// codexConfig adds a block at the end of config.toml. Codex runs hooks where the feature is
// on.
func codexConfig(data []byte, o *Options) ([]byte, error) {
	end := "\n"
	if bytes.Contains(data, []byte("\r\n")) {
		end = "\r\n"
	}
	var lines []string
	features, hooksSet := -1, false
	inside, table := false, ""
	for line := range strings.Lines(string(data)) {
		text := strings.TrimSpace(line)
		switch text {
		case tomlBegin:
			inside = true
		case tomlEnd:
			inside = false
			continue
		}
		if inside || strings.HasSuffix(text, tomlLine) {
			continue
		}
		if name, ok := strings.CutPrefix(text, "["); ok {
			table = strings.TrimRight(strings.Split(name, "]")[0], " ")
		}
		key, _, _ := strings.Cut(text, "=")
		key = strings.TrimSpace(key)
		switch {
		case text == "[features]":
			features = len(lines) + 1
		case table == "features" && (key == "hooks" || key == "codex_hooks"), table == "" && (key == "features.hooks" || key == "features.codex_hooks"):
			hooksSet = true
		case table == "mcp_servers.clew" && !o.Undo:
			return nil, errors.New("it has a server called clew already; remove it first")
		}
		lines = append(lines, line)
	}
	rest := strings.Join(lines, "")
	if !strings.HasSuffix(string(data), tomlEnd+end) {
		// Nothing of ours stood at the end.
	} else if trimmed, ok := strings.CutSuffix(rest, end+end); ok {
		rest = trimmed + end // the line that set the block off
	} else if rest == end {
		rest = ""
	}
	if o.Undo {
		if rest == "" && len(data) > 0 {
			return nil, nil
		}
		if data == nil {
			return nil, nil
		}
		return []byte(rest), nil
	}
	block := []string{tomlBegin}
	if !hooksSet && features >= 0 && rest != "" {
		all := strings.SplitAfter(rest, "\n")
		rest = strings.Join(slices.Insert(all, features, "hooks = true"+tomlLine+end), "")
	} else if !hooksSet {
		block = append(block, "[features]", "hooks = true", "")
	}
	command, err := json.Marshal(o.Command) // a basic string of TOML as well
	if err != nil {
		return nil, err
	}
	block = append(block, "[mcp_servers.clew]", "command = "+string(command), `args = ["mcp", "--program", "codex"]`, tomlEnd, "")
	switch {
	case rest == "":
	case !strings.HasSuffix(rest, "\n"):
		rest += end + end
	default:
		rest += end
	}
	return []byte(rest + strings.Join(block, end)), nil
}
