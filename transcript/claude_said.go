package transcript

import (
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew/message"
)

// said adds what a user message says.
func (c *claude) said(blocks []message.Block, f fields, task bool, at time.Time, line int, id string) {
	meta := f["isMeta"].bool() || f["isVisibleInTranscriptOnly"].bool()
	if !task && !meta {
		for i := range blocks {
			blocks[i].Text = commandWords(blocks[i].Text)
		}
		if !f["isSidechain"].bool() {
			delete(c.hooks, f.str("parentUuid")) // who says something else there goes back
			c.heard(textOf(blocks), false)
			c.tip = c.deliver(c.tip)
		}
	}
	c.words(blocks, func(b message.Block) message.Origin {
		switch {
		case task:
			return message.OriginTask
		case meta:
			return message.OriginInjected
		default:
			return claudeMarks.origin(b)
		}
	}, at, line, id+"/said")
}

// commandWords returns a slash command as it was typed, if it is one that makes the model
// work. Those have their message first, those of the program itself their name.
func commandWords(s string) string {
	if !strings.HasPrefix(strings.TrimSpace(s), "<command-message>") {
		return s
	}
	name := within(s, "command-name")
	if name == "" {
		return s
	}
	return strings.TrimSpace("/" + strings.TrimPrefix(name, "/") + " " + within(s, "command-args"))
}

// within returns what stands in the first element with a tag.
func within(s, tag string) string {
	_, s, _ = strings.Cut(s, "<"+tag+">")
	s, _, _ = strings.Cut(s, "</"+tag+">")
	return strings.TrimSpace(s)
}

// claudeQueue holds what the user typed while the agent worked. What leaves the queue for
// the running turn is in the file as an attachment, as some versions write it, or nowhere
// else. What begins a turn of its own follows as a message.
type claudeQueue struct {
	waiting []claudeQueued
	given   []claudeQueued // to the running turn, and not yet added
}

type claudeQueued struct {
	text  string
	known bool // an attachment has it
	at    time.Time
	line  int
}

func (c *claude) queued(line int, f fields) {
	c.note(Aside, "line:queue-operation", line, "", "what was done with the user's queued messages")
	q, op, text := &c.queue, f.str("operation"), f.str("content")
	switch op {
	case "enqueue":
		q.waiting = append(q.waiting, claudeQueued{text: text})
		return
	case "remove", "dequeue":
	default:
		q.waiting = nil // back to the prompt
		return
	}
	// Some versions don't say what they removed: notices of tasks may stay in the queue.
	i := slices.IndexFunc(q.waiting, func(m claudeQueued) bool { return m.text == text || text == "" && queuedWords(m.text) })
	if i < 0 && text != "" || len(q.waiting) == 0 {
		return
	}
	i = max(i, 0)
	m := q.waiting[i]
	q.waiting = slices.Delete(q.waiting, i, i+1)
	if op == "remove" && !m.known && queuedWords(m.text) {
		m.at, m.line = f["timestamp"].time(), line
		q.given = append(q.given, m)
	}
}

// queuedWords tells the user's words from a slash command and from what a program queued.
func queuedWords(s string) bool {
	s = strings.TrimSpace(s)
	first, _, _ := strings.Cut(s, " ")
	command := strings.HasPrefix(s, "/") && !strings.Contains(first[1:], "/")
	return s != "" && !command && !strings.HasPrefix(s, `{"task_id"`) && claudeMarks.origin(message.TextBlock(s)) == message.OriginUser
}

// heard takes note of a text that is in the file itself, so that it is not taken from the
// queue as well.
func (c *claude) heard(text string, attached bool) {
	text = "\n" + strings.TrimSpace(text) + "\n"
	same := func(m claudeQueued) bool { return strings.Contains(text, "\n"+strings.TrimSpace(m.text)+"\n") }
	c.queue.given = slices.DeleteFunc(c.queue.given, same)
	if !attached {
		return
	}
	if i := slices.IndexFunc(c.queue.waiting, func(m claudeQueued) bool { return !m.known && same(m) }); i >= 0 {
		c.queue.waiting[i].known = true
	}
}

// deliver adds what the running turn was given from the queue behind n, and returns the end.
// It is called where the model is asked next: results may be written after the removal.
func (c *claude) deliver(n *node) *node {
	c.tip = n
	for _, m := range c.queue.given {
		c.userText(message.OriginUser, m.text, m.at, m.line, "queued/"+itoa(m.line))
	}
	c.queue.given = nil
	return c.tip
}
