package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/internal/tui"
	"github.com/clew-dev/clew/internal/tui/widget"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
	"github.com/clew-dev/clew/wire"
)

func newContext(cmd *cobra.Command) runFunc {
	var counter counterFlag
	fl := cmd.Flags()
	model := fl.String("model", "", "the model that is asked, as `PROVIDER/ID` (default the one in force in the session)")
	windowFlag := fl.String("window", "", "the model's context window in tokens, such as 64k (default that of the model, 200k where it is not known)")
	fl.String("leaf", "", "take this entry as the leaf (an id or the beginning of one)")
	wireFor := fl.String("wire", "", "print the messages for an API: "+strings.Join(wire.ProfileNames(), ", "))
	counter.add(cmd)
	full := fl.Bool("full", false, "print the messages whole")
	_ = cmd.RegisterFlagCompletionFunc("wire", cobra.FixedCompletions(wire.ProfileNames(), cobra.ShellCompDirectiveNoFileComp))
	return func(args []string) (result, error) {
		profile, err := wire.ProfileByName(*wireFor)
		switch {
		case *wireFor == "" && !fl.Changed("wire"):
		case err != nil:
			return nil, usagef("--wire: %w", err)
		case wantsJSON(cmd) || *full:
			return nil, usagef("context: --wire prints JSON of its own; leave out --json and --full")
		}
		asked := session.Model{}
		if asked.Provider, asked.ID, _ = strings.Cut(*model, "/"); (asked.Provider == "" || asked.ID == "") && fl.Changed("model") {
			return nil, usagef("context: --model %q is not of the form PROVIDER/ID, such as anthropic/claude-opus-4-5", *model)
		}
		policy := modelPolicy{}
		if policy.Window, err = numberFlag("window", *windowFlag, windowNumber); err != nil {
			return nil, err
		}
		if _, _, err := policy.Resolve(); err != nil {
			return nil, wrongUse(err)
		}
		return withLeaf(cmd, args[0], "leaf", func(s kept, at string) (result, error) {
			defer working(cmd, "reading %s", args[0])()
			snap, err := load(cmd.Context(), s, at, asked, policy, counter)
			if err != nil {
				return nil, err
			}
			c := &contextReport{Session: sessionOf(s), Leaf: at, snap: snap, full: *full}
			if err := c.fill(cmd.Context(), s, asked.ID != "", *full && wantsJSON(cmd)); err != nil || !fl.Changed("wire") {
				return c, err
			}
			return nil, printWire(cmd, c, profile)
		})
	}
}

// printWire prints the parts of a request body that come from the context.
func printWire(cmd *cobra.Command, c *contextReport, p wire.Profile) error {
	// Whether the model reads images is not known; it is taken as able to, so
	// that they are seen.
	target := wire.Target{Provider: c.snap.Model.Provider, Model: c.snap.Model.ID, TakesImages: true}
	req, notes, err := wire.Build(c.snap.Messages, p, target, wire.Options{})
	if pending, ok := errors.AsType[*wire.PendingError](err); ok {
		fmt.Fprintf(cmd.ErrOrStderr(), "clew: note: %s not answered yet; a result that says so is put in\n", count(len(pending.Calls), "call is", "calls are"))
		req, notes, err = wire.Build(c.snap.Messages, p, target, wire.Options{CloseOpenCalls: true})
	}
	for _, line := range wireNotes(c, notes) {
		fmt.Fprintf(cmd.ErrOrStderr(), "clew: note: %s\n", line)
	}
	if invalid, ok := errors.AsType[*wire.ValidationError](err); ok {
		for _, violation := range invalid.Violations {
			fmt.Fprintf(cmd.ErrOrStderr(), "clew: %s would refuse it: %s\n", p.Name, printable(violation.String()))
		}
		return fmt.Errorf("context: no request of this context that %s would take; clew verify says what is wrong with the session", p.Name)
	}
	if err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write(append(req.Body(p, nil), '\n'))
	return err
}

