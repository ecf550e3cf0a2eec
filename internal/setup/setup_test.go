package setup

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/tailscale/hujson"
)

func options(t *testing.T, undo bool) Options {
	return Options{UserHome: t.TempDir(), Getenv: func(string) string { return "" }, Command: "clew", Undo: undo}
}

// written sets a program up, or undoes it, and returns what its files hold then, "-" for none.
func written(t *testing.T, program string, o Options, names ...string) []string {
	t.Helper()
	changes, err := Plan(program, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if err := c.Write(); err != nil {
			t.Fatal(err)
		}
	}
	var out []string
	for _, n := range names {
		data, err := os.ReadFile(filepath.Join(o.UserHome, n))
		if err != nil {
			data = []byte("-")
		}
		out = append(out, string(data))
	}
	return out
}

func put(t *testing.T, o Options, name, text string) {
	t.Helper()
	path := filepath.Join(o.UserHome, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestClaudeCode: what is written is what Claude Code reads.
func TestClaudeCode(t *testing.T) {
	o := options(t, false)
	o.Command = "/opt/my tools/clew"
	got := written(t, "claude-code", o, ".claude/settings.json", ".claude.json")
	want := `{
  "hooks": {
    "SessionStart": [
      {
        "matcher": "compact|resume",
        "hooks": [
          {
            "type": "command",
            "command": "\"/opt/my tools/clew\" hook claude-code",
            "timeout": 15
          }
        ]
      }
    ],
    "UserPromptSubmit": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "\"/opt/my tools/clew\" hook claude-code",
            "timeout": 15
          }
        ]
      }
    ]
  }
}
`
	if got[0] != want {
		t.Errorf("settings.json:\n%s", got[0])
	}
	if want := `{
  "mcpServers": {
    "clew": {
      "command": "/opt/my tools/clew",
      "args": [
        "mcp",
        "--program",
        "claude-code"
      ]
    }
  }
}
`; got[1] != want {
		t.Errorf(".claude.json:\n%s", got[1])
	}
}

// TestUndo: what was there stays as it is, comments, order and indentation, and undo gives
// it back. Done twice it is done once.
func TestUndo(t *testing.T) {
	for name, tc := range map[string]struct{ program, file, before string }{
		"no file": {"claude-code", ".claude/settings.json", "-"},
		"others' hooks": {"claude-code", ".claude/settings.json", `{
	"model": "opus", // the good one
	"hooks": {
		"SessionStart": [
			{"hooks": [{"type": "command", "command": "date"}]} // says when
		],
		"Stop": []
	},
	/* the end */
}
`},
		"on one line":      {"claude-code", ".claude/settings.json", `{"a":1,"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"date"}]}]}}`},
		"a comment alone":  {"gemini-cli", ".gemini/settings.json", "{\n  // nothing yet\n}\n"},
		"other servers":    {"gemini-cli", ".gemini/settings.json", "{\n    \"mcpServers\": {\n        \"x\": {\"command\": \"x\"}\n    },\n    \"z\": true\n}"},
		"opencode":         {"opencode", ".config/opencode/opencode.json", "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n}\n"},
		"a plugin":         {"opencode", ".config/opencode/plugins/clew.js", "-"},
		"an extension":     {"pi", ".pi/agent/extensions/clew.ts", "-"},
		"no toml":          {"codex", ".codex/config.toml", "-"},
		"toml":             {"codex", ".codex/config.toml", "model = \"x\" # mine\n\n[mcp_servers.other]\ncommand = \"o\"\n"},
		"no line end":      {"codex", ".codex/config.toml", "model = \"x\""},
		"with features":    {"codex", ".codex/config.toml", "[features]\nweb = true\n\n[tui]\nx = 1\n"},
		"hooks are set":    {"codex", ".codex/config.toml", "[features]\nhooks = false\n"},
		"ends of Windows":  {"codex", ".codex/config.toml", "a = 1\r\n[features]\r\nb = 2\r\n"},
		"blank line last":  {"codex", ".codex/config.toml", "a = 1\n\n"},
		"hooks of codex":   {"codex", ".codex/hooks.json", "{\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n"},
		"hooks.json alone": {"codex", ".codex/hooks.json", "-"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, false)
			if tc.before != "-" {
				put(t, o, tc.file, tc.before)
			}
			done := written(t, tc.program, o, tc.file)[0]
			if !strings.Contains(done, "clew") {
				t.Fatalf("nothing of clew in it:\n%s", done)
			}
			if strings.Contains(tc.before, "{") {
				if err := json.Unmarshal([]byte(tc.before), new(any)); err == nil && json.Unmarshal([]byte(done), new(any)) != nil {
					t.Errorf("it was plain JSON:\n%s", done)
				}
				if _, err := hujson.Parse([]byte(done)); err != nil {
					t.Errorf("%v:\n%s", err, done)
				}
			}
			for line := range strings.Lines(tc.before) {
				if i := strings.Index(line, "//"); i >= 0 && !strings.Contains(done, strings.TrimSpace(line[i:])) {
					t.Errorf("the comment %q is gone:\n%s", line[i:], done)
				}
			}
			if changes, err := Plan(tc.program, o); err != nil || len(changes) > 0 {
				t.Errorf("it is set up, and would be changed again: %v, %s", err, changes)
			}
			o.Undo = true
			after := written(t, tc.program, o, tc.file)[0]
			same := after == tc.before
			switch name {
			case "no line end":
				same = after == tc.before+"\n"
			case "on one line", "opencode": // white space and a comma that nothing follows are not kept
				var a, b any
				x, _ := hujson.Standardize([]byte(tc.before))
				same = json.Unmarshal([]byte(after), &a) == nil && json.Unmarshal(x, &b) == nil && reflect.DeepEqual(a, b)
			}
			if !same {
				t.Errorf("before:\n%q\nafter:\n%q\nbetween:\n%s", tc.before, after, done)
			}
			if changes, err := Plan(tc.program, o); err != nil || len(changes) > 0 {
				t.Errorf("it is undone, and would be changed again: %v", err)
			}
		})
	}
}

