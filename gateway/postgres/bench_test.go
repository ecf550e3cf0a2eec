package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/clew-dev/clew/gateway"
	"github.com/clew-dev/clew/internal/pgtest"
	sessions "github.com/clew-dev/clew/session/postgres"
)

// TestGrowth prints what a request costs with 1, 10 and 100 thousand conversations in the database, what it costs in
// memory alone, what a conversation takes, and the slowest statement with its plan.
func TestGrowth(t *testing.T) {
	if os.Getenv("CLEW_BENCH") == "" {
		t.Skip("CLEW_BENCH=1 runs it, for some minutes")
	}
	b := newGrowth(t)
	if err := b.store.Health(); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("a conversation of 50 turns (%d KB of JSON) takes %d KB in the database\n", len(b.talk("size", 50))/1000, b.sizeOf(50))
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.fill(n)
		m := b.measure("memory", gateway.Transport(answering{}, b.config(nil))) // each time: the machine may be busy
		p := b.measure(fmt.Sprint("n", n), gateway.Transport(answering{}, b.config(b.store)))
		fmt.Printf("%7d conversations: a request %s (in memory %s), a new epoch %s (in memory %s), the look at the database %s; all %d MB\n", n,
			p.request, m.request, p.epoch, m.epoch, b.look(n), b.size()>>20)
	}
	with, without := b.cold()
	fmt.Printf("a gateway that knows nothing of the conversation: a request %s where another has made the epoch, %s where it has to\n", with, without)
	b.slowest()
}

type growth struct {
	t     *testing.T
	pool  *pgxpool.Pool
	store *Store
	times *statements
	have  int
}

func newGrowth(t *testing.T) *growth {
	conf, err := pgxpool.ParseConfig(pgtest.Database(t))
	b := &growth{t: t, times: &statements{of: map[string][]time.Duration{}}}
	b.check(err)
	b.pool, err = pgxpool.NewWithConfig(t.Context(), conf.Copy())
	b.check(err)
	t.Cleanup(b.pool.Close)
	b.check(sessions.Migrate(t.Context(), b.pool))
	conf.ConnConfig.Tracer = b.times
	b.store, err = start(t.Context(), conf, Config{Logger: slog.New(slog.NewTextHandler(os.Stdout, nil))})
	b.check(err)
	t.Cleanup(b.store.Close)
	return b
}

func (b *growth) check(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *growth) exec(sql string, args ...any) {
	b.t.Helper()
	_, err := b.pool.Exec(b.t.Context(), sql, args...)
	b.check(err)
}

func (b *growth) config(s *Store) gateway.Config {
	cfg := gateway.Config{Window: func(string, string) int64 { return 40_000 }}
	if s != nil {
		cfg.Store = s
	}
	return cfg
}

// talk is a list of n turns of about 700 tokens, with words that do not repeat.
func (b *growth) talk(who string, n int) []byte {
	var s strings.Builder
	s.WriteString(`{"model":"m","max_tokens":1000,"messages":[`)
	for i := range n {
		words := rand.New(rand.NewPCG(uint64(len(who)), uint64(i)))
		var text strings.Builder
		for range 450 {
			fmt.Fprintf(&text, "%x ", words.Uint32N(1<<16))
		}
		fmt.Fprintf(&s, `{"role":"user","content":"Request %d: change part%d.go"},{"role":"assistant","content":[{"type":"text","text":"%s reads"},`, i, i, who)
		fmt.Fprintf(&s, `{"type":"tool_use","id":"c%d","name":"read","input":{"path":"part%d.go"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":"%s"}]},`, i, i, i, text.String())
		fmt.Fprintf(&s, `{"role":"assistant","content":"Changed part%d.go, and all tests pass."},`, i)
	}
	s.WriteString(`{"role":"user","content":"go on"}]}`)
	return []byte(s.String())
}

// answering answers at once.
type answering struct{}

