package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/blob"
	gatewaydb "github.com/clew-dev/clew/gateway/postgres"
	"github.com/clew-dev/clew/internal/database"
	"github.com/clew-dev/clew/internal/home"
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

// dbFlags are the flags of db.
type dbFlags struct {
	db, tenant, older, blobs, grace             string
	drop, all, allTenants, text, yes, dry, take bool

	here string // where large output is on this machine
}

func newDB(cmd *cobra.Command) runFunc {
	cmd.ValidArgs = dbActions
	var fl dbFlags
	f := cmd.Flags()
	f.StringVar(&fl.db, "db", "", "the database, as a connection string or `URL` (default: setting database); what it does not say, the environment says")
	f.StringVar(&fl.tenant, "tenant", "", "whose sessions they are; a tenant sees no others")
	f.BoolVar(&fl.drop, "drop", false, "key: read a key from standard input, and make it worthless")
	f.StringVar(&fl.older, "older", "", "delete: what was used last so long ago, such as `30d` or 12h")
	f.BoolVar(&fl.all, "all", false, "delete: all sessions of the tenant")
	f.BoolVar(&fl.allTenants, "all-tenants", false, "delete: of every tenant")
	f.BoolVar(&fl.text, "text", false, "purge: read a text, and overwrite it wherever it stands")
	f.StringVar(&fl.grace, "grace", "7d", "gc: for how long content is kept that nothing refers to, such as `7d` or 12h")
	f.BoolVar(&fl.take, "take-over", false, "delete, purge, gc: the large output is this database's alone, though another one has left its mark there")
	f.StringVar(&fl.blobs, "blobs", "", "the `FOLDER` or s3:// address of large output (default: setting blobs)")
	f.BoolVar(&fl.yes, "yes", false, "delete, purge, gc: do not ask")
	f.BoolVar(&fl.dry, "dry-run", false, "purge, gc: show what would be done, and do nothing")
	return func(args []string) (result, error) {
		action, args := args[0], args[1:]
		if err := fl.check(action, args); err != nil {
			return nil, err
		}
		set, err := loadSettings(nil)
		if err != nil {
			return nil, err
		}
		cfg, err := pgxpool.ParseConfig(cmp.Or(fl.db, set.DB))
		if err != nil {
			return nil, usagef("db: --db is no connection string: %w", err) // pgx leaves the password out
		}
		pool, err := pgxpool.NewWithConfig(cmd.Context(), cfg)
		if err != nil {
			return nil, err
		}
		defer pool.Close()
		h, err := home.Default()
		if err != nil && action != "migrate" && action != "key" {
			return nil, err
		}
		fl.here = h.Database()
		fl.blobs = cmp.Or(fl.blobs, set.Blobs, fl.here)
		r := &dbReport{Action: action, Sessions: []dbSession{}, DryRun: fl.dry}
		switch action {
		case "migrate":
			if err = postgres.Migrate(cmd.Context(), pool); err == nil {
				err = jobs.Migrate(cmd.Context(), pool)
			}
		case "key":
			if r.Key, err = changeKeys(cmd, pool, args); err != nil {
				err = fmt.Errorf("db key: %w", err)
			}
		case "delete":
			r.Deleted, err = fl.delete(cmd, pool, args)
		case "gc":
			r.Collected, err = fl.collect(cmd, pool)
		case "purge":
			r.Purged, err = fl.purge(cmd, pool, args)
		default:
			err = r.move(cmd.Context(), pool, &fl, args)
		}
		if err != nil && !r.any() {
			return nil, err
		}
		return r, err
	}
}

// any reports whether something was done, or found, before a failure.
func (r *dbReport) any() bool {
	p, d, c := r.Purged, r.Deleted, r.Collected
	return len(r.Sessions) > 0 || p != nil && len(p.Places)+len(p.Left) > 0 || d != nil && d.Sessions+d.Measures+d.Events > 0 || c != nil && c.Deleted+c.Measures > 0
}

