// Command summarize is a hook that has another model write the summary. The command in SUMMARIZE_COMMAND, a line for
// sh, gets the conversation as text and prints the summary.
//
//	go build -o summarize ./examples/hooks/summarize
//
//	{"event": "session_before_compact", "command": "./summarize", "timeout": "2m", "env": ["SUMMARIZE_COMMAND"]}
//	{"event": "session_before_tree", "command": "./summarize", "timeout": "2m", "env": ["SUMMARIZE_COMMAND"]}
//
// It counts its summaries in the details that are stored with them. When it fails clew makes the summary.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
)

// event is what of the two events is used here; docs/hooks.md has the rest.
type event struct {
	Event        string
	Instructions string
	Text         string // of session_before_tree
	Preparation  struct {
		Text            string // of session_before_compact
		PreviousSummary string
		PreviousDetails struct{ Summaries int }

		UserWantsSummary bool // of session_before_tree
	}
}

type answer struct {
	Summary string         `json:"summary"`
	Details map[string]int `json:"details"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "summarize:", err)
		os.Exit(1)
	}
}

func run() error {
	// When the pass is cancelled the hook gets SIGTERM, and the model's command is stopped with it.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	var e event
	if err := json.NewDecoder(os.Stdin).Decode(&e); err != nil {
		return fmt.Errorf("read the event: %w", err)
	}
	p := e.Preparation
	text := cmp.Or(p.Text, e.Text)
	if text == "" || e.Event == "session_before_tree" && !p.UserWantsSummary {
		return nil // no answer: nothing to say
	}
	summary, err := ask(ctx, "Summarize this conversation so that an agent can go on with it. "+e.Instructions+
		"\n\n# Summary so far\n\n"+cmp.Or(p.PreviousSummary, "(none)")+"\n\n# Conversation\n\n"+text)
	if err != nil {
		return err
	}
	details := map[string]int{"summaries": p.PreviousDetails.Summaries + 1}
	return json.NewEncoder(os.Stdout).Encode(answer{summary, details})
}

func ask(ctx context.Context, prompt string) (string, error) {
	line := os.Getenv("SUMMARIZE_COMMAND")
	if line == "" {
		return "", errors.New("SUMMARIZE_COMMAND is not set: name it under env in the hook's settings")
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Stdin, cmd.Stderr = strings.NewReader(prompt), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", line, err)
	}
	if len(strings.TrimSpace(string(out))) == 0 {
		return "", fmt.Errorf("%s printed nothing", line)
	}
	return string(out), nil
}
