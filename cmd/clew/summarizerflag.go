package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/anthropic"
	"github.com/clew-dev/clew/model/gemini"
	"github.com/clew-dev/clew/model/openai"
	"github.com/clew-dev/clew/settings"
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
	f.StringVar(&fl.name, "summarizer", "", "the model that writes the summary, as provider/model: anthropic/..., openai/..., gemini/...; none: nobody is asked (default: what clew settings says, else none)")
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

// info returns what the settings say of a model, with what is known of it else; nil
// where they say nothing.
func (fl *summarizerFlags) info(provider, name string) (*model.Info, error) {
	if fl.settings == nil {
		return nil, nil
	}
	price, priced := fl.settings.Price(provider, name)
	window := fl.settings.For(provider, name, compact.Policy{}).Window
	if !priced && window == 0 {
		return nil, nil
	}
	known, err := model.BuiltIn()
	if err != nil {
		return nil, err
	}
	info, _ := known.Lookup(provider, name)
	if priced {
		info.Price = &model.Price{Input: price.Input, Output: price.Output, CacheRead: price.CacheRead, CacheWrite: price.CacheWrite}
	}
	if window != 0 {
		info.Window = window
	}
	return &info, nil
}

func (fl *summarizerFlags) model() (model.Model, error) {
	provider, name, ok := strings.Cut(fl.name, "/")
	if !ok || provider == "" || name == "" {
		return nil, usagef("--summarizer %s: write it as provider/model, such as anthropic/claude-haiku-4-5", fl.name)
	}
	at := model.Endpoint{Model: name, BaseURL: fl.baseURL, KeyEnv: fl.keyEnv}
	if fl.tries > 0 {
		at.Transport = model.NewTransport(model.TransportConfig{Retry: model.Retry{Attempts: fl.tries}})
	}
	var err error
	if at.Info, err = fl.info(provider, name); err != nil {
		return nil, err
	}
	switch provider {
	case "anthropic":
		return anthropic.New(anthropic.Config{Endpoint: at})
	case "gemini", "google":
		return gemini.New(gemini.Config{Endpoint: at})
	case "openai":
		if fl.baseURL == "" {
			return openai.NewResponses(openai.Config{Endpoint: at})
		}
	default:
		if fl.baseURL == "" {
			return nil, usagef("--summarizer %s: the provider is not known; anthropic, openai and gemini are, and with --base-url any server that speaks OpenAI's Chat Completions", fl.name)
		}
		at.Provider = provider
	}
	return openai.NewChat(openai.Config{Endpoint: at})
}
