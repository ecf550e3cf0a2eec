package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/blob"
	gatewaydb "github.com/clew-dev/clew/gateway/postgres"
	"github.com/clew-dev/clew/internal/database"
	"github.com/clew-dev/clew/internal/jobs"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/postgres"
)

// dbReport is what db --json prints.
type dbReport struct {
	Action   string      `json:"action"`
	Sessions []dbSession `json:"sessions"`
	Key      string      `json:"key,omitempty"` // a new one, of action key

	DryRun    bool                `json:"dryRun,omitempty"`
	Purged    *postgres.Purged    `json:"purged,omitempty"`
	Deleted   *postgres.Deleted   `json:"deleted,omitempty"`
	Collected *postgres.Collected `json:"collected,omitempty"`
}

// dbSession is a session that was moved.
type dbSession struct {
	File    string `json:"file"`
	ID      string `json:"id"`
	Entries int    `json:"entries"`
	Outputs int    `json:"outputs"` // pieces of large output
	Lost    int    `json:"lost"`    // of those that entries refer to
}

var dbActions = []string{"migrate", "import", "export", "key", "delete", "purge", "gc"}

func newDB() *cobra.Command {
	cmd := newCommand("db", groupOther)
	cmd.ValidArgs = dbActions
	database := cmd.Flags().String("db", "", "the database, as a connection string or `URL` (default: setting database); what it does not say, the environment says")
	tenant := cmd.Flags().String("tenant", "", "whose sessions they are; a tenant sees no others")
	drop := cmd.Flags().Bool("drop", false, "key: read a key from standard input, and make it worthless")
	var removal dbRemoval
	removal.add(cmd)
	jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		action, args := args[0], args[1:]
		switch {
		case !slices.Contains(dbActions, action):
			return usagef("db: no action %q; there are %s", action, strings.Join(dbActions, ", "))
		case action == "migrate" && len(args) > 0:
			return usagef("db migrate: unexpected argument %q", args[0])
		case action == "import" && len(args) == 0:
			return usagef("db import: name the session files")
		case action == "export" && len(args) != 2:
			return usagef("db export: give the id of a session and the file to write")
		case action == "key" && len(args) != 1 && !*drop || *drop && len(args) > 0:
			return usagef("db key: give the name of a tenant, or --drop and a key on standard input")
		}
		if err := removal.usage(action, args); err != nil {
			return err
		}
		if *database == "" {
			s, err := loadSettings(nil)
			if err != nil {
				return err
			}
			*database = s.DB
		}
		cfg, err := pgxpool.ParseConfig(*database)
		if err != nil {
			return usagef("db: --db is no connection string: %w", err) // pgx leaves the password out
		}
		pool, err := pgxpool.NewWithConfig(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer pool.Close()
		r := &dbReport{Action: action, Sessions: []dbSession{}, DryRun: removal.dry}
		switch {
		case action == "migrate":
			if err = postgres.Migrate(cmd.Context(), pool); err == nil {
				err = jobs.Migrate(cmd.Context(), pool)
			}
		case *drop:
			err = dropKey(cmd, pool)
		case action == "key":
			r.Key, err = gatewaydb.AddKey(cmd.Context(), pool, args[0])
		case action == "delete":
			r.Deleted, err = removal.delete(cmd, pool, *tenant, args)
		case action == "gc":
			r.Collected, err = removal.collect(cmd, pool)
		case action == "purge":
			r.Purged, err = removal.purge(cmd, pool, *tenant, args)
		default:
			var where string
			if where, _, err = removal.beside(); err == nil {
				err = r.move(cmd.Context(), pool, *tenant, where, args)
			}
		}
		if err != nil && !r.any() {
			if action == "key" {
				err = fmt.Errorf("db key: %w", err)
			}
			return err
		}
		if (action == "delete" && r.Deleted == nil) || (action == "purge" && r.Purged == nil) || (action == "gc" && r.Collected == nil) {
			return err // the user said no
		}
		if shown := show(cmd, r); err == nil {
			err = shown
		}
		return err
	}
	return cmd
}

// any reports whether something was done, or found, before a failure.
func (r *dbReport) any() bool {
	p, d, c := r.Purged, r.Deleted, r.Collected
	return len(r.Sessions) > 0 || p != nil && len(p.Places)+len(p.Left) > 0 || d != nil && d.Sessions+d.Measures+d.Events > 0 || c != nil && c.Deleted+c.Measures > 0
}

