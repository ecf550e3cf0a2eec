package lost

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
)

// Hook answers the hooks of a program: what it returns is put into the context.
//
// A compaction is answered once. Claude Code asks at SessionStart, source "compact", when
// its transcript has neither the compaction nor the summary yet, and mostly goes on with its
// work without any prompt: what matters is given then, as if nothing were known of the
// summary. Where nobody asked then, it is given at the first prompt after the compaction,
// or when the session is resumed, and then only what the summary lacks.
type Hook struct {
	Program string // for the log
	Log     string // the file in which runs are noted; empty for none
	Now     func() time.Time
}

// Run is one line of the log.
type Run struct {
	Time       time.Time `json:"time"`
	Program    string    `json:"program"`
	Event      string    `json:"event"`
	Source     string    `json:"source,omitempty"`
	Session    string    `json:"session,omitempty"`
	Compaction int       `json:"compaction,omitempty"` // the number of the one that was answered, from 1
	Chars      int       `json:"chars"`                // given
	Millis     int64     `json:"ms"`
	Why        string    `json:"why,omitempty"` // nothing was given
	Error      string    `json:"error,omitempty"`
}

// event is what a program says on the standard input of a hook.
type event struct {
	Name       string `json:"hook_event_name"`
	Source     string `json:"source"`
	Session    string `json:"session_id"`
	Transcript string `json:"transcript_path"`
	Cwd        string `json:"cwd"`
}

const (
	maxEvent  = 16 << 20 // bytes: a prompt is part of it
	maxLog    = 128 << 10
	longSince = 20 // answers after a compaction, after which its agent has found its way
)

// Answer reads an event and returns what to print: nothing where nothing is missing, and
// where anything fails. It takes until ctx ends at most.
func (h Hook) Answer(ctx context.Context, in io.Reader) string {
	began := h.Now()
	run := Run{Time: began.UTC(), Program: h.Program}
	type answer struct {
		text string
		run  Run
	}
	done := make(chan answer, 1)
	go func() {
		a := answer{run: run}
		defer func() {
			if p := recover(); p != nil {
				a.text, a.run.Error = "", fmt.Sprint("panic: ", p)
			}
			done <- a
		}()
		var err error
		if a.text, err = h.answer(in, &a.run); err != nil {
			a.text, a.run.Error = "", err.Error()
		}
	}()
	var a answer
	select {
	case a = <-done:
	case <-ctx.Done():
		a = answer{run: run}
		a.run.Error = "it took too long: " + ctx.Err().Error()
	}
	a.run.Chars, a.run.Millis = utf8.RuneCountInString(a.text), h.Now().Sub(began).Milliseconds()
	h.note(a.run)
	return a.text
}

func (h Hook) answer(in io.Reader, run *Run) (string, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxEvent))
	if err != nil {
		return "", err
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return "", fmt.Errorf("the event is no JSON object: %w", err)
	}
	run.Event, run.Source, run.Session = e.Name, e.Source, e.Session
	compacted := e.Name == "SessionStart" && e.Source == "compact"
	if !compacted && e.Name != "UserPromptSubmit" && (e.Name != "SessionStart" || e.Source != "resume") {
		run.Why = "nothing to do at this event"
		return "", nil
	}
	if e.Transcript == "" {
		return "", errors.New("the event names no transcript")
	}
	f, err := os.Open(e.Transcript)
	if errors.Is(err, fs.ErrNotExist) && e.Name == "UserPromptSubmit" {
		run.Why = "nothing was said yet"
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if e.Name == "UserPromptSubmit" {
		// Asked at each prompt, it must cost nothing: a compaction just made stands near the end.
		if g, err := transcript.Peek(f, info.Size()); err == nil && g.Compacted.IsZero() {
			run.Why = "no compaction near the end of the transcript"
			return "", nil
		}
	}
	t, err := transcript.Read(f, transcript.ReadOptions{Time: info.ModTime()})
	if err != nil {
		return "", err
	}
	c, err := lastCompaction(t)
	if err != nil {
		return "", err
	}
	switch {
	case compacted && c.answers > 0 || compacted && c.number == 0:
		c = c.unrecorded()
	case c.number == 0:
		run.Why = "the session was not compacted"
		return "", nil
	case c.answers > longSince:
		run.Why = "the last compaction was long ago"
		return "", nil
	case e.Name == "UserPromptSubmit" && c.answers > 0:
		run.Why = "the agent went on since the last compaction"
		return "", nil
	}
	run.Compaction = c.number
	if h.given(e.Session, c.number) {
		run.Why = "given already for this compaction"
		return "", nil
	}
	text := Find(Input{
		Dropped: c.dropped, Kept: c.kept, Summary: c.summary, Cwd: cmp.Or(t.Header.Cwd, e.Cwd),
		Recall: "the tool recall, or `clew recall " + e.Session[:min(8, len(e.Session))] + " ID`,",
	})
	if text == "" {
		run.Why = "nothing is missing"
	}
	return text, nil
}

