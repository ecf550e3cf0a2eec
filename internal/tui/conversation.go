package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/internal/tui/widget"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// compactFirst shows what a compaction would do, to be edited before it is applied; it makes it
// at once where the user does not want that.
func compactFirst(u *ui, req agent.CompactRequest) {
	if u.cfg.NoPreview {
		compactNow(u, req)
		return
	}
	a := u.cfg.Host.Agent()
	req.Preview = true
	get(u, "making a preview of the compaction", "compact", func(ctx context.Context) (*agent.CompactReport, error) { return a.Compact(ctx, req) }, func(rep *agent.CompactReport) {
		if !rep.Act {
			u.note(nothing(rep.Why))
			return
		}
		showPreview(u, rep, req)
	})
}

// nothing says why no compaction is made.
func nothing(why string) string {
	if strings.HasPrefix(why, "there is nothing") {
		return why
	}
	return strings.TrimSuffix("there is nothing to compact: "+why, ": ")
}

// previewHead says what a compaction would do.
func previewHead(rep *agent.CompactReport) []string {
	head := []string{fmt.Sprintf("%s → %s tokens; the limit is %s, the target %s", text.Tokens(rep.Before), text.Tokens(rep.After), text.Tokens(rep.Limit), text.Tokens(rep.Target))}
	if r := stages(rep.Stages); r != "" {
		head = append(head, "it frees: "+r)
	}
	if rep.FirstKept != "" {
		head = append(head, "what is before [#"+rep.FirstKept+"] is summarized, what follows stays word for word; /recall finds all of it")
	}
	if n, m := len(rep.ReadFiles), len(rep.ModifiedFiles); n+m > 0 {
		head = append(head, fmt.Sprintf("files in the summary: %d read, %d modified", n, m))
	}
	return head
}

func showPreview(u *ui, rep *agent.CompactReport, req agent.CompactRequest) {
	head := previewHead(rep)
	if rep.Summary == "" {
		yesNo(u, widget.Question{Title: "compact?", Text: strings.Join(head, "\n")}, true, "yes", "no, leave it as it is", func() {
			req.Preview = false
			compactNow(u, req)
		})
		return
	}
	title := "the summary"
	if rep.Summarizer != "" {
		title += " by " + by(rep.Summarizer)
	}
	editSummary(u, head, title+", to be edited: Ctrl+S applies it", rep, rep.Summary)
}

// editSummary lets the user change a summary and applies it. Where the engine takes another
// one after all, the user is told, and has the text back.
func editSummary(u *ui, head []string, title string, rep *agent.CompactReport, summary string) {
	provider, name, _ := strings.Cut(u.cfg.Host.Agent().State().Model, "/")
	count := token.HeuristicFor(provider, name)
	most := max(rep.SummaryLimit, count.Text(rep.Summary))
	note := func(summary string) (string, bool) {
		n := count.Text(summary)
		if strings.TrimSpace(summary) == "" {
			return "an empty summary would lose what it replaces", true
		}
		if n > most {
			return fmt.Sprintf("too long: ~%s of %s tokens; shorten it, or it can't be applied", text.Tokens(n), text.Tokens(most)), true
		}
		return fmt.Sprintf("~%s of %s tokens, %s", text.Tokens(n), text.Tokens(most), text.Counted(utf8.RuneCountInString(summary), "character")), false
	}
	f := widget.NewForm(u.theme, title, summary)
	f.Head, f.Note = head, note
	u.open(f, func(summary string) {
		compactNow(u, agent.CompactRequest{Summary: summary, FirstKept: rep.FirstKept})
	})
}

// compactNow makes a pass, and says what its events do not.
func compactNow(u *ui, req agent.CompactRequest) {
	a := u.cfg.Host.Agent()
	var rep *agent.CompactReport
	u.run("compacting", func(ctx context.Context) (err error) {
		rep, err = a.Compact(ctx, req)
		return err
	}, func(err error) {
		switch {
		case cancelled(err): // the events have said so, if it had begun
		case err != nil:
			u.fail("compact", err)
		case !rep.Act:
			u.note(nothing(rep.Why))
		case len(rep.Deleted) > 0:
			u.note(text.Counted(len(rep.Deleted), "file") + " of what was offloaded deleted: nothing names them any more")
		}
		if err == nil && rep.Act && req.Summary != "" && rep.Summarizer != "user" && rep.Summarizer != "" {
			u.fault("your summary was too long beside the user's words, and " + rep.Summarizer + " made another one. Your text is open again: /undo, then /compact, takes a shorter one")
			u.showText("your summary, which was not taken", req.Summary)
		}
	})
}

// undoCompaction takes the last pass back.
func undoCompaction(u *ui, opt session.UndoOptions) {
	a := u.cfg.Host.Agent()
	var done session.Undone
	u.run("taking the compaction back", func(ctx context.Context) (err error) {
		done, err = a.Undo(ctx, opt)
		return err
	}, func(err error) {
		var later *session.LaterError
		switch {
		case errors.Is(err, session.ErrNothingToUndo):
			u.note("there is nothing to take back: no compaction was made here")
		case errors.As(err, &later):
			askLater(u, later)
		case failed(u, "undo", err):
		case done.Redo:
			u.note("the compaction is done again; /undo takes it back")
		default:
			u.note("the context is as it was before the compaction; /undo again redoes it")
		}
	})
}

