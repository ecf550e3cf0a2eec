package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"
	"github.com/tailscale/hujson"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/gateway"
	gatewaydb "github.com/clew-dev/clew/gateway/postgres"
	"github.com/clew-dev/clew/internal/admin"
	"github.com/clew-dev/clew/internal/home"
	"github.com/clew-dev/clew/internal/jobs"
	"github.com/clew-dev/clew/internal/mcpserver"
	"github.com/clew-dev/clew/model/catalogue"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/postgres"
)

// gatewayFile is the file of --config. What is fixed holds from the start to the end.
type gatewayFile struct {
	Listen    string            `json:"listen" fixed:"true"`
	Upstreams map[string]string `json:"upstreams"`
	Windows   map[string]int64  `json:"windows"` // by the beginning of a model's name
	Preset    string            `json:"preset"`
	Dir       string            `json:"dir"`
	Observe   bool              `json:"observe"`
	Admin     string            `json:"admin" fixed:"true"`
	Hosts     []string          `json:"hosts"`

	DB       string `json:"db" fixed:"true"`       // the database, in place of dir
	Tenants  bool   `json:"tenants"`               // requests carry keys of the database
	KeepDays int    `json:"keepDays" fixed:"true"` // after which a conversation is deleted there; 0: never
	Blobs    string `json:"blobs" fixed:"true"`    // where large output of sessions is, of which it deletes what nobody refers to

	ByRules []string `json:"byRules"` // upstreams that can't compact, by name

	Key     string `json:"key"`               // that requests must carry
	KeyFile string `json:"keyFile"`           // has it, in place of Key
	Cert    string `json:"cert" fixed:"true"` // files of the certificate and of its key
	CertKey string `json:"certKey" fixed:"true"`

	// When it is told to end, requests are taken for so long while /readyz says that it
	// ends, and answers then have so long to come to their end.
	Drain uint32 `json:"drainSeconds" fixed:"true"`
	Grace uint32 `json:"graceSeconds" fixed:"true"`

	MaxRequests int   `json:"maxRequests"`
	MaxMemory   int64 `json:"maxMemory"`
	MaxBody     int64 `json:"maxBody"`
}

// unreadable says what is wrong with the file in its own words, not in those of Go.
func unreadable(err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return errors.New(strings.TrimPrefix(strings.TrimPrefix(err.Error(), "json: "), "hujson: "))
	}
	want := map[reflect.Kind]string{
		reflect.Struct: "an object", reflect.Map: "an object", reflect.Slice: "a list", reflect.String: "a string", reflect.Bool: "true or false",
	}[wrong.Type.Kind()]
	return fmt.Errorf("%s: %s where %s belongs", cmp.Or(wrong.Field, "the file"), wrong.Value, cmp.Or(want, "a whole number"))
}

// gatewayFlags are the flags that gateway and wrap share.
type gatewayFlags struct {
	over           gatewayFile // what flags say, which counts before the file
	config, window string
	upstreams      []string
	wrapped        bool // the addresses in the environment are upstreams too

	store *gatewaydb.Store // nil without a database
}

func (g *gatewayFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&g.config, "config", "", "read settings from this file: JSON, with comments if you like")
	f.StringArrayVar(&g.upstreams, "upstream", nil, "`NAME=URL`: where requests for /NAME/v1/... go; may be repeated")
	f.StringVar(&g.window, "window", "", "context window of every model, in tokens (default: the catalogue's, or what the upstream says)")
	f.StringVar(&g.over.Preset, "preset", "", "the policy: "+strings.Join(compact.PresetNames(), ", ")+" (default: clew)")
	f.StringVar(&g.over.Dir, "dir", "", "folder of the sessions that keep what leaves the context (default: gateway in the data folder)")
	f.StringVar(&g.over.DB, "db", "", "keep them in this PostgreSQL instead, a connection string or `URL` (default: setting database)")
	f.BoolVar(&g.over.Observe, "observe", false, "change nothing and say what would be done")
	f.StringVar(&g.over.Admin, "admin", "", "show what it does at this `ADDRESS` of this machine: a page, metrics; such as "+adminAddr)
	_ = cmd.RegisterFlagCompletionFunc("preset", cobra.FixedCompletions(compact.PresetNames(), cobra.ShellCompDirectiveNoFileComp))
}

