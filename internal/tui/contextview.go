package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/internal/tui/widget"
	"github.com/clew-dev/clew/token"
)

// contextSnapshot is what is known of the context.
type contextSnapshot struct {
	*clew.Explanation
	state agent.State
	path  []agent.Shown
}

func showSnapshot(u *ui, title string, text func(x *contextSnapshot, width int) string) {
	a := u.cfg.Host.Agent()
	get(u, "looking at the context", title, func(ctx context.Context) (x contextSnapshot, err error) {
		if x.Explanation, err = a.Explain(ctx); err == nil {
			x.path, err = a.Path(ctx)
		}
		return x, err
	}, func(x contextSnapshot) {
		x.state = a.State()
		u.show(title, func(width int) string { return text(&x, width) })
	})
}

func contextText(x *contextSnapshot, width int) string {
	var b strings.Builder
	s := x.state
	r := x.Reading
	full, rest := widget.Bar(r.Tokens, s.Window, s.Threshold, min(60, max(width-2, 10)))
	fmt.Fprintf(&b, "%s\n", full+rest)
	estimated := ""
	if r.Estimated > 0 {
		estimated = "~"
	}
	fmt.Fprintf(&b, "%s%s of %s tokens (%s)\n\n", estimated, text.Tokens(r.Tokens), text.Tokens(s.Window), widget.Percent(float64(r.Tokens)/float64(s.Window)))
	var rows [][2]string
	add := func(name, format string, args ...any) {
		rows = append(rows, [2]string{name, fmt.Sprintf(format, args...)})
	}
	add("model", "%s", orNone(s.Model))
	from := map[string]string{"catalogue": "of the model", "settings": "set by you", "learnt": "learnt from the provider", "assumed": "assumed", "preset": "what the preset uses"}[s.WindowFrom]
	add("window", "%s tokens, %s", text.Tokens(s.Window), cmp.Or(from, s.WindowFrom))
	add("threshold", "%s tokens: from there on it is compacted", text.Tokens(s.Threshold))
	add("measured", "%s", Measured(r, "by the provider", text.Tokens))
	if p := x.Plan; p != nil {
		add("answer", "%s tokens of the window are kept free for it", text.Tokens(p.Budget.Reserve))
		add("target", "%s tokens after a compaction", text.Tokens(p.Budget.Target))
	}
	add("request", "about %s", kilobytes(int(r.Bytes)))
	add("passes", "%d in this session", s.Totals.Passes)
	if s.Totals.Requests > 0 {
		add("cache", "%s of the last request came from the provider's cache", widget.Percent(s.CacheHit))
	}
	if s.Prepared {
		add("ready", "a summary for the next compaction is made already")
	}
	if s.Breaker != "" {
		add("stopped", "nothing is compacted: %s", s.Breaker)
	}
	table(&b, rows, width)
	b.WriteString("\n" + strings.Join(Categories(r, text.Tokens, func(bar string) string { return bar }), "\n") + "\n")
	return b.String()
}

func explainText(x *contextSnapshot, width int) string {
	var b strings.Builder
	switch {
	case errors.Is(x.Err, clew.ErrPending):
		b.WriteString("A tool call is under way: what the next request does is known when it has ended.\n")
	case x.Err != nil:
		fmt.Fprintf(&b, "The next request would fail: %v\n", x.Err)
	case x.Plan.Act:
		fmt.Fprintf(&b, "The next request would be preceded by a compaction: %s\n", x.Plan.Why)
		fmt.Fprintf(&b, "  %s → %s tokens (%s)\n", text.Tokens(x.Plan.Before.Tokens), text.Tokens(x.Plan.After.Tokens), stages(x.Plan.Stages))
	default:
		fmt.Fprintf(&b, "Nothing would be compacted now: %s\n", x.Plan.Why)
	}
	if p := x.Plan; p != nil {
		for _, c := range p.Clamps {
			fmt.Fprintf(&b, "  %s is %s in place of %s: %s\n", c.Setting, text.Tokens(c.Got), text.Tokens(c.Asked), c.Why)
		}
	}
	b.WriteString("\nWhat became of each message:\n")
	var rows [][2]string
	for _, f := range FateCounts(x.Fates, text.Tokens) {
		rows = append(rows, [2]string{fmt.Sprintf("%6d %s", f.N, f.Kind), f.Text})
	}
	rows = append(rows, [2]string{fmt.Sprintf("%6d in all", len(x.Fates)), "entries on this path"})
	table(&b, rows, width)
	b.WriteString("\nOne by one, the newest last:\n")
	const most = 2_000
	list := x.path
	if n := len(list) - most; n > 0 {
		fmt.Fprintf(&b, "  (%d older ones: clew explain lists them)\n", n)
		list = list[n:]
	}
	for _, s := range list {
		f := s.Fate
		if s.Message == nil {
			continue
		}
		line := fmt.Sprintf("  [#%s] %s", s.ID, f.Fate)
		if f.Why != "" {
			line += " (" + f.Why + ")"
		}
		if f.Pinned {
			line += ", pinned"
		}
		m := s.Message
		line += "  " + string(m.Role) + ": " + text.FirstLine(cmp.Or(m.Text(), plainSummary(m.Summary), recall.Text(m)))
		b.WriteString(widget.Cut(widget.OneLine(line), width) + "\n")
	}
	return b.String()
}

