package tui

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/internal/tui/widget"
)

// plain is the terminal for screen readers, and for terminals that can't be drawn on. Behind it is the same screen, which
// nobody sees: what that would show is printed in lines that come one after the other, and what it would open is answered
// with a line.
type plain struct {
	*ui
	open   *overlay          // that was printed
	answer func(line string) // to what is open; nil: a line is for the agent
	asking string            // the id of the question that was printed
	since  time.Time         // when it was

	script []string // what is to be typed; see Config.Script
	ended  bool     // nothing more can be typed but the script
	err    error
}

// onLines shows a screen in lines.
func onLines(u *ui) *plain {
	p := &plain{ui: u, script: u.cfg.Script, ended: u.cfg.Script != nil}
	u.take, u.read = p.event, p.skip
	return p
}

// lineMsg is a line that was typed, endMsg says that there are no more.
type (
	lineMsg string
	endMsg  struct{ err error }
)

// maxLine is how long a line may be that is typed, in bytes.
const maxLine = 4 << 20

// readLines sends what is typed, line by line.
func readLines(in io.Reader, send func(tea.Msg)) {
	s := bufio.NewScanner(in)
	s.Buffer(nil, maxLine)
	for s.Scan() {
		send(lineMsg(strings.TrimRight(s.Text(), "\r")))
	}
	send(endMsg{s.Err()})
}

// Init implements tea.Model.
func (p *plain) Init() tea.Cmd {
	p.begin()
	_, cmd := p.Update(nil)
	return cmd
}

// View implements tea.Model.
func (p *plain) View() tea.View { return tea.View{} }

// Update implements tea.Model: the screen deals with a message, and what has changed is printed.
func (p *plain) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case lineMsg:
		if !p.quitting {
			p.line(string(msg))
		}
	case endMsg:
		p.ended = true
		if msg.err != nil {
			p.err = fmt.Errorf("can't read what is typed: %w", msg.err)
			p.quitting = true
		}
	}
	_, cmd := p.ui.Update(msg)
	p.print()
	p.present()
	for p.ended && p.act() {
		p.print()
		p.present()
	}
	_, more := p.ui.Update(nil)
	return p, tea.Batch(cmd, more)
}

// act does what comes next where nobody types: the next line of the script when nothing goes on, and the end after the
// last. It reports whether it did something.
func (p *plain) act() bool {
	switch now := p.cfg.Host.Agent().State(); {
	case p.quitting:
		return false
	case p.answer != nil:
		p.next()
	case len(p.asks) > 0 && p.cfg.Script != nil:
		p.say("> y")
		p.ui.reply(p.asks[0].ID, agent.Reply{Allow: true})
	case len(p.asks) > 0:
		p.ui.reply(p.asks[0].ID, agent.Reply{})
	case p.sending || len(p.outbox) > 0 || len(p.jobs) > 0 || p.loading,
		now.Doing != agent.DoingNothing || now.Queue > 0 && !now.Held,
		now.Leaf != p.state.Leaf || now.Doing != p.state.Doing: // the events come a little later than what they tell of
		return false
	case len(p.script) > 0:
		p.say("")
		p.next()
	default:
		p.quitting = true
		return false
	}
	return true
}

// next types the next line of the script, or an empty one.
func (p *plain) next() {
	line := ""
	if len(p.script) > 0 {
		line, p.script = p.script[0], p.script[1:]
		p.say("> " + line)
	}
	p.line(line)
}

// say prints lines. What can't be printed ends the program: nobody would know why nothing comes.
func (p *plain) say(text string) {
	if _, err := io.WriteString(p.cfg.Out, strings.TrimRight(widget.Sanitize(text), "\n ")+"\n"); err != nil {
		p.quitting = true
	}
}

// shownAtStart is how much of a session that goes on is printed, in messages and calls.
const shownAtStart = 6

// skip deals with the path of a session that was read. What is before its end is not printed.
func (p *plain) skip() {
	before := slices.DeleteFunc(slices.Clone(p.log.items), func(it *item) bool { return it.entry == "" })
	if before = before[:max(len(before)-shownAtStart, 0)]; len(before) > 0 || p.more {
		p.say("Earlier messages are not printed; /recall finds them.")
	}
	for _, it := range before {
		it.said, _ = lineOf(it)
	}
	p.print()
}