// wireNotes says each kind of thing that was done once, with how often.
func wireNotes(c *contextReport, notes []wire.Note) []string {
	times := map[wire.NoteCode]int{}
	for _, n := range notes {
		times[n.Code]++
	}
	var lines []string
	for _, n := range notes {
		more := times[n.Code] - 1
		if more < 0 {
			continue
		}
		times[n.Code] = 0 // the others of its kind are told with it
		line := printable(n.Text)
		if n.Index >= 0 && n.Index < len(c.snap.Context.Items) {
			line += " (entry " + short(c.snap.Context.Items[n.Index].Entry.ID, maxID) + ")"
		}
		if more > 0 {
			line += ", and " + number(int64(more)) + " more of this kind"
		}
		lines = append(lines, line)
	}
	return lines
}

// contextReport is what context says, and its JSON.
type contextReport struct {
	Session    sessionJSON      `json:"session"`
	Leaf       string           `json:"leaf,omitempty"`
	Model      *contextModel    `json:"model,omitempty"`
	Window     contextWindow    `json:"window"`
	Tokens     int64            `json:"tokens"`
	Guarded    int64            `json:"guarded"`
	Over       bool             `json:"over"`
	Reading    token.Reading    `json:"reading"`
	Calibrated *contextLearned  `json:"calibrated,omitempty"`
	Compaction *contextCut      `json:"compaction,omitempty"`
	Edited     int              `json:"edited"`
	Omitted    int              `json:"omitted"`
	ToolCalls  int              `json:"toolCalls"`
	Messages   []contextMessage `json:"messages"`

	snap *loaded
	full bool // the messages whole
}

type contextModel struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
	From     string `json:"from"`
	Thinking string `json:"thinking,omitempty"`
}

type contextWindow struct {
	Tokens  int64  `json:"tokens"`
	From    string `json:"from"`
	Reserve int64  `json:"reserve"`
	Limit   int64  `json:"limit"`
}

type contextLearned struct {
	Calls  int64   `json:"calls"`
	Factor float64 `json:"factor"`
}

type contextCut struct {
	ID           string `json:"id"`
	FirstKept    string `json:"firstKept,omitempty"`
	TokensBefore int64  `json:"tokensBefore"`
}

type contextMessage struct {
	ID      string          `json:"id"`
	Role    string          `json:"role"`
	Tokens  int64           `json:"tokens"`
	Edit    string          `json:"edit,omitempty"`
	Text    string          `json:"text"`
	Message json.RawMessage `json:"message,omitempty"`
}

// fill takes over what a snapshot says: of a model that was named or not, with the messages
// whole or not.
func (c *contextReport) fill(ctx context.Context, s session.Store, named, whole bool) error {
	snap := c.snap
	by := map[string]string{clew.WindowCatalogue: "model", clew.WindowAssumed: "default", clew.WindowSet: "flag", windowGateway: "gateway"}[snap.windowBy]
	c.Window = contextWindow{snap.Budget.Window, by, snap.Budget.Reserve, snap.Budget.Limit}
	c.Reading, c.Tokens, c.Guarded = snap.Reading, snap.Reading.Tokens, snap.Reading.Guarded()
	c.Over = c.Guarded > c.Window.Limit
	if snap.Model.ID != "" {
		level, err := c.level(ctx, s, named)
		if err != nil {
			return err
		}
		c.Model = &contextModel{snap.Model.Provider, snap.Model.ID, "session", level}
		if named {
			c.Model.From = "flag"
		}
	}
	if l := snap.Learned; l.Calls > 0 {
		c.Calibrated = &contextLearned{l.Calls, l.Factor()}
	}
	if e := snap.Context.Compaction; e != nil {
		view, _ := e.Compaction()
		c.Compaction = &contextCut{e.ID, view.FirstKeptEntryID, view.TokensBefore}
	}
	omitted := map[string]bool{}
	for _, e := range snap.Context.Active {
		if edit, ok := e.ContextEdit(); ok {
			omitted[edit.TargetID] = edit.Omit
		}
	}
	for _, e := range snap.Context.Active {
		if omitted[e.ID] {
			c.Omitted++
		}
	}
	c.Messages = []contextMessage{}
	for i, it := range snap.Context.Items {
		m := contextMessage{ID: it.Entry.ID, Role: string(it.Message.Role), Tokens: snap.Costs[i], Text: cut(joinWords(messageLine(it.Message)), maxText)}
		if it.Edit != nil {
			m.Edit = it.Edit.ID
			if i == 0 || snap.Context.Items[i-1].Entry != it.Entry {
				c.Edited++
			}
		}
		if whole {
			if m.Message = jsonx.Clean(it.Message.JSON()); !json.Valid(m.Message) {
				return fmt.Errorf("context: the message of entry %s is nested too deeply for --json --full; leave out --full", it.Entry.ID)
			}
		}
		c.ToolCalls += len(it.Message.ToolCalls())
		c.Messages = append(c.Messages, m)
	}
	return nil
}

