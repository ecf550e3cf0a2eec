package main

import (
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
	"github.com/clew-dev/clew/session/postgres"
)

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
