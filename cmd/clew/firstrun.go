package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/clew-dev/clew/internal/provider"
	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/internal/text"
)

// errNoStart ends clew chat when the user chose nothing.
var errNoStart = errors.New("no model was chosen; clew chat asks again, and clew chat --demo needs none")

// errBack is what a question comes to that was not answered.
var errBack = errors.New("not answered")

// vendors are the names of the companies, by their providers.
var vendors = map[string]string{
	"anthropic": "Anthropic", "openai": "OpenAI", "google": "Google Gemini", "xai": "xAI", "deepseek": "DeepSeek", "openrouter": "OpenRouter",
}

// firstRun asks with which model to begin, where nothing says it: one of this machine, one
// that the user has a key for, or the demo. What was chosen is written down.
func (fl *chatFlags) firstRun(ctx context.Context, cmd *cobra.Command) error {
	s, err := loadSettings(nil)
	if err != nil {
		return err
	}
	t := &teller{in: cmd.InOrStdin(), out: cmd.OutOrStdout(), userFile: settings.UserFile()}
	if t.userFile == "" {
		return errors.New("chat: the system knows no folder for settings, so nothing can be kept; set HOME")
	}
	t.say("clew needs a model to talk to. Looking for servers on this machine ...")
	var names, about []string
	var take []func() error
	add := func(name, what string, do func() error) {
		names, about, take = append(names, cut(printable(name), 50)), append(about, what), append(take, do)
	}
	for _, f := range provider.Local(ctx, provider.All(s)) {
		what := "on this machine"
		if f.Window > 0 {
			what += ", a window of " + number(f.Window) + " tokens"
		}
		name := f.Provider + "/" + f.Model
		add(name, what, func() error { return t.keep("model", name) })
	}
	for _, m := range provider.Starters(s) {
		add(vendors[m.Provider.Name], "with a key, "+m.Info.Model, func() error { return t.takeKey(ctx, m) })
	}
	add("Demo", "a scripted model on a small project: no key, no network", func() error { fl.demo = true; return nil })
	wide := textWidth(slices.MaxFunc(names, func(a, b string) int { return textWidth(a) - textWidth(b) }))
	t.say("")
	for i, name := range names {
		t.say("%3d  %s  %s", i+1, pad(name, wide), about[i])
	}
	t.say("\nMore are in docs/models.md. Ctrl+D leaves; in the chat, /model takes another.")
	for {
		line, err := t.ask(ctx, "Which one? [1] ", false)
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(cmp.Or(line, "1"))
		if err == nil && n >= 1 && n <= len(take) {
			if err = take[n-1](); !errors.Is(err, errBack) {
				return err
			}
			continue
		}
		t.say("Type a number from 1 to %d.", len(take))
	}
}

// teller talks with the user a line at a time.
type teller struct {
	in       io.Reader
	out      io.Writer
	userFile string
}

func (t *teller) say(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }

// ask reads a line, on a terminal one that is not shown if it is secret. The end of the input,
// and an interruption, is errNoStart.
func (t *teller) ask(ctx context.Context, prompt string, secret bool) (line string, err error) {
	restore := func() {}
	read := func() (string, error) {
		fmt.Fprint(t.out, prompt)
		return readLine(t.in)
	}
	if f, ok := t.in.(*os.File); ok && secret {
		if before, err := term.MakeRaw(int(f.Fd())); err == nil {
			restore = func() { _ = term.Restore(int(f.Fd()), before) }
			// term.ReadPassword passes over Ctrl+D; here it, and Ctrl+C, is the end of the input.
			read = func() (string, error) { return term.NewTerminal(onTerminal{f, t.out}, "").ReadPassword(prompt) }
		}
	}
	got := make(chan struct{})
	var typed string
	var failed error
	go func() {
		typed, failed = read()
		close(got)
	}()
	select {
	case <-got:
		line, err = strings.TrimSpace(typed), failed
	case <-ctx.Done():
		err = io.EOF
	}
	restore()
	if errors.Is(err, io.EOF) {
		t.say("")
		err = errNoStart
	}
	return line, err
}

// onTerminal is the terminal that the user sits at. It is read no further than a line.
type onTerminal struct {
	in io.Reader
	io.Writer
}

func (t onTerminal) Read(p []byte) (int, error) { return t.in.Read(p[:min(len(p), 1)]) }

// variableName is what is taken for the name of a variable and not for a key: those of the
// providers have small letters or dashes.
var variableName = text.Pattern(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$`)

// minKey is how long the key of a provider is at least, so that a number typed by mistake is none.
const minKey = 8

// takeKey asks for a key, and keeps it, or which variable has it.
func (t *teller) takeKey(ctx context.Context, m provider.Model) error {
	keys, err := provider.ReadKeys(provider.KeysFile(t.userFile))
	if err != nil {
		return err
	}
	for {
		key, err := t.ask(ctx, "Key for "+vendors[m.Provider.Name]+", or the name of the variable that has it (not shown; Enter alone goes back): ", true)
		if err != nil {
			return err
		}
		switch {
		case key == "":
			return errBack
		case variableName().MatchString(key) && os.Getenv(key) == "":
			t.say("The environment has no %s. Set it and start clew again, or give the key.", key)
		case variableName().MatchString(key):
			return t.keep("providers."+m.Provider.Name+".keyEnv", key)
		case len(key) < minKey:
			t.say("A key has at least %d characters, and this has %d. Paste all of it.", minKey, len(key))
		default:
			if err := keys.Set(m.Provider.KeyEnv[0], key); err != nil {
				t.say("clew: %s", printable(err.Error()))
				continue
			}
			t.say("Kept in %s, which only you can read; what is wrong is put right there.", tilde(provider.KeysFile(t.userFile)))
			return nil
		}
	}
}

// keep writes a setting into the user's file.
func (t *teller) keep(name, value string) error {
	literal, err := json.Marshal(value)
	if err == nil {
		err = settings.EditFile(t.userFile, func(data []byte) ([]byte, error) { return settings.SetMember(data, name, literal) })
	}
	if err != nil {
		return fmt.Errorf("chat: keep the setting %s in %s: %w", name, t.userFile, err)
	}
	t.say("Written to %s: %s is %s.", tilde(t.userFile), name, value)
	return nil
}
