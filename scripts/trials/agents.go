package main

import (
	"cmp"
	_ "embed"
	"regexp"
	"runtime"
	"strings"

	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/wire"
)

type replyFunc = func(*modeltest.Exchange) modeltest.Reply

// agent is a program and how it is used.
type agent struct {
	name  string
	npm   []string // packages; the version of the first is shown
	in    string   // the folder that they are installed in, where it is not called like the program
	bin   string   // below node_modules
	files map[string]string
	env   []string
	// args are those for a prompt in a session: a new one, the last, or the one with an id.
	args     func(session, prompt string) []string
	shell    *regexp.Regexp // the tool that runs commands
	shellArg string
	full     int64 // tokens at which it compacts; 0: where a request is refused as too large

	inPrompt   bool                       // clew adds to the prompt of the compaction
	summarizes bool                       // clew writes the summary
	noHook     bool                       // clew adds nothing to its compactions
	breaks     wire.Rule                  // a rule that its requests break by themselves
	noRecall   bool                       // it has no MCP
	byPath     bool                       // a session is named by its file
	loads      func(file string) []string // the command that loads a session, where it needs one
	turns      bool                       // it goes on after a closing text, until it is told that it is done
}

func (a *agent) version() string {
	at := strings.LastIndexByte(a.npm[0], '@')
	return a.npm[0][at+1:]
}

var agents = []agent{
	{
		name: "claude-code", npm: []string{"@anthropic-ai/claude-code@2.1.197"}, bin: ".bin/claude",
		env: []string{
			"ANTHROPIC_BASE_URL={url}", "ANTHROPIC_API_KEY=sk-ant-api03-test", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		},
		args: func(session, prompt string) []string {
			args := []string{"-p", prompt, "--model", "claude-sonnet-4-5", "--allowedTools", "Bash,mcp__clew__recall"}
			switch session {
			case "":
				return args
			case "last":
				return append(args, "--continue")
			}
			return append(args, "--resume", session)
		},
		shell: regexp.MustCompile(`^Bash$`), shellArg: "command",
	},
	{
		name: "codex", npm: []string{"@openai/codex@0.169.0"}, bin: ".bin/codex",
		files: map[string]string{".codex/config.toml": `model = "gpt-5"
model_provider = "fake"
model_context_window = {size}
model_auto_compact_token_limit = {full}
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"

[projects."{project}"]
trust_level = "trusted"
`},
		env: []string{"OPENAI_API_KEY=sk-test"},
		args: func(session, prompt string) []string {
			args := []string{"exec", "--dangerously-bypass-hook-trust"}
			switch session {
			case "":
				return append(args, prompt)
			case "last":
				return append(args, "resume", "--last", prompt)
			}
			return append(args, "resume", session, prompt)
		},
		shell: regexp.MustCompile(`^(exec_command|shell_command|shell)$`), shellArg: "cmd", full: 55_000,
	},
	{
		name: "pi", npm: []string{"@earendil-works/pi-coding-agent@0.87.1", node22()}, bin: ".bin/pi",
		files: map[string]string{
			".pi/agent/models.json":   `{"providers":{"fake":{"baseUrl":"{url}","api":"anthropic-messages","apiKey":"sk-test","models":[{"id":"m","name":"m","contextWindow":{size},"maxTokens":4000}]}}}`,
			".pi/agent/settings.json": `{"compaction":{"enabled":true,"reserveTokens":4000,"keepRecentTokens":1000}}`,
		},
		args: func(session, prompt string) []string {
			args := []string{"-p", "--provider", "fake", "--model", "m"}
			switch session {
			case "":
			case "last":
				args = append(args, "--continue")
			default:
				args = append(args, "--session", session)
			}
			return append(args, prompt)
		},
		shell: regexp.MustCompile(`^bash$`), shellArg: "command", full: 58_000, summarizes: true, noRecall: true, byPath: true,
	},
	{
		name: "gemini-cli", npm: []string{"@google/gemini-cli@0.61.0"}, bin: ".bin/gemini",
		files: map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},"general":{"disableAutoUpdate":true},"model":{"compressionThreshold":{share},"disableLoopDetection":true}}`},
		env:   []string{"GEMINI_API_KEY=sk-test", "GOOGLE_GEMINI_BASE_URL={url}", "GEMINI_CLI_TRUST_WORKSPACE=true"},
		args: func(session, prompt string) []string {
			args := []string{"-p", prompt, "--model", "gemini-2.5-flash", "--yolo"}
			switch session {
			case "":
				return args
			case "last":
				return append(args, "--resume", "latest")
			}
			return append(args, "--resume", session)
		},
		shell: regexp.MustCompile(`^run_shell_command$`), shellArg: "command", full: 900_000, noHook: true,
		breaks: wire.RuleResultWithout, // it sends a result twice when it resumes a session of its own
	},
	{
		name: "opencode", npm: []string{"opencode-ai@1.18.33"}, bin: ".bin/opencode",
		files: map[string]string{
			".config/opencode/opencode.json": `{
  "autoupdate": false,
  "permission": {"*": "allow"},
  "provider": {"fake": {
    "npm": "@ai-sdk/openai-compatible",
    "options": {"baseURL": "{url}/v1", "apiKey": "sk-test"},
    "models": {"m": {"name": "m", "tool_call": true, "limit": {"context": {size}, "output": 4000}}}
  }}
}
`,
			".npmrc": "fetch-retries=0\n", // it looks for a package of its own at every start
		},
		env: []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1"},
		args: func(session, prompt string) []string {
			args := []string{"run", "--model", "fake/m"}
			switch session {
			case "":
			case "last":
				args = append(args, "--continue")
			default:
				args = append(args, "--session", session)
			}
			return append(args, prompt)
		},
		shell: regexp.MustCompile(`^bash$`), shellArg: "command", full: 58_000, inPrompt: true,
		loads: func(file string) []string { return []string{"import", file} },
	},
}

//go:embed sdk.mjs
var sdkScript string

// sdks are programs of our own with the vendors' SDKs for Node, for the gateway alone.
func sdks() (out []agent) {
	for _, s := range []struct{ name, kind, pkg string }{
		{"anthropic-sdk", "anthropic", "@anthropic-ai/sdk@1.12.0"},
		{"openai-chat", "chat", "openai@7.57.0"},
		{"openai-responses", "responses", "openai@7.57.0"},
		{"google-genai", "gemini", "@google/genai@3.1.0"},
	} {
		out = append(out, agent{
			name: s.name, in: "sdks", npm: []string{s.pkg, "@anthropic-ai/sdk@1.12.0", "openai@7.57.0", "@google/genai@3.1.0", node22()}, bin: ".bin/node",
			files: map[string]string{"../sdks/sdk.mjs": sdkScript},
			args:  func(_, prompt string) []string { return []string{"{dir}/sdks/sdk.mjs", s.kind, prompt} },
			shell: regexp.MustCompile(`^run$`), shellArg: "command", turns: true,
		})
	}
	return out
}

// node22 is the package with the Node that pi needs.
func node22() string {
	prefix := "node"
	if runtime.GOOS == "darwin" && runtime.GOARCH == "arm64" {
		prefix = "node-bin"
	}
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	return prefix + "-" + runtime.GOOS + "-" + cmp.Or(arch, runtime.GOARCH) + "@22.23.3"
}