// askLater asks what is to become of what was said after a pass that is taken back.
func askLater(u *ui, later *session.LaterError) {
	came := text.Counted(later.Messages, "message")
	if later.Edits > 0 {
		came += " and " + text.Counted(later.Edits, "edit")
	}
	u.choose(widget.Question{
		Title: "the conversation went on after the compaction", Text: "What came after it: " + came + ".", Safe: 2,
		Options: []widget.Option{
			{Key: "b", Text: "go back to before it; later messages stay on their branch", Do: func() { goBefore(u, later.Pass) }},
			{Key: "k", Text: "undo it and keep later messages", Do: func() { undoCompaction(u, session.UndoOptions{KeepLater: true}) }},
			{Key: "n", Text: "leave it as it is"},
		},
	}, true)
}

// goBefore goes to where the conversation stood before a pass.
func goBefore(u *ui, pass string) {
	a := u.cfg.Host.Agent()
	get(u, "going back", "move", func(ctx context.Context) (*clew.Branched, error) {
		e, err := a.Session().Log().Store().Get(ctx, pass)
		if err != nil {
			return nil, err
		}
		return a.Navigate(ctx, e.ParentID, clew.BranchOptions{})
	}, func(b *clew.Branched) { arrived(u, b) })
}

// countedThat writes "1 message waits", "2 messages wait".
func countedThat(n int, word, verb string) string {
	if n == 1 {
		verb += "s"
	}
	return text.Counted(n, word) + " " + verb
}

// arrived says where a move has led.
func arrived(u *ui, b *clew.Branched) {
	if b.Why != "" {
		u.note(b.Why)
	}
	if b.Leaf != b.From {
		note, of := "moved", "them"
		if b.Left > 0 {
			note += "; " + countedThat(b.Left, "message", "stay") + " on the branch that was left"
		}
		if b.Left == 1 {
			of = "it"
		}
		if b.Summary != nil {
			note += ", and a summary of " + of + " is told here"
		}
		u.note(note)
	}
	u.offer(b.Text)
}

func pin(u *ui, id string) {
	pickMessage(u, id, "pin an entry, so that it is never summarized", "there is nothing to pin", func(s agent.Shown) bool {
		r := s.Message.Role
		return !s.Fate.Pinned && (r == message.RoleUser || r == message.RoleAssistant)
	}, func(id string) { setPin(u, id, true) })
}

func unpin(u *ui, id string) {
	pickMessage(u, id, "unpin", "nothing is pinned", func(s agent.Shown) bool { return s.Fate.Pinned }, func(id string) { setPin(u, id, false) })
}

// omit takes a message out of the context, or all from one to another: "id" or "id id". What it
// did the events say.
func omit(u *ui, ids string) {
	pickMessage(u, ids, "omit a message; /undo brings it back", "there is nothing to omit", func(s agent.Shown) bool {
		return s.Fate.Fate == compact.FateVerbatim || s.Fate.Fate == compact.FateEdited
	}, func(ids string) {
		from, to, _ := strings.Cut(ids, " ")
		a := u.cfg.Host.Agent()
		get(u, "taking it out of the context", "omit", func(ctx context.Context) (*agent.CompactReport, error) {
			return a.Omit(ctx, bareID(from), bareID(strings.TrimSpace(to)))
		}, func(rep *agent.CompactReport) {
			if !rep.Act {
				u.note("nothing was omitted: " + rep.Why)
			}
		})
	})
}

// bareID is an id as it stands in a text, "[#0a1b]", without its marks.
func bareID(s string) string { return strings.Trim(s, "[]#") }

// pickMessage lets the user take a message that was said, where none was named.
func pickMessage(u *ui, id, title, none string, want func(agent.Shown) bool, picked func(id string)) {
	if id != "" {
		picked(id)
		return
	}
	get(u, "reading the session", title, u.cfg.Host.Agent().Path, func(path []agent.Shown) {
		var items []widget.Item
		for _, s := range path {
			if s.Message == nil || s.Type != session.TypeMessage || s.Message.Text() == "" || !want(s) {
				continue
			}
			said := s.Message.Text()
			items = append(items, widget.Item{ID: s.ID, Cells: []string{text.FirstLine(said), string(s.Message.Role), s.Time.Local().Format("15:04")}, Detail: "[#" + s.ID + "] " + said})
		}
		if len(items) == 0 {
			u.note(none)
			return
		}
		u.pick(widget.PickerOptions{Title: title}, items, items[len(items)-1].ID, picked)
	})
}

func setPin(u *ui, id string, on bool) {
	id = bareID(id)
	a := u.cfg.Host.Agent()
	u.try("", "", func(ctx context.Context) error { return a.Pin(ctx, id, on) }, func() {
		if on {
			u.note("pinned: [#" + id + "] stays word for word through every compaction")
		} else {
			u.note("[#" + id + "] is not pinned any more")
		}
	})
}
