package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/clew-dev/clew/session"
)

// Info is what List says of a session.
type Info struct {
	Header  session.Header
	Entries int64
	Holder  string   // the program that has it open for writing; "" for none
	Ends    [][]byte // its first and its last entries, as JSON, without those that are long
}

// How much List reads of each session.
const (
	listHead, listTail = 8, 24 // entries
	listBytes          = 64 << 10
)

// List returns the tenant's sessions, of those whose id begins with beginning, in the order of their ids.
func (db *DB) List(ctx context.Context, beginning string) ([]Info, error) {
	rows, err := db.pool.Query(ctx, `SELECT s.header, s.last_seq, CASE WHEN s.expires > now() THEN s.holder ELSE '' END,
			ARRAY(SELECT raw FROM clew_entry e WHERE e.tenant = s.tenant AND e.session = s.session
				AND (e.seq <= $3 OR e.seq > s.last_seq - $4) AND octet_length(e.raw) <= $5 ORDER BY e.seq)
		FROM clew_session s WHERE s.tenant = $1 AND starts_with(s.session, $2) ORDER BY s.session`,
		db.tenant, beginning, listHead, listTail, listBytes)
	var list []Info
	if err == nil {
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (i Info, err error) {
			var header []byte
			if err := row.Scan(&header, &i.Entries, &i.Holder, &i.Ends); err != nil {
				return i, err
			}
			if i.Header, err = session.ParseHeader(header); err != nil {
				err = fmt.Errorf("a header in clew_session is none: %w", err)
			}
			return i, err
		})
	}
	if err != nil {
		return nil, failed("list", "the sessions of the database", err)
	}
	return list, nil
}