// event takes an event in, and prints what the screen has no lines for.
func (p *plain) event(e agent.Event) {
	busy, waiting, held := p.state.Doing != agent.DoingNothing, len(p.queue), len(p.held)
	if e.Kind != agent.KindMoved { // what was printed stays
		p.ui.event(e)
	}
	if len(p.held) > held {
		return // it comes again when the transcript is there
	}
	p.print()
	switch e.Kind {
	case agent.KindTurnStart:
		p.say("Working; /cancel stops it.")
	case agent.KindTurnEnd:
		if e.Outcome == agent.OutcomeDone {
			s := p.cfg.Host.Agent().State()
			mark := "about "
			if s.Measured {
				mark = ""
			}
			p.say(fmt.Sprintf("Done. The context has %s%s of %s tokens.", mark, text.Tokens(s.Tokens), text.Tokens(s.Window)))
		}
	case agent.KindQueue:
		if busy && len(e.Queue) > waiting {
			p.say("It waits, and is delivered before the next request.")
			p.asking = "" // what is asked is asked again
		}
	case agent.KindCompactionStart:
		if e.Compaction.Reason != compact.Manual { // of one that was asked for the line of its job tells, and it may be a preview
			p.say("Compacting " + text.Tokens(e.Compaction.Before) + " tokens.")
		}
	case agent.KindRetry:
		p.say(fmt.Sprintf("Trying again in %s, attempt %d: %s", e.Retry.Wait.Round(time.Second), e.Retry.Attempt, e.Retry.Error))
	default:
	}
}

// print prints what has come into the transcript, and what was put into the editor.
func (p *plain) print() {
	for _, it := range p.log.items {
		if line, done := lineOf(it); done && line != it.said {
			it.said = line
			p.say(line)
		}
	}
	if !p.ed.Empty() {
		p.say("What stood here: " + p.ed.Text())
		p.ed.Clear()
	}
	for _, j := range p.jobs {
		if j.what != "" && !j.said {
			j.said = true
			p.say("Now " + j.what + "; /cancel stops it.")
		}
	}
}

// mostSummary is how much of a summary is read out, in characters. /explain and /recall have the rest.
const mostSummary = 600

// lineOf is what is printed of an item, once it is done.
func lineOf(it *item) (line string, done bool) {
	title, said := it.Title, strings.TrimSpace(it.Text)
	switch it.Kind {
	case widget.BlockUser:
		return "You: " + said, true
	case widget.BlockAssistant:
		return "clew: " + said, true
	case widget.BlockTool:
		switch status := it.Status; {
		case status == widget.StatusWaiting || status == widget.StatusRunning:
			return "", false
		case strings.HasPrefix(title, "!"):
			return "Command " + strings.TrimLeft(title, "! ") + ": " + said, true
		case status == widget.StatusDone:
			return "Tool " + title + ": ok", true
		default:
			return "Tool " + title + ": " + string(status) + ": " + text.FirstLine(said), true
		}
	case widget.BlockCompaction:
		if said != "" {
			title += ".\nThe summary: " + widget.Cut(plainSummary(said), mostSummary)
		}
		return "Compacted: " + title, true
	case widget.BlockBranch:
		return "Summary of what was left: " + widget.Cut(plainSummary(said), mostSummary), true
	case widget.BlockError:
		return "Error: " + said, true
	case widget.BlockHeader:
		return title + ": " + strings.ReplaceAll(said, "\n", ". "), true
	case widget.BlockNotice:
		return said, true
	case widget.BlockThinking:
	}
	return "", false
}

// line does what a line says: it answers what is open or asked, or is sent.
func (p *plain) line(text string) {
	line := strings.TrimSpace(text)
	if answer := p.answer; answer != nil {
		p.answer = nil
		answer(line)
		return
	}
	if line != "" && (len(p.asks) == 0 || !p.reply(line)) {
		p.input(text, agent.WhenNext)
	}
}

// soonest is how early after a question a line may answer it: one that was on its way does not.
const soonest = 300 * time.Millisecond

// reply answers the agent's question, if the line is an answer. Any other line is a message.
func (p *plain) reply(line string) bool {
	q := p.ui.question(p.asks[0].Question)
	at := slices.IndexFunc(q.Options, func(o widget.Option) bool { return o.Key == line })
	why, no := strings.CutPrefix(line, "n ")
	if at < 0 && !no {
		return false
	}
	if gone := p.cfg.Clock().Sub(p.since); gone >= 0 && gone < soonest {
		p.say("That came too early to be an answer.")
		p.asking = ""
	} else if no {
		p.ui.reply(p.asks[0].ID, agent.Reply{Why: strings.TrimSpace(why)})
	} else {
		q.Options[at].Do()
	}
	return true
}

// present prints what is open, and the question of the agent that waits.
func (p *plain) present() {
	for len(p.over) > 0 && (p.answer == nil || p.open != p.over[len(p.over)-1]) {
		p.open, p.answer = p.over[len(p.over)-1], nil
		switch v := p.open.view.(type) {
		case *widget.Pager:
			p.page(v.Title, v.Text(pageWidth))
			p.close(p.open)
		case *widget.Form:
			p.form(v)
		case *widget.Dialog:
			p.choice(v.Question)
		case *widget.Picker:
			p.pickFrom(v)
		case *tree:
			p.pickFrom(v.Picker)
		}
	}
	if len(p.over) > 0 {
		return
	}
	if p.open != nil || len(p.asks) == 0 {
		p.asking = "" // what stood before something else is printed again
	}
	p.open, p.answer = nil, nil
	if len(p.asks) == 0 {
		return
	}
	if q := p.asks[0].Question; q.ID != p.asking {
		p.asking, p.since = q.ID, p.cfg.Clock()
		if !p.cfg.Silent {
			_, _ = io.WriteString(p.cfg.Out, "\a") // what comes next says whether it can be written
		}
		p.question(p.ui.question(q))
	}
}