// check says what is wrong with the arguments.
func (fl *dbFlags) check(action string, args []string) error {
	switch {
	case !slices.Contains(dbActions, action):
		return usagef("db: no action %q; there are %s", action, strings.Join(dbActions, ", "))
	case (action == "migrate" || action == "gc") && len(args) > 0:
		return usagef("db %s: unexpected argument %q", action, args[0])
	case action == "import" && len(args) == 0:
		return usagef("db import: name the session files")
	case action == "export" && len(args) != 2:
		return usagef("db export: give the id of a session and the file to write")
	case action == "key" && len(args) != 1 && !fl.drop || fl.drop && len(args) > 0:
		return usagef("db key: give the name of a tenant, or --drop and a key on standard input")
	case action == "delete" && len(args) > 1:
		return usagef("db delete: unexpected argument %q", args[1])
	case action == "delete" && len(args) == 0 && fl.older == "" && !fl.all:
		return usagef("db delete: give the id of a session, --older, or --all")
	case action == "delete" && len(args) > 0 && (fl.all || fl.allTenants):
		return usagef("db delete: a session, or all of them")
	case action == "purge" && fl.text && len(args) > 0:
		return usagef("db purge: --text takes no argument; give the text on standard input")
	case action == "purge" && !fl.text && len(args) != 2:
		return usagef("db purge: give a session and the entry that holds the secret, or the secret on standard input with --text")
	}
	return nil
}

// changeKeys makes a key for a tenant, or takes the one back that stands on standard input.
func changeKeys(cmd *cobra.Command, pool *pgxpool.Pool, args []string) (string, error) {
	if len(args) > 0 {
		return gatewaydb.AddKey(cmd.Context(), pool, args[0])
	}
	key, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), 1<<10))
	if err != nil {
		return "", err
	}
	return "", gatewaydb.DropKey(cmd.Context(), pool, strings.TrimSpace(string(key)))
}

// move moves sessions with their large output, until one can't be.
func (r *dbReport) move(ctx context.Context, pool *pgxpool.Pool, fl *dbFlags, args []string) error {
	db, err := postgres.New(ctx, pool, fl.tenant)
	if err != nil {
		return err
	}
	if r.Action == "export" {
		m := dbSession{File: args[1], ID: args[0]}
		m.Entries, err = db.Export(ctx, m.ID, m.File, m.output(fl, false))
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
		h, n, err := db.Import(ctx, m.File, m.output(fl, true))
		if err != nil {
			return err
		}
		m.ID, m.Entries = h.ID, n
		r.Sessions = append(r.Sessions, m)
	}
	return nil
}

// output copies a session's large output from beside its file to where --blobs says, or back.
func (m *dbSession) output(fl *dbFlags, in bool) func(context.Context, session.Store) error {
	return func(ctx context.Context, s session.Store) error {
		file, err := clew.FileBlobs(m.File)
		if err != nil {
			return err
		}
		to, err := database.Blobs(fl.blobs, fl.tenant, s.Header().ID)
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
		line := rep.p.paint(styleBold, printable(s.File)) + ": session " + printable(s.ID) + ", " + count(s.Entries, "entry", "entries")
		if s.Outputs > 0 {
			line += ", " + count(s.Outputs, "piece") + " of large output"
		}
		if s.Lost > 0 {
			line += "; of " + count(s.Lost, "message") + " the whole output is missing or damaged"
		}
		rep.line(line)
	}
}

func (r *dbReport) collected(rep *report) {
	word, c := "deleted", r.Collected
	switch {
	case r.DryRun:
		word = "would delete"
	case c.First:
		rep.line("nothing was deleted: there was no mark of a database. This one's is there now; run it again where no other one has its large output there")
		return
	}
	listed(rep, "", c.Content, func(g postgres.Garbage) string {
		return fmt.Sprintf("%s, %s, %s bytes: session %s of tenant %q", g.Stored.Format(time.DateOnly), g.ID[:min(len(g.ID), 23)], number(g.Size), printable(g.Session), g.Tenant)
	})
	rep.line(word, " ", count(int(c.Deleted), "piece"), " of content, ", number(c.Bytes), " bytes, and ", count(int(c.Measures), "measure"))
	if c.Open > 0 {
		rep.line(count(int(c.Open), "session"), " were left alone: they are open for writing")
	}
}

// age reads a time such as 30d or 12h.
func age(flag, s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, usagef("db: --%s %s: write days or hours, such as 30d or 12h", flag, s)
	}
	return d, nil
}

// ask asks before something is done that can't be undone.
func (fl *dbFlags) ask(cmd *cobra.Command, question string, list func(rep *report)) error {
	if fl.yes {
		return nil
	}
	return confirm(cmd, "does that", "--yes", question+" This can't be undone.", "nothing was changed", list)
}