// read reads the file and puts the flags over it.
func (g *gatewayFlags) read() (file gatewayFile, err error) {
	if g.config != "" {
		data, err := os.ReadFile(g.config)
		if err != nil {
			return file, fmt.Errorf("--config: %w", err)
		}
		plain, err := hujson.Standardize(data)
		if err == nil {
			dec := json.NewDecoder(bytes.NewReader(plain))
			dec.DisallowUnknownFields()
			err = dec.Decode(&file)
		}
		if err != nil {
			return file, usagef("--config %s: %w; clew gateway --help shows the members", g.config, unreadable(err))
		}
	}
	for name, n := range file.Windows {
		if n <= 0 {
			return file, usagef("--config %s: windows: %q is %d; write the model's window in tokens, such as 64000", g.config, name, n)
		}
	}
	if file.KeyFile != "" { // as a secret is mounted
		if file.Key != "" {
			return file, usagef("--config: key and keyFile exclude each other")
		}
		data, err := os.ReadFile(file.KeyFile)
		if err != nil {
			return file, fmt.Errorf("--config: keyFile: %w", err)
		}
		if file.Key = strings.TrimSpace(string(data)); file.Key == "" {
			return file, usagef("--config: keyFile %s: it is empty", file.KeyFile)
		}
	}
	if file.Upstreams == nil {
		file.Upstreams = map[string]string{}
	}
	for _, u := range g.upstreams {
		name, addr, ok := strings.Cut(u, "=")
		if !ok {
			return file, usagef("--upstream %s: write NAME=URL, such as ollama=http://localhost:11434", u)
		}
		file.Upstreams[name] = addr
	}
	if g.wrapped {
		file.Key, file.Tenants = "", false // the agent knows none
		for name, variable := range baseURLs {
			if addr := os.Getenv(variable); addr != "" && file.Upstreams[name] == "" {
				file.Upstreams[name] = addr
			}
		}
	}
	for name, addr := range file.Upstreams { // many write addresses as SDKs take them
		file.Upstreams[name] = strings.TrimSuffix(strings.TrimSuffix(addr, "/"), "/v1")
	}
	for _, name := range file.ByRules {
		if file.Upstreams[name] == "" {
			return file, usagef("--config %s: byRules names %q, which is not among the upstreams", g.config, name)
		}
	}
	if _, err := compact.Preset(file.Preset); err != nil {
		return file, usagef("--config %s: preset: %w", g.config, err)
	}
	if _, err := compact.Preset(g.over.Preset); err != nil {
		return file, usagef("--preset: %w", err)
	}
	file.Preset, file.Dir, file.DB = cmp.Or(g.over.Preset, file.Preset, "clew"), cmp.Or(g.over.Dir, file.Dir), cmp.Or(g.over.DB, file.DB)
	file.Observe = file.Observe || g.over.Observe
	return file, nil
}

