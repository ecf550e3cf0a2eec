package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/session"
)

// ReadOptions says how a file is read. The zero value recognises the format.
type ReadOptions struct {
	// Format is that of the source. Default: recognised by content.
	Format Format
	// Time stands for the times of sources that have none. It is that of the
	// entries alone: what says when a message was written stays unknown.
	// Default: 1970-01-01.
	Time time.Time
	// Sidechains takes in what other agents did on behalf of this one and was
	// written into the same file, each as a root of its own. Default: it is left
	// out and counted.
	Sidechains bool
	// Model stands for the model of answers whose source names none.
	Model session.Model
	// Select is which session is read of a file that holds several, from 0.
	Select int
	// MaxBytes bounds what is held in memory of a source that is one JSON value,
	// and of one line of the others. Default: 512 MiB.
	MaxBytes int64
}

// Transcript is a session that was read.
type Transcript struct {
	Format Format // of the source
	Why    string // what it was recognised by, a sentence without a full stop; empty where it was given
	// Sessions is the number of sessions in the source; one of them was read.
	Sessions int

	Header session.Header
	// Entries are the session, oldest first. The last is the leaf.
	Entries []*session.Entry
	// Lines says for each entry where it begins in the source: a line from 1, or
	// for sources that are one JSON value the place of the message in its list,
	// from 1.
	Lines []int
	// Rewrites are the places where the other program shortened its context.
	Rewrites []Rewrite
	Report   Report
}

// Rewrite is a place where the recorded program shortened its context.
type Rewrite struct {
	Kind         string // "compaction", "clear-results"
	Index        int    // in Transcript.Entries: the compaction, or the first of the edits
	EntryID      string // of that entry
	Line         int    // in the source, as in Transcript.Lines
	Summary      string // what stands for the part that was left out; empty where it can't be read
	Encrypted    bool   // the summary is there, and only its maker can read it
	TokensBefore int64  // as the program reported it; 0 when unknown
	Trigger      string // "auto", "manual", or what the source says
}

// Store returns the session as a store in memory.
func (t *Transcript) Store() *session.Memory {
	return session.NewMemory(t.Header, t.Entries...)
}

// Errors of Read.
var (
	// ErrUnknown: nothing in the source is of a known format.
	ErrUnknown = errors.New("no known session format")
	// ErrFormat: the source is not of the format that was asked for.
	ErrFormat = errors.New("another format")
	// ErrEmpty: the source holds no message.
	ErrEmpty = errors.New("no message in it")
	// ErrTooLarge: the source is larger than is read.
	ErrTooLarge = errors.New("too large")
)

const (
	defaultMaxBytes = 512 << 20
	peekBytes       = 256 << 10
)

// source is what a reader reads from: lines, or one value.
type source struct {
	lines  *lineReader
	doc    value // nil for lines
	opt    ReadOptions
	format Format
	report *Report

	sessions int // in the source; 0 for one
}

// Read reads a session. Damage costs what it hit and no more: it is counted in
// the report, and the rest is read. An error means that nothing was: ErrUnknown,
// ErrFormat, ErrEmpty, ErrTooLarge, or one of r.
func Read(r io.Reader, opt ReadOptions) (*Transcript, error) {
	if opt.MaxBytes <= 0 {
		opt.MaxBytes = defaultMaxBytes
	}
	if opt.Format != "" {
		if _, err := ParseFormat(string(opt.Format)); err != nil {
			return nil, err
		}
	}
	t := &Transcript{Sessions: 1}
	src, found, err := open(r, opt, &t.Report)
	if err != nil {
		return nil, err
	}
	if opt.Format == "" && found.format == "" {
		return nil, fmt.Errorf("%w: %s", ErrUnknown, found.why)
	}
	t.Format, t.Why = found.format, found.why
	if opt.Format != "" && opt.Format != found.format {
		if !slices.Contains(found.also, opt.Format) { // plain lists can look alike
			what := fmt.Sprintf("the file is %s: %s", found.format, found.why)
			if found.format == "" {
				what = "the file is none of the known formats: " + found.why
			}
			return nil, fmt.Errorf("%w: asked for %s, and %s", ErrFormat, opt.Format, what)
		}
		t.Format, t.Why = opt.Format, ""
	}
	src.format = t.Format
	b := newBuilder(t, opt)
	if err := readers[t.Format](src, b); err != nil {
		return nil, err
	}
	t.Sessions = max(t.Sessions, src.sessions)
	if err := b.finish(); err != nil {
		return nil, err
	}
	return t, nil
}

