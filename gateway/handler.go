package gateway

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
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
	// Hosts are the names by which the handler may be addressed, beside those of this machine.
	Hosts []string
	// MaxRequests is how many requests are served at once; more are refused with 429. Default: 512.
	MaxRequests int
}

// vendors are the default upstreams.
var vendors = map[string]string{
	"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com", "gemini": "https://generativelanguage.googleapis.com",
}

type handler struct {
	cfg       HandlerConfig
	upstreams map[string]*url.URL
	proxy     *httputil.ReverseProxy
	slots     chan struct{}
}

// target is what a request is sent to, in its context while it is proxied.
type target struct {
	base *url.URL
	path string
	api  string // whose shape errors have
}

type targetKey struct{}

// NewHandler returns a handler that forwards requests to model providers through Transport.
// The error names an upstream that is no address.
func NewHandler(cfg HandlerConfig) (http.Handler, error) {
	h := &handler{cfg: cfg, upstreams: map[string]*url.URL{}}
	for _, from := range []map[string]string{vendors, cfg.Upstreams} {
		for name, addr := range from {
			u, err := url.Parse(addr)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || strings.ContainsAny(name, "/ ") || name == "" {
				return nil, fmt.Errorf("upstream %q: %q is no address; write one such as http://localhost:11434", name, addr)
			}
			h.upstreams[name] = u
		}
	}
	if cfg.MaxRequests <= 0 {
		cfg.MaxRequests = 512
	}
	h.slots = make(chan struct{}, cfg.MaxRequests)
	base := cfg.Base
	if base == nil {
		base = &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
			ResponseHeaderTimeout: 15 * time.Minute, DisableCompression: true,
		}
	}
	h.proxy = &httputil.ReverseProxy{
		Transport:     Transport(base, cfg.Config),
		FlushInterval: -1, // each event of a stream as it comes
		Rewrite: func(r *httputil.ProxyRequest) {
			to := r.In.Context().Value(targetKey{}).(*target)
			r.Out.URL.Scheme, r.Out.URL.Host = to.base.Scheme, to.base.Host
			r.Out.URL.Path, r.Out.URL.RawPath = strings.TrimSuffix(to.base.Path, "/")+to.path, ""
			r.Out.Host = to.base.Host
			r.Out.Header.Del("X-Clew-Key")
			r.Out.Header.Del("X-Forwarded-For")
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			to := r.Context().Value(targetKey{}).(*target)
			refuse(w, to.api, http.StatusBadGateway, fmt.Sprintf("clew gateway: %s can't be reached: %v", to.base.Host, err))
		},
		ErrorLog: log.New(logWriter{h}, "", 0),
	}
	return h, nil
}

// logWriter gives what the proxy logs to the configured logger.
type logWriter struct{ h *handler }

func (l logWriter) Write(p []byte) (int, error) {
	if l.h.cfg.Logger != nil {
		l.h.cfg.Logger.Warn(string(bytes.TrimSpace(p)))
	}
	return len(p), nil
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	to, err := h.route(r.URL.Path)
	api := "openai"
	if to != nil {
		api = to.api
	}
	switch {
	case !h.addressed(r):
		refuse(w, api, http.StatusForbidden, "clew gateway: the request comes from a web page or names another host; it is refused")
	case h.cfg.Key != "" && subtle.ConstantTimeCompare([]byte(h.cfg.Key), []byte(r.Header.Get("X-Clew-Key"))) != 1:
		refuse(w, api, http.StatusUnauthorized, "clew gateway: the header X-Clew-Key must carry the gateway's key")
	case err != nil:
		refuse(w, api, http.StatusNotFound, "clew gateway: "+err.Error())
	case strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		// Codex asks for one first, and goes on without only after this answer.
		refuse(w, api, http.StatusUpgradeRequired, "clew gateway: websockets are not served; use HTTP")
	default:
		select {
		case h.slots <- struct{}{}:
			defer func() { <-h.slots }()
			h.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), targetKey{}, to)))
		default:
			w.Header().Set("Retry-After", "2")
			refuse(w, api, http.StatusTooManyRequests, "clew gateway: too many requests at once; try again")
		}
	}
}

// route finds the upstream of a path.
func (h *handler) route(path string) (*target, error) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if u, ok := h.upstreams[name]; ok {
		return &target{base: u, path: "/" + rest, api: apiOf("/" + rest)}, nil
	}
	if name == "v1" || name == "v1beta" {
		api := apiOf(path)
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
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client is gone when this fails
}

// ErrExposed says that a listener could be reached by other machines.
var ErrExposed = errors.New("the address can be reached from other machines")

// CheckListen returns ErrExposed for an address that is not of this machine alone.
func CheckListen(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%q is no address; write 127.0.0.1:8790: %w", addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return ErrExposed
	}
	return nil
}