// settings reads the file, and what is to be served by it.
func (g *gatewayFlags) settings() (cfg gateway.HandlerConfig, file gatewayFile, err error) {
	if file, err = g.read(); err != nil {
		return cfg, file, err
	}
	all, err := numberFlag("window", g.window, windowNumber)
	if err != nil {
		return cfg, file, err
	}
	policy, _ := compact.Preset(file.Preset) // one that there is
	policy.Summarizer = nil                  // by rules: a gateway has no key of its own
	dir := file.Dir
	if dir == "" {
		h, err := home.Default()
		if err != nil {
			return cfg, file, fmt.Errorf("%w; name a folder with --dir", err)
		}
		dir = filepath.Join(h.Dir, "gateway")
	}
	cfg = gateway.HandlerConfig{
		Upstreams: file.Upstreams, Hosts: file.Hosts, Key: file.Key, MaxRequests: file.MaxRequests, MaxMemory: file.MaxMemory,
		Config: gateway.Config{
			Ask: all <= 0, MaxBody: file.MaxBody, ByRules: byRules(file.Upstreams, file.ByRules), Dir: dir, Observe: file.Observe,
			Policy: func(string, string) compact.Policy { return policy },
			Window: func(provider, model string) int64 { return windowOf(provider, model, all, file.Windows) },
		},
	}
	about := mcpserver.Config{Folder: dir, Getenv: os.Getenv, Version: readVersion().Version}
	if g.store != nil {
		cfg.Store = g.store
		if file.Tenants {
			cfg.Tenants = g.store.Tenant
		}
		// Who has the key of a tenant has its conversations.
		about.Open = func(ctx context.Context, h http.Header, id string) (store session.Store, err error) {
			t := gateway.Talk{ID: id}
			if cfg.Tenants != nil {
				if t.Tenant, err = cfg.Tenants(ctx, h.Get(gateway.KeyHeader)); err != nil {
					return nil, err
				}
			}
			return g.store.Session(ctx, t)
		}
	}
	recall, err := mcpserver.New(about)
	if err != nil {
		return cfg, file, err
	}
	cfg.MCP = recall.Handler()
	return cfg, file, nil
}

// connect opens the database, where there is one. Reading the settings again does not change it.
func (g *gatewayFlags) connect(cmd *cobra.Command, log *slog.Logger) (done func(), err error) {
	file, err := g.read()
	if err != nil {
		return nil, err
	}
	if file.DB == "" {
		s, err := loadSettings(nil)
		if err != nil {
			return nil, err
		}
		file.DB = s.DB
	}
	switch {
	case file.DB == "" && file.Tenants:
		return nil, usagef("--config %s: tenants have their keys in a database; name it as db", g.config)
	case file.KeepDays < 0 || file.DB == "" && file.KeepDays > 0:
		return nil, usagef("--config %s: keepDays is for how many days a database keeps conversations that nobody goes on with; in a folder delete old files yourself", g.config)
	case file.DB == "" && file.Blobs != "":
		return nil, usagef("--config %s: blobs is where sessions in a database keep large output; name the database as db", g.config)
	case file.DB == "":
		return func() {}, nil
	case g.over.Dir != "":
		return nil, usagef("--dir and --db: conversations are kept in a folder or in a database")
	}
	if g.store, err = gatewaydb.Open(cmd.Context(), file.DB, gatewaydb.Config{Logger: log}); err != nil {
		return nil, err
	}
	g.store.Settings(g.common(&file))
	work := jobs.Config{KeepDays: file.KeepDays, Logger: log}
	if file.Blobs != "" {
		work.Collect = collectIn(file.Blobs, postgres.DefaultGrace)
	} else if file.KeepDays == 0 {
		return g.store.Close, nil
	}
	stop, err := deleteOld(cmd.Context(), file.DB, work)
	if err != nil {
		g.store.Close()
		return nil, err
	}
	return func() { stop(); g.store.Close() }, nil
}

// common are the settings that gateways on one database should have in common.
func (g *gatewayFlags) common(file *gatewayFile) map[string]string {
	windows, _ := json.Marshal(file.Windows) // a map of numbers
	names := slices.Sorted(slices.Values(file.ByRules))
	return map[string]string{
		"preset": file.Preset, "window": g.window, "windows": string(windows), "byRules": strings.Join(names, " "),
		"observe": strconv.FormatBool(file.Observe), "keepDays": strconv.Itoa(file.KeepDays), "blobs": file.Blobs, "tenants": strconv.FormatBool(file.Tenants),
	}
}

// deleteOld takes part in the jobs of the gateways until it is told to stop.
func deleteOld(ctx context.Context, database string, cfg jobs.Config) (stop func(), err error) {
	pool, err := pgxpool.New(ctx, database)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		if err := jobs.Run(ctx, pool, cfg); err != nil && cfg.Logger != nil {
			cfg.Logger.Error("nothing is deleted", "error", err)
		}
	})
	return func() { cancel(); work.Wait(); pool.Close() }, nil
}

