package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clew-dev/clew/gateway"
	gatewaydb "github.com/clew-dev/clew/gateway/postgres"
	"github.com/clew-dev/clew/internal/pgtest"
	sessions "github.com/clew-dev/clew/session/postgres"
)

// keyed sends each request with a tenant's key.
type keyed string

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(gateway.KeyHeader, string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// With one tenant's key nothing of another can be reached: not by the same list, not by /mcp in either session, not on
// the pages. Without a key nothing can be reached at all.
func TestTenantsSeeNothingOfEachOther(t *testing.T) {
	const secret = "func part3() error"
	dsn := pgtest.Database(t)
	run(t, exitDone, "db", "migrate", "--db", dsn)
	keys := map[string]string{}
	for _, tenant := range []string{"one", "two"} {
		out, _ := run(t, exitDone, "db", "key", "--db", dsn, tenant)
		keys[tenant] = strings.TrimSpace(out)
	}
	var sent [][]byte
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = append(sent, body)
		if r.Header.Get(gateway.KeyHeader) != "" {
			t.Error("the upstream got a gateway's key")
		}
		_, _ = io.WriteString(w, `{}`)
	}))
	defer up.Close()
	file := filepath.Join(t.TempDir(), "gateway.json")
	if err := os.WriteFile(file, []byte(`{"tenants": true, "upstreams": {"anthropic": "`+up.URL+`"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startGatewayProcess(t, "clew", nil, "--config", file, "--db", dsn, "--window", "32k", "--admin", "127.0.0.1:0")
	page := strings.TrimPrefix(p.until(t, "watch it on "), "watch it on ")
	as := func(tenant string) *http.Client { return &http.Client{Transport: keyed(keys[tenant])} }
	body := bytes.Replace(talk("agent", 50), []byte(`"messages"`), []byte(`"tools":[{"name":"mcp__clew__recall","input_schema":{}}],"messages"`), 1)
	names := map[string]string{}
	for _, tenant := range []string{"one", "two", "nobody"} {
		resp, err := as(tenant).Post(p.url+"/v1/messages", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if want := map[bool]int{true: 401, false: 200}[tenant == "nobody"]; resp.StatusCode != want {
			t.Fatalf("%s: status %d", tenant, resp.StatusCode)
		}
		if tenant != "nobody" {
			names[tenant] = regexp.MustCompile(`session\\": \\"([0-9a-f]{32})\\"`).FindStringSubmatch(string(sent[len(sent)-1]))[1]
		}
	}
	if names["one"] == names["two"] {
		t.Fatal("two tenants have one conversation")
	}

	// recall, in a session of MCP that this tenant, or the other one, has begun
	clients := map[string]*mcp.ClientSession{}
	for tenant := range names {
		c, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(),
			&mcp.StreamableClientTransport{Endpoint: p.url + "/mcp", HTTPClient: as(tenant)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		clients[tenant] = c
	}
	for asks, c := range clients {
		for whose, id := range names {
			for _, tool := range []string{"recall", "timeline", "context_status"} {
				r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"query": "func part3", "session": id}})
				if err != nil {
					t.Fatal(err)
				}
				text := r.Content[0].(*mcp.TextContent).Text
				if r.IsError != (asks != whose) || tool == "recall" && strings.Contains(text, secret) != (asks == whose) {
					t.Errorf("%s asks %s for what %s has: %s", asks, tool, whose, text)
				}
			}
		}
	}
	stolen := `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"recall","arguments":{"query":"func part3","session":"` + names["one"] + `"}}}`
	req, _ := http.NewRequest(http.MethodPost, p.url+"/mcp", strings.NewReader(stolen))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Session-Id", clients["one"].ID())
	resp, err := as("two").Do(req)
	if err != nil {
		t.Fatal(err)
	}
	answer, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if strings.Contains(string(answer), secret) {
		t.Errorf("with the other's session of MCP: %s", answer)
	}

	// the pages
	for asks, status := range map[string]int{"one": 200, "two": 404, "nobody": 401} {
		for _, path := range []string{"/sessions/", "/session/"} {
			resp, err := as(asks).Get(page + path + names["one"][:16])
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != status || strings.Contains(string(text), "part3.go") != (asks == "one") {
				t.Errorf("%s asks for %s: %d %.200s", asks, path, resp.StatusCode, text)
			}
		}
		for _, path := range []string{"/sessions", "/"} {
			resp, err := as(asks).Get(page + path)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if strings.Contains(string(text), names["one"][:16]) != (asks == "one") {
				t.Errorf("%s lists %s: %s", asks, path, text)
			}
		}
	}

	// the database, by the methods that gateways use
	s, err := gatewaydb.Open(t.Context(), dsn, gatewaydb.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	seen, err := s.Look(t.Context(), gateway.Talk{Tenant: "two", ID: names["one"]}, 0, nil)
	if err != nil || len(seen.Epochs) != 0 {
		t.Errorf("%d epochs, %v", len(seen.Epochs), err)
	}
	if _, err := s.Session(t.Context(), gateway.Talk{Tenant: "two", ID: names["one"]}); err == nil {
		t.Error("the session of another tenant was opened")
	}
	run(t, exitFailed, "db", "export", "--db", dsn, "--tenant", "two", names["one"], filepath.Join(t.TempDir(), "x.jsonl"))

	// a key that was taken back, at a gateway that has not seen it
	var out, said bytes.Buffer
	if code := Main([]string{"db", "key", "--db", dsn, "--drop"}, strings.NewReader(keys["two"]+"\n"), &out, &said); code != exitDone {
		t.Error(said.String())
	}
	if _, err := s.Tenant(t.Context(), keys["two"]); err == nil {
		t.Error("a key counts that was taken back")
	}
	if tenant, err := s.Tenant(t.Context(), keys["one"]); err != nil || tenant != "one" {
		t.Errorf("%q, %v", tenant, err)
	}
}

// All keys of tables begin with the tenant, but for what finds the tenant.
func TestTenantIsInEveryKey(t *testing.T) {
	pool, err := pgxpool.New(t.Context(), pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := sessions.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	var without []string
	err = pool.QueryRow(context.WithoutCancel(t.Context()), `SELECT array_agg(c.relname ORDER BY c.relname) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		WHERE i.indisunique AND i.indrelid::regclass::text LIKE 'clew\_%' AND i.indrelid::regclass::text != 'clew_schema'
		AND (SELECT attname FROM pg_attribute WHERE attrelid = i.indrelid AND attnum = i.indkey[0]) != 'tenant'`).Scan(&without)
	if err != nil || strings.Join(without, " ") != "clew_key_pkey" {
		t.Errorf("keys without the tenant: %q, %v", without, err)
	}
}
