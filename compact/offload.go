package compact

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// offload puts excerpts in the place of large tool results before item tail, until the target is reached.
func (p *planner) offload(w *work, tail int, target int64) {
	var found []shorter
	for i := 0; i < tail; i++ {
		m := w.parts[i].now
		if m.Role != message.RoleToolResult || !w.open(i) || StageOf(w.items[i].Edit) != "" || w.parts[i].cost < p.policy.Offload.min() {
			continue
		}
		if blocks, changed := excerptBlocks(m.Content, p.policy.Offload.keep(), true, p.source(w.items[i].Entry)); changed {
			found = w.gains(found, i, m.WithContent(blocks))
		}
	}
	p.shorten(w, found, target, StageOffload)
}

// shorter is a message that could be put in the place of item at.
type shorter struct {
	at    int
	m     *message.Message
	freed int64
}

// gains adds a message to those found, where it frees enough to be worth an edit.
func (w *work) gains(found []shorter, at int, m *message.Message) []shorter {
	if freed := w.parts[at].cost - w.p.Message(m); freed >= minGain {
		found = append(found, shorter{at, m, freed})
	}
	return found
}

// shorten puts what was found in its place, what frees most first, until the target is reached. The last gives up no
// more than is asked; but a result that a later one supersedes goes whole.
func (p *planner) shorten(w *work, found []shorter, target int64, stage string) {
	slices.SortStableFunc(found, func(a, b shorter) int { return cmp.Compare(b.freed, a.freed) })
	for _, s := range found {
		need := w.total - target
		if need <= 0 {
			return
		}
		d := w.parts[s.at]
		if s.freed > need && (stage == StageOffload || d.now.Role == message.RoleAssistant) {
			less := p.shortenTo(d.now, d.cost-need, d.cost, p.source(w.items[s.at].Entry), stage == StageOffload)
			if less != nil && d.cost-p.Message(less) >= need {
				s.m = less
			}
		}
		w.set(s.at, s.m, stage)
	}
}

// minGain is what an edit must free, in tokens, to be worth a line in the log.
const minGain = 64

// OffloadPolicy says which tool results the first stage takes and what it leaves of them.
type OffloadPolicy struct {
	Min  int64 // the least a result must cost to be taken, in tokens. Default: 400.
	Keep int   // what stays of its text, in bytes. Default: 1000.
	// Path names a file where tools can read the whole of an entry's text, "" for none.
	// It is part of what the model reads, so it must stay the same. Default: none.
	Path func(*session.Entry) string
}

func (o OffloadPolicy) min() int64 { return cmp.Or(max(o.Min, 0), 400) }
func (o OffloadPolicy) keep() int  { return cmp.Or(max(o.Keep, 0), 1000) }

// elide takes out, before item tail, what later messages made worthless: results that were superseded or come again
// word for word, reasoning of answers that are done, long arguments of calls that succeeded.
func (p *planner) elide(w *work, tail int, target int64) {
	pairs := message.PairCalls(p.snap.Messages)
	p.shorten(w, p.oldAnswers(w, tail, pairs, p.stale(w, tail, pairs)), target, stageElide)
}

func (p *planner) stale(w *work, tail int, pairs *message.Pairs) (found []shorter) {
	uses := map[int]ledger.Op{}    // item of the result → what its call did
	lastSeen := map[string]int{}   // path → latest item at which all of it was read or written
	lastText := map[[32]byte]int{} // content → latest item that has it
	for i, it := range w.items {
		m := it.Message
		if m.Role != message.RoleToolResult {
			continue
		}
		var u ledger.Op
		if call := pairs.CallOf(i); call != nil {
			u = ledger.Operation(call.Block.Name, call.Block.Arguments, ledger.Options{Cwd: p.snap.Cwd})
		}
		uses[i] = u
		// After an edit the read before it is still the best there is to know the file from.
		if u.Path != "" && !m.IsError && (u.Kind == ledger.OpWrite || u.Kind == ledger.OpRead && !u.Partial) {
			lastSeen[u.Path] = i
		}
		lastText[contentHash(m)] = i
	}
	for i := 0; i < tail; i++ {
		it, m := w.items[i], w.parts[i].now
		if m.Role != message.RoleToolResult || !w.open(i) || w.parts[i].cost < 2*minGain || StageOf(it.Edit) == stageElide {
			continue
		}
		u := uses[i]
		line := ""
		if j := lastText[contentHash(it.Message)]; j > i {
			line = fmt.Sprintf("[the same result comes again later: %s]", handle(w.items[j].Entry.ID))
		} else if j := lastSeen[u.Path]; u.Kind == ledger.OpRead && u.Path != "" && j > i {
			what := "read again"
			if uses[j].Kind != ledger.OpRead {
				what = "written anew"
			}
			line = fmt.Sprintf("[%s as it was then; it was %s later: %s. Recall %s for this]",
				u.Path, what, handle(w.items[j].Entry.ID), handle(it.Entry.ID))
		}
		if line != "" {
			found = w.gains(found, i, m.WithContent([]message.Block{message.TextBlock(line)}))
		}
	}
	return found
}

func contentHash(m *message.Message) [32]byte {
	h := sha256.New()
	for i := range m.Content {
		b := &m.Content[i]
		fmt.Fprintf(h, "%s\x00%d\x00%s%s", b.Type, len(b.Text)+len(b.Data), b.Text, b.Data)
	}
	return [32]byte(h.Sum(nil))
}

// longArgument is how long, in bytes, a string in the arguments of a call is left by elide, keptArgument what stays.
const (
	longArgument = 600
	keptArgument = 120
)

// oldAnswers adds answers that can do without their reasoning and their long arguments.
func (p *planner) oldAnswers(w *work, tail int, pairs *message.Pairs, found []shorter) []shorter {
	for i := 0; i < tail; i++ {
		it, m := w.items[i], w.parts[i].now
		if m.Role != message.RoleAssistant || !w.open(i) {
			continue
		}
		failed := map[string]bool{}
		for _, call := range pairs.Of(i) {
			if call.Result >= 0 && w.items[call.Result].Message.IsError {
				failed[call.Block.ID] = true
			}
		}
		blocks := withoutThinking(m.Content, false)
		changed := Source{Handle: handle(it.Entry.ID)}.shortenCalls(blocks, failed, longArgument, keptArgument)
		if (changed || len(blocks) < len(m.Content)) && len(blocks) > 0 {
			found = w.gains(found, i, m.WithContent(blocks))
		}
	}
	return found
}

// shortenCalls puts excerpts of keep bytes in the place of strings of more than limit bytes in the arguments of calls,
// wherever they stand, and leaves every other byte as it was. It passes over signed calls and those to leave.
func (s Source) shortenCalls(blocks []message.Block, leave map[string]bool, limit, keep int) (changed bool) {
	for i := range blocks {
		b := &blocks[i]
		if b.Type != message.BlockToolCall || b.Signature != "" || leave[b.ID] || len(b.Arguments) < limit {
			continue
		}
		args := jsonx.EditStrings(b.Arguments, func(_ []string, text string, isName bool) (string, bool) {
			if isName || len(text) <= limit {
				return "", false
			}
			short := s.Excerpt(text, keep)
			return short, len(short) < len(text)
		})
		if !bytes.Equal(args, b.Arguments) {
			*b, changed = message.ToolCallBlock(b.ID, b.Name, args), true
		}
	}
	return changed
}
