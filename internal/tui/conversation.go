package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/internal/tui/widget"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// compactFirst is /compact: it shows what it would do, unless the user does not want that.
func compactFirst(f front, instructions string) {
	if f.previews() {
		preview(f, instructions)
		return
	}
	compactAtOnce(f, instructions)
}

// preview makes a compaction and shows it, to be edited before it is applied.
func preview(f front, instructions string) {
	a := f.host().Agent()
	var rep *agent.CompactReport
	f.run("making a preview of the compaction", func(ctx context.Context) (err error) {
		rep, err = a.Compact(ctx, agent.CompactRequest{Instructions: instructions, Preview: true})
		return err
	}, func(err error) {
		switch {
		case failed(f, "compact", err):
		case !rep.Act:
			f.note(nothing(rep.Why))
		default:
			f.soon("the preview of the compaction", func() { showPreview(f, rep, instructions) })
		}
	})
}

// nothing says why no compaction is made.
func nothing(why string) string {
	const text = "there is nothing to compact"
	switch {
	case why == "":
		return text
	case strings.HasPrefix(why, "there is nothing"):
		return why
	}
	return text + ": " + why
}

// previewHead says what a compaction would do.
func previewHead(rep *agent.CompactReport) []string {
	head := []string{fmt.Sprintf("%s → %s tokens; the limit is %s, the target %s", tokens(rep.Before), tokens(rep.After), tokens(rep.Limit), tokens(rep.Target))}
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

func showPreview(f front, rep *agent.CompactReport, instructions string) {
	head := previewHead(rep)
	if rep.Summary == "" {
		f.choose(widget.Question{
			Title: "compact?", Text: strings.Join(head, "\n"), Safe: 1,
			Options: []widget.Option{{ID: "yes", Key: "y", Text: "yes"}, {ID: "no", Key: "n", Text: "no, leave it as it is"}},
		}, true, func(option string) {
			if option == "yes" {
				compactNow(f, agent.CompactRequest{Instructions: instructions})
			}
		})
		return
	}
	title := "the summary"
	if rep.Summarizer != "" {
		title += " by " + by(rep.Summarizer)
	}
	editSummary(f, head, title+", to be edited: Ctrl+S applies it", rep, rep.Summary)
}

// editSummary lets the user change a summary and applies it. Where the engine takes another
// one after all, the user is told, and has the text back.
func editSummary(f front, head []string, title string, rep *agent.CompactReport, text string) {
	provider, name, _ := strings.Cut(f.host().Agent().State().Model, "/")
	count := token.HeuristicFor(provider, name)
	most := max(rep.SummaryLimit, count.Text(rep.Summary))
	note := func(text string) (string, bool) {
		n := count.Text(text)
		if strings.TrimSpace(text) == "" {
			return "an empty summary would lose what it replaces", true
		}
		if n > most {
			return fmt.Sprintf("too long: ~%s of %s tokens; shorten it, or it can't be applied", tokens(n), tokens(most)), true
		}
		return fmt.Sprintf("~%s of %s tokens", tokens(n), tokens(most)), false
	}
	f.editWith(head, title, text, note, func(text string) {
		a := f.host().Agent()
		var done *agent.CompactReport
		f.run("compacting", func(ctx context.Context) (err error) {
			done, err = a.Compact(ctx, agent.CompactRequest{Summary: text, FirstKept: rep.FirstKept})
			return err
		}, func(err error) {
			compacted(f, done, err)
			if err == nil && done.Act && done.Summarizer != "user" && done.Summarizer != "" {
				f.fault("your summary was too long beside the user's words, and " + done.Summarizer + " made another one. Your text is open again: /undo, then /compact, takes a shorter one")
				f.showText("your summary, which was not taken", text)
			}
		})
	})
}

func compactAtOnce(f front, instructions string) {
	compactNow(f, agent.CompactRequest{Instructions: instructions})
}

// compactNow makes a pass. What it did the events say.
func compactNow(f front, req agent.CompactRequest) {
	a := f.host().Agent()
	var rep *agent.CompactReport
	f.run("compacting", func(ctx context.Context) (err error) {
		rep, err = a.Compact(ctx, req)
		return err
	}, func(err error) { compacted(f, rep, err) })
}

// compacted says what the events of a pass do not.
func compacted(f front, rep *agent.CompactReport, err error) {
	switch {
	case err != nil && cancelled(err): // the events have said so, if it had begun
	case err != nil:
		f.fail("compact", err)
	case !rep.Act:
		f.note(nothing(rep.Why))
	case len(rep.Deleted) > 0:
		f.note(counted(len(rep.Deleted), "file") + " of what was offloaded deleted: nothing names them any more")
	}
}

// undoCompaction takes the last pass back.
func undoCompaction(f front) {
	undoWith(f, session.UndoOptions{}, func(err error) {
		var later *session.LaterError
		if !errors.As(err, &later) {
			failed(f, "undo", err)
			return
		}
		text := counted(later.Messages, "message")
		if later.Edits > 0 {
			text += " and " + counted(later.Edits, "edit")
		}
		f.choose(widget.Question{
			Title: "the conversation went on after the compaction", Text: "What came after it: " + text + ".", Safe: 2,
			Options: []widget.Option{
				{ID: "back", Key: "b", Text: "go back to before it; later messages stay on their branch"},
				{ID: "keep", Key: "k", Text: "undo it and keep later messages"},
				{ID: "no", Key: "n", Text: "leave it as it is"},
			},
		}, true, func(option string) {
			switch option {
			case "back":
				goBefore(f, later.Pass)
			case "keep":
				undoWith(f, session.UndoOptions{KeepLater: true}, func(err error) { failed(f, "undo", err) })
			}
		})
	})
}

// undoWith takes the last pass back; other is called where that failed.
func undoWith(f front, opt session.UndoOptions, other func(error)) {
	a := f.host().Agent()
	var u session.Undone
	f.run("taking the compaction back", func(ctx context.Context) (err error) {
		u, err = a.Undo(ctx, opt)
		return err
	}, func(err error) {
		switch {
		case err != nil:
			other(err)
		case u.Redo:
			f.note("the compaction is done again; /undo takes it back")
		default:
			f.note("the context is as it was before the compaction; /undo again redoes it")
		}
	})
}

// goBefore goes to where the conversation stood before a pass.
func goBefore(f front, pass string) {
	a := f.host().Agent()
	var b *clew.Branched
	f.run("going back", func(ctx context.Context) error {
		e, err := a.Session().Log().Store().Get(ctx, pass)
		if err == nil {
			b, err = a.Navigate(ctx, e.ParentID, clew.BranchOptions{})
		}
		return err
	}, func(err error) { arrived(f, b, err) })
}

// arrived says where a move has led.
func arrived(f front, b *clew.Branched, err error) {
	switch {
	case failed(f, "move", err):
		return
	case b.Why != "":
		f.note(b.Why)
	}
	if b.Leaf != b.From {
		text := "moved"
		if b.Left > 0 {
			text += "; " + counted(b.Left, "message") + " stay on the branch that was left"
		}
		if b.Summary != nil {
			text += ", and a summary of them is told here"
		}
		f.note(text)
	}
	if b.Text != "" && !f.offer(b.Text) {
		f.note("the message that stood here was not put into the editor, where you have typed something: " + text.FirstLine(b.Text))
	}
}

func openTree(f front) {
	a := f.host().Agent()
	var nodes []agent.Node
	f.run("reading the tree", func(ctx context.Context) (err error) {
		nodes, err = a.Tree(ctx)
		return err
	}, func(err error) {
		if failed(f, "tree", err) {
			return
		}
		if len(nodes) == 0 {
			f.note("nothing was said yet: there is no tree")
			return
		}
		f.soon("the tree", func() {
			f.tree(treeNodes(nodes), func(t treeFront, msg any) { onTree(f, t, nodes, msg) })
		})
	})
}

// onTree does what the user wants of an entry of the tree.
func onTree(f front, t treeFront, nodes []agent.Node, msg any) {
	a := f.host().Agent()
	switch msg := msg.(type) {
	case widget.TreeLabelMsg:
		f.edit("label (empty: none)", msg.Label, true, func(label string) {
			f.quietly(func(ctx context.Context) (err error) {
				if err = a.Label(ctx, msg.ID, strings.TrimSpace(label)); err == nil {
					nodes, err = a.Tree(ctx)
				}
				return err
			}, func(err error) {
				if !failed(f, "label", err) {
					t.SetNodes(treeNodes(nodes))
				}
			})
		})
	case widget.TreeCopyMsg:
		var text string
		f.quietly(func(ctx context.Context) error {
			r, err := a.Recall(ctx, msg.ID, clew.RecallOptions{Max: -1})
			if err == nil {
				text = r.Text
			}
			return err
		}, func(err error) {
			if !failed(f, "copy", err) {
				f.copy(text)
			}
		})
	case widget.TreeSelectMsg:
		if !f.asksOnMoves() {
			t.leave()
			navigate(f, msg.ID, clew.BranchOptions{})
			return
		}
		f.choose(widget.Question{
			Title: "go there?", Text: where(nodes, msg.ID), Safe: 3,
			Options: []widget.Option{
				{ID: "go", Key: "n", Text: "yes, without a summary of the branch you leave"},
				{ID: "sum", Key: "s", Text: "yes, with a summary of the branch you leave"},
				{ID: "own", Key: "i", Text: "the same, with your instructions for the summary"},
				{ID: "back", Key: "b", Text: "back to the tree"},
			},
		}, false, func(option string) {
			switch option {
			case "go":
				t.leave()
				navigate(f, msg.ID, clew.BranchOptions{})
			case "sum":
				t.leave()
				navigate(f, msg.ID, clew.BranchOptions{Summarize: true})
			case "own":
				f.edit("what the summary should pay attention to", "", true, func(text string) {
					t.leave()
					navigate(f, msg.ID, clew.BranchOptions{Summarize: true, Instructions: strings.TrimSpace(text)})
				})
			}
		})
	}
}

func where(nodes []agent.Node, id string) string {
	for _, n := range nodes {
		if n.ID != id {
			continue
		}
		s := string(n.Role)
		if s == "" {
			s = string(n.Type)
		}
		if text := text.FirstLine(n.Text); text != "" {
			s += ": " + text
		}
		if n.Role == message.RoleUser {
			s += "\nThe conversation continues before it, and its text is put into the editor."
		}
		return s
	}
	return ""
}

func navigate(f front, id string, opt clew.BranchOptions) {
	a := f.host().Agent()
	what := "moving"
	if opt.Summarize {
		what = "summarizing the branch you leave"
	}
	var b *clew.Branched
	f.run(what, func(ctx context.Context) (err error) {
		b, err = a.Navigate(ctx, id, opt)
		return err
	}, func(err error) { arrived(f, b, err) })
}

// treeNodes makes the nodes of a widget.
func treeNodes(nodes []agent.Node) []widget.Node {
	out := make([]widget.Node, len(nodes))
	for i, n := range nodes {
		w := widget.Node{ID: n.ID, Parent: n.Parent, Kind: widget.NodeOther, Text: n.Text, Label: n.Label, OnPath: n.OnPath, Leaf: n.Leaf, Time: n.Time}
		switch n.Type {
		case session.TypeMessage:
			switch n.Role {
			case message.RoleUser:
				w.Kind = widget.NodeUser
			case message.RoleAssistant:
				w.Kind = widget.NodeAssistant
			case message.RoleToolResult:
				w.Kind, w.Text = widget.NodeTool, n.Tool+": "+n.Text
			case message.RoleBashExecution:
				w.Kind = widget.NodeTool
			default:
			}
		case session.TypeCompaction:
			w.Kind, w.Text = widget.NodeCompaction, plainSummary(n.Text)
		case session.TypeBranchSummary:
			w.Kind, w.Text = widget.NodeSummary, plainSummary(n.Text)
		case session.TypeLabel:
			w.Kind = widget.NodeLabel
		default:
		}
		out[i] = w
	}
	return out
}

// summaryMarks are what a line of a summary has for others than its reader here: that it is
// of a list, and the entry that it is of.
var summaryMarks = text.Pattern(`^(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?|\s*\[#[0-9a-f]+\]`)

// plainSummary is a summary in one line: what it says, without its headings.
func plainSummary(s string) string {
	var parts []string
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "<") {
			continue
		}
		if line = summaryMarks().ReplaceAllString(line, ""); line != "" && line != "(none)" {
			parts = append(parts, line)
		}
	}
	if len(parts) == 0 {
		return text.FirstLine(s)
	}
	return strings.Join(parts, " · ")
}