// byRules returns what says of an upstream that it is one of the named.
func byRules(upstreams map[string]string, names []string) func(host string) bool {
	if len(names) == 0 {
		return nil
	}
	return func(host string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			u, err := url.Parse(upstreams[name])
			return err == nil && u.Host == host
		})
	}
}

// windowOf is the window of a model: that of the flag, of the file, of the catalogue.
func windowOf(provider, model string, all int64, by map[string]int64) int64 {
	if all > 0 {
		return all
	}
	longest, window := -1, int64(0) // the longest name is the most exact
	for name, n := range by {
		if strings.HasPrefix(model, name) && len(name) > longest {
			longest, window = len(name), n
		}
	}
	if longest < 0 {
		i, _ := catalogue.Default().Lookup(provider, model)
		window = i.Window
	}
	return window
}

// traffic adds up what a gateway has done.
type traffic struct {
	mu       sync.Mutex
	w        io.Writer
	json     bool
	say      bool // a line for each change
	requests int
	changed  map[gateway.Outcome]int
	saved    int64
	page     string // the address of the admin listener

	could           int64   // tokens that would not have been sent, of requests that were watched
	cost, otherwise float64 // of these requests, and as they would have been sent
}

func (c *traffic) event(e gateway.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	c.changed[e.Outcome]++
	became := "became"
	if e.Outcome == gateway.WouldBe {
		became = "would become"
		c.could += e.Before - e.After
		c.cost += e.Cost
		c.otherwise += e.Otherwise
	} else {
		c.saved += e.Before - e.After
	}
	switch {
	case c.json:
		_ = json.NewEncoder(c.w).Encode(e) // nobody reads any more when this fails
	case c.say && e.Outcome != gateway.Passed && e.Outcome != gateway.Shortened:
		fmt.Fprintf(c.w, "%s %s %s %s: %s of %s tokens %s %s (%s)\n", e.Time.Format(time.TimeOnly), e.Conversation, printable(e.Model), e.Outcome,
			number(e.Before), number(e.Window), became, number(e.After), cmp.Or(printable(e.Why), "the upstream had refused it"))
	}
}

// summary is one line on all of it.
func (c *traffic) summary() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := fmt.Sprintf("%s, %d compacted, %d rescued from an overflow, %d too long; %s tokens not sent",
		count(c.requests, "request"), c.changed[gateway.Compacted], c.changed[gateway.Rescued], c.changed[gateway.TooLong], number(c.saved))
	if n := c.changed[gateway.WouldBe]; n > 0 {
		text += fmt.Sprintf("; %s would have been shortened, by %s tokens", count(n, "request"), number(c.could))
		if c.cost > 0 {
			text += fmt.Sprintf(", for about $%.2f instead of $%.2f", c.otherwise, c.cost)
		}
	}
	return text
}

