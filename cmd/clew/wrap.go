package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

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
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() > 0 {
				return &exitError{code: exit.ExitCode(), err: errSilent}
			}
			return err
		}
	}
}