// delete deletes sessions, and what is beside them: where --blobs says, and in a folder of this machine.
func (fl *dbFlags) delete(cmd *cobra.Command, pool *pgxpool.Pool, args []string) (*postgres.Deleted, error) {
	w := postgres.Which{Tenant: fl.tenant, All: fl.allTenants, Beside: func(ctx context.Context, tenant, id string) error {
		return database.RemoveBeside(ctx, fl.blobs, fl.here, tenant, id)
	}}
	what := "all sessions of tenant " + strconv.Quote(fl.tenant)
	switch {
	case w.All:
		what = "all sessions of every tenant"
	case len(args) > 0:
		w.Session = args[0]
		what = "session " + printable(args[0]) + " of tenant " + strconv.Quote(fl.tenant)
	}
	if fl.older != "" {
		old, err := age("older", fl.older)
		if err != nil {
			return nil, err
		}
		w.Before = time.Now().Add(-old)
		what += " that was used last before " + w.Before.Format(time.DateTime)
	}
	if err := fl.ask(cmd, "Delete "+what+"?", nil); err != nil {
		return nil, err
	}
	if err := fl.ours(cmd, pool); err != nil {
		return nil, err
	}
	out, err := postgres.Delete(cmd.Context(), pool, w)
	if err == nil && w.Session != "" && out.Sessions == 0 {
		err = fmt.Errorf("db delete: tenant %q has no session %s that is not open", fl.tenant, printable(w.Session))
	}
	return &out, err
}

// ours fails where the large output may be another database's. What is on this machine alone is not asked about: several
// databases have theirs there, and what is to go was named.
func (fl *dbFlags) ours(cmd *cobra.Command, pool *pgxpool.Pool) error {
	if fl.blobs == fl.here {
		return nil
	}
	return postgres.Own(cmd.Context(), pool, blobsIn(fl.blobs), fl.take)
}

func blobsIn(where string) func(tenant, id string) (blob.Store, error) {
	return func(tenant, id string) (blob.Store, error) { return database.Blobs(where, tenant, id) }
}

// collectIn collects what nobody refers to in a folder of this machine, or in a bucket.
func collectIn(where string, grace time.Duration) *postgres.CollectOptions {
	return &postgres.CollectOptions{Grace: grace, Own: !strings.HasPrefix(where, "s3://"), Blobs: blobsIn(where)}
}

func (fl *dbFlags) collect(cmd *cobra.Command, pool *pgxpool.Pool) (*postgres.Collected, error) {
	grace, err := age("grace", fl.grace)
	if err != nil {
		return nil, err
	}
	opt := collectIn(fl.blobs, grace)
	if opt.DryRun = fl.dry; !fl.dry {
		if err := fl.ask(cmd, "Delete large output in "+printable(fl.blobs)+" that no session refers to?", nil); err != nil {
			return nil, err
		}
	}
	if fl.take && !fl.dry {
		if err := postgres.Own(cmd.Context(), pool, opt.Blobs, true); err != nil {
			return nil, err
		}
	}
	return postgres.Collect(cmd.Context(), pool, *opt)
}

// purge looks what there is, asks, and does it.
func (fl *dbFlags) purge(cmd *cobra.Command, pool *pgxpool.Pool, args []string) (_ *postgres.Purged, err error) {
	opt := postgres.PurgeOptions{Tenant: fl.tenant, DryRun: true, Blobs: blobsIn(fl.blobs)}
	if !fl.text {
		opt.Session, opt.Entry = args[0], args[1]
	} else if opt.Text, err = readSecret(cmd); err != nil {
		return nil, err
	}
	out, err := postgres.Purge(cmd.Context(), pool, opt)
	switch {
	case err != nil || fl.dry:
		return out, err
	case len(out.Places) > 0:
	case len(out.Left) > 0:
		return out, errors.New("db purge: nothing was overwritten; look at what is named, and purge again")
	case fl.text:
		return nil, errors.New("db purge: the text stands nowhere in the database, nor in the large output of its sessions")
	default:
		return out, nil
	}
	list := func(rep *report) { purgedText(rep, out, "overwrite") }
	if err := fl.ask(cmd, fmt.Sprintf("Overwrite %s? The tables are locked meanwhile.", count(len(out.Places), "place")), list); err != nil {
		return nil, err
	}
	opt.DryRun = false
	if err := fl.ours(cmd, pool); err != nil {
		return nil, err
	}
	return postgres.Purge(cmd.Context(), pool, opt)
}

// purgedText lists places.
func purgedText(rep *report, p *postgres.Purged, word string) {
	if len(p.Places)+len(p.Left) == 0 {
		rep.row("nothing", "to overwrite: it was purged before, or never had any content")
	}
	listed(rep, word, p.Places, dbPlace)
	listed(rep, "look at", p.Left, dbPlace)
}

func dbPlace(p postgres.PurgePlace) string {
	if p.Session == "" {
		return p.What
	}
	at := fmt.Sprintf("session %s of tenant %q", printable(p.Session), p.Tenant)
	if p.Row > 0 {
		at += fmt.Sprintf(", row %d, entry %s", p.Row, short(p.EntryID, maxID))
	}
	return at + ": " + p.What
}
