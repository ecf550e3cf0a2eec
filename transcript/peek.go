package transcript

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
)

// Glance is what a list of sessions shows of one.
type Glance struct {
	Format Format
	ID     string // as the program names the session
	Cwd    string
	Name   string // that the user or the program gave it
	First  string // the beginning of what the user said first, at most 500 bytes
	Model  string // of the last answer
	// Tokens is the size of the context after the last call, as it was reported, and
	// Window what the program counted with. 0: not known.
	Tokens, Window int64
	// Begun is the time of the first record, Last that of the newest, Compacted that of the
	// newest compaction.
	Begun, Last, Compacted time.Time
	Parent                 string // the file that a session of pi was forked from
}

const (
	glanceHead = 16 << 10
	glanceMost = 512 << 10 // of the beginning, where its lines are long
	glanceTail = 32 << 10
	maxFirst   = 500
)

// tails are buffers for the ends of files: a list looks at thousands.
var tails = sync.Pool{New: func() any { return new([glanceTail]byte) }}

// Peek looks at both ends of a session file, mostly at less than 50 KiB, and costs the
// same for files of any size. What stands in the middle is not seen: a name, say, or a
// compaction. The error is ErrUnknown where the beginning is of no known format, or one
// of r.
func Peek(r io.ReaderAt, size int64) (Glance, error) {
	g := &glance{}
	read := int64(0) // of the file, in whole lines
	for n := int64(glanceHead); ; n *= 4 {
		n = min(n, size, glanceMost)
		head := make([]byte, n-read)
		if _, err := r.ReadAt(head, read); err != nil && err != io.EOF {
			return Glance{}, err
		}
		last := n == size || n == glanceMost
		if g.Format == "" {
			found := detectLines(firstLines(head), n == size)
			if found.format == "" {
				found = detectLines(head, n == size)
			}
			if found.format == "" {
				found = detectDoc(beginningOf(head))
			}
			if g.Format = found.format; g.Format == "" && last {
				return Glance{}, fmt.Errorf("%w: %s", ErrUnknown, found.why)
			}
			if look := looks[g.Format]; g.Format != "" && (look == nil || !found.lines) {
				if look != nil {
					look(g, beginningOf(head))
				}
				return g.Glance, nil
			}
		}
		if g.Format != "" {
			read += int64(g.lines(head, n == size))
		}
		if last || g.Format != "" && g.ID != "" && g.First != "" {
			break
		}
	}
	if read < size {
		buf := tails.Get().(*[glanceTail]byte)
		defer tails.Put(buf) // what is kept of it is copied
		tail := buf[:min(size-read, glanceTail)]
		if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
			return Glance{}, err
		}
		if int64(len(tail)) < size-read {
			_, tail, _ = bytes.Cut(tail, []byte("\n"))
		}
		g.late = true
		g.end(tail)
	}
	return g.Glance, nil
}

// lines looks at whole lines until it is known which session it is and what it is about,
// and returns how many bytes they have. whole says that the last one is whole.
func (g *glance) lines(data []byte, whole bool) (n int) {
	for line := range bytes.Lines(data) {
		if !whole && !bytes.HasSuffix(line, []byte("\n")) || g.ID != "" && g.First != "" {
			break
		}
		n += len(line)
		g.line(line)
	}
	return n
}

func (g *glance) line(line []byte) {
	if v := value(bytes.TrimSpace(line)); sound(v) {
		looks[g.Format](g, v)
	}
}

// telling are, by format, the members by which a line near the end of a file tells
// something: the usage of a call, a compaction, a name.
var telling = map[Format][][]byte{
	Pi:         {[]byte(`"usage":{`), []byte(`"type":"compaction"`), []byte(`"session_info"`)},
	ClaudeCode: {[]byte(`"usage":{`), []byte(`"compact_boundary"`), []byte(`-title"`), []byte(`"type":"summary"`)},
	Codex:      {[]byte(`"token_count"`), []byte(`"compacted"`), []byte(`"thread_name_updated"`)},
	CopilotCLI: {[]byte(`"session.usage_info"`), []byte(`"session.compaction_complete"`), []byte(`"session.title_changed"`)},
	GeminiCLI:  {[]byte(`"tokens":{`)},
}

