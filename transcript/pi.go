package transcript

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/session"
)

// readPi reads pi's own format. Its records are taken as they stand; those of
// versions 1 and 2 get what version 3 has, as session/jsonl gives it to them.
func readPi(s *source, b *builder) error {
	s.asLines()
	var records []piRecord
	seen := false
	err := s.objects(func(line int, obj value) error {
		if obj.str("type") == "session" {
			h, err := session.ParseHeader(obj)
			switch {
			case err != nil:
				b.note(Damaged, "bad-header", line, "", "headers that can't be read")
			case seen:
				b.note(Damaged, "second-header", line, h.ID, "headers behind the first")
			default:
				b.t.Header, seen = h, true
			}
			return nil
		}
		e, err := session.ParseEntry(obj)
		if err != nil || e.Type == "" {
			b.note(Damaged, "bad-entry", line, "", "records without a type")
			return nil
		}
		records = append(records, piRecord{e, line})
		return nil
	})
	if err != nil {
		return err
	}
	if !seen {
		b.note(Damaged, "no-header", 1, "", "a header was missing and is made")
		b.t.Header = session.Header{Version: session.Version}
		for _, r := range records {
			if r.entry.ID == "" {
				b.t.Header.Version = 1
				break
			}
		}
	}
	if b.t.Header.Version < 2 {
		records = piVersion1(b, records)
	}
	piTree(b, records)
	return nil
}

type piRecord struct {
	entry *session.Entry
	line  int
}

// piVersion1 gives the records of version 1 ids and parents; docs/FORMAT.md says
// which.
func piVersion1(b *builder, records []piRecord) []piRecord {
	id := func(at int) string {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d", b.t.Header.ID, at))
		return hex.EncodeToString(sum[:])[:16]
	}
	parent := ""
	for i := range records {
		e := records[i].entry
		if e.Type == session.TypeCompaction && e.Field("firstKeptEntryId") == nil {
			// The index counts the records of the file, the header being 0.
			if n, ok := jsonx.Int(e.Field("firstKeptEntryIndex")); ok && n > 0 && int(n) <= len(records) {
				if set, err := session.ParseEntry(jsonx.Set(e.Raw(), "firstKeptEntryId", quoted(id(int(n)-1)))); err == nil {
					e = set
				}
			}
		}
		records[i].entry = e.WithIdentity(id(i), parent)
		parent = id(i)
	}
	b.note(Made, "old-version", 1, "", "a session of version 1; ids and parents are made")
	return records
}

// piTree adds the records. One whose parent is not in the file hangs under the
// record before it where the file is damaged, and is a root elsewhere.
func piTree(b *builder, records []piRecord) {
	ids := map[string]bool{}
	for _, r := range records {
		if r.entry.ID != "" {
			ids[r.entry.ID] = true
		}
	}
	last := ""
	added := map[string]bool{}
	for i, r := range records {
		e := r.entry
		if e.ID == "" {
			b.note(Damaged, "no-id", r.line, "", "records without an id; they get one")
			e = e.WithIdentity(fmt.Sprintf("%016x", i), last)
		}
		if added[e.ID] {
			b.note(Damaged, "duplicate-id", r.line, e.ID, "records whose id is taken; they get another")
			e = e.WithIdentity(fmt.Sprintf("%015xd", i), e.ParentID)
		}
		if p := e.ParentID; p != "" && !added[p] {
			kind, what := "missing-parent", "records whose parent is not in the file; they hang under the one before"
			if ids[p] {
				kind, what = "late-parent", "records that stand before their parent; they hang under the one before"
			}
			b.note(Damaged, kind, r.line, e.ID, what)
			e = e.WithIdentity(e.ID, last)
		}
		added[e.ID], last = true, e.ID
		n := &node{raw: e, line: r.line, id: e.ID}
		if c, ok := e.Compaction(); ok {
			n.rewrite = &Rewrite{Kind: "compaction", Line: r.line, Summary: c.Summary, TokensBefore: c.TokensBefore}
		}
		b.add(b.tip, n)
	}
}
