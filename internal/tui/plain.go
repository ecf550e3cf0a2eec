package tui

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/muesli/cancelreader"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/internal/tui/widget"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// plain is the terminal for screen readers, and for terminals that can't be drawn on: lines
// that come one after the other, and questions that are answered with a line.
type plain struct {
	base
	ctx  context.Context
	msgs chan tea.Msg

	asks  []agent.Question
	since time.Time       // when the question was asked
	calls map[string]call // that have begun
	seen  map[string]bool
	// prompts are what the next line answers, the last one first.
	prompts []func(line string)
	again   []func() // opens what waits for the user; see soon
	ended   bool
}

// call is a tool call that runs.
type call struct{ line string }

var _ front = (*plain)(nil)

// runPlain talks with the user in lines.
func runPlain(ctx context.Context, c Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, err := cancelreader.NewReader(c.In)
	if err != nil { // a file can't be waited for, and need not be: reading it never blocks
		in, err = cancelreader.NewReader(struct{ io.Reader }{c.In})
	}
	if err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	lines, read := make(chan string), make(chan error, 1)
	p := &plain{base: base{cfg: c, tasks: &tasks{ctx: ctx}}, ctx: ctx, msgs: make(chan tea.Msg), calls: map[string]call{}, seen: map[string]bool{}}
	p.start = func(work tea.Cmd) {
		go func() {
			select {
			case p.msgs <- work():
			case <-ctx.Done():
			}
		}()
	}
	go func() { read <- readLines(ctx, in, lines) }()
	err = p.loop(lines, read)
	cancel()
	in.Cancel()
	p.tasks.wait()
	return errors.Join(err, in.Close())
}

// maxLine is how long a line may be that is typed, in bytes.
const maxLine = 4 << 20

// readLines sends what is typed, line by line.
func readLines(ctx context.Context, in io.Reader, to chan<- string) error {
	s := bufio.NewScanner(in)
	s.Buffer(nil, maxLine)
	for s.Scan() {
		select {
		case to <- strings.TrimRight(s.Text(), "\r"):
		case <-ctx.Done():
			return nil
		}
	}
	return s.Err()
}

func (p *plain) loop(lines <-chan string, read <-chan error) error {
	p.state = p.cfg.Host.Agent().State()
	begin(p, p.cfg)
	p.history()
	for _, q := range p.cfg.Host.Agent().Questions() {
		p.asked(q)
	}
	if p.cfg.First != "" {
		p.line(p.cfg.First)
	}
	for !p.ended {
		select {
		case <-p.ctx.Done():
			return nil
		case <-p.cfg.Events.Ready():
			for _, e := range p.cfg.Events.Take() {
				p.event(e)
			}
		case m := <-p.msgs:
			p.finish(m.(jobMsg))
		case l := <-lines:
			p.line(l)
		case err := <-read:
			if err != nil {
				return fmt.Errorf("can't read what is typed: %w", err)
			}
			return p.last()
		}
	}
	return nil
}

// last lets the agent finish what it was given, when nothing more can be typed.
func (p *plain) last() error {
	a := p.cfg.Host.Agent()
	waiting := true
	var failed error
	p.quietly(a.Wait, func(err error) { waiting, failed = false, err })
	for {
		// The events come a little later than what they tell of.
		if now := a.State(); !waiting && now.Leaf == p.state.Leaf && now.Doing == p.state.Doing && len(p.asks) == 0 {
			return failed
		}
		select {
		case <-p.ctx.Done():
			return nil
		case <-p.cfg.Events.Ready():
			for _, e := range p.cfg.Events.Take() {
				p.event(e)
				if e.Kind == agent.KindAsk { // nobody is there to answer
					if err := a.Answer(e.Question.ID, agent.Reply{}); err != nil {
						p.fail("", err)
					}
				}
			}
		case m := <-p.msgs:
			p.finish(m.(jobMsg))
		}
	}
}

// say prints lines. What can't be printed ends the program: nobody would know why
// nothing comes.
func (p *plain) say(text string) {
	text = strings.TrimRight(widget.Sanitize(text), "\n ")
	if _, err := io.WriteString(p.cfg.Out, text+"\n"); err != nil {
		p.ended = true
	}
}

