package clew

import (
	"cmp"
	"context"
	"fmt"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/summary"
)

// suppliedSummary is a summarizer whose text a hook or the caller has written. The engine
// adds what it vouches for itself: the user's words, pins, files.
type suppliedSummary struct {
	SuppliedSummary
	own      summary.Summarizer // for a text that can't be taken
	warnings *[]error
}

// SuppliedSummary is a summary that was made outside a pass: by a person, or before the
// pass was needed.
type SuppliedSummary struct {
	// Text is in the form of a template, or free. The user's quoted words, pins and files
	// are added to it, in the place of those that it has.
	Text string
	// By says who made it. Default: "given".
	By string
	// Usage is what it cost, nil for nothing.
	Usage *message.Usage
}

// Name implements summary.Summarizer.
func (g *suppliedSummary) Name() string { return cmp.Or(g.By, "given") }

// Summarize implements summary.Summarizer.
func (g *suppliedSummary) Summarize(ctx context.Context, in summary.Input) (summary.Output, error) {
	d, ok := summary.Parse(g.Text)
	if !ok {
		d = summary.Document{Earlier: g.Text}
	}
	facts, err := summary.Deterministic{}.Summarize(ctx, in)
	if err != nil {
		return facts, err
	}
	d.Quotes, d.Pins, d.Note = facts.Document.Quotes, facts.Document.Pins, facts.Document.Note
	d.Files = facts.Document.Files
	out := summary.Output{
		Document: d, Text: cmp.Or(in.Template, summary.Structured).Render(d),
		Coverage: facts.Coverage, Summarizer: g.Name(), Usage: g.Usage,
	}
	if out.Tokens = in.Counter.Text(out.Text); out.Tokens <= in.Budget {
		return out, nil
	}
	*g.warnings = append(*g.warnings, fmt.Errorf(
		"the summary of %s takes %d tokens with the user's words, and %d are for it: it was not taken", g.Name(), out.Tokens, in.Budget))
	if g.own != nil {
		return g.own.Summarize(ctx, in)
	}
	return facts, nil
}
