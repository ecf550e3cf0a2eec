package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// feature is something the session must have, and how much of it it has.
type feature struct {
	name  string
	count int64
	min   int64
	max   int64 // 0: no maximum, unless none is set
	none  bool  // there must be none
}

func (f feature) ok() bool {
	if f.none {
		return f.count == 0
	}
	return f.count >= f.min && (f.max == 0 || f.count <= f.max)
}

func (f feature) wanted() string {
	switch {
	case f.none:
		return "none"
	case f.max > 0:
		return fmt.Sprintf("%d to %d", f.min, f.max)
	}
	return fmt.Sprintf("%d or more", f.min)
}

type report []feature

func (r report) print(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range r {
		state := "ok"
		if !f.ok() {
			state = "MISSING"
		}
		fmt.Fprintf(tw, "%s\t%d\t%s\t%s\n", state, f.count, f.name, f.wanted())
	}
	tw.Flush() //nolint:errcheck // a report that can't be printed has no reader
}

// failed names what is not as it must be.
func (r report) failed() error {
	var all []error
	for _, f := range r {
		if !f.ok() {
			all = append(all, fmt.Errorf("%s: %d, wanted %s", f.name, f.count, f.wanted()))
		}
	}
	return errors.Join(all...)
}

// examine reads a session file and reports what it has. The error says that it
// is not sound.
func examine(ctx context.Context, data []byte) (report, error) {
	store, err := load(data)
	if err != nil {
		return nil, err
	}
	if err := foreignFolder(data); err != nil {
		return nil, err
	}
	last, err := store.Last(ctx)
	if err != nil || last == nil {
		return nil, errors.Join(errors.New("it has no entries"), err)
	}
	path, err := session.Path(ctx, store, last.ID)
	if err != nil {
		return nil, err
	}
	c := &census{}
	for e, err := range store.All(ctx) {
		if err != nil {
			return nil, err
		}
		if err := c.entry(e); err != nil {
			return nil, err
		}
	}
	if err := c.leaves(ctx, store); err != nil {
		return nil, err
	}
	var onPath []*message.Message
	for _, it := range session.Project(path).Items {
		onPath = append(onPath, it.Message)
	}
	c.context(onPath)
	return c.report(int64(len(data))), nil
}

// load reads the records and checks the tree: ids are unique, parents come
// first, time does not run backwards, every line is a whole record.
func load(data []byte) (*session.Memory, error) {
	if !bytes.HasSuffix(data, []byte("\n")) {
		return nil, errors.New("the last line does not end")
	}
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	h, err := session.ParseHeader(lines[0])
	if err != nil {
		return nil, err
	}
	if h.Version != session.Version || h.Cwd != sceneRepo || h.Timestamp.IsZero() {
		return nil, fmt.Errorf("header: version %d, folder %q, time %s", h.Version, h.Cwd, h.Timestamp)
	}
	seen := map[string]bool{"": true}
	var all []*session.Entry
	before := h.Timestamp
	roots := 0
	for i, line := range lines[1:] {
		e, err := session.ParseEntry(line)
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", i+2, err)
		case len(e.Raw()) != len(line):
			return nil, fmt.Errorf("line %d: more than one record", i+2)
		case e.ID == "" || seen[e.ID]:
			return nil, fmt.Errorf("line %d: the id %q is empty or taken", i+2, e.ID)
		case !seen[e.ParentID]:
			return nil, fmt.Errorf("line %d: no entry %s before it", i+2, e.ParentID)
		case e.Time().Before(before):
			return nil, fmt.Errorf("line %d: earlier than the line before it", i+2)
		}
		if e.ParentID == "" {
			roots++
		}
		seen[e.ID] = true
		before = e.Time()
		all = append(all, e)
	}
	if roots != 1 {
		return nil, fmt.Errorf("%d roots, wanted one", roots)
	}
	return session.NewMemory(h, all...), nil
}

// census counts.
type census struct {
	entries, messages, compactions          int64
	labels, names, models, levels, moves    int64
	users, chineseUsers, chineseAnswers     int64
	chineseFiles, images, errs              int64
	parallel, widest, shuffled              int64
	aborted, failed, thinking, unsigned     int64
	usages, shell, bigLog, tools            int64
	mended, textBytes, estimate, lastPrompt int64
	unfinished, forks, abandoned, toolKinds int64
	badTests                                map[string]bool
	kinds                                   map[string]bool
	children                                map[string]int
	order                                   []*session.Entry
}

