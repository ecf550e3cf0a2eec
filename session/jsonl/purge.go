package jsonl

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/session"
)

// PurgeOptions says what is to go.
type PurgeOptions struct {
	ID   string // an entry whose content goes, with every copy of it and what was made of it. "" for none
	Text string // goes wherever it stands; "" for none, else at least minPurge bytes
	// Spilled are the addresses of full content kept beside the session that is
	// erased as well. The records that refer to it say then that it was purged.
	Spilled []string
	DryRun  bool   // look what there is, and change nothing
	FS      vfs.FS // for tests. Default: the file system of the operating system
}

// minPurge is how long PurgeOptions.Text must be, in bytes: what is shorter stands in too many other places.
const minPurge = 4

// Purged says what was overwritten, or, after a dry run, what would be.
type Purged struct {
	Places  []PurgePlace `json:"places"`
	Left    []PurgeLeft  `json:"left,omitempty"`    // what may still hold some of it
	Removed []string     `json:"removed,omitempty"` // files that a stopped program left beside the session
}

// PurgePlace is a record that was overwritten.
type PurgePlace struct {
	File    string `json:"file"`
	Line    int    `json:"line"` // from 1
	EntryID string `json:"entryId,omitempty"`
	What    string `json:"what"` // what of it, in a few words
}

// PurgeLeft is a place that was not overwritten.
type PurgeLeft struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	EntryID string `json:"entryId,omitempty"`
	Why     string `json:"why"`
	Kept    bool   `json:"kept,omitempty"` // PurgeOptions.Text stands there
}

// Errors of Purge.
var (
	ErrNoContent = errors.New("the entry has no content of its own")
	errNothing   = errors.New("nothing is named that is to be purged")
	errShort     = fmt.Errorf("the text is shorter than %d bytes: it stands in too many places", minPurge)
)

// Purge overwrites a secret in a session and in the files that belong to it: its backups and what was cut off its
// end. It is the one exception to the rule that a log is only added to.
//
// The content of the entry Options.ID, of its copies, and of edits and excerpts of it, becomes PurgeMarker. Ids,
// parents, types, and the ids of calls stay, so the tree and the context stay sound. In summaries, names and labels
// every part goes that stands in the purged content and in no other entry. Options.Text goes wherever it stands as a
// part of a string, however it is escaped.
//
// Each file is replaced by a new one in one step, the session last: after a crash each is the old one or the new
// one, and Purge can be called again. The bytes of the old file are then overwritten too, where the system allows
// that; when only this fails, the result comes with an error that says so. Other errors: those of Open,
// session.ErrNotFound, ErrNoContent, session.ErrReadOnly for a version that this package can't write.
func Purge(ctx context.Context, path string, opt PurgeOptions) (*Purged, error) {
	switch {
	case opt.ID == "" && opt.Text == "":
		return nil, &session.Error{Op: "purge", Subject: path, Err: errNothing, Hint: "give an entry or a text"}
	case opt.Text != "" && len(opt.Text) < minPurge:
		return nil, &session.Error{Op: "purge", Subject: path, Err: errShort, Hint: "name the entry that holds it"}
	}
	f, err := Open(ctx, path, Options{Program: "clew purge", FS: opt.FS})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.writable(); err != nil {
		return nil, f.wrap("purge", err)
	}
	p := &purger{f: f, opt: opt, marked: map[string]bool{}, out: Purged{Places: []PurgePlace{}}}
	if err := p.run(ctx); err != nil {
		return nil, f.wrap("purge", err)
	}
	if p.unscrubbed != nil {
		err := fmt.Errorf("the session has it no longer, but the disk may still have the bytes that were replaced: %w", p.unscrubbed)
		return &p.out, &session.Error{Op: "purge", Subject: path, Err: err, Hint: "see what is wrong with the disk, and overwrite its free space"}
	}
	return &p.out, nil
}

type purger struct {
	f     *File
	opt   PurgeOptions
	files []string // that belong to the session, the session last
	out   Purged

	forms    []string        // spellings of opt.Text
	marked   map[string]bool // ids of entries whose content goes
	contents [][]byte        // of those, to find copies
	match    *matcher        // nil when there is nothing to look for
	parts    map[string]bool // that go from what was derived
	words    []string        // of the purged content, that look like secrets

	unscrubbed error // why old bytes were not overwritten
}

