package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// How often a gateway says that it runs, and for how long it counts as running.
const (
	meetEvery = time.Minute
	present   = 3 * meetEvery
)

// meeting is what was found out about the other gateways.
type meeting struct {
	at   time.Time
	said string
}

// Settings notes those that all gateways on one database should have in common, by name. Where others have other ones, the
// logger is told: a conversation goes on by those of whichever gateway has its turn.
func (s *Store) Settings(all map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings = all
}

// meet looks which settings the other gateways on the database have, and says where they are not ours.
func (s *Store) meet(ctx context.Context) {
	if time.Since(s.met.at) < meetEvery {
		return
	}
	s.met.at = time.Now()
	s.mu.Lock()
	ours := s.settings
	s.mu.Unlock()
	var others []map[string]string
	err := s.try(ctx, lookWait, func(context.Context) error { return s.link.err() }, func(ctx context.Context) error {
		b := &pgx.Batch{}
		b.Queue("INSERT INTO clew_gateway (id, settings) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET seen = now(), settings = $2", s.id, ours)
		b.Queue("DELETE FROM clew_gateway WHERE seen < now() - interval '1 day'")
		b.Queue("SELECT settings FROM clew_gateway WHERE id <> $1 AND settings <> '{}' AND seen > now() - $2::interval", s.id, present).Query(func(rows pgx.Rows) (err error) {
			others, err = pgx.CollectRows(rows, pgx.RowTo[map[string]string])
			return err
		})
		return s.pool.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return // the next time
	}
	said := differences(ours, others)
	if said != s.met.said && said != "" {
		s.log.Warn("other gateways on this database have other settings; give all the same, or each conversation goes by those of whichever has its turn", "differences", said)
	}
	s.met.said = said
}

// differences says which settings are not ours, with no value of theirs twice.
func differences(ours map[string]string, others []map[string]string) string {
	var said []string
	for name, our := range ours {
		for _, o := range others {
			if line := fmt.Sprintf("%s is %q here and %q there", name, our, o[name]); o[name] != our && !slices.Contains(said, line) {
				said = append(said, line)
			}
		}
	}
	slices.Sort(said)
	return strings.Join(said, "; ")
}
