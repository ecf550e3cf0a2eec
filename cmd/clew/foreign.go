package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/internal/sessions"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/transcript"
)

// openAny opens the session that a FILE argument names for reading. A file of another
// program is converted in memory, and what is known of the source comes with it; of a
// session that is nil.
func openAny(cmd *cobra.Command, name string) (*jsonl.File, *transcript.Transcript, error) {
	if name == "-" {
		data, err := io.ReadAll(cmd.InOrStdin())
		if err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", stdinName, err)
		}
		f, err := jsonl.Read(cmd.Context(), stdinName, bytes.NewReader(data))
		if !errors.Is(err, session.ErrNotSession) {
			return f, nil, err
		}
		return convert(cmd, stdinName, bytes.NewReader(data), transcript.ReadOptions{}, err)
	}
	path, err := resolveSession(cmd.Context(), name)
	if err != nil {
		return nil, nil, err
	}
	if !sessions.InOpenCode(path) {
		f, ferr := jsonl.Open(cmd.Context(), path, jsonl.Options{ReadOnly: true, Program: "clew " + cmd.Name()})
		if !errors.Is(ferr, session.ErrNotSession) {
			return f, nil, ferr
		}
		err = ferr
	}
	src, info, serr := openFile(cmd.Context(), path)
	if serr != nil {
		return nil, nil, cmp.Or(err, serr)
	}
	defer src.Close()
	return convert(cmd, path, src, transcript.ReadOptions{Time: info.ModTime()}, err)
}

// convert makes a session of a file of another program. Where it is of none that is known,
// notSession stands: it says what the file looks like.
func convert(cmd *cobra.Command, name string, r io.Reader, opt transcript.ReadOptions, notSession error) (*jsonl.File, *transcript.Transcript, error) {
	t, err := transcript.Read(r, opt)
	switch {
	case errors.Is(err, transcript.ErrUnknown), t != nil && t.Format == transcript.Pi:
		return nil, nil, notSession // pi's are ours, and this one is damaged
	case err != nil:
		return nil, nil, importError("open", name, err)
	}
	var buf bytes.Buffer
	if err := printSession(&buf, t); err != nil {
		return nil, nil, err
	}
	f, err := jsonl.Read(cmd.Context(), name, &buf)
	return f, t, err
}

// openFile opens a file, or a session of opencode.
func openFile(ctx context.Context, path string) (*os.File, os.FileInfo, error) {
	f, err := sessions.Open(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("it is a folder; name files in it")
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, nil, err
	}
	return f, info, nil
}

// readOnlyError says of a file of another program what a command that would change it can
// do instead; nil where it is no such file.
func readOnlyError(path string) error {
	of := transcript.OpenCode
	if !sessions.InOpenCode(path) {
		f, info, err := openFile(context.Background(), path)
		if err != nil {
			return nil //nolint:nilerr // the error that led here says more
		}
		defer f.Close()
		g, err := transcript.Peek(f, info.Size())
		if err != nil || g.Format == transcript.Pi {
			return nil //nolint:nilerr // likewise
		}
		of = g.Format
	}
	return fmt.Errorf("%s is a session of %s, which is read and never changed; clew import %s writes one that clew can change", path, of, path)
}

// damageOf lists what could not be read of a file of another program.
func damageOf(t *transcript.Transcript) (problems []session.Problem) {
	for _, n := range t.Report.Notes {
		if n.Class != transcript.Damaged {
			continue
		}
		what := n.What
		if n.Count > 1 {
			what += fmt.Sprintf("; there are %d, this is the first", n.Count)
		}
		problems = append(problems, session.Problem{Severity: session.SevError, Code: n.Kind, Line: n.Line, What: what})
	}
	return problems
}
