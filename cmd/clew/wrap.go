package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
	"github.com/tailscale/hujson"

	"github.com/clew-dev/clew/gateway"
)

func newWrap(cmd *cobra.Command) runFunc {
	g := gatewayFlags{wrapped: true}
	g.add(cmd)
	cmd.Flags().SetInterspersed(false)
	return func(args []string) (result, error) {
		disconnect, err := g.connect(cmd, nil)
		if err != nil {
			return nil, fmt.Errorf("wrap: %w", err)
		}
		defer disconnect()
		cfg, file, err := g.settings()
		if err != nil {
			return nil, err
		}
		w := &wrapping{args: args, own: cfg.Upstreams["anthropic"] != "", window: cfg.Window("", "")}
		name := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
		c := clients[name]
		if _, err := exec.LookPath(args[0]); err != nil {
			what := "install it, or write its path"
			if c.install != "" {
				what = "install it with " + c.install
			}
			return nil, fmt.Errorf("wrap: %w; %s", err, what)
		}
		if w.home, err = os.UserHomeDir(); err != nil {
			return nil, fmt.Errorf("wrap: %w", err)
		}
		if c.servers != nil {
			w.servers = map[string]string{}
			if err := c.servers(w); err != nil {
				return nil, fmt.Errorf("wrap: %w", err)
			}
		}
		for name, addr := range w.servers {
			if cfg.Upstreams[name] == "" {
				cfg.Upstreams[name] = strings.TrimSuffix(strings.TrimSuffix(addr, "/"), "/v1")
			}
		}
		seen := &traffic{w: cmd.ErrOrStderr(), changed: map[gateway.Outcome]int{}}
		s, err := startGateway(&g, cfg, "127.0.0.1:0", cmp.Or(g.over.Admin, file.Admin), seen)
		if err != nil {
			return nil, fmt.Errorf("wrap: %w", err)
		}
		if seen.page != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "clew: watch it on http://%s\n", seen.page)
		}
		ctx, stop := context.WithCancel(cmd.Context())
		done := make(chan error, 1)
		go func() { done <- s.serve(ctx) }()
		w.direct("http://"+s.l.Addr().String(), c.keys, cfg.Observe)
		if c.direct != nil {
			if w.temp, err = os.MkdirTemp("", "clew-wrap-*"); err == nil {
				defer os.RemoveAll(w.temp)
				err = c.direct(w)
			}
		}
		if err == nil {
			err = w.run(cmd)
		}
		stop()
		if served := <-done; err == nil {
			err = served
		}
		fmt.Fprintln(cmd.ErrOrStderr(), "clew: "+seen.summary())
		if seen.requests == 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "clew: %s has sent nothing through the gateway; clew wrap --help says which settings it goes by\n", name)
		}
		return nil, err
	}
}

// baseURLs are the variables that name the address of each API.
var baseURLs = map[string]string{"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL", "gemini": "GOOGLE_GEMINI_BASE_URL"}

// wrapping is a program that runs through a gateway of its own.
type wrapping struct {
	home    string
	args    []string
	env     []string          // what it gets beside the environment
	servers map[string]string // that its settings name, by the name of an upstream
	base    string            // the gateway's address
	own     bool              // requests for Anthropic go to a server that was named
	window  int64             // of every model, where one was named
	temp    string            // a folder that is removed at the end
	// keyed says that a key pays, or a server of one's own answers: whatever it sends may be shortened.
	// relieved says that it need not compact by itself then.
	keyed, relieved bool
}

// direct sets what most programs go by.
func (w *wrapping) direct(base string, keys []string, observe bool) {
	w.base = base
	w.env = []string{
		"ANTHROPIC_BASE_URL=" + base, "OPENAI_BASE_URL=" + base + "/v1", "OPENAI_API_BASE=" + base + "/v1", "GOOGLE_GEMINI_BASE_URL=" + base,
	}
	for _, k := range keys {
		v := os.Getenv(k)
		w.keyed = w.keyed || v != "" && !strings.HasPrefix(v, "sk-ant-oat")
	}
	w.relieved = w.keyed && !observe
}

