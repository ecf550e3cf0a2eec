package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/internal/database"
	"github.com/clew-dev/clew/internal/home"
	"github.com/clew-dev/clew/session/postgres"
)

// dbRemoval is what db delete and db purge are told beside their arguments.
type dbRemoval struct {
	older, blobs, grace             string
	all, allTenants, text, yes, dry bool
	take                            bool
}

func (d *dbRemoval) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&d.older, "older", "", "delete: what was used last so long ago, such as `30d` or 12h")
	f.BoolVar(&d.all, "all", false, "delete: all sessions of the tenant")
	f.BoolVar(&d.allTenants, "all-tenants", false, "delete: of every tenant")
	f.BoolVar(&d.text, "text", false, "purge: read a text, and overwrite it wherever it stands")
	f.StringVar(&d.grace, "grace", "7d", "gc: for how long content is kept that nothing refers to, such as `7d` or 12h")
	f.BoolVar(&d.take, "take-over", false, "delete, purge, gc: the large output is this database's alone, though another one has left its mark there")
	f.StringVar(&d.blobs, "blobs", "", "the `FOLDER` or s3:// address of large output (default: setting blobs)")
	f.BoolVar(&d.yes, "yes", false, "delete, purge, gc: do not ask")
	f.BoolVar(&d.dry, "dry-run", false, "purge, gc: show what would be done, and do nothing")
}

// usage says what is wrong with the arguments.
func (d *dbRemoval) usage(action string, args []string) error {
	switch {
	case action == "delete" && len(args) > 1:
		return usagef("db delete: unexpected argument %q", args[1])
	case action == "delete" && len(args) == 0 && d.older == "" && !d.all:
		return usagef("db delete: give the id of a session, --older, or --all")
	case action == "delete" && len(args) > 0 && (d.all || d.allTenants):
		return usagef("db delete: a session, or all of them")
	case action == "gc" && len(args) > 0:
		return usagef("db gc: unexpected argument %q", args[0])
	case action == "purge" && d.text && len(args) > 0:
		return usagef("db purge: --text takes no argument; give the text on standard input")
	case action == "purge" && !d.text && len(args) != 2:
		return usagef("db purge: give a session and the entry that holds the secret, or the secret on standard input with --text")
	}
	return nil
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

// beside says where large output is: in all, and on this machine.
func (d *dbRemoval) beside() (where, own string, err error) {
	set, err := loadSettings(nil)
	if err != nil {
		return "", "", err
	}
	h, err := home.Default()
	if err != nil {
		return "", "", err
	}
	return cmp.Or(d.blobs, set.Blobs, h.Database()), h.Database(), nil
}

// ask asks before something is done that can't be undone. false: the user said no.
func (d *dbRemoval) ask(cmd *cobra.Command, question string, list func(rep *report)) (bool, error) {
	if d.yes {
		return true, nil
	}
	return confirm(cmd, "does that", "--yes", question+" This can't be undone.", "nothing was changed", list)
}

func (d *dbRemoval) delete(cmd *cobra.Command, pool *pgxpool.Pool, tenant string, args []string) (*postgres.Deleted, error) {
	w := postgres.Which{Tenant: tenant, All: d.allTenants}
	what := "of tenant " + strconv.Quote(tenant)
	if w.All {
		what = "of every tenant"
	}
	if what = "all sessions " + what; len(args) > 0 {
		w.Session = args[0]
		what = "session " + printable(args[0]) + " of tenant " + strconv.Quote(tenant)
	}
	if d.older != "" {
		old, err := age("older", d.older)
		if err != nil {
			return nil, err
		}
		w.Before = time.Now().Add(-old)
		what += " that was used last before " + w.Before.Format(time.DateTime)
	}
	if ok, err := d.ask(cmd, "Delete "+what+"?", nil); !ok {
		return nil, err
	}
	where, own, err := d.beside()
	if err != nil {
		return nil, err
	}
	if err := d.ours(cmd, pool, where, own); err != nil {
		return nil, err
	}
	w.Beside = func(ctx context.Context, tenant, id string) error {
		return database.RemoveBeside(ctx, where, own, tenant, id)
	}
	out, err := postgres.Delete(cmd.Context(), pool, w)
	if err == nil && w.Session != "" && out.Sessions == 0 {
		err = fmt.Errorf("db delete: tenant %q has no session %s that is not open", tenant, printable(w.Session))
	}
	return &out, err
}

// ours fails where the large output may be another database's. What is on this machine alone is not asked about: several
// databases have theirs there, and what is to go was named.
func (d *dbRemoval) ours(cmd *cobra.Command, pool *pgxpool.Pool, where, own string) error {
	if where == own {
		return nil
	}
	return postgres.Own(cmd.Context(), pool, blobsIn(where), d.take)
}

func blobsIn(where string) func(tenant, id string) (blob.Store, error) {
	return func(tenant, id string) (blob.Store, error) { return database.Blobs(where, tenant, id) }
}

// collectIn collects what nobody refers to in a folder of this machine, or in a bucket.
func collectIn(where string, grace time.Duration) *postgres.CollectOptions {
	return &postgres.CollectOptions{Grace: grace, Own: !strings.HasPrefix(where, "s3://"), Blobs: blobsIn(where)}
}

func (d *dbRemoval) collect(cmd *cobra.Command, pool *pgxpool.Pool) (*postgres.Collected, error) {
	grace, err := age("grace", d.grace)
	if err != nil {
		return nil, err
	}
	where, _, err := d.beside()
	if err != nil {
		return nil, err
	}
	opt := collectIn(where, grace)
	opt.DryRun = d.dry
	if !d.dry {
		if ok, err := d.ask(cmd, "Delete large output in "+printable(where)+" that no session refers to?", nil); !ok {
			return nil, err
		}
	}
	if d.take && !d.dry {
		if err := postgres.Own(cmd.Context(), pool, opt.Blobs, true); err != nil {
			return nil, err
		}
	}
	return postgres.Collect(cmd.Context(), pool, *opt)
}

// purge looks what there is, asks, and does it.
func (d *dbRemoval) purge(cmd *cobra.Command, pool *pgxpool.Pool, tenant string, args []string) (*postgres.Purged, error) {
	opt := postgres.PurgeOptions{Tenant: tenant, DryRun: true}
	if d.text {
		var err error
		if opt.Text, err = readSecret(cmd); err != nil {
			return nil, err
		}
	} else {
		opt.Session, opt.Entry = args[0], args[1]
	}
	where, own, err := d.beside()
	if err != nil {
		return nil, err
	}
	opt.Blobs = blobsIn(where)
	out, err := postgres.Purge(cmd.Context(), pool, opt)
	if err != nil || d.dry {
		return out, err
	}
	switch {
	case len(out.Places) > 0:
	case len(out.Left) > 0:
		return out, errors.New("db purge: nothing was overwritten; look at what is named, and purge again")
	case d.text:
		return nil, errors.New("db purge: the text stands nowhere in the database, nor in the large output of its sessions")
	default:
		return out, nil
	}
	list := func(rep *report) { purgedText(rep, out, "overwrite") }
	if ok, err := d.ask(cmd, fmt.Sprintf("Overwrite %s? The tables are locked meanwhile.", count(len(out.Places), "place")), list); !ok {
		return nil, err
	}
	opt.DryRun = false
	if err := d.ours(cmd, pool, where, own); err != nil {
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