type record struct {
	piece
	file string
	line int
	id   string // also of version 1, which has none
	torn bool   // bytes that are no record
}

func (p *purger) run(ctx context.Context) error {
	names, err := companions(p.f.real)
	if err != nil {
		return err
	}
	for _, name := range append(names, p.f.real) {
		if end := strings.TrimPrefix(name, p.f.real); end == ".new" || end == ".migrating" {
			p.out.Removed = append(p.out.Removed, name)
		} else {
			p.files = append(p.files, name)
		}
	}
	if p.opt.Text != "" {
		p.forms = spellings(p.opt.Text)
	}
	texts, err := p.collect(ctx)
	if err != nil {
		return err
	}
	if err := p.chooseParts(ctx, texts); err != nil {
		return err
	}
	if !p.opt.DryRun && len(p.out.Removed) > 0 {
		for _, name := range p.out.Removed {
			if err := p.f.fs.Remove(name); err != nil {
				return err
			}
		}
		if err := p.f.fs.SyncDir(filepath.Dir(p.f.real)); err != nil {
			return err
		}
	}
	for _, name := range p.files {
		if err := p.overwrite(ctx, name); err != nil {
			return err
		}
	}
	return p.lookForLeft(ctx)
}

// collect finds the records that go whole and returns the texts that are to go.
func (p *purger) collect(ctx context.Context) (texts []string, err error) {
	texts = append(texts, p.forms...)
	if p.opt.ID == "" {
		return texts, nil
	}
	found := false
	err = p.each(ctx, func(r *record) error {
		if r.torn || r.id != p.opt.ID {
			return nil
		}
		found = true
		for _, path := range outsideFiles(r.data) {
			p.out.Left = append(p.out.Left, PurgeLeft{File: path, EntryID: r.id, Why: "the whole output was written there; remove it yourself"})
		}
		purged, ok := purgeRecord(r.data, r.typ)
		if !ok {
			return &session.Error{Op: "purge", Subject: r.id, Err: ErrNoContent, Hint: "name the message that holds the secret"}
		}
		p.marked[r.id] = true
		if bytes.Equal(purged, r.data) {
			return nil // purged before
		}
		texts = append(texts, textsOf(r.data)...)
		if c := contentOf(r.data, r.typ); len(c) > len(`""`) && !bytes.Equal(c, purgeContent(c)) {
			p.contents = append(p.contents, bytes.Clone(c))
		}
		return nil
	})
	if err == nil && !found {
		err = p.f.notFound("purge", p.opt.ID)
	}
	return texts, err
}