// readers has the reader of each format. A reader adds to the builder what it
// finds, in any order in which parents come first.
var readers = map[Format]func(*source, *builder) error{
	Pi: readPi, ClaudeCode: readClaude, Codex: readCodex, GeminiCLI: readGemini, CopilotCLI: readCopilot,
	MiniSWEAgent: readMini, OpenHands: readOpenHands, SWEAgent: readSWE, OpenCode: readOpenCode,
	OpenAIChat: readChat, OpenAIResponses: readResponses, Anthropic: readAnthropic,
}

// open reads the beginning of a source and decides whether it is lines or one
// value, and what format it has.
func open(r io.Reader, opt ReadOptions, report *Report) (*source, detection, error) {
	src := &source{opt: opt, report: report}
	head, skipped, err := beginning(r, report)
	switch {
	case err != nil:
		return nil, detection{}, err
	case len(head) == 0:
		return nil, detection{}, fmt.Errorf("%w: the file is empty", ErrEmpty)
	case bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")):
		return nil, detection{why: "it begins as UTF-16 does; convert it to UTF-8 first"}, nil
	}
	whole := len(head) < peekBytes
	found := detectLines(head, whole)
	stream := io.MultiReader(bytes.NewReader(head), r)
	lines := func(r io.Reader) { src.lines = newLineReader(r, opt, len(head), skipped) }
	if found.lines && !found.single {
		lines(stream)
		return src, found, nil
	}
	data := head
	if !whole {
		if data, err = io.ReadAll(io.LimitReader(stream, opt.MaxBytes+1)); err != nil {
			return nil, found, err
		}
	}
	if int64(len(data)) > opt.MaxBytes {
		return nil, found, fmt.Errorf("%w: the file is one JSON value of more than %d bytes", ErrTooLarge, opt.MaxBytes)
	}
	end, scanErr := jsonx.Scan(data, 0)
	switch {
	case scanErr == nil && len(bytes.Trim(data[end:], blank)) == 0:
		src.doc = data[:end:end]
		if d := detectDoc(src.doc); d.format != "" || found.format == "" {
			return src, d, nil
		}
	case scanErr == nil, found.lines:
		// A first line that is longer than head.
		found = detectLines(data, true)
	case data[0] == '{' || data[0] == '[':
		src.doc = repairTorn(data)
		if d := detectDoc(src.doc); d.format != "" && !d.lines {
			report.add(Damaged, "torn", 0, "", "the JSON breaks off; what stood before the break was read")
			return src, d, nil
		}
		found.why = fmt.Sprintf("the JSON breaks off: %v", scanErr)
	}
	src.doc = nil
	lines(bytes.NewReader(data))
	return src, found, nil
}

// blank is what may stand around the JSON of a source: white space, and the NULs
// that a crash of the machine leaves.
const blank = " \t\r\n\x00"

// beginning reads up to peekBytes of a source, behind its byte order mark and what
// is blank at its start, and counts the lines that were skipped. Less than
// peekBytes is the whole source.
func beginning(r io.Reader, report *Report) (head []byte, skipped int, err error) {
	for first := true; ; first = false {
		part, err := io.ReadAll(io.LimitReader(r, int64(peekBytes-len(head))))
		if err != nil {
			return nil, 0, err
		}
		if head = append(head, part...); first {
			if rest, ok := bytes.CutPrefix(head, []byte("\xef\xbb\xbf")); ok {
				head = rest
				report.add(Aside, "bom", 1, "", "a byte order mark")
			}
		}
		rest := bytes.TrimLeft(head, blank)
		skipped += bytes.Count(head[:len(head)-len(rest)], []byte("\n"))
		head = append(head[:0], rest...)
		if len(part) == 0 || len(head) == peekBytes {
			return head, skipped, nil
		}
	}
}

// asLines is for readers of formats whose records are lines: one record alone is a
// value too.
func (s *source) asLines() {
	if s.lines == nil {
		s.lines = newLineReader(bytes.NewReader(s.doc), s.opt, len(s.doc), 0)
	}
}

// wrongShape says that a source of a format comes in one way only.
func wrongShape(s *source, want string) error {
	return fmt.Errorf("%w: a file of %s is %s, and this one is not, or it is damaged beyond that", ErrFormat, s.format, want)
}