// addresses returns those of the vendors at these paths of the gateway, and of the servers of the settings.
func (w *wrapping) addresses(vendors map[string]string) map[string]string {
	at := map[string]string{}
	for name, path := range vendors {
		at[name] = w.base + path
	}
	for name := range w.servers {
		at[name] = w.at(name)
	}
	return at
}

// at returns the address of a server of the settings by way of the gateway.
func (w *wrapping) at(name string) string {
	if strings.HasSuffix(strings.TrimSuffix(w.servers[name], "/"), "/v1") {
		return w.base + "/" + name + "/v1"
	}
	return w.base + "/" + name
}

// run runs the program. The keys of the terminal reach it as they would without clew.
func (w *wrapping) run(cmd *cobra.Command) error {
	child := exec.Command(w.args[0], w.args[1:]...)
	child.Env = append(os.Environ(), w.env...)
	child.Stdin, child.Stdout, child.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := child.Start(); err != nil {
		return fmt.Errorf("wrap: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	for {
		select {
		case s := <-signals:
			if s == syscall.SIGTERM { // an interrupt goes to the whole group by itself
				_ = child.Process.Signal(s)
			}
		case err := <-ended:
			if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
				return &exitError{code: exit.ExitCode(), err: errSilent}
			}
			return err
		}
	}
}

// client is an agent that wrap knows.
type client struct {
	install string
	keys    []string // variables with a key; with one of them it is no subscription that pays
	// servers reads which servers its settings name.
	servers func(*wrapping) error
	// direct sets what it goes by beside the variables of all programs.
	direct func(*wrapping) error
}

var clients = map[string]client{
	"claude":   {install: "npm install -g @anthropic-ai/claude-code", keys: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"}, servers: claudeServers, direct: directClaude},
	"codex":    {install: "npm install -g @openai/codex", servers: codexServers, direct: directCodex},
	"opencode": {install: "npm install -g opencode-ai", servers: opencodeServers, direct: directOpencode},
	"pi":       {install: "npm install -g @earendil-works/pi-coding-agent", servers: piServers, direct: directPi},
	"cline":    {install: "npm install -g cline", servers: clineServers, direct: directCline},
	"gemini":   {install: "npm install -g @google/gemini-cli"},
}

// readSettings reads a file of JSON with comments; one that is not there has nothing.
func readSettings(path string, to any) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		data, err = hujson.Standardize(data)
	}
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// add notes a server of the settings, unless it is no address that could be one.
func (w *wrapping) add(name, addr string) {
	if name != "" && !strings.ContainsAny(name, "/ ") && (strings.HasPrefix(addr, "http://") || strings.HasPrefix(addr, "https://")) {
		w.servers[name] = addr
	}
}

// Claude Code sets the variables of its settings over those of the environment.
func claudeServers(w *wrapping) error {
	dir := cmp.Or(os.Getenv("CLAUDE_CONFIG_DIR"), filepath.Join(w.home, ".claude"))
	for _, path := range []string{filepath.Join(dir, "settings.json"), ".claude/settings.json", ".claude/settings.local.json"} {
		var s struct {
			Env    map[string]any
			Helper string `json:"apiKeyHelper"`
		}
		if err := readSettings(path, &s); err != nil {
			return err
		}
		if addr, ok := s.Env["ANTHROPIC_BASE_URL"].(string); ok {
			w.add("anthropic", addr)
		}
		w.keyed = w.keyed || s.Helper != "" || s.Env["ANTHROPIC_API_KEY"] != nil || s.Env["ANTHROPIC_AUTH_TOKEN"] != nil
	}
	w.keyed = w.keyed || w.own
	return nil
}

func directClaude(w *wrapping) error {
	if w.servers["anthropic"] != "" {
		w.args = slices.Concat(w.args[:1], []string{"--settings", `{"env":{"ANTHROPIC_BASE_URL":"` + w.base + `"}}`}, w.args[1:])
	}
	if w.relieved {
		w.env = append(w.env, "DISABLE_AUTO_COMPACT=1")
	}
	const most = "CLAUDE_CODE_MAX_OUTPUT_TOKENS" // it asks for 32,000, which small windows have no room for
	if w.window > 0 && w.window < 128_000 && os.Getenv(most) == "" {
		w.env = append(w.env, fmt.Sprintf("%s=%d", most, w.window/4))
	}
	return nil
}

