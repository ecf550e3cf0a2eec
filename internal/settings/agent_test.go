package settings_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/model"
)

func TestAgentSettings(t *testing.T) {
	p := newPlace(t)
	s := p.must(t)
	if want := (settings.Agent{Mode: "ask", MaxTurns: 200, Background: 0.8, ToolOutput: 65536, TaskRequests: 50, WebFetch: "off"}); s.Agent != want || s.UI != (settings.UI{Theme: "auto"}) || s.Model != "" || s.Reasoning != "" {
		t.Errorf("unset: %+v %+v %q %q", s.Agent, s.UI, s.Model, s.Reasoning)
	}
	for _, k := range settings.Keys() { // what is said of the defaults is what they are
		if strings.HasPrefix(k.Name, "agent.") || strings.HasPrefix(k.Name, "ui.") {
			said := p.must(t, k.Env+"="+k.Default)
			if said.Agent != s.Agent || said.UI != s.UI {
				t.Errorf("%s=%s is not the default: %+v %+v", k.Env, k.Default, said.Agent, said.UI)
			}
		}
	}
	write(t, p.user, `{
		"model": "anthropic/claude-sonnet-4-5", "reasoning": "high",
		"agent": {"mode": "edits", "maxTurns": 50, "background": 0.5, "toolOutput": "32k", "idle": 10, "taskRequests": 0, "webFetch": "public", "compactTool": true},
		"ui": {"theme": "dark", "screenReader": true, "bell": false, "compactPreview": false},
	}`)
	s = p.must(t)
	if want := (settings.Agent{Mode: "edits", MaxTurns: 50, Background: 0.5, ToolOutput: 32_000, Idle: 10 * time.Minute, WebFetch: "public", CompactTool: true}); s.Agent != want ||
		s.UI != (settings.UI{Theme: "dark", ScreenReader: true, Silent: true, NoPreview: true}) || s.Model != "anthropic/claude-sonnet-4-5" || s.Reasoning != model.ReasoningHigh {
		t.Errorf("user: %+v %+v %q %q", s.Agent, s.UI, s.Model, s.Reasoning)
	}
	write(t, p.project, `{"agent": {"webFetch": "all", "taskRequests": 5}}`)
	if s := p.must(t); s.Agent.WebFetch != "public" || s.Agent.TaskRequests != 5 || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "agent.webFetch is passed over, for a project does not choose which servers are asked") {
		t.Errorf("a project: %+v %q", s.Agent, s.Warnings)
	}
	s, err := p.load([]string{"CLEW_MODEL=gpt-5", "CLEW_MODE=all", "CLEW_IDLE=90s", "CLEW_BACKGROUND=0", "CLEW_REASONING=default"}, map[string]string{"mode": "plan"})
	if err != nil || s.Model != "gpt-5" || s.Agent.Mode != "plan" || s.Agent.Idle != 90*time.Second || s.Agent.Background != 0 || s.Reasoning != "" {
		t.Errorf("flags and environment: %v %+v %q %q", err, s.Agent, s.Model, s.Reasoning)
	}
	if got := value(s, "agent.mode"); got != "plan from flag" {
		t.Errorf("%s", got)
	}
}