func (answering) RoundTrip(r *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{}`)), Request: r}, errors.Join(err, r.Body.Close())
}

type cost struct{ request, epoch time.Duration }

// once returns how long a request takes.
func (b *growth) once(rt http.RoundTripper, body []byte) time.Duration {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, "http://up.test/v1/messages", bytes.NewReader(body))
	b.check(err)
	begin := time.Now()
	resp, err := rt.RoundTrip(req)
	b.check(err)
	took := time.Since(begin)
	b.check(resp.Body.Close())
	return took
}

// measure takes the time of requests for which there is an epoch, and of those that need one: the medians.
func (b *growth) measure(name string, rt http.RoundTripper) cost {
	var epochs, requests []time.Duration
	for i := range 15 {
		body := b.talk(fmt.Sprint(name, "-", i), 50)
		epochs = append(epochs, b.once(rt, body))
		for range 20 {
			requests = append(requests, b.once(rt, body))
		}
	}
	return cost{median(requests), median(epochs)}
}

// cold takes the time of a gateway's first request of a conversation: with the epoch stored, as it would be had
// somebody made it in advance, and without.
func (b *growth) cold() (with, without time.Duration) {
	var all [2][]time.Duration
	for i := range 30 {
		body := b.talk(fmt.Sprint("cold-", i), 50)
		for stored := range 2 {
			rt := gateway.Transport(answering{}, b.config(b.store))
			all[stored] = append(all[stored], b.once(rt, body))
		}
	}
	return median(all[1]), median(all[0])
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2].Round(10 * time.Microsecond)
}

// size returns the bytes of clew's tables.
func (b *growth) size() (n int64) {
	b.exec("VACUUM")
	b.check(b.pool.QueryRow(b.t.Context(), `SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relname LIKE 'clew\_%' AND relkind = 'r'`).Scan(&n))
	return n
}

// sizeOf returns the kilobytes that a conversation takes of which n are stored.
func (b *growth) sizeOf(n int) int64 {
	rt := gateway.Transport(answering{}, b.config(b.store))
	before := b.size()
	for i := range n {
		b.once(rt, b.talk(fmt.Sprint("size", i), 50))
	}
	return (b.size() - before) / int64(n) / 1000
}

// fill makes conversations until there are n: 10 messages, two epochs and 10 measures each.
func (b *growth) fill(n int) {
	const id = "lpad(to_hex(s), 32, '0')"
	for ; b.have < n; b.have += 1_000 {
		from, to := b.have, b.have+999
		b.exec(`INSERT INTO clew_session (tenant, session, header, last_seq) SELECT 't' || s % 50, `+id+`,
			convert_to('{"type":"session","version":3,"id":"' || `+id+` || '","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/"}', 'UTF8'), 12 FROM generate_series($1::int, $2::int) s`, from, to)
		b.exec(`INSERT INTO clew_entry (tenant, session, seq, id, parent, raw) SELECT 't' || s % 50, `+id+`, e, convert_to('e' || e, 'UTF8'), '',
			convert_to('{"type":"message","id":"e' || e || '","parentId":null,"timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":"' ||
				(SELECT string_agg(md5(s::text || e || k), ' ') FROM generate_series(1, 12) k) || '"}}', 'UTF8')
			FROM generate_series($1::int, $2::int) s, generate_series(1, 10) e`, from, to)
		b.exec(`INSERT INTO clew_entry (tenant, session, seq, id, parent, raw) SELECT 't' || s % 50, `+id+`, 10 + e, convert_to('p' || e, 'UTF8'), '',
			convert_to('{"type":"custom","id":"p' || e || '","parentId":null,"customType":"clew.gateway.epoch","data":{"head":"' || encode(sha256(convert_to(s::text || e, 'UTF8')), 'hex') ||
				'","nodes":10,"cut":8,"render":"' || (SELECT string_agg(md5(s::text || e || k), ' ') FROM generate_series(1, 60) k) || '","tokens":900}}', 'UTF8')
			FROM generate_series($1::int, $2::int) s, generate_series(1, 2) e`, from, to)
		b.exec(`INSERT INTO clew_epoch SELECT 't' || s % 50, `+id+`, sha256(convert_to(s::text || e, 'UTF8')), 1, e, convert_to('p' || e, 'UTF8')
			FROM generate_series($1::int, $2::int) s, generate_series(1, 2) e`, from, to)
		b.exec(`INSERT INTO clew_measure SELECT 't' || s % 50, `+id+`, sha256(convert_to('m' || s::text || e, 'UTF8')), 9000, sha256('env'), '', now()
			FROM generate_series($1::int, $2::int) s, generate_series(1, 10) e`, from, to)
	}
	b.exec("VACUUM ANALYZE")
}

// look returns how long it takes to ask for one of n stored conversations that a gateway has never seen.
func (b *growth) look(n int) time.Duration {
	var all []time.Duration
	for range 400 {
		s := rand.IntN(n)
		begin := time.Now()
		seen, err := b.store.Look(b.t.Context(), gateway.Talk{Tenant: fmt.Sprint("t", s%50), ID: fmt.Sprintf("%032x", s)}, 0, nil)
		b.check(err)
		if len(seen.Epochs) != 2 {
			b.t.Fatalf("%d epochs of conversation %d", len(seen.Epochs), s)
		}
		all = append(all, time.Since(begin))
	}
	return median(all)
}

// statements are the times of statements.
type statements struct {
	mu sync.Mutex
	of map[string][]time.Duration
}

type traced struct{}

type begun struct {
	sql string
	at  time.Time
}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, traced{}, begun{q.SQL, time.Now()})
}

func (s *statements) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	q, ok := ctx.Value(traced{}).(begun)
	if !ok { // of a batch, which look measures
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[q.sql] = append(s.of[q.sql], time.Since(q.at))
}

// slowest prints the statements by the time they take, and how the database finds epochs.
func (b *growth) slowest() {
	b.times.mu.Lock()
	defer b.times.mu.Unlock()
	var names []string
	for sql := range b.times.of {
		names = append(names, sql)
	}
	slices.SortFunc(names, func(x, y string) int { return int(median(b.times.of[y]) - median(b.times.of[x])) })
	fmt.Println("the slowest statements, by their median:")
	for _, sql := range names[:min(4, len(names))] {
		fmt.Printf("  %8s  %s\n", median(b.times.of[sql]), strings.Join(strings.Fields(sql), " "))
	}
	b.planOfSlowest()
	fmt.Println("epochs of a conversation are found so:")
	rows, err := b.pool.Query(b.t.Context(), "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) "+selectEpochs, "t7", fmt.Sprintf("%032x", 7), 0)
	b.check(err)
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	b.check(err)
	fmt.Println("  " + strings.Join(plan, "\n  "))
}

// planOfSlowest prints the slowest statement of new epochs with its plan, as the server has it.
func (b *growth) planOfSlowest() {
	conf := b.pool.Config()
	for name, value := range map[string]string{
		"session_preload_libraries": "auto_explain", "auto_explain.log_min_duration": "0", "auto_explain.log_analyze": "on",
		"auto_explain.log_triggers": "on", "client_min_messages": "log",
	} {
		conf.ConnConfig.RuntimeParams[name] = value
	}
	var mu sync.Mutex
	slowest, plan := 0.0, "none"
	conf.ConnConfig.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		mu.Lock()
		defer mu.Unlock()
		var took float64
		if _, err := fmt.Sscanf(n.Message, "duration: %f ms", &took); err == nil && took > slowest && strings.Contains(n.Message, "clew_") {
			slowest, plan = took, n.Message
		}
	}
	store, err := start(b.t.Context(), conf, Config{})
	b.check(err)
	rt := gateway.Transport(answering{}, b.config(store))
	for i := range 10 {
		b.once(rt, b.talk(fmt.Sprint("plan-", i), 50))
	}
	store.Close()
	mu.Lock()
	defer mu.Unlock()
	fmt.Println("the slowest that ten new epochs took, with its plan:\n  " + strings.ReplaceAll(plan, "\n", "\n  "))
}
