package gateway

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// HandlerConfig says how Handler works. The zero value serves the three vendors to this
// machine.
type HandlerConfig struct {
	Config
	// Upstreams are addresses by name, without the part of the path that names the API:
	// "http://localhost:11434". A request for /NAME/v1/... goes to the one of that name; one
	// for /v1/messages goes to "anthropic", for /v1beta/... to "gemini", for other /v1/...
	// to "openai". Default: the vendors' own.
	Upstreams map[string]string
	// Base sends the requests. Default: connections of the handler's own, with the proxy of
	// the environment.
	Base http.RoundTripper
	// Key must come with each request, in the header X-Clew-Key. Default: none is needed.
	Key string
	// Tenants says whose key a request carries there; it fails with ErrNoKey where it is nobody's.
	// Then Key does not count, and Config.Tenant is its answer. Default: there is one tenant.
	Tenants func(ctx context.Context, key string) (string, error)
	// Hosts are the names by which the handler may be addressed, beside those of this machine.
	Hosts []string
	// MCP answers at /mcp. Default: nobody does.
	MCP http.Handler
	// MaxRequests is how many requests are served at once; more are refused with 429. Default: 512.
	MaxRequests int
	// MaxMemory is how many bytes of requests are held at once; more are refused with 429.
	// Default: 512 MiB.
	MaxMemory int64
	// ClientTimeout is how long a client may take to send or take the next bytes. Default: a minute.
	ClientTimeout time.Duration
	// UpstreamTimeout is how long an upstream may be silent in the middle of an answer; before
	// the answer it is half as much again. Then the answer breaks off. Default: 10 minutes.
	UpstreamTimeout time.Duration
}

// vendors are the default upstreams.
var vendors = map[string]string{
	"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com", "gemini": "https://generativelanguage.googleapis.com",
	"chatgpt": "https://chatgpt.com/backend-api/codex", // for Codex with the login of ChatGPT
}

// Handler forwards requests to model providers through Transport.
type Handler struct {
	memory *memory
	base   http.RoundTripper
	now    atomic.Pointer[handler]
}

// handler is a Handler with one configuration.
type handler struct {
	cfg       HandlerConfig
	upstreams map[string]*url.URL
	proxy     *httputil.ReverseProxy
	slots     chan struct{}
	held      atomic.Int64 // bytes of requests
}

// target is what a request is sent to, in its context while it is proxied.
type target struct {
	base *url.URL
	path string // as it was sent, with its escapes
	api  string // whose shape errors have
	body *clientBody
}

type targetKey struct{}

// NewHandler returns a Handler. The error names an upstream that is no address.
func NewHandler(cfg HandlerConfig) (*Handler, error) {
	h := &Handler{base: cfg.Base}
	if h.base == nil {
		h.base = &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
			ResponseHeaderTimeout: 3 * cmp.Or(cfg.UpstreamTimeout, defaultSilence) / 2, DisableCompression: true,
		}
	}
	h.memory = newMemory(cfg.Now)
	return h, h.Reload(cfg)
}

const defaultSilence = 10 * time.Minute

// Reload takes another configuration into use for the requests that come from now on; Base
// stays. What is known of the conversations stays as well. Where the configuration is wrong
// the old one stays in use.
func (h *Handler) Reload(cfg HandlerConfig) error {
	n := &handler{upstreams: map[string]*url.URL{}}
	for _, from := range []map[string]string{vendors, cfg.Upstreams} {
		for name, addr := range from {
			if name == "" || strings.ContainsAny(name, "/ ") {
				return fmt.Errorf("upstream %q: a name is one part of a path, without / and blanks; write one such as ollama", name)
			}
			u, err := url.Parse(addr)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" {
				return fmt.Errorf("upstream %q: %q is no address; write one such as http://localhost:11434", name, addr)
			}
			n.upstreams[name] = u
		}
	}
	cfg.MaxBody = cmp.Or(max(cfg.MaxBody, 0), defaultMaxBody)
	cfg.MaxRequests = cmp.Or(max(cfg.MaxRequests, 0), 512)
	cfg.MaxMemory = cmp.Or(max(cfg.MaxMemory, 0), 512<<20)
	cfg.ClientTimeout = cmp.Or(cfg.ClientTimeout, time.Minute)
	cfg.UpstreamTimeout = cmp.Or(cfg.UpstreamTimeout, defaultSilence)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Tenants != nil {
		cfg.Tenant = func(r *http.Request) string {
			tenant, _ := r.Context().Value(tenantKey{}).(string) // serve has put it there
			return tenant
		}
	}
	n.cfg, n.slots = cfg, make(chan struct{}, cfg.MaxRequests)
	n.proxy = &httputil.ReverseProxy{
		Transport:     newTransport(h.base, cfg.Config, h.memory),
		FlushInterval: -1, // each event of a stream as it comes
		BufferPool:    &buffers,
		Rewrite: func(r *httputil.ProxyRequest) {
			to := r.In.Context().Value(targetKey{}).(*target)
			r.Out.URL.Scheme, r.Out.URL.Host = to.base.Scheme, to.base.Host
			r.Out.URL.RawPath = strings.TrimSuffix(to.base.EscapedPath(), "/") + to.path
			r.Out.URL.Path, _ = url.PathUnescape(r.Out.URL.RawPath) // an escaped path can be read
			r.Out.Host = to.base.Host
			r.Out.Header.Del(KeyHeader) // who asks (X-Forwarded-For and the like) is left out by Rewrite
		},
		ModifyResponse: func(resp *http.Response) error {
			if body := resp.Request.Context().Value(targetKey{}).(*target).body; !body.kept {
				body.release()
			}
			resp.Body = newSilence(resp.Body, cfg.UpstreamTimeout)
			return nil
		},
		ErrorHandler: refuseFailed,
		ErrorLog:     slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelWarn),
	}
	h.now.Store(n)
	return nil
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.now.Load().serve(w, r) }