func newGateway(cmd *cobra.Command) runFunc {
	var g gatewayFlags
	g.add(cmd)
	listen := cmd.Flags().String("listen", "", "address to answer at (default 127.0.0.1:8790)")
	asJSON := cmd.Flags().Bool("json", false, "print a line of JSON for each request; clew help json describes it")
	exposed := cmd.Flags().Bool("plain", false, "answer other machines without TLS; everyone on the way can read keys and prompts")
	return func([]string) (result, error) {
		log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
		disconnect, err := g.connect(cmd, log)
		if err != nil {
			return nil, fmt.Errorf("gateway: %w", err)
		}
		defer disconnect()
		cfg, file, err := g.settings()
		if err != nil {
			return nil, err
		}
		addr := cmp.Or(*listen, file.Listen, "127.0.0.1:8790")
		if err := mayListen(addr, &file, *exposed); err != nil {
			return nil, err
		}
		w := cmd.ErrOrStderr()
		if *asJSON {
			w = cmd.OutOrStdout()
		}
		seen := &traffic{w: w, json: *asJSON, say: true, changed: map[gateway.Outcome]int{}}
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		hangup := make(chan os.Signal, 1)
		signal.Notify(hangup, syscall.SIGHUP)
		defer signal.Stop(hangup)
		cfg.Logger = log
		s, err := startGateway(&g, cfg, addr, cmp.Or(g.over.Admin, file.Admin), seen)
		if err != nil {
			return nil, fmt.Errorf("gateway: %w", err)
		}
		scheme := "http"
		s.file = file
		s.drain, s.grace = time.Duration(file.Drain)*time.Second, cmp.Or(time.Duration(file.Grace)*time.Second, s.grace)
		if file.Cert != "" {
			pair, err := tls.LoadX509KeyPair(file.Cert, file.CertKey)
			if err != nil {
				return nil, errors.Join(fmt.Errorf("gateway: --config %s: cert, certKey: %w", g.config, err), s.l.Close())
			}
			scheme, s.l = "https", tls.NewListener(s.l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "listening on %s://%s\n", scheme, s.l.Addr())
		if seen.page != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "watch it on http://%s\n", seen.page)
		}
		go func() {
			for {
				select {
				case <-ctx.Done():
					signal.Reset(os.Interrupt, syscall.SIGTERM) // the next one ends it as it would any program
					if n := s.open.Load(); n > 0 {
						fmt.Fprintf(cmd.ErrOrStderr(), "waiting up to %s for %s; a second Ctrl+C does not wait\n", s.drain+s.grace, count(int(n), "answer"))
					}
					return
				case <-hangup:
					if err := s.reload(&g); err != nil {
						fmt.Fprintf(cmd.ErrOrStderr(), "the settings stay as they are: %v\n", err)
					} else {
						fmt.Fprintln(cmd.ErrOrStderr(), "settings read again")
					}
				}
			}
		}()
		err = s.serve(ctx)
		fmt.Fprintln(cmd.ErrOrStderr(), seen.summary())
		return nil, err
	}
}

// mayListen refuses addresses that other machines can reach, unless they need a key and
// can't read along.
func mayListen(addr string, file *gatewayFile, plain bool) error {
	err := gateway.CheckListen(addr)
	switch {
	case (file.Cert == "") != (file.CertKey == ""):
		return usagef("gateway: --config: cert and certKey belong together")
	case errors.Is(err, gateway.ErrExposed) && file.Key == "" && !file.Tenants:
		return usagef("gateway: --listen %s: %w; give a key in the file of --config, which requests carry as X-Clew-Key", addr, err)
	case errors.Is(err, gateway.ErrExposed) && file.Cert == "" && !plain:
		return usagef("gateway: --listen %s: %w; give cert and certKey in the file of --config, or --plain to do without TLS", addr, err)
	case err != nil && !errors.Is(err, gateway.ErrExposed):
		return usagef("gateway: --listen: %w", err)
	}
	return nil
}

// gatewayServer is a gateway that listens.
type gatewayServer struct {
	h            *gateway.Handler
	l            net.Listener
	events       func(gateway.Event)
	log          *slog.Logger // nil under an agent, whose terminal it is
	count        func(http.Handler) http.Handler
	watch        func(context.Context) error // serves the second listener
	leave        func()                      // tells those who look there that it ends
	file         gatewayFile                 // as it was at the start
	drain, grace time.Duration               // see gatewayFile
	leaving      atomic.Bool
	open         atomic.Int64 // requests that are served
}

