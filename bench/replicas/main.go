// Command replicas lets many agents talk through several gateways that share one database,
// sends each request to any of them, kills and restarts them meanwhile, and counts what must
// not happen.
//
//	go run ./bench/replicas -conversations 300
//	go run ./bench/replicas -replicas 4 -json
//
// The gateways are processes of the real program. The model provider is in this process and
// insists on a window and on pairs of calls and results. Conversations and faults come from
// the seed; the order in which the machine runs them does not. Without PostgreSQL on the
// machine, -store files runs one gateway on session files.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"text/tabwriter"
	"time"
)

// config says what is run.
type config struct {
	Seed          uint64        `json:"seed"`
	Conversations int           `json:"conversations"`
	Live          int           `json:"live"` // at once
	Turns         int           `json:"turns"`
	Tenants       int           `json:"tenants"`
	Workers       int           `json:"workers"`
	Replicas      int           `json:"replicas"`
	Kills         int           `json:"kills"`
	Window        int           `json:"window"`
	Writers       int           `json:"writers"` // of sessions with large output in a bucket
	Store         string        `json:"store"`
	Limit         time.Duration `json:"limit"`
	Program       string        `json:"-"`
	Keep          bool          `json:"-"`
}

// result is what --json prints.
type result struct {
	Config        config         `json:"config"`
	Conversations int            `json:"conversations"` // that came to their end
	Requests      int            `json:"requests"`
	Attempts      int            `json:"attempts"` // with those that broke off, and those sent twice
	Broken        int64          `json:"broken"`   // connections, by kills
	Overflows     int64          `json:"overflows"`
	Forms         int            `json:"forms"`     // in which beginnings were sent on, but for those that came as they were
	Sessions      int            `json:"sessions"`  // in the store
	Epochs        int            `json:"epochs"`    // in the store
	Bytes         int64          `json:"bytes"`     // of entries in the store
	Outputs       int            `json:"outputs"`   // of writers, acknowledged
	InBucket      int            `json:"inBucket"`  // of those
	Refused       int64          `json:"refused"`   // requests to the bucket
	Collected     int64          `json:"collected"` // pieces of content that no entry referred to
	Seconds       float64        `json:"seconds"`
	P50           float64        `json:"p50Ms"`
	P99           float64        `json:"p99Ms"`
	Max           float64        `json:"maxMs"`
	Events        []string       `json:"events"`
	Found         map[string]int `json:"found"`
	Samples       []string       `json:"samples,omitempty"`
}

func main() {
	cfg := config{Tenants: 8}
	flag.Uint64Var(&cfg.Seed, "seed", 1, "of conversations and faults")
	flag.IntVar(&cfg.Conversations, "conversations", 300, "how many in all")
	flag.IntVar(&cfg.Live, "live", 200, "how many at once")
	flag.IntVar(&cfg.Turns, "turns", 6, "of a conversation, about")
	flag.IntVar(&cfg.Workers, "workers", 12, "requests at once, about")
	flag.IntVar(&cfg.Replicas, "replicas", 2, "gateways")
	flag.IntVar(&cfg.Kills, "kills", -1, "how often a gateway is killed (default: twice each)")
	flag.IntVar(&cfg.Window, "window", 6000, "of the model, in tokens")
	flag.IntVar(&cfg.Writers, "writers", 4, "sessions with large output in a bucket, written beside the gateways")
	flag.StringVar(&cfg.Store, "store", "postgres", "postgres or files")
	flag.DurationVar(&cfg.Limit, "limit", 10*time.Minute, "no conversation begins after it")
	flag.StringVar(&cfg.Program, "clew", "", "the program (default: built from this tree)")
	flag.BoolVar(&cfg.Keep, "keep", false, "keep the folder with logs and say where it is")
	asJSON := flag.Bool("json", false, "print the result as JSON")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	res, err := execute(ctx, cfg)
	if err == nil {
		err = res.write(os.Stdout, *asJSON)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "replicas:", err)
		os.Exit(1)
	}
}

var errFound = errors.New("something happened that must not")

// write prints the result; it fails where something was found.
func (res *result) write(w io.Writer, asJSON bool) error {
	if asJSON {
		if err := json.NewEncoder(w).Encode(res); err != nil {
			return err
		}
	} else {
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintf(tw, "replicas\t%d on %s, seed %d\n", res.Config.Replicas, res.Config.Store, res.Config.Seed)
		fmt.Fprintf(tw, "conversations\t%d of %d\n", res.Conversations, res.Config.Conversations)
		fmt.Fprintf(tw, "requests\t%d in %.0f s; %d attempts, %d broken off by faults, %d refused upstream as too long\n", res.Requests, res.Seconds, res.Attempts, res.Broken, res.Overflows)
		fmt.Fprintf(tw, "milliseconds\tp50 %.1f, p99 %.1f, max %.0f\n", res.P50, res.P99, res.Max)
		fmt.Fprintf(tw, "in the store\t%d sessions, %d epochs, %d KiB of entries; %d forms of beginnings were seen upstream\n", res.Sessions, res.Epochs, res.Bytes>>10, res.Forms)
		if res.Config.Writers > 0 {
			fmt.Fprintf(tw, "writers\t%d outputs, %d of them in the bucket, which refused %d requests; %d pieces of garbage collected\n", res.Outputs, res.InBucket, res.Refused, res.Collected)
		}
		for _, f := range faultNames {
			fmt.Fprintf(tw, "%s\t%d\n", f, res.Found[f])
		}
		for _, e := range res.Events {
			fmt.Fprintf(tw, "%s\n", e)
		}
		if err := tw.Flush(); err != nil {
			return err
		}
		for _, s := range res.Samples {
			fmt.Fprintln(w, s)
		}
	}
	for _, n := range res.Found {
		if n > 0 {
			return errFound
		}
	}
	return nil
}

// judge reads the store and puts together what was found.
func (r *run) judge(ctx context.Context) (*result, error) {
	kept := &stored{marks: map[string]bool{}, renders: map[uint64]bool{}}
	if err := kept.read(ctx, r); err != nil {
		return nil, err
	}
	res := &result{
		Config: r.cfg, Conversations: int(r.ended.Load()), Seconds: r.since().Seconds(), Broken: r.count.broken.Load(), Overflows: r.count.overflows.Load(),
		Attempts: int(r.attempts.Load()), Requests: len(r.took), Events: r.events, Found: map[string]int{},
		Sessions: kept.sessions, Epochs: kept.epochs, Bytes: kept.bytes,
	}
	for _, c := range r.talks {
		res.Forms += r.look(c, kept)
	}
	if r.writers != nil {
		if err := r.writers.judge(ctx, res); err != nil {
			return nil, err
		}
	}
	for f, name := range faultNames {
		res.Found[name] = r.count.bad[f]
		for _, s := range r.count.samples[f] {
			res.Samples = append(res.Samples, name+": "+s)
		}
	}
	if slices.Sort(r.took); len(r.took) > 0 {
		ms := func(share float64) float64 {
			return r.took[min(int(share*float64(len(r.took))), len(r.took)-1)].Seconds() * 1000
		}
		res.P50, res.P99, res.Max = ms(.5), ms(.99), ms(1)
	}
	return res, nil
}