func (c *census) entry(e *session.Entry) error {
	if c.children == nil {
		c.children, c.kinds = map[string]int{}, map[string]bool{}
	}
	c.entries++
	c.children[e.ParentID]++
	c.order = append(c.order, e)
	switch e.Type {
	case session.TypeMessage:
		m, err := e.Message()
		if err != nil {
			return err
		}
		c.messages++
		return c.message(e, m)
	case session.TypeCompaction:
		c.compactions++
	case session.TypeLabel:
		c.labels++
	case session.TypeSessionInfo:
		c.names++
	case session.TypeModelChange:
		c.models++
	case session.TypeThinkingLevel:
		c.levels++
	case session.TypeCustom:
		if v, _ := e.Custom(); v.CustomType == session.CustomLeaf {
			c.moves++
		}
	default:
	}
	return nil
}

func (c *census) message(e *session.Entry, m *message.Message) error {
	switch m.Role {
	case message.RoleUser:
		c.users++
		c.chineseUsers += chinese(m.Text())
	case message.RoleBashExecution:
		c.shell++
	case message.RoleToolResult:
		c.tools++
		c.kinds[m.ToolName] = true
		if m.IsError {
			c.errs++
		}
		if len(m.Text()) >= 60_000 {
			c.bigLog++
		}
	case message.RoleAssistant:
		switch m.StopReason {
		case message.StopAborted:
			c.aborted++
		case message.StopError:
			c.failed++
		default:
			if m.Usage.Total() == 0 || m.Usage.Prompt() == 0 || m.Usage.Output == 0 {
				return fmt.Errorf("entry %s: an answer without usage", e.ID)
			}
			c.usages++
		}
		c.chineseAnswers += chinese(m.Text())
		if calls := m.ToolCalls(); len(calls) > 1 {
			c.parallel++
			c.widest = max(c.widest, int64(len(calls)))
		}
	default:
	}
	for _, b := range m.Content {
		switch b.Type {
		case message.BlockThinking:
			c.thinking++
			if b.Signature == "" {
				c.unsigned++
			}
		case message.BlockImage:
			if _, _, err := image.DecodeConfig(base64.NewDecoder(base64.StdEncoding, strings.NewReader(b.Data))); err != nil {
				return fmt.Errorf("entry %s: image: %w", e.ID, err)
			}
			c.images++
		case message.BlockToolCall:
			if b.Name == "write" {
				c.chineseFiles += chinese(string(b.Arguments))
			}
		default:
		}
	}
	return nil
}

// chinese is 1 for a text with a sentence of Chinese in it.
func chinese(s string) int64 {
	n := 0
	for _, r := range s {
		if unicode.Is(unicode.Han, r) {
			n++
		}
	}
	if n >= 12 {
		return 1
	}
	return 0
}

// leaves checks the pairing of calls and results on every path of the tree.
func (c *census) leaves(ctx context.Context, store session.Store) error {
	for id, n := range c.children {
		if n > 1 && id != "" {
			c.forks++
		}
	}
	shuffled := map[string]bool{} // by the call that was answered out of order
	for _, e := range c.order {
		if c.children[e.ID] > 0 {
			continue
		}
		c.abandoned++
		path, err := session.Path(ctx, store, e.ID)
		if err != nil {
			return err
		}
		if err := pairing(path, shuffled); err != nil {
			return err
		}
	}
	c.abandoned-- // the leaf itself
	c.shuffled = int64(len(shuffled))
	return nil
}

// pairing checks that each answer is followed by exactly one result for each
// of its calls, before anything else is said. It notes in shuffled the first
// calls of answers whose results came in another order.
func pairing(path []*session.Entry, shuffled map[string]bool) error {
	var open []string // ids of calls without a result, in their order
	first := ""       // the first call of the latest answer
	for _, e := range path {
		if e.Type != session.TypeMessage {
			continue
		}
		m, err := e.Message()
		if err != nil {
			return err
		}
		if m.Role != message.RoleToolResult {
			if len(open) > 0 {
				return fmt.Errorf("entry %s: calls %v have no result before it", e.ID, open)
			}
			for i, b := range m.ToolCalls() {
				if i == 0 {
					first = b.ID
				}
				open = append(open, b.ID)
			}
			continue
		}
		at := slices.Index(open, m.ToolCallID)
		if at < 0 {
			return fmt.Errorf("entry %s: result of %s, which was not called or has a result", e.ID, m.ToolCallID)
		}
		if at > 0 {
			shuffled[first] = true
		}
		open = slices.Delete(open, at, at+1)
	}
	if len(open) > 0 {
		return fmt.Errorf("calls %v have no result", open)
	}
	return nil
}

