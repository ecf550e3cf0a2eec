package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/clew-dev/clew/internal/provider"
	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/internal/text"
)

// start is something that a first conversation can be held with.
type start struct {
	name, about string
	take        func(context.Context) error
}

// errNoStart ends clew chat when the user chose nothing.
var errNoStart = errors.New("no model was chosen; clew chat asks again, and clew chat --demo needs none")

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
	var starts []start
	for _, f := range provider.Local(ctx, provider.All(s)) {
		about := "on this machine"
		if f.Window > 0 {
			about += ", a window of " + number(f.Window) + " tokens"
		}
		name := f.Provider + "/" + f.Model
		starts = append(starts, start{name, about, func(context.Context) error { return t.keep("model", name) }})
	}
	for _, m := range provider.Starters(s) {
		starts = append(starts, start{vendors[m.Provider.Name], "with a key, " + m.Info.Model, func(ctx context.Context) error { return t.takeKey(ctx, m) }})
	}
	starts = append(starts, start{"Demo", "a scripted model on a small project: no key, no network", func(context.Context) error { fl.demo = true; return nil }})
	wide := 0
	for _, o := range starts {
		wide = max(wide, textWidth(o.name))
	}
	t.say("")
	for i, o := range starts {
		t.say("%3d  %s  %s", i+1, pad(cut(printable(o.name), 50), min(wide, 50)), o.about)
	}
	t.say("\nMore are in docs/models.md. /model changes it later; Ctrl+D leaves.")
	for {
		line, err := t.ask(ctx, "Which one? [1] ")
		if err != nil {
			return err
		}
		if line == "" {
			line = "1"
		}
		if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(starts) {
			return starts[n-1].take(ctx)
		}
		t.say("Type a number from 1 to %d.", len(starts))
	}
}

// teller talks with the user a line at a time.
type teller struct {
	in       io.Reader
	out      io.Writer
	userFile string
}

func (t *teller) say(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }

// ask reads a line. The end of the input, and an interruption, is errNoStart.
func (t *teller) ask(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(t.out, prompt)
	return t.wait(ctx, func() (string, error) { return readLine(t.in) })
}

// wait lets an interruption end what waits for the user.
func (t *teller) wait(ctx context.Context, read func() (string, error)) (string, error) {
	type answer struct {
		line string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		line, err := read()
		got <- answer{line, err}
	}()
	select {
	case a := <-got:
		if errors.Is(a.err, io.EOF) {
			t.say("")
			a.err = errNoStart
		}
		return strings.TrimSpace(a.line), a.err
	case <-ctx.Done():
		t.say("")
		return "", errNoStart
	}
}

// secret reads a line that is not shown.
func (t *teller) secret(ctx context.Context, prompt string) (string, error) {
	f, ok := t.in.(*os.File)
	if !ok {
		return t.ask(ctx, prompt)
	}
	before, err := term.GetState(int(f.Fd()))
	if err != nil {
		return t.ask(ctx, prompt)
	}
	defer func() { _ = term.Restore(int(f.Fd()), before) }() // also after an interruption
	fmt.Fprint(t.out, prompt)
	line, err := t.wait(ctx, func() (string, error) {
		key, err := term.ReadPassword(int(f.Fd()))
		return string(key), err
	})
	t.say("")
	return line, err
}

// variableName is what is taken for the name of a variable and not for a key: those of the
// providers have small letters or dashes.
var variableName = text.Pattern(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$`)

// takeKey asks for a key, and keeps it, or which variable has it.
func (t *teller) takeKey(ctx context.Context, m provider.Model) error {
	keys, err := provider.ReadKeys(provider.KeysFile(t.userFile))
	if err != nil {
		return err
	}
	for {
		key, err := t.secret(ctx, fmt.Sprintf("Key for %s, or the name of the variable that has it (it is not shown): ", vendors[m.Provider.Name]))
		if err != nil {
			return err
		}
		switch {
		case key == "":
			t.say("Nothing was typed. Paste the key and press Enter.")
		case variableName().MatchString(key) && os.Getenv(key) == "":
			t.say("The environment has no %s. Set it and start clew again, or give the key.", key)
		case variableName().MatchString(key):
			return t.keep("providers."+m.Provider.Name+".keyEnv", key)
		default:
			if err := keys.Set(m.Provider.KeyEnv[0], key); err != nil {
				t.say("clew: %s", printable(err.Error()))
				continue
			}
			t.say("Kept in %s, which only you can read.", tilde(provider.KeysFile(t.userFile)))
			return nil
		}
	}
}

// keep writes a setting into the user's file.
func (t *teller) keep(name, value string) error {
	literal, err := json.Marshal(value)
	if err == nil {
		err = settings.SetInFile(t.userFile, name, literal)
	}
	if err != nil {
		return fmt.Errorf("chat: keep the setting %s: %w", name, err)
	}
	t.say("Written to %s: %s is %s.", tilde(t.userFile), name, value)
	return nil
}