// codexHome is where Codex keeps its settings and its login.
func (w *wrapping) codexHome() string {
	return cmp.Or(os.Getenv("CODEX_HOME"), filepath.Join(w.home, ".codex"))
}

func codexServers(w *wrapping) error {
	var s struct {
		Provider  string `toml:"model_provider"`
		Base      string `toml:"openai_base_url"`
		Providers map[string]struct {
			Base string `toml:"base_url"`
		} `toml:"model_providers"`
	}
	path := filepath.Join(w.codexHome(), "config.toml")
	if _, err := toml.DecodeFile(path, &s); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", path, err)
	}
	for name, p := range s.Providers {
		w.add(name, p.Base)
	}
	w.add("openai", s.Base)
	w.add("oss", cmp.Or(os.Getenv("CODEX_OSS_BASE_URL"), "http://localhost:"+cmp.Or(os.Getenv("CODEX_OSS_PORT"), "11434")+"/v1"))
	var login struct {
		Tokens *struct{} `json:"tokens"`
	}
	if err := readSettings(filepath.Join(w.codexHome(), "auth.json"), &login); err != nil {
		return err
	}
	// With a login of ChatGPT its own provider is another one.
	w.keyed = login.Tokens == nil || s.Providers[s.Provider].Base != ""
	return nil
}

// Codex does not read the variables.
func directCodex(w *wrapping) error {
	base := w.base + "/v1"
	if !w.keyed {
		base = w.base + "/chatgpt"
	}
	set := []string{"-c", `openai_base_url="` + base + `"`}
	for name := range w.servers {
		switch name {
		case "oss":
			w.env = append(w.env, "CODEX_OSS_BASE_URL="+w.at(name))
		case "openai":
		default:
			set = append(set, "-c", "model_providers."+name+`.base_url="`+w.at(name)+`"`)
		}
	}
	if w.relieved {
		set = append(set, "-c", "model_auto_compact_token_limit=9000000")
	}
	w.args = slices.Concat(w.args[:1], set, w.args[1:])
	return nil
}

func opencodeServers(w *wrapping) error {
	config := cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(w.home, ".config"))
	files := []string{os.Getenv("OPENCODE_CONFIG")}
	for _, dir := range []string{filepath.Join(config, "opencode"), "."} {
		for _, name := range []string{"config.json", "opencode.json", "opencode.jsonc"} {
			files = append(files, filepath.Join(dir, name))
		}
	}
	for _, path := range files {
		var s struct {
			Provider map[string]struct{ Options struct{ BaseURL string } }
		}
		if err := readSettings(path, &s); err != nil {
			return err
		}
		for name, p := range s.Provider {
			w.add(name, p.Options.BaseURL)
		}
	}
	var logins map[string]struct{ Type string }
	data := cmp.Or(os.Getenv("XDG_DATA_HOME"), filepath.Join(w.home, ".local", "share"))
	if err := readSettings(filepath.Join(data, "opencode", "auth.json"), &logins); err != nil {
		return err
	}
	w.keyed = true
	for _, l := range logins {
		w.keyed = w.keyed && l.Type != "oauth"
	}
	return nil
}

// opencode has addresses of its own for what its settings name, and takes that of Anthropic
// with the version, as AI SDKs do.
func directOpencode(w *wrapping) error {
	providers := map[string]any{}
	for name, addr := range w.addresses(map[string]string{"anthropic": "/v1", "openai": "/v1", "google": "/v1beta"}) {
		providers[name] = map[string]any{"options": map[string]string{"baseURL": addr}}
	}
	config, err := json.Marshal(map[string]any{"provider": providers})
	if err != nil {
		return err
	}
	w.env = append(w.env, "OPENCODE_CONFIG_CONTENT="+string(config))
	if w.relieved {
		w.env = append(w.env, "OPENCODE_DISABLE_AUTOCOMPACT=1")
	}
	return nil
}