// question prints a question and the answers that there are.
func (p *plain) question(q widget.Question) {
	p.say("Question: " + q.Title)
	for _, part := range []string{q.Text, q.Body, q.Diff} {
		if part != "" {
			p.say(widget.Reveal(part))
		}
	}
	var answers []string
	for _, o := range q.Options {
		answers = append(answers, o.Key+": "+o.Text)
	}
	p.say("Answer with " + strings.Join(answers, ". ") + ".")
}

func (p *plain) choice(q widget.Question) {
	p.question(q)
	p.answer = func(line string) {
		at := slices.IndexFunc(q.Options, func(x widget.Option) bool { return x.Key == line })
		if line == "" {
			at = q.Safe
		}
		if at < 0 {
			p.say("That is none of the answers.")
			return // it is asked again
		}
		p.done(q.Options[at].Key)
	}
}

// done closes what is open with what the user has taken or written.
func (p *plain) done(value string) {
	p.close(p.open)
	p.open.done(value)
}

// leave closes what is open, and says that nothing came of it.
func (p *plain) leave(why string) {
	p.say(why)
	p.close(p.open)
}

const (
	pageWidth = 80  // how wide tables are made
	mostLines = 200 // how many lines of a page are printed
	mostItems = 20  // how many items of a list are printed at once
)

// noBars takes away what only eyes can read.
var noBars = strings.NewReplacer("█", "", "░", "", "│", "")

func (p *plain) page(title, text string) {
	p.say(title + ":")
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for _, l := range lines[:min(len(lines), mostLines)] {
		if bare := strings.TrimRight(noBars.Replace(l), " "); bare != "" || l == "" {
			p.say(bare)
		}
	}
	if n := len(lines) - mostLines; n > 0 {
		p.say(fmt.Sprintf("%d more lines are not printed.", n))
	}
}

// form asks for a text: one line, or one to be read first.
func (p *plain) form(f *widget.Form) {
	title, text := f.Title, f.Text
	done := func(text string) {
		if f.Note != nil {
			if why, bad := f.Note(text); bad {
				p.leave("Error: " + why + "; nothing was changed")
				return
			}
		}
		p.done(text)
	}
	if f.Head == nil {
		if text != "" {
			title += ". Now it is: " + text
		}
		p.say(title + ". Type a line; an empty one leaves it, a dot makes it empty.")
		p.answer = func(line string) {
			switch line {
			case "":
				p.leave("Left as it was.")
			case ".":
				done("")
			default:
				done(line)
			}
		}
		return
	}
	for _, l := range f.Head {
		p.say(l)
	}
	p.page(title, text)
	p.say("Answer with y: apply it. e: write another one. n: leave it as it is.")
	p.answer = func(line string) {
		switch line {
		case "y":
			done(text)
		case "e":
			p.say("Type the text; a line with a dot alone ends it.")
			p.lines(nil, done)
		case "n", "":
			p.leave("Nothing was changed.")
		}
	}
}

// lines reads lines up to one with a dot alone. Where the input ends before it, nothing is changed.
func (p *plain) lines(have []string, done func(string)) {
	p.answer = func(line string) {
		switch {
		case line == ".":
			done(strings.Join(have, "\n"))
		case p.ended && len(p.script) == 0:
			p.leave("Nothing was changed.")
		default:
			p.lines(append(have, line), done)
		}
	}
}

func (p *plain) pickFrom(l *widget.Picker) {
	items := l.Shown()
	if len(items) == 0 {
		p.leave(l.Empty)
		return
	}
	p.say(l.Title + ":")
	for i, it := range items[:min(len(items), mostItems)] {
		cells := slices.DeleteFunc(slices.Clone(it.Cells), func(c string) bool { return c == "" })
		p.say(strconv.Itoa(i+1) + ". " + strings.Join(cells, ", "))
	}
	if n := len(items) - mostItems; n > 0 {
		p.say(fmt.Sprintf("And %d more.", n))
	}
	p.say("Type a number, words to search for, or nothing to leave.")
	p.answer = func(line string) {
		n, err := strconv.Atoi(line)
		switch {
		case line == "":
			p.leave("Nothing was taken.")
		case err == nil && n >= 1 && n <= len(items):
			p.done(items[n-1].ID)
		default:
			if l.Find(line); len(l.Shown()) == 0 {
				p.say("Nothing fits.")
				l.Find("")
			}
			p.pickFrom(l)
		}
	}
}