// recallMost is how much of an entry is shown at once, in characters.
const recallMost = 400_000

func recallText(u *ui, args string) {
	if args == "" {
		u.edit("recall: words to look for, \"a phrase\", or an id", "", func(text string) {
			if text = strings.TrimSpace(text); text != "" {
				recallText(u, text)
			}
		})
		return
	}
	a := u.cfg.Host.Agent()
	var got *clew.Recalled
	var found *clew.Found
	u.run("looking for it", func(ctx context.Context) (err error) {
		if id := bareID(args); !strings.ContainsAny(id, " \"") && len(id) >= 4 {
			if got, err = a.Recall(ctx, id, clew.RecallOptions{Max: recallMost}); err == nil {
				return nil
			}
			got = nil
		}
		found, err = a.Search(ctx, clew.Query{Text: args, Limit: 100, Scope: clew.ScopeAll, Snippet: 300})
		return err
	}, func(err error) {
		switch {
		case failed(u, "recall", err):
		case got != nil:
			showRecalled(u, got, args)
		case len(found.Hits) == 0:
			u.note("nothing in this session has " + args)
		default:
			showFound(u, found, args)
		}
	})
}

func showFound(u *ui, found *clew.Found, words string) {
	var items []widget.Item
	seen := map[string]bool{} // a call may be the pair of several hits
	for _, h := range found.Hits {
		role := string(h.Role)
		if len(h.Tools) > 0 {
			role = strings.Join(h.Tools, ", ")
		}
		add := func(id, snippet, role string) {
			if seen[id] {
				return
			}
			seen[id] = true
			items = append(items, widget.Item{ID: id, Cells: []string{snippet, role, fmt.Sprintf("turn %d", h.Turn)}, Detail: "[#" + id + "] " + snippet})
		}
		add(h.Entry, h.Snippet, role)
		for _, half := range h.Pair {
			add(half.Entry, half.Snippet, string(half.Role))
		}
		for _, id := range h.Like {
			add(id, h.Snippet, role)
		}
	}
	title := fmt.Sprintf("%s for %s", text.Counted(found.Total, "hit"), words)
	if len(items) > len(found.Hits) {
		title += ", and what belongs to them"
	}
	if found.Next > 0 {
		title += fmt.Sprintf(", the best %d", found.Next)
	}
	a := u.cfg.Host.Agent()
	u.pick(widget.PickerOptions{Title: title}, items, "", func(id string) {
		get(u, "reading it", "recall", func(ctx context.Context) (*clew.Recalled, error) {
			return a.Recall(ctx, id, clew.RecallOptions{Max: recallMost})
		}, func(got *clew.Recalled) { showRecalled(u, got, id) })
	})
}

func showRecalled(u *ui, r *clew.Recalled, handle string) {
	what := cmp.Or(string(r.Role), "entry")
	if r.Tool != "" {
		what += " of " + r.Tool
	}
	if len(r.Entries) == 1 {
		handle = r.Entries[0]
	}
	text := r.Text
	if r.Next > 0 {
		text += fmt.Sprintf("\n\n… %d of %d characters; clew recall prints all", r.Next, r.Total)
	}
	u.showText(what+" [#"+handle+"]", text)
}

func showCost(u *ui, _ string) {
	t := u.cfg.Host.Agent().State().Totals
	u.show("cost", func(width int) string { return costText(t, width) })
}