// compaction is what is known of a compaction.
type compaction struct {
	number        int // from 1; 0 for none
	dropped, kept []session.Item
	summary       string
	answers       int // of the agent since
	path          []*session.Entry
}

// lastCompaction returns the last on the path to the leaf.
func lastCompaction(t *transcript.Transcript) (c compaction, err error) {
	ctx := context.Background()
	store := t.Store()
	last, err := store.Last(ctx)
	if err != nil || last == nil {
		return c, err
	}
	if c.path, err = session.Path(ctx, store, last.ID); err != nil {
		return c, err
	}
	at := -1
	for i, e := range c.path {
		if e.Type == session.TypeCompaction {
			c.number++
			at, c.answers = i, 0
		}
		if m, err := e.Message(); err == nil && m != nil && m.Role == message.RoleAssistant && e.CopyOf() == "" {
			c.answers++
		}
	}
	if at < 0 {
		return c, nil
	}
	made, _ := c.path[at].Compaction()
	c.summary = made.Summary
	c.dropped = session.Project(c.path[:at]).Items
	if i := slices.IndexFunc(c.dropped, func(it session.Item) bool { return it.Entry != nil && it.Entry.ID == made.FirstKeptEntryID }); i >= 0 {
		c.dropped, c.kept = c.dropped[:i], c.dropped[i:]
	}
	for _, it := range session.Project(c.path).Items {
		if it.Message.Role != message.RoleCompactionSummary {
			c.kept = append(c.kept, it)
		}
	}
	return c, nil
}

// unrecorded is the compaction that has just been made and does not stand in the transcript:
// it takes out the whole context.
func (c *compaction) unrecorded() compaction {
	return compaction{number: c.number + 1, dropped: session.Project(c.path).Items}
}

// Runs returns the last runs in a log, the newest last.
func Runs(file string) (runs []Run, err error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for line := range bytes.Lines(data) {
		var r Run
		if json.Unmarshal(line, &r) == nil { // a torn line says nothing
			runs = append(runs, r)
		}
	}
	return runs, err
}

// given reports whether a compaction of a session was answered.
func (h Hook) given(session string, number int) bool {
	runs, _ := Runs(h.Log) // without a log it is given again, which does no harm
	return slices.ContainsFunc(runs, func(r Run) bool {
		return r.Session == session && r.Compaction == number && r.Chars > 0
	})
}

// note adds a line to the log, which keeps its newer half when it has grown too large. What
// fails here must not stand in the way.
func (h Hook) note(r Run) {
	line, err := json.Marshal(r)
	if err != nil || h.Log == "" {
		return
	}
	line = append(line, '\n')
	if info, err := os.Stat(h.Log); err == nil && info.Size()+int64(len(line)) > maxLog {
		data, err := os.ReadFile(h.Log)
		if err != nil {
			return
		}
		half := data[len(data)/2:]
		_, half, _ = bytes.Cut(half, []byte("\n"))
		_ = vfs.Replace(vfs.OS{}, h.Log, 0o600, append(half, line...))
		return
	}
	_ = os.MkdirAll(filepath.Dir(h.Log), 0o700)
	f, err := os.OpenFile(h.Log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(line)
	_ = f.Close()
}