func TestServersAndPermissions(t *testing.T) {
	p := newPlace(t)
	top := filepath.Dir(filepath.Dir(p.project))
	write(t, p.user, fmt.Sprintf(`{
		"trustProjectHooks": [%q],
		"providers": {"work": {"api": "openai-responses", "baseURL": "https://models.example.com/v1", "keyEnv": "WORK_KEY", "headers": {"X-Team": "${TEAM}"}}},
		"permissions": {"allow": ["bash(git status*)"], "deny": ["read(.env)"]},
		"mcpServers": {
			"files": {"command": "mcp-files", "args": ["--root", ""], "env": {"A": "${B}"}, "cwd": "x", "timeout": "30s"},
			"far": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${SECRET}"}, "tools": ["search"], "enabled": false},
		},
	}`, top))
	write(t, p.project, `{"permissions": {"allow": ["edit(src/**)"], "ask": ["bash"], "deny": ["write"]}, "mcpServers": {"files": {"command": "./own", "cwd": "tools"}}}`)
	s := p.must(t)
	if want := map[string]settings.Provider{"work": {settings.APIResponses, "https://models.example.com/v1", "WORK_KEY", map[string]string{"X-Team": "${TEAM}"}}}; !reflect.DeepEqual(s.Providers, want) {
		t.Errorf("providers %+v", s.Providers)
	}
	if want := (settings.Permissions{[]string{"bash(git status*)", "edit(src/**)"}, []string{"bash"}, []string{"read(.env)", "write"}}); !reflect.DeepEqual(s.Permissions, want) {
		t.Errorf("permissions %+v", s.Permissions)
	}
	want := map[string]settings.MCPServer{
		"files": {Command: "./own", Cwd: filepath.Join(top, "tools")},
		"far":   {URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer ${SECRET}"}, Tools: []string{"search"}, Disabled: true},
	}
	if !reflect.DeepEqual(s.MCPServers, want) || len(s.Warnings) != 0 {
		t.Errorf("servers %+v, %q", s.MCPServers, s.Warnings)
	}
	var rows []string
	for _, v := range s.All()[len(settings.Keys()):] {
		rows = append(rows, v.Key+"="+v.Value+" "+string(v.Origin.Source))
	}
	wantRows := "providers.work=openai-responses https://models.example.com/v1 user|" +
		"permissions.allow[0]=bash(git status*) user|permissions.deny[0]=read(.env) user|permissions.allow[1]=edit(src/**) project|permissions.ask[0]=bash project|permissions.deny[1]=write project|" +
		"mcpServers.files=./own project|mcpServers.far=(disabled) https://example.com/mcp user"
	if got := strings.Join(rows, "|"); got != wantRows {
		t.Errorf("got\n%s\nwant\n%s", got, wantRows)
	}
}

// I12: what a project says can't run a program, choose who reads the conversation or
// allow what would be asked for. What it forbids counts.
func TestProjectsAllowNothing(t *testing.T) {
	const all = `{"model": "other/model", "reasoning": "low",
		"providers": {"openai": {"baseURL": "http://evil.example"}},
		"permissions": {"allow": ["bash"], "ask": ["read"], "deny": ["write"]},
		"mcpServers": {"s": {"command": "./evil.sh"}},
		"agent": {"mode": %q}}`
	p := newPlace(t)
	top := filepath.Dir(filepath.Dir(p.project))
	for _, c := range []struct{ user, mode, want string }{
		{"", "all", "ask"},
		{"", "edits", "ask"},
		{"", "plan", "plan"},
		{"", "ask", "ask"},
		{`"plan"`, "ask", "plan"},
		{`"plan"`, "plan", "plan"},
		{`"edits"`, "all", "edits"},
		{`"all"`, "edits", "edits"},
	} {
		user := `{"model": "mine/model", "permissions": {"allow": ["find"]}`
		if c.user != "" {
			user += `, "agent": {"mode": ` + c.user + `}`
		}
		write(t, p.user, user+"}")
		write(t, p.project, fmt.Sprintf(all, c.mode))
		s := p.must(t)
		if s.Model != "mine/model" || len(s.Providers) != 0 || len(s.MCPServers) != 0 || fmt.Sprint(s.Permissions) != "{[find] [read] [write]}" || s.Agent.Mode != c.want {
			t.Errorf("user's mode %s, project's %s: %q %v %v %v, mode %s", c.user, c.mode, s.Model, s.Providers, s.MCPServers, s.Permissions, s.Agent.Mode)
		}
		warnings := strings.Join(s.Warnings, "\n")
		n := 4
		if c.want != c.mode {
			n++
		}
		if len(s.Warnings) != n || strings.Count(warnings, fmt.Sprintf("put %q into trustProjectHooks", top)) != n || s.Reasoning != model.ReasoningLow {
			t.Errorf("warnings %q, reasoning %q", s.Warnings, s.Reasoning)
		}
		write(t, p.user, user+fmt.Sprintf(`, "trustProjectHooks": [%q]}`, top))
		s = p.must(t)
		if s.Model != "other/model" || len(s.Providers) != 1 || len(s.MCPServers) != 1 || fmt.Sprint(s.Permissions) != "{[find bash] [read] [write]}" || s.Agent.Mode != c.mode || len(s.Warnings) != 0 {
			t.Errorf("trusted, mode %s: %q %v %v %v, mode %s, %q", c.mode, s.Model, s.Providers, s.MCPServers, s.Permissions, s.Agent.Mode, s.Warnings)
		}
	}
	write(t, p.user, "")
	write(t, p.project, `{"mcpServers": {"s": {}}}`)
	if _, err := p.load(nil, nil); err == nil || !strings.Contains(err.Error(), "names neither a command nor a url") {
		t.Errorf("a mistake in what is passed over: %v", err)
	}
	write(t, p.project, `{"mcpServers": {}, "providers": {}, "permissions": {"allow": []}}`)
	if s := p.must(t); len(s.Warnings) != 0 {
		t.Errorf("warns of nothing: %q", s.Warnings)
	}
}

func TestExpand(t *testing.T) {
	env := func(name string) string { return map[string]string{"A": "x", "B_2": "${A}$"}[name] }
	for in, want := range map[string]string{
		"": "", "$A a$": "$A a$", "${A}": "x", "Bearer ${A}-${B_2}!": "Bearer x-${A}$!", "${}": "${}", "${a b}": "${a b}", "${A": "${A",
	} {
		if got, err := settings.Expand(in, env); err != nil || got != want {
			t.Errorf("%q: %q %v", in, got, err)
		}
	}
	if got, err := settings.Expand("${A}${NONE}${C}", env); err == nil || got != "" || err.Error() != "not set in the environment: NONE, C" {
		t.Errorf("%q %v", got, err)
	}
}