// startGateway listens, and where there is an address for it, shows what it does.
func startGateway(flags *gatewayFlags, cfg gateway.HandlerConfig, addr, adminAt string, seen *traffic) (*gatewayServer, error) {
	g := &gatewayServer{grace: 30 * time.Second, events: seen.event, log: cfg.Logger, watch: func(context.Context) error { return nil }, leave: func() {}, count: func(h http.Handler) http.Handler { return h }}
	var err error
	if flags.store != nil {
		g.events = func(e gateway.Event) { seen.event(e); flags.store.Event(e) }
	}
	if adminAt != "" {
		about := admin.Config{Dir: cfg.Dir, Observe: cfg.Observe}
		if flags.store != nil {
			about.Tenant, about.Health = cfg.Tenants, flags.store.Health
			about.Open = func(ctx context.Context, tenant, id string) (session.Store, error) {
				return flags.store.Session(ctx, gateway.Talk{Tenant: tenant, ID: id})
			}
		}
		if flags.config != "" {
			about.Reload = func(context.Context) error { return g.reload(flags) }
		}
		s := admin.New(about)
		if g.watch, seen.page, err = listenAdmin(s, adminAt); err != nil {
			return nil, err
		}
		g.count, g.leave = s.Count, s.Leave
		before := g.events
		g.events = func(e gateway.Event) { before(e); s.Event(e) }
	}
	cfg.OnEvent = g.events
	if g.h, err = gateway.NewHandler(cfg); err != nil {
		return nil, usagef("%w", err)
	}
	if g.l, err = net.Listen("tcp", addr); err != nil {
		return nil, fmt.Errorf("%w; take another port with --listen", err)
	}
	return g, nil
}

// serve answers until the context ends, and lets answers that are under way come to their end.
func (s *gatewayServer) serve(ctx context.Context) error {
	late, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() {
		s.leaving.Store(true)
		s.leave()
		time.AfterFunc(s.drain, end)
	})()
	watched, stop := context.WithCancel(context.WithoutCancel(ctx)) // until the last answer has ended
	watching := make(chan error, 1)
	go func() { watching <- s.watch(watched) }()
	err := serveHTTP(late, s.l, s.health(s.count(s.h)), s.grace)
	stop()
	return errors.Join(err, <-watching)
}

// health answers supervisors and balancers, which have no key: /healthz says that the gateway
// lives, /readyz whether it takes requests. Once it is about to end, connections are not used again.
func (s *gatewayServer) health(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaving := s.leaving.Load()
		if leaving {
			w.Header().Set("Connection", "close")
		}
		switch r.URL.Path {
		case "/healthz":
			fmt.Fprintln(w, "ok")
		case "/readyz":
			if leaving {
				http.Error(w, "not ready: the gateway is about to end", http.StatusServiceUnavailable)
				return
			}
			fmt.Fprintln(w, "ready")
		default:
			s.open.Add(1)
			defer s.open.Add(-1)
			next.ServeHTTP(w, r)
		}
	})
}

// reload reads the settings again. Where one is among them that can't change, none does.
func (s *gatewayServer) reload(g *gatewayFlags) error {
	cfg, file, err := g.settings()
	if err != nil {
		return err
	}
	was, now := reflect.ValueOf(s.file), reflect.ValueOf(file)
	for field, value := range now.Fields() {
		if old := was.FieldByIndex(field.Index); field.Tag.Get("fixed") != "" && !value.Equal(old) {
			before, _ := json.Marshal(old.Interface()) // a text or a number
			after, _ := json.Marshal(value.Interface())
			return usagef("--config %s: %s was %s at the start and is %s; it can't change while the gateway runs, so start it again", g.config, field.Tag.Get("json"), before, after)
		}
	}
	if err := gateway.CheckListen(s.l.Addr().String()); err != nil && file.Key == "" && !file.Tenants {
		return usagef("--config %s: %w; it must have a key", g.config, err)
	}
	if g.store == nil && file.Tenants {
		return usagef("--config %s: there is no database with keys of tenants", g.config)
	}
	cfg.OnEvent, cfg.Logger = s.events, s.log
	if g.store != nil {
		g.store.Settings(g.common(&file))
	}
	return s.h.Reload(cfg)
}

// serveHTTP answers at a listener until the context ends. Then answers that are under way
// have so much time to come to their end.
func serveHTTP(ctx context.Context, l net.Listener, h http.Handler, grace time.Duration) error {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{}) // Serve returns at once
	go func() {
		defer close(ended)
		<-ctx.Done()
		late, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		if srv.Shutdown(late) != nil {
			_ = srv.Close()
		}
	}()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-ended
	return nil
}