func (h *handler) serve(w http.ResponseWriter, r *http.Request) {
	to, err := h.route(r)
	api := "openai"
	if to != nil {
		api = to.api
	}
	switch {
	case !h.addressed(r):
		refuse(w, api, http.StatusForbidden, "clew gateway: the request comes from a web page or names another host; it is refused")
	case h.cfg.Tenants != nil && !h.known(w, &r, api):
	case h.cfg.Tenants == nil && h.cfg.Key != "" && subtle.ConstantTimeCompare([]byte(h.cfg.Key), []byte(r.Header.Get(KeyHeader))) != 1:
		refuse(w, api, http.StatusUnauthorized, "clew gateway: the header X-Clew-Key must carry the gateway's key")
	case h.cfg.MCP != nil && r.URL.Path == "/mcp":
		h.cfg.MCP.ServeHTTP(w, r)
	case err != nil:
		refuse(w, api, http.StatusNotFound, "clew gateway: "+err.Error())
	case strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		// Codex asks for one first, and goes on without only after this answer.
		refuse(w, api, http.StatusUpgradeRequired, "clew gateway: websockets are not served; use HTTP")
	case h.held.Load()+min(r.ContentLength, h.cfg.MaxBody) > h.cfg.MaxMemory:
		refuse(w, api, http.StatusTooManyRequests, busy)
	default:
		select {
		case h.slots <- struct{}{}:
			defer func() { <-h.slots }()
			r = r.WithContext(context.WithValue(r.Context(), targetKey{}, to))
			body, out := h.limited(w, r)
			to.body = body
			defer body.end()
			defer out.free()
			h.proxy.ServeHTTP(out, r)
		default:
			refuse(w, api, http.StatusTooManyRequests, busy)
		}
	}
}

// ErrNoKey says that a key is nobody's.
var ErrNoKey = errors.New("no tenant has this key")

// KeyHeader carries the gateway's key.
const KeyHeader = "X-Clew-Key"

type tenantKey struct{}

// known finds the tenant of a request, or answers that it has none.
func (h *handler) known(w http.ResponseWriter, r **http.Request, api string) bool {
	tenant, err := h.cfg.Tenants((*r).Context(), (*r).Header.Get(KeyHeader))
	switch {
	case errors.Is(err, ErrNoKey):
		refuse(w, api, http.StatusUnauthorized, "clew gateway: the header X-Clew-Key must carry a tenant's key")
	case err != nil:
		refuse(w, api, http.StatusServiceUnavailable, "clew gateway: whose key it is can't be told now; try again")
	}
	*r = (*r).WithContext(context.WithValue((*r).Context(), tenantKey{}, tenant))
	return err == nil
}

// route finds the upstream of a path. Under the paths that are common to Anthropic and OpenAI
// the key of an Anthropic client goes to Anthropic.
func (h *handler) route(r *http.Request) (*target, error) {
	path := r.URL.EscapedPath()
	name, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if u, ok := h.upstreams[name]; ok {
		return &target{base: u, path: "/" + rest, api: apiOf("/" + rest)}, nil
	}
	if name == "v1" || name == "v1beta" {
		api := apiOf(path)
		if api == "openai" && r.Header.Get("Anthropic-Version") != "" {
			api = "anthropic"
		}
		return &target{base: h.upstreams[api], path: path, api: api}, nil
	}
	var names []string
	for name := range h.upstreams {
		names = append(names, "/"+name)
	}
	slices.Sort(names)
	return nil, fmt.Errorf("nothing is served at %s; there are /v1, /v1beta and the upstreams %s", path, strings.Join(names, ", "))
}

func apiOf(path string) string {
	switch {
	case strings.HasPrefix(path, "/v1/messages"):
		return "anthropic"
	case strings.HasPrefix(path, "/v1beta/"):
		return "gemini"
	}
	return "openai"
}

// addressed reports whether a request is meant for this server, and not sent by a page that
// a browser has open.
func (h *handler) addressed(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	known := host == "localhost" || slices.Contains(h.cfg.Hosts, host)
	if ip := net.ParseIP(strings.Trim(host, "[]")); ip != nil {
		known = known || ip.IsLoopback()
	}
	return known && r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Site") == ""
}

// refuse answers in the shape of an API's errors.
func refuse(w http.ResponseWriter, api string, status int, text string) {
	var v any
	switch api {
	case "anthropic":
		kind := map[int]string{429: "rate_limit_error", 403: "permission_error", 401: "authentication_error", 404: "not_found_error"}[status]
		if kind == "" {
			kind = "api_error"
		}
		v = map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": text}}
	case "gemini":
		v = map[string]any{"error": map[string]any{"code": status, "message": text, "status": strings.ToUpper(strings.ReplaceAll(http.StatusText(status), " ", "_"))}}
	default:
		v = map[string]any{"error": map[string]any{"message": text, "type": "gateway_error", "code": nil, "param": nil}}
	}
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "2")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client is gone when this fails
}

// ErrExposed says that a listener could be reached by other machines.
var ErrExposed = errors.New("the address can be reached from other machines")

// CheckListen returns ErrExposed for an address that is not of this machine alone.
func CheckListen(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return fmt.Errorf("%q is no address; write one such as 127.0.0.1:8790: %w", addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return ErrExposed
	}
	return nil
}
