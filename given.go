package clew

import (
	"cmp"
	"context"
	"fmt"

	"github.com/clew-dev/clew/summary"
)

// givenSummary is a summarizer whose text was written by a hook. What the engine
// itself vouches for is added: the user's words, pins, files.
type givenSummary struct {
	text     string
	own      summary.Summarizer // for a text that can't be taken
	warnings *[]error
}

// Name implements summary.Summarizer.
func (g *givenSummary) Name() string { return "hook" }

// Summarize implements summary.Summarizer.
func (g *givenSummary) Summarize(ctx context.Context, in summary.Input) (summary.Output, error) {
	d, ok := summary.Parse(g.text)
	if !ok {
		d = summary.Document{Earlier: g.text}
	}
	facts, err := summary.Deterministic{}.Summarize(ctx, in)
	if err != nil {
		return facts, err
	}
	d.Quotes, d.Pins, d.Note = facts.Document.Quotes, facts.Document.Pins, facts.Document.Note
	d.Files = facts.Document.Files
	out := summary.Output{
		Document: d, Text: cmp.Or(in.Template, summary.Structured).Render(d),
		Coverage: facts.Coverage, Summarizer: g.Name(),
	}
	if out.Tokens = in.Counter.Text(out.Text); out.Tokens <= in.Budget {
		return out, nil
	}
	*g.warnings = append(*g.warnings, fmt.Errorf(
		"the summary that a hook gave takes %d tokens with the user's words, and %d are for it: it was not taken", out.Tokens, in.Budget))
	if g.own != nil {
		return g.own.Summarize(ctx, in)
	}
	return facts, nil
}