// level returns the thinking level, that of the latest entry of the context that says one;
// and that of the path where the context does not name the model that is logged.
func (c *contextReport) level(ctx context.Context, s session.Store, given bool) (level string, err error) {
	named := false
	for _, e := range slices.Backward(c.snap.Context.Active) {
		if l, ok := e.ThinkingLevel(); ok && level == "" {
			level = l
		}
		m, ok := e.ModelChange()
		msg, err := e.Message()
		if ok && m == c.snap.Logged || err == nil && msg.Role == message.RoleAssistant {
			named = true
		}
		if named && level != "" {
			break
		}
	}
	if !named && !given && c.snap.Logged.ID != "" {
		_, level, err = session.Settings(ctx, s, c.Leaf)
	}
	return level, err
}

// contextSize is what --json says of how large a context is.
type contextSize struct {
	Tokens   int64 `json:"tokens"`
	Messages int   `json:"messages"`
}

// measure finds out what the context at a leaf takes.
func (c *contextSize) measure(ctx context.Context, s session.Store, leaf string) error {
	snap, err := load(ctx, s, leaf, session.Model{}, modelPolicy{}, counterHeuristic)
	if err == nil {
		c.Tokens, c.Messages = snap.Reading.Tokens, len(snap.Context.Items)
	}
	return err
}

// write writes the size.
func (c *contextSize) write(rep *report) {
	rep.row("context", "%s, %s tokens", count(c.Messages, "message"), number(c.Tokens))
}

func (c *contextReport) text(rep *report) {
	n := shortestOf(c.Messages, func(m *contextMessage) string { return m.ID })
	c.head(rep, n)
	c.usage(rep, n)
	for _, l := range tui.Categories(c.Reading, number, func(bar string) string { return rep.p.paint(styleBlue, bar) }) {
		rep.line("  ", l)
	}
	rep.line()
	for i := range c.Messages {
		c.message(rep, i, n)
	}
}

// fact writes a name and what is so, on one line.
func (r *report) fact(name, format string, args ...any) {
	r.line(r.p.paint(styleDim, pad(name, 12)), cut(printable(fmt.Sprintf(format, args...)), r.wide-12))
}

// head says what the context is of; n is how many characters of ids are shown.
func (c *contextReport) head(rep *report, n int) {
	c.Session.head(rep)
	if c.Leaf == "" {
		rep.fact("leaf", "none: the session has no entries")
	} else {
		rep.fact("leaf", "%s", short(c.Leaf, maxID))
	}
	model := "not known"
	if m := c.Model; m != nil {
		model = m.Provider + "/" + m.ID
		if m.From == "flag" {
			model += " (asked for)"
		}
		if m.Thinking != "" && m.Thinking != "off" {
			model += ", thinking " + m.Thinking
		}
	}
	rep.fact("model", "%s", model)
	if cut := c.Compaction; cut != nil {
		kept := "nothing kept before it"
		if cut.FirstKept != cut.ID && slices.ContainsFunc(c.snap.Context.Active, func(e *session.Entry) bool { return e.ID == cut.FirstKept }) {
			kept = "kept from " + short(cut.FirstKept, n)
		}
		rep.fact("compaction", "%s, %s, %s tokens before it", short(cut.ID, n), kept, number(cut.TokensBefore))
	}
	if c.Edited+c.Omitted > 0 {
		rep.fact("edits", "%s changed, %s left out", count(c.Edited, "message"), number(int64(c.Omitted)))
	}
	rep.fact("messages", "%s, with %s", number(int64(len(c.Messages))), count(c.ToolCalls, "tool call"))
}