// context counts what the model would be sent at the leaf.
func (c *census) context(msgs []*message.Message) {
	c.badTests = map[string]bool{}
	commands := map[string]string{}
	for _, m := range msgs {
		c.estimate += messageTokens(m)
		c.textBytes += textBytes(m)
		for _, b := range m.ToolCalls() {
			var a struct{ Command string }
			if decode(b.Arguments, &a) == nil && strings.Contains(a.Command, "go test") {
				commands[b.ID] = a.Command
			}
		}
		if cmd, ok := commands[m.ToolCallID]; ok && m.Role == message.RoleToolResult {
			switch {
			case m.IsError && strings.Contains(m.Text(), "--- FAIL"):
				c.badTests[cmd] = true
			case !m.IsError && c.badTests[cmd]:
				c.mended++
				delete(c.badTests, cmd)
			}
		}
		if m.Usage.Total() > 0 {
			c.lastPrompt = m.Usage.Total()
		}
	}
	if n := len(msgs); n > 0 && msgs[n-1].Role == message.RoleToolResult {
		c.unfinished = 1
	}
	c.toolKinds = int64(len(c.kinds))
}

func textBytes(m *message.Message) int64 {
	n := len(m.Command) + len(m.Output)
	for _, b := range m.Content {
		n += len(b.Text) + len(b.Arguments)
	}
	return int64(n)
}

func (c *census) report(size int64) report {
	return report{
		{name: "bytes of the file", count: size, min: 600_000, max: 1_500_000},
		{name: "bytes of text at the leaf", count: c.textBytes, min: 560_000},
		{name: "tokens at the leaf, computed by the recorder", count: c.estimate, min: 155_000},
		{name: "tokens of the last answer's usage", count: c.lastPrompt, min: 150_000},
		{name: "entries", count: c.entries, min: 320},
		{name: "messages", count: c.messages, min: 300},
		{name: "user messages", count: c.users, min: 10},
		{name: "user messages in Chinese", count: c.chineseUsers, min: 2},
		{name: "answers in Chinese", count: c.chineseAnswers, min: 2},
		{name: "files written in Chinese", count: c.chineseFiles, min: 1},
		{name: "commands of the user", count: c.shell, min: 2},
		{name: "answers with several calls", count: c.parallel, min: 10},
		{name: "most calls in one answer", count: c.widest, min: 5},
		{name: "answers whose results came in another order", count: c.shuffled, min: 2},
		{name: "tool results", count: c.tools, min: 150},
		{name: "kinds of tools", count: c.toolKinds, min: 7},
		{name: "results that are errors", count: c.errs, min: 5},
		{name: "failed test runs that later pass", count: c.mended, min: 3},
		{name: "results of 60,000 bytes or more", count: c.bigLog, min: 1},
		{name: "images", count: c.images, min: 1},
		{name: "thinking blocks", count: c.thinking, min: 20},
		{name: "thinking blocks without a signature", count: c.unsigned, none: true},
		{name: "answers with usage", count: c.usages, min: 80},
		{name: "aborted answers", count: c.aborted, min: 1},
		{name: "failed answers", count: c.failed, min: 1},
		{name: "model changes", count: c.models, min: 2},
		{name: "thinking level changes", count: c.levels, min: 2},
		{name: "session names", count: c.names, min: 1},
		{name: "labels", count: c.labels, min: 1},
		{name: "forks", count: c.forks, min: 1},
		{name: "abandoned branches", count: c.abandoned, min: 1},
		{name: "moves of the leaf", count: c.moves, min: 1},
		{name: "last request left open", count: c.unfinished, min: 1},
		{name: "compactions", count: c.compactions, none: true},
	}
}
