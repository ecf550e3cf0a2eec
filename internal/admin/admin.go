package admin

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clew-dev/clew/gateway"
	"github.com/clew-dev/clew/session"
)

// Config says how a Server works.
type Config struct {
	// Dir is the folder of the gateway's session files.
	Dir string
	// Open opens them elsewhere than in Dir: the session of a tenant whose id begins so.
	Open func(ctx context.Context, tenant, id string) (session.Store, error)
	// Tenant says whose key a request carries, as X-Clew-Key or as the password of Basic
	// authentication. Then conversations are shown to their tenant alone. Default: to all.
	Tenant func(ctx context.Context, key string) (string, error)
	// Health says what can't be used now, though requests go on. Default: nothing.
	Health func() error
	// Observe says that the gateway changes nothing.
	Observe bool
	// Reload reads the gateway's settings again. Default: POST /reload is refused.
	Reload func(context.Context) error
	// Now gives the time. Default: time.Now.
	Now func() time.Time
}

// Server shows what a gateway does.
type Server struct {
	cfg     Config
	mu      sync.Mutex
	boards  map[string]*board // by tenant
	metrics *metrics
	leaving atomic.Bool
}

// New returns a server that has seen nothing yet.
func New(cfg Config) *Server {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Server{cfg: cfg, boards: map[string]*board{}, metrics: newMetrics(cfg.Health)}
}

// board returns that of a tenant.
func (s *Server) board(tenant string) *board {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.boards[tenant]
	if b == nil {
		b = &board{since: s.cfg.Now(), talks: map[string]*kept{}}
		s.boards[tenant] = b
	}
	return b
}

type tenantKey struct{}

// tenantOf is the tenant of a request that may see conversations.
func tenantOf(ctx context.Context) string {
	tenant, _ := ctx.Value(tenantKey{}).(string) // without tenants there is none
	return tenant
}

// tenants lets through who has a tenant's key.
func (s *Server) tenants(next http.HandlerFunc) http.HandlerFunc {
	if s.cfg.Tenant == nil {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get(gateway.KeyHeader)
		if _, password, ok := r.BasicAuth(); ok && key == "" {
			key = password
		}
		tenant, err := s.cfg.Tenant(r.Context(), key)
		if err != nil {
			w.Header().Set("WWW-Authenticate", `Basic realm="clew gateway: a tenant's key as the password"`)
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		next(w, r.WithContext(context.WithValue(r.Context(), tenantKey{}, tenant)))
	}
}

// Event hears of a request; it is for gateway.Config.OnEvent.
func (s *Server) Event(e gateway.Event) {
	if e.Outcome == gateway.WouldBe { // it was sent on as it came
		e.After = e.Before
	}
	s.board(e.Tenant).add(&e)
	s.metrics.add(&e)
}

// Count counts the requests that h is answering.
func (s *Server) Count(h http.Handler) http.Handler {
	return s.metrics.count(h)
}

// Leave makes /readyz fail: the gateway takes no more requests.
func (s *Server) Leave() { s.leaving.Store(true) }

//go:embed page.css page.js
var static embed.FS

// policy lets a page load what this server has, and nothing else.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Handler answers to this machine, and to no page of another site.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", s.metrics.handler())
	mux.HandleFunc("GET /sessions", s.tenants(func(w http.ResponseWriter, r *http.Request) { answer(w, s.board(tenantOf(r.Context())).list()) }))
	mux.HandleFunc("GET /sessions/{id}", s.tenants(s.one))
	mux.HandleFunc("POST /reload", s.reload)
	mux.HandleFunc("GET /{$}", s.tenants(s.overview))
	mux.HandleFunc("GET /session/{id}", s.tenants(s.talk))
	mux.HandleFunc("GET /session/{id}/entry/{entry}", s.tenants(s.entry))
	mux.HandleFunc("GET /session/{id}/log", s.tenants(s.log))
	mux.Handle("GET /page.css", http.FileServerFS(static))
	mux.Handle("GET /page.js", http.FileServerFS(static))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !addressed(r) {
			http.Error(w, "the request comes from another web page or names another host; it is refused", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// addressed reports whether a request names this machine, and comes from no page but ours.
func addressed(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	if host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
	default:
		return false
	}
	origin := r.Header.Get("Origin")
	u, err := url.Parse(origin)
	return origin == "" || err == nil && u.Host == r.Host
}

// ready says whether the gateway takes requests. It takes them without a database, too.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	var err error
	if s.cfg.Open == nil {
		err = os.MkdirAll(s.cfg.Dir, 0o700)
	}
	if s.leaving.Load() {
		err = errors.New("the gateway is about to end")
	}
	if err != nil {
		http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	if s.cfg.Health != nil {
		if err := s.cfg.Health(); err != nil {
			fmt.Fprintf(w, "ready, but without the database: %v\n", err)
			return
		}
	}
	fmt.Fprintln(w, "ready")
}

// reload reads the settings again.
func (s *Server) reload(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Reload == nil {
		http.Error(w, "there is nothing to reload: the gateway was started without --config", http.StatusConflict)
		return
	}
	if err := s.cfg.Reload(r.Context()); err != nil {
		http.Error(w, "the old settings stay in force: "+err.Error(), http.StatusUnprocessableEntity)
		return
	}
	fmt.Fprintln(w, "reloaded")
}

// one is what is known of a conversation, as JSON.
func (s *Server) one(w http.ResponseWriter, r *http.Request) {
	t, points, live := s.board(tenantOf(r.Context())).talk(r.PathValue("id"))
	o := One{Talk: t, Points: points}
	f, err := s.open(r.Context(), t.ID)
	if err == nil {
		o.Stored, err = f.read(r.Context(), "", 0)
		err = errors.Join(err, f.Close())
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && live:
	case err != nil:
		fail(w, err)
		return
	}
	answer(w, o)
}

// One is what GET /sessions/ID answers.
type One struct {
	Talk
	Points []Point `json:"points"` // its last requests
	*Stored
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client is gone when this fails
}

// fail says what is wrong with a session.
func fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if errors.Is(err, fs.ErrNotExist) || isNotFound(err) {
		status = http.StatusNotFound
	}
	http.Error(w, err.Error(), status)
}

// show writes a page, or why there is none.
func show(w http.ResponseWriter, name string, v any) {
	var b bytes.Buffer
	if err := pages().ExecuteTemplate(&b, name, v); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", cmp.Or(w.Header().Get("Content-Type"), "text/html; charset=utf-8"))
	_, _ = w.Write(b.Bytes()) // the client is gone when this fails
}
