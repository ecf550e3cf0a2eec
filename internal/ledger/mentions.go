package ledger

import (
	"cmp"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
)

// Mention is something that the user or the agent named and that is of use only
// when it is spelled exactly so.
type Mention struct {
	Kind MentionKind `json:"kind"`
	Text string      `json:"text"`
	// Uses counts the messages of the user and the agent that name it.
	Uses int `json:"uses"`
	// Entry is the latest of them.
	Entry string `json:"entry,omitempty"`
}

// MentionKind says what a mention names.
type MentionKind string

// The kinds of mentions.
const (
	MentionURL    MentionKind = "url"
	MentionTicket MentionKind = "ticket" // #123, ABC-123
	MentionCommit MentionKind = "commit"
	MentionName   MentionKind = "name" // of a function, a type, a variable, a flag
)

// mention counts what the user or the agent names in a message: in its text, and
// in the command lines and questions of its calls. Their other arguments are
// mostly content of files.
func (r *reader) mention(m *message.Message, id string) {
	seen := map[string]bool{}
	see := func(t string) {
		for i := range text.Identifiers(t) {
			kind := mentionKind(i.Class)
			if kind == "" || seen[i.Text] || len(i.Text) > MaxText {
				continue
			}
			seen[i.Text] = true
			v := r.mentions.touch(i.Text, Mention{Kind: kind, Text: strings.Clone(i.Text)})
			v.Uses++
			v.Entry = id
		}
	}
	for _, b := range m.Content {
		switch b.Type {
		case message.BlockText:
			see(redact.Text(lookAt(b.Text)))
		case message.BlockToolCall:
			for _, name := range []string{"command", "cmd", "query", "pattern", "url"} {
				if s := member(b.Arguments, name); s != "" {
					see(redact.Text(text.Head(s, 2000)))
				}
			}
		default:
		}
	}
}

func mentionKind(c text.Class) MentionKind {
	switch c {
	case text.URL:
		return MentionURL
	case text.Ref:
		return MentionTicket
	case text.Hash:
		return MentionCommit
	case text.Ident, text.Env, text.Flag:
		return MentionName
	default:
		return ""
	}
}

// lookAt bounds how much of one text is looked at.
func lookAt(s string) string {
	if len(s) <= 2*look {
		return s
	}
	return text.Head(s, look) + "\n" + text.Tail(s, look)
}

// pickMentions returns the mentions worth keeping, the last named last: names
// only when they were named more than once, and the most used where there are
// too many.
func pickMentions(all []Mention, omitted *int) []Mention {
	kept := slices.DeleteFunc(all, func(m Mention) bool { return m.Kind == MentionName && m.Uses < 2 })
	n := len(kept) - MaxMentions
	if n <= 0 {
		return kept
	}
	*omitted += n
	byUse := make([]int, len(kept))
	for i := range byUse {
		byUse[i] = i
	}
	slices.SortStableFunc(byUse, func(a, b int) int {
		if c := cmp.Compare(kept[b].Uses, kept[a].Uses); c != 0 {
			return c
		}
		return cmp.Compare(b, a)
	})
	byUse = byUse[:MaxMentions]
	slices.Sort(byUse)
	out := make([]Mention, 0, MaxMentions)
	for _, i := range byUse {
		out = append(out, kept[i])
	}
	return out
}