// shownAtStart is how many messages of a session that goes on are printed.
const shownAtStart = 6

// history prints the end of what was said.
func (p *plain) history() {
	path, err := p.cfg.Host.Agent().Path(p.ctx)
	if err != nil {
		p.fail("the session can't be read", err)
		return
	}
	for _, s := range path {
		p.seen[s.ID] = true
	}
	if n := len(path) - shownAtStart; n > 0 {
		p.say(fmt.Sprintf("%s before this; /recall finds them.", widget.Counted(n, "entry")))
		path = path[n:]
	}
	for _, s := range path {
		if s.Message != nil {
			p.message(s.Message)
		}
	}
}

// message prints what a message says.
func (p *plain) message(m *message.Message) {
	switch m.Role {
	case message.RoleUser:
		who := "You: "
		if !m.UserWords() {
			who = "Told the model: "
		}
		p.say(who + m.Text() + images(m))
	case message.RoleAssistant:
		if text := strings.TrimSpace(m.Text()); text != "" {
			p.say("clew: " + text)
		}
	case message.RoleToolResult:
		p.result(m)
	case message.RoleBashExecution:
		p.say("Command " + m.Command + ": " + strings.TrimSpace(m.Output))
	case message.RoleBranchSummary, message.RoleCompactionSummary:
		p.say("Summary of the earlier conversation: " + widget.Cut(plainSummary(m.Summary), mostSummary))
	case message.RoleCustom:
		if m.Display {
			p.say(m.Text())
		}
	default:
	}
}

func (p *plain) result(m *message.Message) {
	line := m.ToolName
	if c, ok := p.calls[m.ToolCallID]; ok && c.line != "" {
		line = c.line
		delete(p.calls, m.ToolCallID)
	}
	if m.IsError {
		p.say("Tool " + line + ": " + cmp.Or(string(tool.OutcomeOf(m.Details)), "failed") + ": " + text.FirstLine(m.Text()))
		return
	}
	p.say("Tool " + line + ": ok")
}

// event prints what an event tells.
func (p *plain) event(e agent.Event) {
	switch e.Kind {
	case agent.KindState:
		p.state = *e.State
	case agent.KindEntry:
		if !p.seen[e.Entry.ID] {
			p.seen[e.Entry.ID] = true
			p.message(e.Entry.Message)
		}
	case agent.KindTurnStart:
		p.say("Working; /cancel stops it.")
	case agent.KindTurnEnd:
		p.turnEnd(e)
	case agent.KindToolStart:
		p.calls[e.Tool.ID] = call{e.Tool.Line}
	case agent.KindAsk:
		p.asked(*e.Question)
	case agent.KindAsked:
		p.answered(e.Question.ID)
	case agent.KindCompactionStart:
		p.say("Compacting " + widget.Tokens(e.Compaction.Before) + " tokens.")
	case agent.KindCompactionEnd:
		switch c := e.Compaction; {
		case c.Done:
			p.say("Compacted: " + boxTitle(c) + ".")
			p.readSummary(c.Entries)
		case c.Aborted:
			p.say("The compaction was cancelled; the context is as it was.")
		case c.Error != "":
			p.fault("the compaction failed, and the context is as it was: " + c.Error)
		}
	case agent.KindRetry:
		p.say(fmt.Sprintf("Trying again in %s, attempt %d: %s", e.Retry.Wait.Round(time.Second), e.Retry.Attempt, e.Retry.Error))
	case agent.KindWarning:
		p.say("Warning: " + e.Text)
	case agent.KindError:
		p.fault(e.Text)
	default:
	}
}

func (p *plain) turnEnd(e agent.Event) {
	p.calls = map[string]call{}
	switch e.Outcome {
	case agent.OutcomeDone:
		s := p.cfg.Host.Agent().State()
		mark := "about "
		if s.Measured {
			mark = ""
		}
		p.say(fmt.Sprintf("Done. The context has %s%s of %s tokens.", mark, widget.Tokens(s.Tokens), widget.Tokens(s.Window)))
	case agent.OutcomeCancelled:
		p.say("Cancelled; what was done stays. /continue resumes.")
	case agent.OutcomeLimit:
		p.say("Stopped at the limit of requests for one prompt; /continue resumes.")
	case agent.OutcomeFailed:
		p.fault(e.Error + "\nNothing is lost: /continue tries again.")
	}
}