// TestCodexConfig: hooks are switched on in the table that is there, or in a new one.
func TestCodexConfig(t *testing.T) {
	for before, want := range map[string]string{
		"":                              "[features]\nhooks = true\n\n[mcp_servers.clew]\ncommand = \"clew\"\nargs = [\"mcp\", \"--program\", \"codex\"]\n",
		"[features]\nweb = true\n":      "[features]\nhooks = true # clew\nweb = true\n",
		"[features]\nhooks = true\n":    "[features]\nhooks = true\n\n# clew: begin",
		"features.hooks = false\na=1\n": "features.hooks = false\na=1\n\n# clew: begin; clew setup codex --undo removes it\n[mcp_servers.clew]",
	} {
		o := options(t, false)
		if before != "" {
			put(t, o, ".codex/config.toml", before)
		}
		if got := written(t, "codex", o, ".codex/config.toml")[0]; !strings.Contains(got, want) || strings.Count(got, "[features]") > 1 {
			t.Errorf("%q became\n%s\nwant in it\n%s", before, got, want)
		}
	}
}

// TestLeftAlone: what can't be understood, and what belongs to somebody else, stops the whole
// change.
func TestLeftAlone(t *testing.T) {
	for file, tc := range map[string]struct{ program, text, want string }{
		".claude/settings.json":            {"claude-code", "{broken", "nothing was changed"},
		".claude.json":                     {"claude-code", `{"mcpServers": []}`, `"mcpServers" in it is of another kind`},
		".gemini/settings.json":            {"gemini-cli", `[]`, "it is not an object"},
		".codex/config.toml":               {"codex", "[mcp_servers.clew]\ncommand = \"other\"\n", "a server called clew already"},
		".config/opencode/plugins/clew.js": {"opencode", "export const Mine = 1\n", "of another origin"},
	} {
		o := options(t, false)
		put(t, o, file, tc.text)
		if changes, err := Plan(tc.program, o); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, %s", file, err, changes)
		}
	}
}

// TestWriteOnlyWhatWasShown: a file that was changed meanwhile is not overwritten, and a link
// stays a link.
func TestWriteOnlyWhatWasShown(t *testing.T) {
	o := options(t, false)
	changes, err := Plan("gemini-cli", o)
	if err != nil || len(changes) != 1 {
		t.Fatal(changes, err)
	}
	put(t, o, ".gemini/settings.json", `{"x":1}`)
	if err := changes[0].Write(); err == nil || !strings.Contains(err.Error(), "changed meanwhile") {
		t.Errorf("%v", err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	put(t, o, "dotfiles/settings.json", `{}`)
	link := filepath.Join(o.UserHome, ".gemini/settings.json")
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(o.UserHome, "dotfiles/settings.json"), link); err != nil {
		t.Fatal(err)
	}
	got := written(t, "gemini-cli", o, "dotfiles/settings.json")[0]
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 || !strings.Contains(got, "clew") {
		t.Errorf("%v, %v:\n%s", info, err, got)
	}
}

// TestFolders: the variables of the programs are minded.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	for program, want := range map[string][]string{
		"claude-code": {"settings.json", ".claude.json"}, "codex": {"hooks.json", "config.toml"}, "pi": {"extensions/clew.ts"},
	} {
		o := options(t, false)
		o.Getenv = func(string) string { return dir }
		changes, err := Plan(program, o)
		if err != nil || len(changes) != len(want) {
			t.Fatal(changes, err)
		}
		for i, c := range changes {
			if c.Path != filepath.Join(dir, want[i]) {
				t.Errorf("%s: %s", program, c.Path)
			}
		}
	}
}

// TestPluginIsWhatSetupWrites: the plugin folder for Claude Code registers the same.
func TestPluginIsWhatSetupWrites(t *testing.T) {
	got := written(t, "claude-code", options(t, false), ".claude/settings.json", ".claude.json")
	for i, name := range []string{"hooks/hooks.json", ".mcp.json"} {
		data, err := os.ReadFile(filepath.Join("../../plugins/claude-code", name))
		if err != nil {
			t.Fatal(err)
		}
		var plugin, own any
		if json.Unmarshal(data, &plugin) != nil || json.Unmarshal([]byte(got[i]), &own) != nil || !reflect.DeepEqual(plugin, own) {
			t.Errorf("%s has %v, and setup writes %v", name, plugin, own)
		}
	}
}

// TestUsualFolderNamed: Claude Code has .claude.json in the folder that its variable names, also where that is the usual
// one.
func TestUsualFolderNamed(t *testing.T) {
	o := options(t, false)
	dir := filepath.Join(o.UserHome, ".claude")
	o.Getenv = func(string) string { return dir }
	changes, err := Plan("claude-code", o)
	if err != nil || len(changes) != 2 || changes[1].Path != filepath.Join(dir, ".claude.json") {
		t.Errorf("%+v, %v", changes, err)
	}
}
