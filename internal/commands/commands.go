// Package commands reads the slash commands and skills that users and projects write as
// Markdown files.
//
//	set := commands.Read(commands.Config{Dir: project, Home: home, User: filepath.Join(config, "clew")})
//	if c, ok := set.Find("review"); ok {
//		prompt := c.Expand("the last commit")
//	}
//
// A command is a file NAME.md in a folder commands, or FOLDER/NAME.md for the name
// FOLDER:NAME; a skill is a file NAME/SKILL.md in a folder skills. These folders are looked
// for in .clew, .claude and .agents of the project, from the folder where the agent works up
// to the one with .git; and in the folder of the user's settings, in ~/.claude and
// ~/.agents. A name is taken once: the user's counts before the project's, a nearer folder
// before one above it, and all before those that are built in.
//
// A file may begin with front matter between two lines of three dashes, of which
// description and argument-hint count.
package commands

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/internal/text"
)

// Source says where a command is from.
type Source string

// The sources.
const (
	FromUser    Source = "user"
	FromProject Source = "project"
	BuiltIn     Source = "built in"
)

// A Command is a prompt with a name.
type Command struct {
	Name        string `json:"name"`                  // without the slash
	Description string `json:"description,omitempty"` // one line
	Arguments   string `json:"arguments,omitempty"`   // what may follow the name, in words
	Skill       bool   `json:"skill,omitempty"`
	From        Source `json:"from"`
	Path        string `json:"-"` // of its file, "" for those that are built in
	Body        string `json:"-"`
}

// Config says where to look.
type Config struct {
	// Dir is the folder where the agent works. Home is the user's home folder, User the
	// folder of the user's settings; "" for none.
	Dir, Home, User string
}

// Set is all commands, sorted by name.
type Set struct {
	Commands []Command
	// Warnings are sentences for the user about what was passed over.
	Warnings []string
}

// The most that is read.
const (
	MaxFile     = 64 << 10 // bytes of a file
	maxCommands = 200
	maxEntries  = 1000 // names of a folder
	maxLine     = 200  // characters of a description
)

//go:embed builtin
var builtIn embed.FS