func costText(t agent.Totals, width int) string {
	var b strings.Builder
	width = max(min(width-54, 40), 20) // of the first column; the others take 54
	line := func(what string, m agent.ModelTotals) {
		price := widget.Dollars(m.Cost)
		if m.Cost == 0 && m.Requests > 0 {
			price = "not known"
		}
		fmt.Fprintf(&b, "%s %5d  %8s %8s %8s %8s  %s\n", widget.Pad(widget.Cut(widget.OneLine(what), width), width), m.Requests, text.Tokens(m.Input), text.Tokens(m.CacheRead), text.Tokens(m.CacheWrite), text.Tokens(m.Output), price)
	}
	fmt.Fprintf(&b, "%s %5s  %8s %8s %8s %8s  %s\n", widget.Pad("model", width), "calls", "input", "cached", "to cache", "output", "cost")
	other := t.ModelTotals
	for _, name := range slices.Sorted(maps.Keys(t.ByModel)) {
		m := t.ByModel[name]
		line(name, m)
		other.Requests -= m.Requests
		other.Input -= m.Input
		other.Output -= m.Output
		other.CacheRead -= m.CacheRead
		other.CacheWrite -= m.CacheWrite
		other.Cost -= m.Cost
	}
	if other.Requests > 0 {
		line("summaries, and attempts that failed", other)
	}
	line("all", t.ModelTotals)
	if all := t.Input + t.CacheRead + t.CacheWrite; all > 0 {
		fmt.Fprintf(&b, "\n%s of all input came from the provider's cache\n", widget.Percent(float64(t.CacheRead)/float64(all)))
	}
	b.WriteString("\nAll branches and summaries of the session are counted. Costs go by the prices that are known.\n")
	return b.String()
}

// What /context and /explain have in common with clew context and clew explain, which print
// numbers in full.

// categoryWords are what a context is made of.
var categoryWords = [token.NumCategories]string{
	token.System: "system prompt", token.Tools: "tool definitions", token.User: "user",
	token.Assistant: "answers", token.Thinking: "thinking", token.ToolCalls: "tool calls",
	token.ToolResults: "tool results", token.Images: "images", token.Summaries: "summaries",
	token.Shell: "shell", token.Custom: "from programs", token.Unattributed: "not in the log",
}

// Categories says in a line each what a context is made of; bar paints what stands for the size.
func Categories(r token.Reading, number func(int64) string, bar func(string) string) (lines []string) {
	names, digits := 0, 0
	for c, n := range r.Categories {
		if n > 0 {
			names, digits = max(names, len(categoryWords[c])), max(digits, len(number(n)))
		}
	}
	for c, n := range r.Categories {
		if n > 0 {
			const most = 20
			size := strings.Repeat("█", int(min(n*most/max(r.Tokens, 1), most)))
			lines = append(lines, fmt.Sprintf("%-*s  %*s  %4s  %s", names, categoryWords[c], digits, number(n), widget.Percent(float64(n)/float64(r.Tokens)), bar(size)))
		}
	}
	return lines
}

// Measured says how the size of a context is known; by is who or what has reported it.
func Measured(r token.Reading, by string, number func(int64) string) string {
	estimated := number(r.Estimated) + " estimated (" + r.Counter + ")"
	switch {
	case r.Anchor < 0 && r.Measured > 0:
		return "nothing: " + estimated + ", " + number(r.Measured) + " shown by the usage before the pass"
	case r.Anchor < 0:
		return "nothing: all is estimated (" + r.Counter + ")"
	case r.Estimated > 0:
		return number(r.Measured) + " reported " + by + ", " + estimated
	}
	return number(r.Measured) + " reported " + by
}

// FateCount says how many entries of a path have met a fate, and why.
type FateCount struct {
	Kind compact.FateKind
	N    int64
	Text string
}

// FateCounts counts fates, those that none has met left out.
func FateCounts(fates []compact.Fate, number func(int64) string) (out []FateCount) {
	for _, c := range []FateCount{
		{Kind: compact.FateVerbatim, Text: "in the context as they were written"},
		{Kind: compact.FateEdited, Text: "in the context with other content"},
		{Kind: compact.FateSummarized, Text: "in the summary"},
		{Kind: compact.FateQuoted, Text: "in the summary, word for word"},
		{Kind: compact.FateExcluded, Text: "not in the context"},
	} {
		var order, parts []string // the reasons as they come first
		times := map[string]int64{}
		for _, f := range fates {
			if f.Fate != c.Kind {
				continue
			}
			c.N++
			if f.Why != "" && times[f.Why] == 0 {
				order = append(order, f.Why)
			}
			times[f.Why]++
		}
		for _, why := range order {
			parts = append(parts, number(times[why])+" "+why)
		}
		if len(parts) > 0 {
			c.Text += ": " + strings.Join(parts, ", ")
		}
		if c.N > 0 {
			out = append(out, c)
		}
	}
	return out
}
