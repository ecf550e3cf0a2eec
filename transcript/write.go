package transcript

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/clew-dev/clew/session"
)

// WriteOptions says what of a session is written. The zero value writes the
// context: what the model would see.
type WriteOptions struct {
	// Full writes the whole path to the leaf instead: what was said before the
	// compactions too, and nothing as an edit has it. Formats that can hold
	// compactions get them.
	Full bool
	// Leaf is the end of the path. Default: where the session stands.
	Leaf string
	// Model is the model that a request is for; thinking that only its maker can
	// read is left out of requests for another one. Default: that of the last
	// answer.
	Model session.Model
}

// Written says what was written.
type Written struct {
	Format   Format
	Messages int // of the session
	Report   Report
}

// Errors of Write.
var (
	// ErrNotWritable: the format is one that is only read.
	ErrNotWritable = errors.New("a format that is only read")
	// ErrNothing: there is nothing to write.
	ErrNothing = errors.New("nothing to write")
)

var writers = map[Format]func(*writer) error{
	Pi: writePi, ClaudeCode: writeClaude, Codex: writeCodex, GeminiCLI: writeGemini, OpenCode: writeOpenCode,
	OpenAIChat: writeList, OpenAIResponses: writeList, Anthropic: writeList,
}

// Writable reports whether Write knows the format.
func (f Format) Writable() bool { return writers[f] != nil }

// Write writes a session in a format. The same session gives the same bytes. A
// call that waits for its result gets one that says so. Of a session that is
// [Redacted], the report counts the secrets. The errors:
// ErrNotWritable, ErrNothing, those of the store and of w, and one of package wire
// when what came out is not what the API takes.
func Write(ctx context.Context, w io.Writer, s session.Store, f Format, opt WriteOptions) (*Written, error) {
	write := writers[f]
	if write == nil {
		if _, err := ParseFormat(string(f)); err != nil {
			return nil, err
		}
		can := slices.DeleteFunc(Formats(), func(g Format) bool { return !g.Writable() })
		return nil, fmt.Errorf("%w: %s; these can be written: %s", ErrNotWritable, f, formatList(can))
	}
	script, err := newScript(ctx, s, opt)
	if err != nil {
		return nil, err
	}
	if len(script.items) == 0 && len(script.breaks) == 0 {
		return nil, fmt.Errorf("%w: the session has no message on the path to its leaf", ErrNothing)
	}
	written := &Written{Format: f, Messages: len(script.items)}
	out := &writer{script: script, buf: bufio.NewWriterSize(w, 64<<10), format: f, opt: opt, report: &written.Report}
	if err := write(out); err != nil {
		return nil, err
	}
	if err := out.buf.Flush(); err != nil {
		return nil, err
	}
	if r, ok := s.(*Redacted); ok {
		if n := r.Secrets(); n > 0 {
			written.Report.Notes = append(written.Report.Notes, SecretsNote(n))
		}
	}
	written.Report.sort()
	return written, nil
}

// writer writes a session in one format.
type writer struct {
	*script
	buf    *bufio.Writer
	format Format
	opt    WriteOptions
	report *Report
}

// line writes one record; the buffer keeps its first error.
func (w *writer) line(record []byte) {
	_, _ = w.buf.Write(record)
	_ = w.buf.WriteByte('\n')
}