// end looks at the last line of all, and at the last that tells each of what there is to
// tell.
func (g *glance) end(data []byte) {
	var lines [][]byte
	keys := telling[g.Format]
	found := make([]bool, len(keys))
	for first := true; len(data) > 0; first = false {
		i := bytes.LastIndexByte(data[:len(data)-1], '\n') + 1
		line := data[i:]
		data = data[:i]
		tells := first
		for k, key := range keys {
			if !found[k] && bytes.Contains(line, key) {
				found[k], tells = true, true
			}
		}
		if tells {
			lines = append(lines, line)
		}
	}
	for _, line := range slices.Backward(lines) {
		g.line(line)
	}
}

// sound reports whether a line is one whole object.
func sound(v value) bool {
	if !v.isObject() {
		return false
	}
	end, err := jsonx.Scan(v, 0)
	return err == nil && end == len(v)
}

// firstLines are as many lines as mostly tell the format.
func firstLines(head []byte) []byte {
	end := 0
	for range 3 {
		i := bytes.IndexByte(head[end:], '\n')
		if i < 0 {
			return head
		}
		end += i + 1
	}
	return head[:end]
}

// beginningOf is the value whose beginning a file has.
func beginningOf(head []byte) value {
	head = bytes.TrimSpace(head)
	if end, err := jsonx.Scan(head, 0); err == nil && end == len(head) {
		return head
	}
	return repairTorn(head)
}

// glance is a Glance in the making. late says that what comes is from the end of the file.
type glance struct {
	Glance
	late bool
}

// looks has what is seen in a line, by format.
var looks = map[Format]func(g *glance, line value){
	Pi: lookPi, ClaudeCode: lookClaude, Codex: lookCodex, CopilotCLI: lookCopilot, GeminiCLI: lookGemini,
}

func (g *glance) time(at time.Time) {
	if at.After(g.Last) {
		g.Last = at
	}
	if g.Begun.IsZero() && !g.late {
		g.Begun = at
	}
}

func (g *glance) said(s string, whose marks) {
	if s = strings.TrimSpace(s); g.First == "" && !g.late && s != "" && whose.origin(message.TextBlock(s)) == message.OriginUser {
		g.First = strings.Clone(text.Head(s, maxFirst))
	}
}

// used takes the usage of a call.
func (g *glance) used(u *message.Usage, model string) {
	if u != nil {
		g.Tokens = u.Total()
	}
	g.Model = cmp.Or(model, g.Model)
}

// textIn returns the text of a content that is text or blocks.
func textIn(content value) string {
	if content.isString() {
		return content.str()
	}
	for _, b := range content.list() {
		if s := b.str("text"); s != "" {
			return s
		}
	}
	return ""
}

func lookPi(g *glance, line value) {
	at := line.time("timestamp")
	g.time(at)
	switch line.str("type") {
	case "session":
		g.ID, g.Cwd, g.Parent = line.str("id"), line.str("cwd"), line.str("parentSession")
	case "session_info":
		g.Name = line.str("name")
	case "compaction":
		g.Compacted, g.Tokens = at, 0
	case "message":
		m := line.get("message")
		switch m.str("role") {
		case "user":
			g.said(textIn(m.get("content")), nil)
		case "assistant":
			u := m.get("usage")
			g.used(nonzero(&message.Usage{
				Input: u.int("input"), Output: u.int("output"), CacheRead: u.int("cacheRead"), CacheWrite: u.int("cacheWrite"),
			}), m.str("model"))
		}
	}
}

