package tui

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/internal/tui/widget"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

func openTree(u *ui) {
	get(u, "reading the tree", "tree", u.cfg.Host.Agent().Tree, func(nodes []agent.Node) {
		if !slices.ContainsFunc(nodes, func(n agent.Node) bool { return n.Role != "" }) {
			u.note("nothing was said yet: there is no tree")
			return
		}
		u.soon("the tree", func() {
			u.tree(treeNodes(nodes), func(t *treeView, msg any) { onTree(u, t, &nodes, msg) })
		})
	})
}

// onTree does what the user wants of an entry of the tree. A new label changes the nodes.
func onTree(u *ui, t *treeView, nodes *[]agent.Node, msg any) {
	a := u.cfg.Host.Agent()
	switch msg := msg.(type) {
	case widget.TreeLabelMsg:
		u.edit("label (empty: none)", msg.Label, func(label string) {
			var now []agent.Node
			u.quietly(func(ctx context.Context) (err error) {
				if err = a.Label(ctx, msg.ID, strings.TrimSpace(label)); err == nil {
					now, err = a.Tree(ctx)
				}
				return err
			}, func(err error) {
				if !failed(u, "label", err) {
					*nodes = now
					t.SetNodes(treeNodes(now))
				}
			})
		})
	case widget.TreeCopyMsg:
		var r *clew.Recalled
		u.quietly(func(ctx context.Context) (err error) {
			r, err = a.Recall(ctx, msg.ID, clew.RecallOptions{Max: -1})
			return err
		}, func(err error) {
			if !failed(u, "copy", err) {
				u.do(tea.SetClipboard(r.Text))
				u.note("copied, as far as the terminal lets programs do that")
			}
		})
	case widget.TreeSelectMsg:
		if u.cfg.MoveAtOnce {
			t.leave()
			navigate(u, msg.ID, clew.BranchOptions{})
			return
		}
		askMove(u, t, (*nodes)[slices.IndexFunc(*nodes, func(n agent.Node) bool { return n.ID == msg.ID })])
	}
}

// askMove asks what is to be done with an entry that was chosen in the tree.
func askMove(u *ui, t *treeView, n agent.Node) {
	options := []widget.Option{
		{ID: "go", Key: "n", Text: "yes, without a summary of the branch you leave"},
		{ID: "sum", Key: "s", Text: "yes, with a summary of the branch you leave"},
		{ID: "own", Key: "i", Text: "the same, with your instructions for the summary"},
	}
	if n.OnPath {
		options[0].Text = "yes; what follows stays on its own branch"
		options[1].Text = "yes, and summarize from here: a summary tells what follows"
		options = append(options, widget.Option{ID: "upTo", Key: "u", Text: "no; summarize up to here: what is before it becomes a summary"},
			widget.Option{ID: "omit", Key: "o", Text: "no; omit it: the model is not sent it any more"})
	}
	q := widget.Question{Title: "go there?", Text: where(n), Safe: len(options), Options: append(options, widget.Option{ID: "back", Key: "b", Text: "back to the tree"})}
	u.choose(q, false, func(option string) {
		switch option {
		case "go":
			t.leave()
			navigate(u, n.ID, clew.BranchOptions{})
		case "sum":
			t.leave()
			navigate(u, n.ID, clew.BranchOptions{Summarize: true})
		case "own":
			u.edit("what the summary should pay attention to", "", func(text string) {
				t.leave()
				navigate(u, n.ID, clew.BranchOptions{Summarize: true, Instructions: strings.TrimSpace(text)})
			})
		case "upTo":
			t.leave()
			compactUpTo(u, n.ID)
		case "omit":
			t.leave()
			omit(u, n.ID)
		}
	})
}

// compactUpTo summarizes what is before an entry of the context.
func compactUpTo(u *ui, id string) {
	a := u.cfg.Host.Agent()
	before, there := 0, false
	u.run("reading the context", func(ctx context.Context) error {
		path, err := a.Path(ctx)
		for _, s := range path {
			seen := s.Type != session.TypeCompaction && (s.Fate.Fate == compact.FateVerbatim || s.Fate.Fate == compact.FateEdited)
			if s.ID == id {
				there = seen
				break
			}
			if seen && s.Message != nil && s.Message.Role != message.RoleSystem {
				before++
			}
		}
		return err
	}, func(err error) {
		switch {
		case failed(u, "summarize up to here", err):
		case !there:
			u.note("this entry is not in the context: a summary stands for it already, or it is left out. /undo takes the last compaction back")
		case before == 0:
			u.note("nothing is before this entry that could be summarized")
		default:
			compactFirst(u, agent.CompactRequest{FirstKept: id})
		}
	})
}

func where(n agent.Node) string {
	s := string(treeNodes([]agent.Node{n})[0].Kind)
	if text := text.FirstLine(n.Text); text != "" {
		s += ": " + text
	}
	if n.Role == message.RoleUser {
		s += "\nThe conversation continues before it, and its text is put into the editor."
	}
	return s
}

func navigate(u *ui, id string, opt clew.BranchOptions) {
	a := u.cfg.Host.Agent()
	doing := "moving"
	if opt.Summarize {
		doing = "summarizing the branch you leave"
	}
	get(u, doing, "move", func(ctx context.Context) (*clew.Branched, error) { return a.Navigate(ctx, id, opt) }, func(b *clew.Branched) { arrived(u, b) })
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