// usage draws how full the window is.
func (c *contextReport) usage(rep *report, n int) {
	r, limit := c.Reading, c.Window.Limit
	rep.fact("window", "%s tokens (%s)", number(c.Window.Tokens), map[string]string{
		"flag": "asked for", "model": "of the model", "gateway": "that the gateway kept to", "default": "assumed; --window sets it",
	}[c.Window.From])
	st := styleGreen
	switch {
	case c.Over:
		st = styleRed
	case c.Guarded > limit/10*8:
		st = styleYellow
	}
	full, rest := widget.Bar(r.Tokens, c.Window.Tokens, limit, 40)
	share := widget.Percent(float64(r.Tokens) / float64(c.Window.Tokens))
	rep.line(rep.p.paint(st, full), rep.p.paint(styleDim, rest), "  ", rep.p.paint(styleBold, number(r.Tokens)+" tokens, "+share))
	by := ""
	if r.Anchor >= 0 {
		by = "at " + short(c.Messages[r.Anchor].ID, n)
	}
	rep.fact("measured", "%s", tui.Measured(r, by, number))
	if l := c.Calibrated; l != nil {
		rep.fact("calibrated", "estimates times %.2f, learnt from %s in the log", l.Factor, count(int(l.Calls), "call"))
	}
	rep.fact("limit", "%s tokens, %s reserved for the answer", number(limit), number(c.Window.Reserve))
	switch {
	case !c.Over:
		rep.fact("left", "%s tokens", number(limit-r.Tokens))
	case r.Tokens <= limit:
		rep.fact("left", "%s tokens: too few, as estimates may be low; clew compact makes room", number(limit-r.Tokens))
	default:
		rep.fact("over", "%s tokens; clew compact makes room", number(r.Tokens-limit))
	}
	rep.fact("request", "about %s", size(r.Bytes))
}

// message writes a message: a line, or all that it says, as clew recall does.
func (c *contextReport) message(rep *report, i, n int) {
	m, p := c.snap.Context.Items[i].Message, rep.p
	left := p.paint(styleDim, padLeft(fmt.Sprint(i+1), len(fmt.Sprint(len(c.Messages))))) + "  " + p.paint(styleYellow, pad(short(c.Messages[i].ID, n), n)) + "  " +
		p.paint(roleStyle(m.Role), pad(cut(printable(kindOf(m.Role)), 10), 10)) + "  " + padLeft(number(c.Messages[i].Tokens), 9)
	edit := c.Messages[i].Edit
	if !c.full {
		if left += "  "; edit != "" {
			left += p.paint(styleYellow, "(edited) ")
		}
		text, tail := messageLine(m)
		rep.line(left, fit(text, tail, max(rep.wide-textWidth(left), 10)))
		return
	}
	if edit != "" {
		edit = p.paint(styleYellow, "  (edited by "+short(edit, n)+")")
	}
	rep.line(p.paint(styleDim, "── "), left, " tokens", edit)
	if m.Role == message.RoleToolResult {
		tool := m.ToolName
		if m.IsError {
			tool += " failed"
		}
		rep.line(p.paint(styleDim, "["+headline(tool)+"]"))
	}
	if s := strings.TrimRight(printableText(recall.Text(m)), " \n"); s != "" {
		rep.w.WriteString(s + "\n")
	}
	rep.line()
}

// roleStyles are the colours of roles; those of others are dim.
var roleStyles = map[message.Role]style{
	message.RoleUser: styleGreen, message.RoleAssistant: styleCyan,
	message.RoleCompactionSummary: stylePurple, message.RoleBranchSummary: stylePurple,
}

func roleStyle(r message.Role) style { return cmp.Or(roleStyles[r], styleDim) }
