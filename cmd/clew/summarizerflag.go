package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/internal/provider"
	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/summary"
	"github.com/clew-dev/clew/summary/llm"
)

// summarizerFlags say which model writes summaries; without them none is asked.
type summarizerFlags struct {
	name, baseURL, keyEnv string
	tries                 int // calls; 0: as the transport does
	settings              *settings.Settings
}

func (fl *summarizerFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&fl.name, "summarizer", "", "the model that writes the summary, as provider/model, or a model that clew models lists; none: nobody is asked (default: what clew settings says, else none)")
	f.StringVar(&fl.baseURL, "base-url", "", "address of another server that speaks the provider's API, or OpenAI's, such as http://localhost:11434/v1")
	f.StringVar(&fl.keyEnv, "key-env", "", "environment variable that has the key (default: the provider's own, for its own address alone)")
}

// summarizer returns what the flags name, nil when they name none.
func (fl *summarizerFlags) summarizer() (summary.Summarizer, error) {
	if fl.name == "" {
		if fl.baseURL != "" || fl.keyEnv != "" {
			return nil, usagef("--base-url and --key-env say where a model is; say which with --summarizer")
		}
		return nil, nil
	}
	m, err := fl.model()
	if err != nil {
		return nil, err
	}
	return llm.New(llm.Config{Model: m})
}

// orSettings returns the flags with what the settings say where they say nothing.
func (fl summarizerFlags) orSettings(cmd *cobra.Command, s *settings.Settings) *summarizerFlags {
	fl.tries, fl.settings = s.SummaryTries, s
	switch {
	case fl.name == "none":
		fl.name = ""
	case fl.name == "" && strings.Contains(s.SummaryModel, "/"):
		fl.name = s.SummaryModel
	case fl.name == "" && s.SummaryModel != "":
		warn(cmd, []error{fmt.Errorf("setting summarizer.model: %s names no provider, so no model is asked; write it as provider/model", s.SummaryModel)})
	}
	return &fl
}

func (fl *summarizerFlags) model() (model.Model, error) {
	c := provider.Config{Name: fl.name, BaseURL: fl.baseURL, KeyEnv: fl.keyEnv, Settings: fl.settings}
	if fl.tries > 0 {
		c.Transport = model.NewTransport(model.TransportConfig{Retry: model.Retry{Attempts: fl.tries}})
	}
	m, err := provider.Open(c)
	if errors.As(err, new(*provider.NameError)) {
		return nil, usagef("--summarizer %w", err)
	}
	return m, err
}
