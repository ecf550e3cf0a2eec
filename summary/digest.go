package summary

import (
	"strings"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// digest is what the deterministic summarizer found in its input, before it
// decides what fits.
type digest struct {
	in    *Input
	refs  refs
	msgs  []msg
	led   ledger.Ledger
	users []userMsg

	prev     *Document // the earlier summary, where it is in our form
	foreign  string    // the earlier summary, where it is not
	fromText bool      // facts of the earlier summary are known from its text alone

	names   *names
	kept    []*facts // of the messages that stay
	profile *Profile
	words   *phrases

	lastTurn int // index in msgs where the last turn with an answer begins
}

// msg is a message with what its tool calls and results belong to.
type msg struct {
	*message.Message
	id   string
	ref  string
	call *message.Block // toolResult: the call
	made int            // toolResult: index of the message that made the call
	*facts
}

// userMsg is a message of the user, of this input or an earlier one.
type userMsg struct {
	quote Quote
	at    int // index in msgs; negative when it is from before
}

func newDigest(in *Input, cache *Cache) *digest {
	d := &digest{in: in, refs: newRefs(in.Items, in.Prefix), names: cache.names}
	look := cache.lookup(in.Cwd, wordMap(in.Instructions), in.Instructions)
	previous := in.Previous
	details := in.PreviousDetails
	calls := map[string]*message.Block{}
	made := map[string]int{}
	for _, items := range [][]session.Item{in.Items, in.Prefix} {
		for _, it := range items {
			m := it.Message
			if m == nil || m.ExcludeFromContext {
				continue
			}
			if m.Role == message.RoleCompactionSummary {
				previous, details = m.Summary, m.Details
				continue
			}
			entry := msg{Message: m}
			if it.Entry != nil {
				entry.id, entry.ref = it.Entry.ID, d.refs.of(it.Entry.ID)
			}
			switch m.Role {
			case message.RoleAssistant:
				for i := range m.Content {
					if m.Content[i].Type == message.BlockToolCall {
						calls[m.Content[i].ID] = &m.Content[i]
						made[m.Content[i].ID] = len(d.msgs)
					}
				}
			case message.RoleToolResult:
				entry.call, entry.made = calls[m.ToolCallID], made[m.ToolCallID]
			default:
			}
			entry.facts = look(m, entry.call)
			d.msgs = append(d.msgs, entry)
		}
	}
	for _, it := range in.Kept {
		if m := it.Message; m != nil {
			addCalls(calls, m)
			d.kept = append(d.kept, look(m, calls[m.ToolCallID]))
		}
	}
	previous = redacted(previous)
	d.readPrevious(previous)
	if in.Ledger != nil {
		d.led = *in.Ledger
	} else {
		d.led = readLedger(in, previous, details)
	}
	d.fromText = previous != "" && len(d.led.Commands) == 0
	d.profile = in.Profile
	if d.profile == nil {
		d.profile = d.guessProfile()
	}
	d.findUsers()
	d.words = d.language()
	d.findLastTurn()
	return d
}

func readLedger(in *Input, previous string, details []byte) ledger.Ledger {
	var items []session.Item
	if previous != "" {
		items = append(items, session.Item{Message: &message.Message{
			Role: message.RoleCompactionSummary, Summary: previous, Details: details,
		}})
	}
	for _, list := range [][]session.Item{in.Items, in.Prefix} {
		for _, it := range list {
			if it.Message != nil && it.Message.Role != message.RoleCompactionSummary {
				items = append(items, it)
			}
		}
	}
	return ledger.Read(items, ledger.Options{Cwd: in.Cwd})
}

func (d *digest) readPrevious(summary string) {
	if strings.TrimSpace(summary) == "" {
		return
	}
	if doc, ok := Parse(withoutFileBlocks(summary)); ok {
		d.prev = &doc
		return
	}
	d.foreign = strings.TrimSpace(withoutFileBlocks(summary))
}

// withoutFileBlocks takes away pi's file lists at the end of a summary. The
// ledger has read them.
func withoutFileBlocks(s string) string {
	for _, tag := range []string{"modified-files", "read-files"} {
		from := strings.LastIndex(s, "\n<"+tag+">\n")
		if from < 0 {
			continue
		}
		end := "\n</" + tag + ">"
		if k := strings.Index(s[from:], end); k >= 0 && strings.TrimSpace(s[from+k+len(end):]) == "" {
			s = strings.TrimRight(s[:from], "\n")
		}
	}
	return s
}

// findUsers lists the user's messages, oldest first: those of an earlier
// summary, then those of the input.
func (d *digest) findUsers() {
	earlier := d.in.Earlier
	if earlier == nil && d.prev != nil {
		earlier = d.prev.Quotes
	}
	for i, q := range earlier {
		q.Ref, q.Role, q.Text = d.refs.of(q.Ref), "", redacted(q.Text)
		d.users = append(d.users, userMsg{quote: q, at: i - len(earlier)})
	}
	for i, m := range d.msgs {
		if !m.UserWords() {
			continue
		}
		t := m.text
		if strings.TrimSpace(t) == "" || d.quotedBefore(m.ref, t) {
			continue
		}
		d.users = append(d.users, userMsg{quote: Quote{Ref: m.ref, Text: t}, at: i})
	}
}

// quotedBefore reports whether the earlier summary quotes a message. Its quotes stand first.
func (d *digest) quotedBefore(ref, t string) bool {
	for _, u := range d.users {
		if u.at >= 0 {
			return false
		}
		if sameEntry(u.quote.Ref, ref) && u.quote.Text == t {
			return true
		}
	}
	return false
}

// findLastTurn finds the beginning of the last turn in which the agent did
// something: a message of the user without an answer is a turn to come.
func (d *digest) findLastTurn() {
	answered := false
	for i := len(d.msgs) - 1; i >= 0; i-- {
		m := d.msgs[i]
		answered = answered || m.Role == message.RoleAssistant
		if answered && m.StartsTurn() && m.Role != message.RoleBashExecution {
			d.lastTurn = i
			return
		}
	}
}
