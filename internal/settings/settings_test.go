package settings_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/hook"
	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/session"
)

// place is a user's file and a project with a folder in it.
type place struct {
	user, project, dir string
}

func newPlace(t *testing.T) place {
	t.Helper()
	top := t.TempDir()
	p := place{
		user:    filepath.Join(top, "config", "settings.json"),
		project: filepath.Join(top, "repo", ".clew", "settings.json"),
		dir:     filepath.Join(top, "repo", "a", "b"),
	}
	for _, d := range []string{p.dir, filepath.Join(top, "repo", ".git")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (p place) load(env []string, flags map[string]string) (*settings.Settings, error) {
	return settings.Load(settings.Options{UserFile: p.user, Dir: p.dir, Environ: env, Flags: flags})
}

func (p place) must(t *testing.T, env ...string) *settings.Settings {
	t.Helper()
	s, err := p.load(env, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func policy(t *testing.T, s *settings.Settings) compact.Policy {
	t.Helper()
	p, err := s.Policy()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func value(s *settings.Settings, key string) string {
	for _, v := range s.All() {
		if v.Key == key {
			return fmt.Sprintf("%s from %s", v.Value, v.Origin.Source)
		}
	}
	return "?"
}

// Each source counts before those below it.
func TestPrecedence(t *testing.T) {
	p := newPlace(t)
	steps := []struct {
		add  func()
		want string
	}{
		{func() {}, "16384, at most 25% from default"},
		{func() { write(t, p.user, `{"preset": "clew", "reserve": 1000}`) }, "1000 from user"},
		{func() { write(t, p.project, `{"reserve": "2k"}`) }, "2k from project"},
	}
	for _, s := range steps {
		s.add()
		if got := value(p.must(t), "reserve"); got != s.want {
			t.Errorf("got %s, want %s", got, s.want)
		}
	}
	env := []string{"CLEW_RESERVE=3000"}
	if got := value(p.must(t, env...), "reserve"); got != "3000 from environment" {
		t.Errorf("got %s", got)
	}
	s, err := p.load(env, map[string]string{"reserve": "4%"})
	if err != nil || value(s, "reserve") != "4% from flag" || policy(t, s).Reserve != compact.Percent(4) {
		t.Errorf("%v %s", err, value(s, "reserve"))
	}
	if got := value(s, "preset"); got != "clew from user" {
		t.Errorf("got %s", got)
	}
	if got := value(p.must(t, "CLEW_PRESET=synapse"), "trigger"); got != "150000 from preset" {
		t.Errorf("got %s", got)
	}
}

// The names that other systems have for their settings work here.
func TestOtherNames(t *testing.T) {
	p := newPlace(t)
	write(t, p.user, `{
		// as in pi's settings
		"preset": "pi",
		"compaction": {"enabled": false, "reserveTokens": 8192, "keepRecentTokens": 10000,},
	}`)
	s := p.must(t, "SYNAPSE_MAX_CONTEXT_WINDOW=1000000", "CONTEXT_WINDOW_TOKENS=5000")
	if got := policy(t, s); s.Auto || got.Reserve != compact.Tokens(8192) || got.Keep != compact.Tokens(10_000) || got.Window != 0 {
		t.Errorf("pi: auto %v, %+v", s.Auto, got)
	}
	if cfg, err := s.Config(); err != nil || !cfg.NoAuto {
		t.Errorf("pi: %+v %v", cfg.NoAuto, err)
	}
	os.Remove(p.user)

	s = p.must(t, "CLEW_PRESET=synapse", "SYNAPSE_MAX_CONTEXT_WINDOW=180000", "SYNAPSE_OFFLOAD_THRESHOLD=120000", "SYNAPSE_OFFLOAD_SCAN_RATIO=0.25",
		"SYNAPSE_OFFLOAD_MIN_CHARS=0", "SYNAPSE_COMPACT_TRIGGER_THRESHOLD=9000", "SYNAPSE_COMPACT_TARGET_TOKENS=5000",
		"SYNAPSE_COMPACT_PRESERVE_COUNT=7", "SYNAPSE_COMPACT_MODEL=small", "SYNAPSE_COMPACT_RETRY_COUNT=4", "SYNAPSE_COMPACT_COOLDOWN_STEPS=9", "COMPACT_TRIGGER=1")
	got := policy(t, s)
	if got.Window != 180_000 || got.Trigger != compact.Tokens(120_000) || got.Summary != compact.Tokens(5000) || got.KeepMessages != 7 ||
		got.Synapse != (compact.SynapsePolicy{Scan: .25, MinChars: -1, MinFreed: 9000, Cooldown: 9}) || s.SummaryModel != "small" || got.Tries != 4 || !s.Auto {
		t.Errorf("synapse: %+v", got)
	}

	s = p.must(t, "CLEW_PRESET=turns", "CONTEXT_WINDOW_TOKENS=32000", "COMPACT_TRIGGER=0.8", "COMPACT_TARGET=12000", "KEEP_LAST_TURNS=3", "MAX_COMPACTION_ATTEMPTS=1")
	got = policy(t, s)
	if got.Window != 32_000 || got.Trigger != compact.Percent(80) || got.Target != compact.Tokens(12_000) || got.KeepTurns != 3 || got.MaxPasses != 1 {
		t.Errorf("turns: %+v", got)
	}
	s = p.must(t, "CLEW_PRESET=turns", "CONTEXT_WINDOW_TOKENS=32000", "CLEW_WINDOW=16k")
	if got := policy(t, s); got.Window != 16_000 {
		t.Errorf("the name of another program counts before ours: %d", got.Window)
	}
	write(t, p.project, `{"window": 40000}`)
	if got := policy(t, p.must(t, "CLEW_PRESET=turns", "CONTEXT_WINDOW_TOKENS=32000")); got.Window != 32_000 {
		t.Errorf("the project counts before the environment: %d", got.Window)
	}
}

// What is wrong is said once, with the place, the setting and what to do.
func TestMistakes(t *testing.T) {
	cases := []struct{ text, want string }{
		{"{\n  \"reserv\": 5\n}", `:2: reserv: there is no such setting; did you mean "reserve"?`},
		{`{"compaction": {"reserve_tokens": 5}}`, `:1: compaction.reserve_tokens: there is no such setting; did you mean "compaction.reserveTokens"?`},
		{"{\"a\": {\n\"b\": 1}}", ":1: a: there is no such setting; docs/settings.md"},
		{"{\n\n\"reserve\": \"much\"}", `:3: reserve: "much" is no amount: write tokens as 20000`},
		{`{"reserve": -5}`, ":1: reserve: "},
		{`{"reserve": null}`, ":1: reserve: it is null, and must be a number"},
		{`{"reserve": [5]}`, ":1: reserve: it is [5], and must be"},
		{`{"reserve": {}}`, ":1: reserve: it is an object"},
		{`{"window": 5}`, ":1: window: it is 5, and must be at least 1000"},
		{`{"window": "50%"}`, ":1: window: \"50%\" is no number"},
		{`{"keepTurns": 0}`, ":1: keepTurns: it is 0, and must be at least 1"},
		{`{"auto": "maybe"}`, ":1: auto: write true or false"},
		{`{"preset": "py"}`, `:1: preset: there is no preset "py"; there are clew, pi`},
		{`{"template": "x"}`, ":1: template: "},
		{`{"synapse": {"scanRatio": 2}}`, ":1: synapse.scanRatio: \"2\" is no share"},
		{"{\"reserve\": 5,\n\"reserve\": 6}", ":2: reserve: it is in line 1 too"},
		{"{\"reserve\": 5,\n\"compaction\": {\"reserveTokens\": 6}}", ":2: compaction.reserveTokens: line 1 sets the same"},
		{`{"reserve": 5`, ":1: this is no JSON: it ends too early"},
		{"{\"reserve\": 5\n\"keep\": 5}", ":2: this is no JSON: "},
		{`{"reserve": 5} 7`, ":1: something follows"},
		{`[1]`, ":1: it is no JSON object"},
		{`{/* never ends`, ":1: this is no JSON"},
		{"{\"x\": \"\xff\"}", ": it is not UTF-8"},
		{strings.Repeat(`{"models":`, 50_000), ":1: objects are put too deep"},
		{`{"models": 5}`, ":1: models: it must be an object"},
		{`{"models": {"m": 5}}`, ":1: models.m: it must be an object"},
		{`{"models": {"": {"window": 5000}}}`, "a model without a name"},
		{`{"models": {"m": {"windw": 5000}}}`, `:1: models.m.windw: there is no such setting; did you mean "window"?`},
		{`{"models": {"m": {"keep": "x"}}}`, `:1: models.m.keep: "x" is no amount`},
		{`{"prices": {"m": {"input": -1}}}`, ":1: prices.m.input: \"-1\" is no price"},
		{`{"prices": {"m": {"in": 1}}}`, ":1: prices.m.in: there is no such setting"},
		{`{"hooks": {}}`, ":1: hooks: it must be a list"},
		{`{"hooks": [5]}`, ":1: hooks[0]: it must be an object"},
		{`{"hooks": [{"event": "context", "command": "x"}, {"event": "contxt", "command": "x"}]}`, `:1: hooks[1]: hook x for contxt: there is no event "contxt"`},
		{`{"hooks": [{"event": "context", "command": "x", "cmd": 1}]}`, `:1: hooks[0].cmd: there is no such setting; there are args, command`},
		{`{"hooks": [{"event": "context"}]}`, "names no command"},
		{`{"hooks": [{"event": "context", "command": null}]}`, "names no command"},
		{`{"hooks": [{"event": "context", "command": "x", "timeout": "soon"}]}`, ":1: hooks[0].timeout: it must be a time above 0"},
		{`{"hooks": [{"event": "context", "command": "x", "timeout": 0}]}`, "it must be a time above 0"},
		{`{"trustProjectHooks": 5}`, ":1: trustProjectHooks: it must be true, false, or a list"},
		{`{"trustProjectHooks": ["repo"]}`, `"repo" is no absolute path`},
		{`{"maxBytes": 500}`, ":1: maxBytes: it is 500, and must be at least 10000"},
		{`{"model": "anthropic/"}`, `:1: model: "anthropic/" names no model`},
		{`{"reasoning": "much"}`, `:1: reasoning: there is no level of reasoning "much"; there are default, none`},
		{`{"agent": {"mode": "yolo"}}`, `:1: agent.mode: there is no mode "yolo"; there are plan, ask, edits, all`},
		{`{"agent": {"mod": "ask"}}`, `:1: agent.mod: there is no such setting; did you mean "agent.mode"?`},
		{`{"agent": {"maxTurns": 0}}`, ":1: agent.maxTurns: it is 0, and must be at least 1"},
		{`{"agent": {"background": "80"}}`, `:1: agent.background: "80" is no share of the trigger`},
		{`{"agent": {"background": -0.1}}`, "is no share of the trigger"},
		{`{"agent": {"background": "NaN"}}`, "is no share of the trigger"},
		{`{"agent": {"toolOutput": 10}}`, ":1: agent.toolOutput: it is 10, and must be at least 1000"},
		{`{"agent": {"idle": -1}}`, `:1: agent.idle: "-1" is no time`},
		{`{"agent": {"idle": "1e300"}}`, `:1: agent.idle: "1e300" is no time`},
		{`{"agent": {"idle": "NaN"}}`, `:1: agent.idle: "NaN" is no time`},
		{`{"agent": {"idle": "9999h"}}`, "more than 30 days"},
		{`{"ui": {"theme": "pink"}}`, `:1: ui.theme: there is no theme "pink"; there are auto, light, dark, none`},
		{`{"ui": {"screenReader": "maybe"}}`, ":1: ui.screenReader: write true or false"},
		{`{"ui": {"bell": "maybe"}}`, ":1: ui.bell: write true or false"},
		{`{"ui": {"compactPreview": 3}}`, ":1: ui.compactPreview: write true or false"},
		{`{"mcpServer": {}}`, `did you mean "mcpServers"?`},
		{`{"providers": []}`, ":1: providers: it must be an object with a provider for each key"},
		{`{"providers": {"a/b": {}}}`, `"a/b" is no name of a provider`},
		{`{"providers": {"x": 5}}`, ":1: providers.x: it must be an object"},
		{`{"providers": {"x": {"baseUrl": "http://x"}}}`, `:1: providers.x.baseUrl: there is no such setting; did you mean "baseURL"?`},
		{`{"providers": {"x": {"api": "soap"}}}`, `:1: providers.x.api: there is no API "soap"; there are anthropic-messages, openai-completions`},
		{`{"providers": {"x": {"keyEnv": 5}}}`, ":1: providers.x.keyEnv: it must be a text"},
		{`{"providers": {"x": {"baseURL": " "}}}`, ":1: providers.x.baseURL: it is empty"},
		{`{"providers": {"x": {"headers": {"A": "b\nC: d"}}}}`, ":1: providers.x.headers.A: it has a line break"},
		{`{"providers": {"x": {"headers": {"A b": "c"}}}}`, `"A b" is no name`},
		{`{"permissions": []}`, ":1: permissions: it must be an object"},
		{`{"permissions": {"alow": []}}`, `:1: permissions.alow: there is no such setting; did you mean "allow"?`},
		{"{\"permissions\": {\n\"deny\": \"bash\"}}", ":2: permissions.deny: it must be a list of texts"},
		{`{"permissions": {"ask": ["bash", ""]}}`, ":1: permissions.ask: number 2 is empty"},
		{`{"permissions": {"ask": [null]}}`, ":1: permissions.ask: number 1 is empty"},
		{`{"mcpServers": 5}`, ":1: mcpServers: it must be an object with a server for each key"},
		{`{"mcpServers": {"": {"command": "x"}}}`, "a server without a name"},
		{`{"mcpServers": {"s": {}}}`, ":1: mcpServers.s: it names neither a command nor a url"},
		{`{"mcpServers": {"s": {"command": "x", "url": "http://x"}}}`, ":1: mcpServers.s: it names a command and a url"},
		{`{"mcpServers": {"s": {"url": "http://x", "args": []}}}`, "are of a command"},
		{`{"mcpServers": {"s": {"command": "x", "headers": {}}}}`, "headers are of a url"},
		{`{"mcpServers": {"s": {"command": ["x"]}}}`, ":1: mcpServers.s.command: it must be a text"},
		{`{"mcpServers": {"s": {"command": "x", "timeout": -1}}}`, `:1: mcpServers.s.timeout: it must be a time above 0`},
		{`{"mcpServers": {"s": {"command": "x", "enabled": "yes"}}}`, `:1: mcpServers.s.enabled: it must be true or false`},
		{`{"mcpServers": {"s": {"command": "x", "env": ["A=b"]}}}`, `:1: mcpServers.s.env: it must be an object of texts`},
		{`{"mcpServers": {"s": {"command": "x", "disabled": true}}}`, `:1: mcpServers.s.disabled: there is no such setting; there are args, command, cwd, enabled`},
	}
	p := newPlace(t)
	for _, c := range cases {
		write(t, p.user, c.text)
		_, err := p.load(nil, nil)
		var e *settings.Error
		if !errors.As(err, &e) || e.File != p.user || !strings.HasPrefix(err.Error(), p.user+":") || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.80s:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
	os.Remove(p.user)
	for variable, want := range map[string]string{
		"CLEW_RESERVE=x":  `environment variable CLEW_RESERVE: "x" is no amount`,
		"CLEW_PRESET=x":   `environment variable CLEW_PRESET: there is no preset "x"`,
		"CLEW_WINDOW=10%": "environment variable CLEW_WINDOW: ",
	} {
		if _, err := p.load([]string{variable}, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", variable, err)
		}
	}
	if _, err := p.load([]string{"CLEW_PRESET=turns", "COMPACT_TARGET=x"}, nil); err == nil || !strings.HasPrefix(err.Error(), "environment variable COMPACT_TARGET: ") {
		t.Errorf("%v", err)
	}
	for flag, want := range map[string]string{"keep": `--keep: "x" is no amount`, "nothing": "--nothing: no setting"} {
		if _, err := p.load(nil, map[string]string{flag: "x"}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
	s := p.must(t, "CLEW_RESREVE=5", "CLEW_DATA_DIR=/x", "RESERVE=5")
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "CLEW_RESERVE?") {
		t.Errorf("warnings %q", s.Warnings)
	}
}

func TestComments(t *testing.T) {
	p := newPlace(t)
	write(t, p.user, "\ufeff// first\n{ /* a \"quoted\" , } */ \"instructions\": \"// no comment /* here */ , }\", // last\n \"reserve\"/**/:/**/5000 , \n}\n// end")
	s := p.must(t)
	if got := policy(t, s); got.Instructions != "// no comment /* here */ , }" || got.Reserve != compact.Tokens(5000) {
		t.Errorf("%+v", got)
	}
	for _, v := range s.All() {
		if v.Key == "reserve" && v.Origin.Line != 3 {
			t.Errorf("line %d", v.Origin.Line)
		}
	}
	for _, empty := range []string{"", " \n", "// nothing\n", "{}"} {
		write(t, p.user, empty)
		p.must(t)
	}
}

// I12: what a project says can't run a program or send the conversation elsewhere,
// unless the user said so.
func TestProjectsAreNotTrusted(t *testing.T) {
	p := newPlace(t)
	write(t, p.project, `{"reserve": 5000, "summarizer": {"model": "other/model"}, "hooks": [{"event": "session_start", "command": "./evil.sh"}]}`)
	top := filepath.Dir(filepath.Dir(p.project))
	elsewhere := []string{"", `{}`, `{"trustProjectHooks": false}`, fmt.Sprintf(`{"trustProjectHooks": [%q]}`, top+"x"), fmt.Sprintf(`{"trustProjectHooks": [%q]}`, filepath.Dir(top))}
	for _, user := range elsewhere {
		write(t, p.user, user)
		s := p.must(t, "CLEW_TRUST_PROJECT_HOOKS=true")
		if len(s.Hooks) != 0 || s.SummaryModel != "" || len(s.Warnings) != 2 || !strings.Contains(strings.Join(s.Warnings, "\n"), fmt.Sprintf("put %q into trustProjectHooks", top)) {
			t.Errorf("user says %s: %d hooks, model %q, %q", user, len(s.Hooks), s.SummaryModel, s.Warnings)
		}
		if policy(t, s).Reserve != compact.Tokens(5000) {
			t.Error("what is harmless does not count")
		}
	}
	for _, user := range []string{`{"trustProjectHooks": true}`, fmt.Sprintf(`{"trustProjectHooks": ["/nowhere", %q]}`, top+"/")} {
		write(t, p.user, user)
		s := p.must(t)
		if len(s.Hooks) != 1 || s.Hooks[0].Dir != filepath.Dir(p.project) || s.SummaryModel != "other/model" || len(s.Warnings) != 0 {
			t.Errorf("user says %s: %+v %q", user, s.Hooks, s.Warnings)
		}
	}
	write(t, p.project, `{"trustProjectHooks": true}`)
	if _, err := p.load(nil, nil); err == nil || !strings.Contains(err.Error(), "can't trust itself") {
		t.Errorf("%v", err)
	}
}

// The project's file is looked for up to the folder with .git, and not beyond.
func TestProjectFile(t *testing.T) {
	p := newPlace(t)
	top := filepath.Dir(filepath.Dir(p.project))
	above := filepath.Join(filepath.Dir(top), ".clew", "settings.json")
	write(t, above, `{"reserve": 1}`)
	if got := value(p.must(t), "reserve"); !strings.HasSuffix(got, "default") {
		t.Errorf("a file above the project counts: %s", got)
	}
	write(t, p.project, `{"reserve": 2}`)
	nearer := filepath.Join(filepath.Dir(p.dir), ".clew", "settings.json")
	write(t, nearer, `{"reserve": 3}`)
	if got := value(p.must(t), "reserve"); got != "3 from project" {
		t.Errorf("%s", got)
	}
	if err := os.RemoveAll(filepath.Join(top, ".git")); err != nil {
		t.Fatal(err)
	}
	if got := value(p.must(t), "reserve"); !strings.HasSuffix(got, "default") {
		t.Errorf("without .git a file above counts: %s", got)
	}
	p.dir = filepath.Dir(filepath.Dir(nearer))
	if got := value(p.must(t), "reserve"); got != "3 from project" {
		t.Errorf("%s", got)
	}
	if err := os.Remove(nearer); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(nearer, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := p.load(nil, nil); err == nil || !strings.Contains(err.Error(), "it is no file") {
		t.Errorf("%v", err)
	}
}

func TestModelsPricesHooks(t *testing.T) {
	p := newPlace(t)
	write(t, p.user, `{
		"models": {"anthropic/claude": {"window": "1M", "keep": "10%"}, "small": {"trigger": 20000, "reserve": "5%", "target": "30%"}},
		"prices": {"small": {"input": 0.5, "output": 2, "cacheRead": 0.05, "cacheWrite": 0.6}},
		"hooks": [{"event": "tool_result", "command": "redact", "args": ["-x"], "timeout": "5s", "env": ["A"], "required": true, "maxOutput": 100, "shell": null}],
		"keep": 7000,
	}`)
	write(t, p.project, `{"window": 90000, "models": {"anthropic/claude": {"window": 500000}}}`)
	s := p.must(t)
	cfg, err := s.Config()
	if err != nil || len(cfg.Hooks) != 1 || len(cfg.Models) != 2 {
		t.Fatalf("%v %+v", err, cfg.Models)
	}
	base := policy(t, s)
	of := func(s *settings.Settings, provider, model string, said ...string) compact.Policy {
		c := clew.Config{Policy: base, Models: s.Overrides(said...)}
		p, _ := c.PolicyFor(session.Model{Provider: provider, ID: model})
		return p
	}
	if got := of(s, "anthropic", "claude"); got.Window != 500_000 || got.Keep != compact.Percent(10) {
		t.Errorf("%+v", got)
	}
	if got := of(s, "anthropic", "claude", "window", "keep"); got.Window != 90_000 || got.Keep != compact.Tokens(7000) {
		t.Errorf("%+v", got)
	}
	if got := of(s, "other", "small"); got.Trigger != compact.Tokens(20_000) || got.Reserve != compact.Percent(5) || got.Target != compact.Percent(30) {
		t.Errorf("%+v", got)
	}
	if got := of(p.must(t, "CLEW_WINDOW=9000"), "anthropic", "claude"); got.Window != 90_000 || got.Keep != compact.Percent(10) {
		t.Errorf("the environment does not count before a file's model: %+v", got)
	}
	if got := s.Prices["small"]; got != (settings.Price{Input: .5, Output: 2, CacheRead: .05, CacheWrite: .6}) {
		t.Errorf("%+v", got)
	}
	if h := s.Hooks[0]; h.Event != hook.ToolResult || h.Command != "redact" || h.Timeout.Seconds() != 5 || !h.Required || h.MaxOutput != 100 || h.Args[0] != "-x" || h.Env[0] != "A" {
		t.Errorf("%+v", h)
	}
	var rows []string
	for _, v := range s.All()[len(settings.Keys()):] {
		rows = append(rows, v.Key+"="+v.Value+" "+string(v.Origin.Source))
	}
	want := "models.anthropic/claude.window=500000 project|models.anthropic/claude.keep=10% user|models.small.trigger=20000 user|models.small.reserve=5% user|models.small.target=30% user|" +
		"prices.small.input=0.5 user|prices.small.output=2 user|prices.small.cacheRead=0.05 user|prices.small.cacheWrite=0.6 user|hooks[0] tool_result=redact -x user"
	if got := strings.Join(rows, "|"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestKeysAreDocumented: the lists in docs/settings.md are those of the table in Go.
// UPDATE=1 writes them.
func TestKeysAreDocumented(t *testing.T) {
	const name = "../../docs/settings.md"
	doc, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var keys strings.Builder
	others := map[string]string{}
	for _, k := range settings.Keys() {
		flag := ""
		if k.Flag != "" {
			flag = ", `--" + k.Flag + "`"
		}
		unit := ""
		if k.Unit != "" {
			unit = k.Unit + "; "
		}
		fmt.Fprintf(&keys, "- `%s`, `%s`%s: %s (%s%s)\n", k.Name, k.Env, flag, k.Text, unit, k.Default)
		for _, o := range k.Other {
			others[o.Preset] += fmt.Sprintf("- `%s`: `%s`\n", o.Name, k.Name)
		}
	}
	text := string(doc)
	for _, list := range []string{keys.String(), others[""], others[compact.PresetSynapse], others[compact.PresetTurns]} {
		first, _, _ := strings.Cut(list, ":")
		first, _, _ = strings.Cut(first, ",") // the list begins with this name, whatever else it says
		before, after, ok := strings.Cut(text, "\n\n"+first)
		if !ok {
			t.Fatalf("%s has no list that begins with %q", name, first)
		}
		_, after, _ = strings.Cut(after, "\n\n")
		text = before + "\n\n" + list + "\n" + after
	}
	switch {
	case text == string(doc):
	case os.Getenv("UPDATE") == "":
		t.Errorf("%s is not what the table says; UPDATE=1 go test ./internal/settings writes it", name)
	default:
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKeysAreDistinct(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range settings.Keys() {
		names := []string{"file " + k.Name, k.Env}
		if k.Flag != "" {
			names = append(names, "--"+k.Flag)
		}
		for _, o := range k.Other {
			names = append(names, fmt.Sprint(o.Env, o.Name))
		}
		for _, n := range names {
			if seen[n] || n == "" {
				t.Errorf("%q twice", n)
			}
			seen[n] = true
		}
		if k.Text == "" || k.Default == "" {
			t.Errorf("%+v", k)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(`{"reserve": 5, /* x */ "models": {"m": {"keep": "5%",},}, "hooks": [{"event":"context","command":"x"}]}`)
	f.Add(`{"compaction": {"enabled": true}} //`)
	f.Add(`{"a": "\`)
	f.Add(`{"hooks": [{"timeout": ""}]}`)
	f.Add(`{"x": /`)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(dir, "settings.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := settings.Load(settings.Options{UserFile: file})
		if err != nil {
			if e := (*settings.Error)(nil); !errors.As(err, &e) || e.File != file || e.Problem == "" {
				t.Errorf("%v", err)
			}
			return
		}
		if _, err := s.Config(); err != nil && s.Models == nil {
			t.Errorf("what was read can't be used: %v", err)
		}
	})
}

func ExampleLoad() {
	s, err := settings.Load(settings.Options{Environ: []string{"CLEW_PRESET=turns", "KEEP_LAST_TURNS=4"}})
	if err != nil {
		panic(err)
	}
	for _, v := range s.All() {
		if v.Key == "keepTurns" || v.Key == "trigger" {
			fmt.Println(v.Key, v.Value, "from", v.Origin)
		}
	}
	// Output:
	// trigger 75% from preset turns
	// keepTurns 4 from KEEP_LAST_TURNS
}

// TestPiFiles: with preset pi its own files count, below all that is clew's.
func TestPiFiles(t *testing.T) {
	p := newPlace(t)
	home := t.TempDir()
	own, project := filepath.Join(home, ".pi", "agent", "settings.json"), filepath.Join(p.dir, ".pi", "settings.json")
	write(t, own, `{"theme": "dark", "compaction": {"enabled": false, "reserveTokens": 9000, "keepRecentTokens": 7000},
		"branchSummary": {"reserveTokens": 4000, "skipPrompt": true}}`)
	write(t, project, `{"compaction": {"reserveTokens": 8000}}`)
	write(t, p.user, `{"keep": 6000}`)
	pi := []string{"HOME=" + home, "CLEW_PRESET=pi"}
	s := p.must(t, pi...)
	for key, want := range map[string]string{"auto": "false from pi", "ui.moveAtOnce": "true from pi", "reserve": "8000 from pi", "keep": "6000 from user"} {
		if got := value(s, key); got != want {
			t.Errorf("%s is %s, not %s", key, got, want)
		}
	}
	if s.Auto || policy(t, s).Reserve != compact.Tokens(8000) {
		t.Error("what pi's files say does not count")
	}
	if got := p.must(t, append(pi, "CLEW_RESERVE=5000")...); value(got, "reserve") != "5000 from environment" {
		t.Error("the reserve is", value(got, "reserve"))
	}
	if got := p.must(t, "HOME="+home); !got.Auto || value(got, "reserve") != "16384, at most 25% from default" {
		t.Error("without preset pi its files count: the reserve is", value(got, "reserve"))
	}
	write(t, project, `{"compaction": {"reserveTokens": "many"`)
	write(t, own, `{"compaction": {"enabled": 3, "reserveTokens": 9000}}`)
	if s = p.must(t, pi...); len(s.Warnings) != 2 || value(s, "reserve") != "9000 from pi" {
		t.Error("warnings", s.Warnings, "and the reserve", value(s, "reserve"))
	}
}
