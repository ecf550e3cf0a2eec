package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
)

// stored is what a run has left in the store. It is read without the code that wrote it.
type stored struct {
	marks    map[string]bool // of messages
	renders  map[uint64]bool // hashes of those of epochs
	sessions int
	epochs   int
	bytes    int64
}

// epoch is one as it is kept.
type epoch struct {
	Head   string `json:"head"`
	Render string `json:"render"`
}

// session takes note of one session's entries.
func (s *stored) session(r *run, name string, entries []string) {
	if len(entries) == 0 {
		return
	}
	s.sessions++
	of, heads := "", map[string]string{}
	for _, e := range entries {
		s.bytes += int64(len(e))
		for _, mark := range marks(e) {
			s.marks[mark] = true
			conversation, _, _ := strings.Cut(mark, ".")
			switch {
			case conversation[:2] == "[t": // of two conversations
			case of == "":
				of = conversation
			case conversation != of:
				r.count.add(foreign, "session %s has messages of the conversations %s and %s", name, of, conversation)
			}
		}
		var kept struct {
			Type string `json:"customType"`
			Data epoch  `json:"data"`
		}
		if !strings.Contains(e, `"clew.gateway.epoch"`) || json.Unmarshal([]byte(e), &kept) != nil || kept.Type != "clew.gateway.epoch" {
			continue
		}
		s.epochs++
		s.renders[hash(kept.Data.Render)] = true
		data, _ := json.Marshal(kept)
		if had, ok := heads[kept.Data.Head]; ok && had != string(data) {
			r.count.add(twice, "session %s has two epochs for %.16s", name, kept.Data.Head)
		}
		heads[kept.Data.Head] = string(data)
	}
}

var markForm = regexp.MustCompile(`\[[ct]\d+\.\d+\.\d+\]`)

// marks returns the marks of messages in a text.
func marks(text string) []string { return markForm.FindAllString(text, -1) }

// read reads the store.
func (s *stored) read(ctx context.Context, r *run) error {
	if r.cluster.db != nil {
		return s.rows(ctx, r)
	}
	files, err := filepath.Glob(filepath.Join(r.cluster.dir, "sessions", "*.jsonl"))
	for _, f := range files {
		data, failed := os.ReadFile(f)
		err = errors.Join(err, failed)
		s.session(r, filepath.Base(f), strings.Split(string(data), "\n"))
	}
	return err
}

func (s *stored) rows(ctx context.Context, r *run) error {
	db, err := pgx.Connect(ctx, r.cluster.database)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close(ctx) }()
	rows, err := db.Query(ctx, "SELECT tenant, session, raw FROM clew_entry ORDER BY tenant, session, seq")
	if err != nil {
		return err
	}
	var tenant, session, last string
	var raw []byte
	var entries []string
	_, err = pgx.ForEachRow(rows, []any{&tenant, &session, &raw}, func() error {
		if name := tenant + "/" + session; name != last {
			s.session(r, last, entries)
			last, entries = name, nil
		}
		entries = append(entries, string(raw))
		return nil
	})
	s.session(r, last, entries)
	return err
}