func lookClaude(g *glance, line value) {
	at, typ := line.time("timestamp"), line.str("type")
	g.time(at)
	if typ == "user" || typ == "assistant" {
		g.ID = cmp.Or(line.str("sessionId"), g.ID) // it changes where a session is resumed
	}
	switch typ {
	case "summary", "custom-title", "ai-title":
		g.Name = cmp.Or(line.str("customTitle"), line.str("title"), line.str("summary"), line.str("aiTitle"), g.Name)
	case "system":
		if line.str("subtype") == "compact_boundary" {
			g.Compacted, g.Tokens = at, 0
		}
	case "user":
		g.Cwd = cmp.Or(g.Cwd, line.str("cwd"))
		if !line.bool("isMeta") && !line.bool("isCompactSummary") && !line.bool("isSidechain") {
			g.said(commandWords(textIn(line.get("message", "content"))), claudeMarks)
		}
	case "assistant":
		if !line.bool("isSidechain") && line.str("message", "model") != "<synthetic>" {
			g.used(anthropicUsage(line.get("message", "usage")), line.str("message", "model"))
		}
	}
}

func lookCodex(g *glance, line value) {
	at, p := line.time("timestamp"), line.get("payload")
	g.time(at)
	switch typ := line.str("type"); typ {
	case "session_meta":
		if g.ID == "" {
			g.ID, g.Cwd = p.str("id"), p.str("cwd")
		}
	case "turn_context":
		g.Model = cmp.Or(p.str("model"), g.Model)
	case "compacted":
		g.Compacted, g.Tokens = at, 0
	case "event_msg":
		switch p.str("type") {
		case "user_message":
			g.said(p.str("message"), codexMarks)
		case "thread_name_updated":
			g.Name = cmp.Or(p.str("thread_name"), g.Name)
		case "token_count":
			g.used(openAIUsage(p.get("info", "last_token_usage")), "")
			g.Window = cmp.Or(p.int("info", "model_context_window"), g.Window)
		}
	case "response_item", "message":
		if typ == "message" {
			p = line
		}
		if p.str("role") == "user" {
			g.said(textIn(p.get("content")), codexMarks)
		}
	case "":
		g.ID = cmp.Or(g.ID, line.str("id"))
	}
}

func lookCopilot(g *glance, line value) {
	at, d := line.time("timestamp"), line.get("data")
	g.time(at)
	switch line.str("type") {
	case "session.start":
		g.ID, g.Cwd, g.Model = d.str("sessionId"), d.str("context", "cwd"), d.str("selectedModel")
	case "session.model_change":
		g.Model = cmp.Or(d.str("newModel"), g.Model)
	case "session.title_changed":
		g.Name = cmp.Or(d.str("title"), g.Name)
	case "session.compaction_complete":
		if d.bool("success") {
			g.Compacted, g.Tokens = at, d.int("postCompactionTokens")
		}
	case "session.usage_info":
		g.Tokens, g.Window = d.int("currentTokens"), d.int("tokenLimit")
	case "user.message":
		if !d.has("source") {
			g.said(d.str("content"), nil)
		}
	}
}

func lookGemini(g *glance, v value) {
	g.ID, g.Name = cmp.Or(v.str("sessionId"), g.ID), cmp.Or(v.str("summary"), g.Name)
	g.time(v.time("lastUpdated"))
	g.time(v.time("timestamp"))
	g.time(v.time("$set", "lastUpdated"))
	messages := append(v.list("messages"), v.list("$set", "messages")...)
	if v.isArray() {
		messages = v.list()
	} else if v.has("type") {
		messages = []value{v}
	}
	for _, m := range messages {
		switch cmp.Or(m.str("type"), m.str("role")) {
		case "user":
			g.said(cmp.Or(textIn(m.get("content")), textIn(m.get("parts"))), geminiMarks)
		case "gemini", "model":
			if t := m.int("tokens", "total"); t > 0 {
				g.Tokens = t
			}
			g.Model = cmp.Or(m.str("model"), g.Model)
		}
	}
}