// messages are what can be pinned: what the user and the model have said.
func messages(ctx context.Context, a *agent.Agent, want func(agent.Shown) bool) ([]widget.Item, error) {
	path, err := a.Path(ctx)
	if err != nil {
		return nil, err
	}
	var items []widget.Item
	for _, s := range path {
		if s.Message == nil || s.Type != session.TypeMessage || !want(s) {
			continue
		}
		said := s.Message.Text()
		if said == "" {
			continue
		}
		items = append(items, widget.Item{ID: s.ID, Cells: []string{text.FirstLine(said), string(s.Message.Role), s.Time.Local().Format("15:04")}, Detail: "[#" + s.ID + "] " + said})
	}
	return items, nil
}

func pin(f front, id string) {
	if id != "" {
		setPin(f, id, true)
		return
	}
	pickMessage(f, "pin an entry, so that it is never summarized", "there is nothing to pin", func(s agent.Shown) bool {
		r := s.Message.Role
		return !s.Fate.Pinned && (r == message.RoleUser || r == message.RoleAssistant)
	}, func(id string) { setPin(f, id, true) })
}

func unpin(f front, id string) {
	if id != "" {
		setPin(f, id, false)
		return
	}
	pickMessage(f, "unpin", "nothing is pinned", func(s agent.Shown) bool { return s.Fate.Pinned }, func(id string) { setPin(f, id, false) })
}

func pickMessage(f front, title, none string, want func(agent.Shown) bool, picked func(id string)) {
	a := f.host().Agent()
	var items []widget.Item
	f.run("reading the session", func(ctx context.Context) (err error) {
		items, err = messages(ctx, a, want)
		return err
	}, func(err error) {
		if failed(f, title, err) {
			return
		}
		if len(items) == 0 {
			f.note(none)
			return
		}
		f.soon("the list", func() {
			f.pick(&list{PickerOptions: widget.PickerOptions{Title: title}, items: items, at: items[len(items)-1].ID, picked: picked})
		})
	})
}

func setPin(f front, id string, on bool) {
	id = strings.Trim(id, "[]#")
	a := f.host().Agent()
	f.quietly(func(ctx context.Context) error { return a.Pin(ctx, id, on) }, func(err error) {
		switch {
		case err != nil:
			f.fail("", err)
		case on:
			f.note("pinned: [#" + id + "] stays word for word through every compaction")
		default:
			f.note("[#" + id + "] is not pinned any more")
		}
	})
}
