package meter

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
)

// Recorded is a recorded session, as far as it was read.
type Recorded struct {
	Name, Format, Repository string
	Path                     []*session.Entry // root first
}

// ReadCorpus reads the sessions below a folder. A file is named
// owner__repository__rest and lies in a folder that is named for its format. Files
// of a format that is not known are left out, and named in skipped.
func ReadCorpus(ctx context.Context, dir string) (all []Recorded, skipped []string, err error) {
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		tr, err := transcript.Read(bytes.NewReader(data), transcript.ReadOptions{})
		if err != nil || len(tr.Entries) == 0 {
			skipped = append(skipped, filepath.Base(name))
			return nil
		}
		path, err := session.Path(ctx, tr.Store(), tr.Entries[len(tr.Entries)-1].ID)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r := Recorded{Name: filepath.Base(name), Format: filepath.Base(filepath.Dir(name)), Path: markGaps(path, gaps(data))}
		owner, rest, _ := strings.Cut(r.Name, "__")
		repository, _, _ := strings.Cut(rest, "__")
		r.Repository = owner + "/" + repository
		all = append(all, r)
		return nil
	})
	return all, skipped, err
}

// gaps returns when, in milliseconds since 1970, Claude Code sent something that its
// log names without having its text: an attachment, the definitions of tools that a
// search found.
func gaps(log []byte) (at []int64) {
	for line := range bytes.Lines(log) {
		attachment := bytes.Contains(line, []byte(`"attachment"`))
		if !attachment && !bytes.Contains(line, []byte(`"tool_reference"`)) {
			continue
		}
		var l struct {
			Type       string
			Timestamp  time.Time
			Attachment struct{ Type string }
		}
		// Other formats have no such lines, and no timestamps of this form in them.
		if json.Unmarshal(line, &l) != nil || l.Timestamp.IsZero() {
			continue
		}
		switch {
		case l.Type == "attachment" && !strings.HasPrefix(l.Attachment.Type, "hook_s"), l.Type == "user" && !attachment:
			at = append(at, l.Timestamp.UnixMilli())
		}
	}
	slices.Sort(at)
	return at
}

// markGaps puts a mark before the first message after each gap.
func markGaps(path []*session.Entry, gaps []int64) []*session.Entry {
	if len(gaps) == 0 {
		return path
	}
	mark, err := session.ParseEntry([]byte(`{"type":"custom","id":"gap","customType":"clew.gap"}`))
	if err != nil {
		panic(err)
	}
	var out []*session.Entry
	for _, e := range path {
		if m := messageOf(e); m != nil && len(gaps) > 0 && m.Timestamp > gaps[0] {
			out = append(out, mark)
			for len(gaps) > 0 && m.Timestamp > gaps[0] {
				gaps = gaps[1:]
			}
		}
		out = append(out, e)
	}
	return out
}