// dropKey takes a key back that stands on standard input.
func dropKey(cmd *cobra.Command, pool *pgxpool.Pool) error {
	key, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), 1<<10))
	if err != nil {
		return err
	}
	return gatewaydb.DropKey(cmd.Context(), pool, strings.TrimSpace(string(key)))
}

// move moves sessions with their large output, until one can't be.
func (r *dbReport) move(ctx context.Context, pool *pgxpool.Pool, tenant, blobs string, args []string) error {
	db, err := postgres.New(ctx, pool, tenant)
	if err != nil {
		return err
	}
	if r.Action == "export" {
		m := dbSession{File: args[1], ID: args[0]}
		m.Entries, err = db.Export(ctx, m.ID, m.File, m.output(tenant, blobs, false))
		if err == nil {
			r.Sessions = append(r.Sessions, m)
		}
		return err
	}
	for _, name := range args {
		m := dbSession{}
		if m.File, err = resolveSession(ctx, name); err != nil {
			return err
		}
		h, n, err := db.Import(ctx, m.File, m.output(tenant, blobs, true))
		if err != nil {
			return err
		}
		m.ID, m.Entries = h.ID, n
		r.Sessions = append(r.Sessions, m)
	}
	return nil
}

// output copies a session's large output from beside its file to where blobs says, or back.
func (m *dbSession) output(tenant, blobs string, in bool) func(context.Context, session.Store) error {
	return func(ctx context.Context, s session.Store) error {
		file, err := clew.FileBlobs(m.File)
		if err != nil {
			return err
		}
		to, err := database.Blobs(blobs, tenant, s.Header().ID)
		if err != nil {
			return err
		}
		from := blob.Store(file)
		if !in {
			from, to = to, from
		}
		m.Outputs, m.Lost, err = clew.CopyContent(ctx, s, from, to)
		return err
	}
}

func (r *dbReport) text(rep *report) {
	switch {
	case r.Action == "migrate":
		rep.w.WriteString("the database has the tables of this clew\n")
	case r.Key != "":
		rep.w.WriteString(r.Key + "\n")
	case r.Purged != nil:
		word := "overwrote"
		if r.DryRun {
			word = "overwrite"
		}
		purgedText(rep, r.Purged, word)
	case r.Collected != nil:
		r.collected(rep)
	case r.Deleted != nil:
		fmt.Fprintf(rep.w, "deleted %s, %s of the ledger\n", count(int(r.Deleted.Sessions), "session"), count(int(r.Deleted.Events), "event"))
		if n := int(r.Deleted.Open); n > 0 {
			fmt.Fprintf(rep.w, "%s stay: they are open for writing\n", count(n, "session"))
		}
	case r.Action == "key":
		rep.w.WriteString("the key is worthless now; gateways that run may take it for half a minute more\n")
	}
	for _, s := range r.Sessions {
		fmt.Fprintf(rep.w, "%s: session %s, %s", rep.p.paint(styleBold, printable(s.File)), printable(s.ID), count(s.Entries, "entry", "entries"))
		if s.Outputs > 0 {
			fmt.Fprintf(rep.w, ", %s of large output", count(s.Outputs, "piece"))
		}
		if s.Lost > 0 {
			fmt.Fprintf(rep.w, "; of %s the whole output is missing or damaged", count(s.Lost, "message"))
		}
		rep.w.WriteString("\n")
	}
}

func (r *dbReport) collected(rep *report) {
	word, c := "deleted", r.Collected
	switch {
	case r.DryRun:
		word = "would delete"
	case c.First:
		rep.w.WriteString("nothing was deleted: there was no mark of a database. This one's is there now; run it again where no other one has its large output there\n")
		return
	}
	for i, g := range c.Content {
		if i == maxListed {
			rep.row("", "and %s more", number(int64(len(c.Content)-i)))
			break
		}
		rep.row(g.Stored.Format(time.DateOnly), "%s, %s bytes: session %s of tenant %q", g.ID[:min(len(g.ID), 23)], number(g.Size), printable(g.Session), g.Tenant)
	}
	fmt.Fprintf(rep.w, "%s %s of content, %s bytes, and %s\n", word, count(int(c.Deleted), "piece"), number(c.Bytes), count(int(c.Measures), "measure"))
	if c.Open > 0 {
		fmt.Fprintf(rep.w, "%s were left alone: they are open for writing\n", count(int(c.Open), "session"))
	}
}