func piServers(w *wrapping) error {
	var s struct {
		Providers map[string]struct{ BaseURL string }
	}
	w.keyed = true // where a subscription pays, the extension lets it compact
	err := readSettings(filepath.Join(cmp.Or(os.Getenv("PI_CODING_AGENT_DIR"), filepath.Join(w.home, ".pi", "agent")), "models.json"), &s)
	for name, p := range s.Providers {
		w.add(name, p.BaseURL)
	}
	return err
}

// pi has its addresses from an extension.
func directPi(w *wrapping) error {
	addresses, err := json.Marshal(w.addresses(map[string]string{"anthropic": "", "openai": "/v1", "google": "/v1beta"}))
	if err != nil {
		return err
	}
	file := filepath.Join(w.temp, "extension.mjs")
	w.args = slices.Concat(w.args[:1], []string{"-e", file}, w.args[1:])
	return os.WriteFile(file, fmt.Appendf(nil, `export default function (pi) {
  for (const [name, baseUrl] of Object.entries(%s)) pi.registerProvider(name, { baseUrl });
  pi.on("session_before_compact", (event, ctx) => {
    if (%t && event.reason === "threshold" && !ctx.modelRegistry.isUsingOAuth(ctx.model)) return { cancel: true };
  });
}
`, addresses, w.relieved), 0o600)
}

// clineSettings are the settings of Cline's providers.
type clineSettings map[string]any

func (s clineSettings) providers(use func(name string, p map[string]any)) {
	all, _ := s["providers"].(map[string]any)
	for name, p := range all {
		settings, _ := p.(map[string]any)
		if settings, ok := settings["settings"].(map[string]any); ok {
			use(name, settings)
		}
	}
}

func (w *wrapping) clineData() string {
	return cmp.Or(os.Getenv("CLINE_DATA_DIR"), filepath.Join(w.home, ".cline", "data"))
}

func clineServers(w *wrapping) error {
	var s clineSettings
	path := filepath.Join(w.clineData(), "settings", "providers.json")
	if err := readSettings(path, &s); err != nil {
		return err
	}
	used, _ := s["lastUsedProvider"].(string)
	all, _ := s["providers"].(map[string]any)
	if p, _ := all[used].(map[string]any); p["tokenSource"] != "manual" {
		return fmt.Errorf("%s names no provider with a key, and with Cline's own logins there is no gateway on the way; run cline auth --provider anthropic --apikey KEY --modelid MODEL first", path)
	}
	s.providers(func(name string, p map[string]any) {
		addr, _ := p["baseUrl"].(string)
		w.add(name, addr)
	})
	w.keyed = true
	return nil
}

// Cline has its addresses from its settings alone, so it gets others for this run: a folder
// of data that is its own but for them.
func directCline(w *wrapping) error {
	var s clineSettings
	if err := readSettings(filepath.Join(w.clineData(), "settings", "providers.json"), &s); err != nil {
		return err
	}
	at := map[string]string{"anthropic": "/v1", "openai-native": "/v1", "gemini": "/v1beta"}
	s.providers(func(name string, p map[string]any) {
		if w.servers[name] != "" {
			p["baseUrl"] = w.at(name)
		} else if at[name] != "" {
			p["baseUrl"] = w.base + at[name]
		}
	})
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(w.temp, "settings"), 0o700); err != nil {
		return err
	}
	for _, sub := range []string{"", "settings"} {
		from, err := os.ReadDir(filepath.Join(w.clineData(), sub))
		if err != nil {
			return err
		}
		for _, e := range from {
			if name := filepath.Join(sub, e.Name()); name != "settings" && e.Name() != "providers.json" {
				if err := os.Symlink(filepath.Join(w.clineData(), name), filepath.Join(w.temp, name)); err != nil {
					return err
				}
			}
		}
	}
	more := []string{"--data-dir", w.temp}
	if w.relieved {
		more = append(more, "--compaction", "off")
	}
	w.args = slices.Concat(w.args[:1], more, w.args[1:])
	return os.WriteFile(filepath.Join(w.temp, "settings", "providers.json"), data, 0o600)
}