// chooseParts finds the copies, and which parts of the texts go from what was made of them: those no other entry has.
func (p *purger) chooseParts(ctx context.Context, texts []string) error {
	if len(texts) == 0 {
		return nil
	}
	p.match = newMatcher(texts)
	for _, t := range texts[len(p.forms):] {
		p.words = append(p.words, secretLike(t)...)
	}
	p.parts = map[string]bool{}
	offer := func(s string) {
		for _, sp := range p.match.shared(s) {
			p.parts[strings.Clone(s[sp.from:sp.to])] = true
		}
	}
	err := p.each(ctx, func(r *record) error {
		if r.id != "" && p.isCopy(r) {
			p.marked[r.id] = true // what was made of it goes too
		}
		switch {
		case r.torn:
			s, _ := loose(r.data)
			offer(s)
		case derived(r.data, r.typ):
			for s := range values(r.data) {
				offer(s)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return p.each(ctx, p.withdraw)
}

func (p *purger) isCopy(r *record) bool {
	if r.torn || len(p.contents) == 0 {
		return false
	}
	content := contentOf(r.data, r.typ)
	return content != nil && slices.ContainsFunc(p.contents, func(c []byte) bool { return bytes.Equal(c, content) })
}

// withdraw takes back the parts that an entry has that stays.
func (p *purger) withdraw(r *record) error {
	if r.torn || len(p.parts) == 0 || p.goes(r) || derived(r.data, r.typ) {
		return nil
	}
	for s := range values(r.data) {
		s = redact(s, findAll(s, p.forms))
		maps.DeleteFunc(p.parts, func(part string, _ bool) bool { return strings.Contains(s, part) })
	}
	return nil
}

func (p *purger) goes(r *record) bool {
	return !r.torn && (p.marked[r.id] || p.marked[madeOf(r.data, r.typ)] || p.isCopy(r))
}

func (p *purger) each(ctx context.Context, fn func(r *record) error) error {
	for _, name := range p.files {
		err := p.scan(ctx, name, func(_ *scanned, recs []record) error {
			for i := range recs {
				if err := fn(&recs[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *purger) scan(ctx context.Context, name string, fn func(l *scanned, recs []record) error) error {
	file, err := vfs.OpenOwn(p.f.fs, name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	version, sessionID := session.Version, ""
	position := 0
	return scan(ctx, file, 0, info.Size(), func(l *scanned) error {
		recs := make([]record, len(l.pieces))
		for i, pc := range l.pieces {
			r := &recs[i]
			*r = record{piece: pc, file: name, line: l.n, id: strings.Clone(pc.id), torn: pc.kind != pieceRecord}
			switch {
			case r.torn:
			case pc.typ == "session":
				if h, err := session.ParseHeader(pc.data); err == nil && sessionID == "" {
					version, sessionID = h.Version, strings.Clone(h.ID)
				}
			case version < 2: // as convert does
				r.id = derivedID(sessionID, position)
				position++
			}
		}
		return fn(l, recs)
	})
}

// overwrite replaces a file by one without what is to go, when there is some in it.
func (p *purger) overwrite(ctx context.Context, name string) error {
	var places []PurgePlace
	rewrite := func(w io.Writer) error {
		places = nil
		return p.scan(ctx, name, func(l *scanned, recs []record) error {
			out := make([]byte, 0, len(l.data)+1)
			at := 0
			for i := range recs {
				r := &recs[i]
				data, what := p.rewrite(r)
				if what != "" {
					places = append(places, PurgePlace{p.shown(name), r.line, r.id, what})
				}
				out = append(append(out, l.data[at:r.off]...), data...)
				at = r.off + len(r.data)
			}
			out = append(out, l.data[at:]...)
			if l.ended {
				out = append(out, '\n')
			}
			_, err := w.Write(out)
			return err
		})
	}
	err := rewrite(io.Discard)
	if err == nil && !p.opt.DryRun && len(places) > 0 {
		err = p.replace(name, rewrite)
	}
	p.out.Places = append(p.out.Places, places...)
	return err
}

func (p *purger) shown(name string) string {
	if end, ok := strings.CutPrefix(name, p.f.real); ok {
		return p.f.path + end
	}
	return name
}

// rewrite returns a record without what is to go, and in words what went; "" when it stays as it is.
func (p *purger) rewrite(r *record) (data []byte, what string) {
	if r.torn {
		s, at := loose(r.data)
		found := p.find(s, true)
		if len(found) == 0 {
			return r.data, ""
		}
		return blot(r.data, at, found), "parts of bytes that are no record"
	}
	data = r.data
	if p.goes(r) {
		if purged, ok := purgeRecord(data, r.typ); ok {
			data = purged
		}
	}
	if !bytes.Equal(data, r.data) {
		what = "its content"
		switch id := madeOf(r.data, r.typ); {
		case id != "" && p.marked[id]:
			what = "the content that was made of " + id
		case r.id != p.opt.ID:
			what = "its content, a copy"
		}
	}
	if marked, ok := markSpilled(data, p.opt.Spilled); ok {
		data, what = marked, cmp.Or(what, "a note that its full content was purged")
	}
	n := 0
	quotes := derived(data, r.typ)
	data = jsonx.EditStrings(data, func(path []string, s string, isName bool) (string, bool) {
		found := p.find(s, quotes && !isName)
		if len(found) == 0 || isName && !freeName(path) || isStructural(path) {
			return "", false
		}
		n += len(found)
		return redact(s, found), true
	})
	if n > 0 && what == "" {
		what = fmt.Sprintf("%d places in it", n)
		if n == 1 {
			what = "1 place in it"
		}
		if r.typ != "" {
			what += ", a " + string(r.typ)
		}
	}
	return data, what
}

// find returns what is to go from a text: spellings of PurgeOptions.Text and, where it quotes, parts of purged content.
func (p *purger) find(s string, quotes bool) []span {
	found := findAll(s, p.forms)
	if !quotes || p.match == nil {
		return found
	}
	for _, sp := range p.match.shared(s) {
		if p.parts[s[sp.from:sp.to]] && !overlaps(found, sp) {
			found = append(found, sp)
		}
	}
	sortSpans(found)
	return found
}

func (p *purger) lookForLeft(ctx context.Context) error {
	return p.each(ctx, func(r *record) error {
		left := func(why string, kept bool) {
			p.out.Left = append(p.out.Left, PurgeLeft{p.shown(r.file), r.line, r.id, why, kept})
		}
		data := r.data
		if p.opt.DryRun {
			data, _ = p.rewrite(r)
		}
		if s, _ := loose(data); len(findAll(s, p.forms)) > 0 || len(findAll(string(data), p.forms)) > 0 {
			left("the text stands in an id, a type or a number, which can't be overwritten", true)
		}
		if p.goes(r) || r.torn {
			return nil
		}
		for s := range values(data) {
			if slices.ContainsFunc(p.words, func(w string) bool { return strings.Contains(s, w) }) {
				left("it has a long word of the purged content that looks like a key", false)
				break
			}
		}
		return nil
	})
}

// replace puts what write writes in the place of one of the session's files, in one step, and then overwrites the bytes
// of the old one, under whatever other name it still has. The session's File can't be used afterwards but to be closed.
func (p *purger) replace(name string, write func(io.Writer) error) error {
	f := p.f
	temp := f.real + ".new"
	if err := f.writeTemp(temp, name, write); err != nil {
		return err
	}
	old, err := f.exchange(name, temp)
	if err != nil {
		_ = f.fs.Remove(temp)
		return err
	}
	err = f.fs.SyncDir(filepath.Dir(name))
	if old == nil {
		return err
	}
	if serr := f.scrub(name, old); serr != nil {
		p.unscrubbed = errors.Join(p.unscrubbed, serr)
		p.out.Left = append(p.out.Left, PurgeLeft{File: p.shown(name), Why: fmt.Sprintf("what it was may still be on the disk: %v", serr)})
	}
	return err
}

// exchange renames temp to name. It returns the old file, to be overwritten; nil where it is still in use under the
// session's name, or the system has no way to hold it.
func (f *File) exchange(name, temp string) (old vfs.File, err error) {
	// What another program added meanwhile must not be lost.
	size, err := f.look()
	if err != nil {
		return nil, err
	}
	if size != f.size {
		return nil, &session.Error{Op: "purge", Subject: f.path, Err: session.ErrConflict, Hint: "try again when nothing writes to it"}
	}
	if runtime.GOOS != "windows" && (name == f.real || !f.sameFile(name)) {
		if old, err = vfs.OpenOwn(f.fs, name, os.O_WRONLY, 0); err != nil {
			return nil, err
		}
	}
	if name == f.real {
		_ = f.f.Close() // an open file can't be replaced on Windows
		f.f = nil
	}
	if err := f.fs.Rename(temp, name); err != nil {
		if old != nil {
			_ = old.Close()
		}
		return nil, err
	}
	return old, nil
}

// scrub overwrites a file that has been replaced with its replacement, so that its bytes do not stay on the disk.
func (f *File) scrub(name string, old vfs.File) (err error) {
	defer func() { err = errors.Join(err, old.Close()) }()
	now, err := f.fs.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer now.Close()
	n, err := io.Copy(old, now)
	if err != nil {
		return fmt.Errorf("can't overwrite the old bytes: %w", err)
	}
	if err := old.Truncate(n); err != nil {
		return err
	}
	return old.Sync()
}