// line does what a line says: it answers what was asked, or is sent.
func (p *plain) line(text string) {
	if n := len(p.prompts); n > 0 {
		answer := p.prompts[n-1]
		p.prompts = p.prompts[:n-1]
		answer(strings.TrimSpace(text))
		p.openLater()
		return
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	if len(p.asks) > 0 && p.reply(strings.TrimSpace(text)) {
		return
	}
	p.cfg.Host.Remember(text)
	kind, rest := kindOf(text)
	if kind != inputText {
		command(p, kind, rest)
		return
	}
	p.send(&outgoing{input: &agent.Input{Text: rest}, asIs: rest != strings.TrimSpace(text)})
}

// send expands a message and sends it.
func (p *plain) send(o *outgoing) {
	in, err := o.expand(p.ctx, p.cfg.Host)
	for _, n := range o.notes {
		p.say("Note: " + n)
	}
	busy := p.state.Doing != agent.DoingNothing
	if err == nil {
		_, err = p.cfg.Host.Agent().Send(p.ctx, in)
	}
	if err != nil {
		p.fail("it was not sent", err)
	} else if busy {
		p.say("It waits, and is delivered before the next request.")
	}
	if len(p.asks) > 0 {
		p.ask()
	}
}

func (p *plain) own(text string) { p.send(&outgoing{input: &agent.Input{Text: text}}) }

// asked takes a question in.
func (p *plain) asked(q agent.Question) {
	if slices.ContainsFunc(p.asks, func(a agent.Question) bool { return a.ID == q.ID }) {
		return
	}
	p.asks = append(p.asks, q)
	if len(p.asks) == 1 {
		p.ask()
	}
}

// ask prints the first question that waits.
func (p *plain) ask() {
	p.since = p.cfg.Clock()
	w := question(p.asks[0], false)
	bell := "\a"
	if p.cfg.Silent {
		bell = ""
	}
	if _, err := io.WriteString(p.cfg.Out, bell); err != nil {
		p.ended = true
	}
	p.question(w)
	answers := "y: yes, once. n: no. n and a text: no, and say why."
	if rules := strings.Join(p.asks[0].Rules, ", "); rules != "" {
		answers = "y: yes, once. a: yes, for this session: " + rules + ". A: always. n: no. n and a text: no, and say why."
		if len(p.asks[0].Exact) > 0 {
			answers = strings.Replace(answers, "a: yes", "e: yes, exactly this for this session. a: yes", 1)
		}
	}
	p.say("Answer with " + answers)
}

// question prints what is asked.
func (p *plain) question(q widget.Question) {
	p.say("Question: " + q.Title)
	for _, part := range []string{q.Text, q.Body, q.Diff} {
		if part != "" {
			p.say(widget.Reveal(part))
		}
	}
}

func (p *plain) answered(id string) {
	first := len(p.asks) > 0 && p.asks[0].ID == id
	p.asks = slices.DeleteFunc(slices.Clone(p.asks), func(q agent.Question) bool { return q.ID == id })
	if first && len(p.asks) > 0 {
		p.ask()
	}
}

// soonest is how early after a question a line may answer it: one that was on its way
// does not.
const soonest = 300 * time.Millisecond

// reply answers the question, if the line is an answer. Any other line is a message.
func (p *plain) reply(text string) bool {
	q := p.asks[0]
	word, why, _ := strings.Cut(text, " ")
	var r agent.Reply
	switch {
	case text == "y":
		r.Allow = true
	case (text == "a" || text == "A") && len(q.Rules) > 0:
		r.Allow, r.Remember = true, true
	case text == "e" && len(q.Exact) > 0:
		r.Allow, r.Remember, r.Exact = true, true, true
	case word == "n":
		r.Why = strings.TrimSpace(why)
	default:
		return false
	}
	if gone := p.cfg.Clock().Sub(p.since); gone >= 0 && gone < soonest {
		p.say("That came too early to be an answer.")
		p.ask()
		return true
	}
	if text == "A" {
		allowAlways(p, q.Rules)
	}
	if err := p.cfg.Host.Agent().Answer(q.ID, r); err != nil {
		p.fail("the answer came too late", err)
	}
	p.answered(q.ID)
	return true
}

// What follows is front.

func (p *plain) note(text string) { p.say(text) }

func (p *plain) fault(text string) { p.say("Error: " + text) }

func (p *plain) fail(what string, err error) { p.fault(failure(what, err)) }

func (p *plain) run(what string, work func(ctx context.Context) error, then func(error)) {
	p.say("Now " + what + "; /cancel stops it.")
	p.base.run(what, work, then)
}

// soon opens something when nothing else is asked.
func (p *plain) soon(_ string, open func()) {
	p.again = append(p.again, open)
	p.openLater()
}

func (p *plain) openLater() {
	if len(p.prompts) == 0 && len(p.again) > 0 {
		open := p.again[0]
		p.again = p.again[1:]
		open()
	}
}

// mostLines is how many lines of a page are printed.
const mostLines = 200

// mostSummary is how much of a summary is read out, in characters. /explain and /recall have
// the rest.
const mostSummary = 600

// pageWidth is how wide tables are made.
const pageWidth = 80

func (p *plain) show(title string, text func(width int) string) { p.page(title, text(pageWidth)) }

func (p *plain) showText(title, text string) { p.page(title, text) }

// noBars takes away what only eyes can read.
var noBars = strings.NewReplacer("█", "", "░", "", "│", "")

// readSummary reads out the summary of a pass, if it made one.
func (p *plain) readSummary(entries []string) {
	a := p.host().Agent()
	text := ""
	p.quietly(func(ctx context.Context) error {
		path, err := a.Path(ctx)
		for _, s := range path {
			if s.Type == session.TypeCompaction && slices.Contains(entries, s.ID) {
				text = s.Message.Summary
			}
		}
		return err
	}, func(error) {
		if text != "" {
			p.say("The summary: " + widget.Cut(plainSummary(text), mostSummary))
		}
	})
}

func (p *plain) page(title, text string) {
	p.say(title + ":")
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for _, l := range lines[:min(len(lines), mostLines)] {
		if strings.ContainsAny(l, "█░") {
			if l = strings.TrimRight(noBars.Replace(l), " "); l == "" {
				continue
			}
		}
		p.say(l)
	}
	if n := len(lines) - mostLines; n > 0 {
		p.say(fmt.Sprintf("%d more lines are not printed.", n))
	}
}

// prompt lets the next line answer something.
func (p *plain) prompt(text string, answer func(line string)) {
	p.say(text)
	p.prompts = append(p.prompts, answer)
}

// promptUntil is prompt until the line is an answer.
func (p *plain) promptUntil(text string, answer func(line string) bool) {
	p.prompt(text, func(line string) {
		if !answer(line) {
			p.promptUntil(text, answer)
		}
	})
}

func (p *plain) edit(title, text string, _ bool, done func(string)) {
	now := ""
	if text != "" {
		now = " Now it is: " + text + "."
	}
	p.prompt(title+"."+now+" Type a line; an empty one leaves it, a dot makes it empty.", func(line string) {
		switch line {
		case "":
			p.say("Left as it was.")
		case ".":
			done("")
		default:
			done(line)
		}
	})
}

func (p *plain) head(title string, lines ...string) { p.say(title + ": " + strings.Join(lines, ". ")) }

func (p *plain) showDiff(title, unified string) { p.page(title, unified) }

func (p *plain) editWith(head []string, title, text string, note func(string) (string, bool), done func(string)) {
	take := func(text string) {
		if why, bad := note(text); bad {
			p.fault(why + "; nothing was changed")
			return
		}
		done(text)
	}
	for _, l := range head {
		p.say(l)
	}
	p.page(title, text)
	p.promptUntil("Answer with y: apply it. e: write another one. n: leave it as it is.", func(line string) bool {
		switch line {
		case "y":
			take(text)
		case "e":
			p.say("Type the text; a line with a dot alone ends it.")
			p.lines(nil, take)
		case "n", "":
			p.say("Nothing was changed.")
		default:
			return false
		}
		return true
	})
}

// lines reads lines up to one with a dot alone.
func (p *plain) lines(have []string, done func(string)) {
	p.prompts = append(p.prompts, func(line string) {
		if line == "." {
			done(strings.Join(have, "\n"))
			return
		}
		p.lines(append(have, line), done)
	})
}

func (p *plain) choose(q widget.Question, _ bool, then func(option string)) {
	p.question(q)
	var text []string
	for _, o := range q.Options {
		text = append(text, o.Key+": "+o.Text)
	}
	p.promptUntil("Answer with "+strings.Join(text, ". ")+".", func(line string) bool {
		at := slices.IndexFunc(q.Options, func(o widget.Option) bool { return o.Key == line })
		switch {
		case line == "":
			at = q.Safe
		case at < 0:
			p.say("That is none of the answers.")
			return false
		}
		then(q.Options[at].ID)
		return true
	})
}

// mostItems is how many items of a list are printed at once.
const mostItems = 20

func (p *plain) pick(l *list) {
	if len(l.items) == 0 {
		p.say(l.Empty)
		return
	}
	p.pickFrom(l, l.items)
}

func (p *plain) pickFrom(l *list, items []widget.Item) {
	p.say(l.Title + ":")
	for i, it := range items[:min(len(items), mostItems)] {
		p.say(strconv.Itoa(i+1) + ". " + strings.Join(it.Cells, ", "))
	}
	if n := len(items) - mostItems; n > 0 {
		p.say(fmt.Sprintf("And %d more.", n))
	}
	p.prompt("Type a number, words to search for, or nothing to leave.", func(line string) {
		n, err := strconv.Atoi(line)
		switch {
		case line == "":
			p.say("Nothing was taken.")
		case err == nil && n >= 1 && n <= len(items):
			l.picked(items[n-1].ID)
		default:
			var found []widget.Item
			for _, it := range l.items {
				if hasWords(it, line) {
					found = append(found, it)
				}
			}
			if len(found) == 0 {
				p.say("Nothing fits.")
				found = l.items
			}
			p.pickFrom(l, found)
		}
	})
}

func hasWords(it widget.Item, words string) bool {
	text := strings.ToLower(strings.Join(it.Cells, " ") + " " + it.Detail + " " + it.Search)
	for w := range strings.FieldsSeq(strings.ToLower(words)) {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// plainTree is a tree that was printed.
type plainTree struct{}

func (plainTree) SetNodes([]widget.Node) {}
func (plainTree) leave()                 {}

// tree lists what the user has said, on all branches, the newest first.
func (p *plain) tree(nodes []widget.Node, do func(t treeFront, msg any)) {
	var items []widget.Item
	for i := len(nodes) - 1; i >= 0; i-- {
		n := nodes[i]
		if n.Kind != widget.NodeUser && n.Kind != widget.NodeAssistant && n.Label == "" {
			continue
		}
		what := string(n.Kind)
		if !n.OnPath {
			what += " on another branch"
		}
		if n.Leaf {
			what += ", the conversation is here"
		}
		if n.Label != "" {
			what += ", label " + n.Label
		}
		items = append(items, widget.Item{ID: n.ID, Cells: []string{text.FirstLine(n.Text), what}})
	}
	p.pick(&list{
		PickerOptions: widget.PickerOptions{Title: "the tree, the newest first", Empty: "nothing was said yet"}, items: items,
		picked: func(id string) { do(plainTree{}, widget.TreeSelectMsg{ID: id}) },
	})
}

func (p *plain) offer(text string) bool {
	p.say("What stood here: " + text)
	return true
}

func (p *plain) copy(text string) { p.say(text) }

func (p *plain) changing() {}

func (p *plain) changed(err error) {
	if err != nil {
		return
	}
	p.asks, p.seen, p.calls = nil, map[string]bool{}, map[string]call{}
	p.state = p.cfg.Host.Agent().State()
	p.history()
	for _, q := range p.cfg.Host.Agent().Questions() {
		p.asked(q)
	}
}

func (p *plain) stop() {
	if p.stopJob() {
		return
	}
	a := p.cfg.Host.Agent()
	did := false
	p.quietly(func(ctx context.Context) (err error) { did, err = a.Cancel(ctx); return err }, func(err error) {
		switch {
		case err != nil:
			p.fail("cancel", err)
		case !did:
			p.say("Nothing is running.")
		}
	})
}

func (p *plain) quit() { p.ended = true }