// Read finds all commands. What can't be read is passed over, with a warning.
func Read(c Config) (s Set) {
	if c.User != "" {
		s.folder(os.DirFS(c.User), ".", c.User, FromUser)
	}
	if c.Home != "" {
		s.folder(os.DirFS(c.Home), ".claude", c.Home, FromUser)
		s.folder(os.DirFS(c.Home), ".agents", c.Home, FromUser)
	}
	if c.Dir != "" {
		for _, dir := range settings.Above(filepath.Clean(c.Dir)) {
			if dir == c.Home {
				break // these are the user's
			}
			s.project(dir)
		}
	}
	entries, _ := builtIn.ReadDir("builtin")
	for _, e := range entries {
		data, _ := builtIn.ReadFile("builtin/" + e.Name())
		s.add(parse(strings.TrimSuffix(e.Name(), ".md"), string(data)), BuiltIn, "")
	}
	slices.SortFunc(s.Commands, func(a, b Command) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// Find returns the command with a name.
func (s Set) Find(name string) (Command, bool) {
	at := slices.IndexFunc(s.Commands, func(c Command) bool { return c.Name == name })
	if at < 0 {
		return Command{}, false
	}
	return s.Commands[at], true
}

// project reads the commands of a folder of the project. Nothing is read that lies outside
// of it, through whatever links.
func (s *Set) project(dir string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return
	}
	defer root.Close()
	for _, name := range []string{".clew", ".claude", ".agents"} {
		s.folder(root.FS(), name, dir, FromProject)
	}
}

// folder reads commands and skills of a folder dir in the folder top.
func (s *Set) folder(in fs.FS, dir, top string, from Source) {
	for _, pattern := range []string{"commands/*.md", "commands/*/*.md", "skills/*/SKILL.md"} {
		files, _ := fs.Glob(in, path.Join(dir, pattern)) // what can't be read has none
		for _, name := range files[:min(len(files), maxEntries)] {
			skill, folder := strings.HasPrefix(pattern, "skills"), path.Base(path.Dir(name))
			command := strings.TrimSuffix(path.Base(name), ".md")
			switch {
			case skill:
				command = folder
			case strings.Count(pattern, "/") == 2:
				command = folder + ":" + command
			}
			if !goodName().MatchString(command) {
				continue
			}
			full := filepath.Join(top, filepath.FromSlash(name))
			data, err := readFile(in, name)
			if err != nil {
				s.warn("%s is passed over: %v", full, err)
				continue
			}
			c := parse(command, data)
			c.Skill = skill
			s.add(c, from, full)
		}
	}
}

var goodName = text.Pattern(`^[A-Za-z0-9][A-Za-z0-9_.-]*(:[A-Za-z0-9][A-Za-z0-9_.-]*)?$`)

func readFile(in fs.FS, name string) (string, error) {
	info, err := fs.Stat(in, name)
	if err != nil {
		return "", err
	}
	switch {
	case !info.Mode().IsRegular():
		return "", errors.New("it is no file")
	case info.Size() > MaxFile:
		return "", fmt.Errorf("it has %d bytes, and may have %d", info.Size(), MaxFile)
	}
	data, err := fs.ReadFile(in, name)
	if err == nil && !utf8.Valid(data) {
		err = errors.New("it is not UTF-8")
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n"), err
}

func (s *Set) add(c Command, from Source, file string) {
	c.From, c.Path = from, file
	switch _, taken := s.Find(c.Name); {
	case taken:
	case c.Body == "":
		s.warn("%s is passed over: it says nothing", file)
	case len(s.Commands) == maxCommands && from != BuiltIn:
		s.warn("there are more than %d commands and skills; the rest is passed over", maxCommands)
	case len(s.Commands) < maxCommands || from == BuiltIn:
		s.Commands = append(s.Commands, c)
	}
}

func (s *Set) warn(format string, args ...any) {
	if w := fmt.Sprintf(format, args...); !slices.Contains(s.Warnings, w) {
		s.Warnings = append(s.Warnings, w)
	}
}

// parse takes the front matter off a file.
func parse(name, data string) Command {
	data = strings.TrimPrefix(data, "\ufeff")
	var values map[string]string
	if rest, ok := strings.CutPrefix(data, "---\n"); ok {
		if head, body, ok := strings.Cut(rest, "\n---"); ok {
			values = frontMatter(head)
			_, data, _ = strings.Cut(body, "\n") // behind the rest of the line
		}
	}
	body := strings.TrimSpace(data)
	return Command{Name: name, Body: body, Description: line(cmp.Or(values["description"], body)), Arguments: line(values["argument-hint"])}
}

// frontMatter reads lines of "key: value". A value goes on in lines that are indented.
func frontMatter(head string) map[string]string {
	values := map[string]string{}
	key := ""
	for l := range strings.Lines(head) {
		l = strings.TrimRight(l, "\n")
		if strings.HasPrefix(l, " ") || strings.HasPrefix(l, "\t") {
			values[key] += " " + strings.TrimSpace(l)
			continue
		}
		var value string
		key, value, _ = strings.Cut(l, ":")
		if value = strings.TrimSpace(value); len(value) > 0 && len(value) <= 2 && strings.ContainsAny(value[:1], "|>") {
			value = "" // what follows in indented lines is the value
		}
		key = strings.TrimSpace(key)
		values[key] = value
	}
	for k, v := range values {
		v = strings.TrimSpace(v)
		if n := len(v); n > 1 && (v[0] == '"' || v[0] == '\'') && v[n-1] == v[0] {
			v = v[1 : n-1]
		}
		values[k] = v
	}
	return values
}

// line is a text as one line that is short and safe to print.
func line(s string) string {
	s = text.FirstLine(s)
	if r := []rune(s); len(r) > maxLine {
		s = string(r[:maxLine-1]) + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, strings.TrimLeft(s, "# "))
}

var placeholder = text.Pattern(`\$(ARGUMENTS|[1-9])`)

// Expand returns the prompt with arguments: $ARGUMENTS stands for all of them, $1 to $9
// for one word each. Where the file has none of these, they are added at its end.
func (c Command) Expand(arguments string) string {
	arguments = strings.TrimSpace(arguments)
	words := strings.Fields(arguments)
	used := false
	body := placeholder().ReplaceAllStringFunc(c.Body, func(ref string) string {
		used = true
		if ref == "$ARGUMENTS" {
			return arguments
		}
		if n := int(ref[1] - '1'); n < len(words) {
			return words[n]
		}
		return ""
	})
	if !used && arguments != "" {
		body += "\n\n" + arguments
	}
	return strings.TrimSpace(body)
}
