package main

import (
	"bytes"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
			tools, err := c.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) < 3 {
				t.Fatalf("%d tools, %v", len(tools.Tools), err)
			}
			for _, listed := range tools.Tools {
				tool := listed.Name
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

	// the pages: each route that there is
	source, err := os.ReadFile(filepath.Join("..", "..", "internal", "admin", "admin.go"))
	if err != nil {
		t.Fatal(err)
	}
	store, err := gatewaydb.Open(t.Context(), dsn, gatewaydb.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	kept, err := store.Session(t.Context(), gateway.Talk{Tenant: "one", ID: names["one"]})
	if err != nil {
		t.Fatal(err)
	}
	entry := ""
	for e, err := range kept.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(e.Raw()), secret) {
			entry = e.ID
		}
	}
	anybodys := []string{"/healthz", "/readyz", "/metrics", "/page.css", "/page.js"}
	for _, route := range regexp.MustCompile(`mux\.Handle(?:Func)?\("GET ([^"]+)"`).FindAllStringSubmatch(string(source), -1) {
		path := strings.NewReplacer("{$}", "", "{id}", names["one"][:16], "{entry}", entry).Replace(route[1])
		shows := "part3" // of what was said
		if !strings.Contains(route[1], "{id}") {
			shows = names["one"][:16]
		}
		for asks, status := range map[string]int{"one": 200, "two": 404, "nobody": 401} {
			if !strings.Contains(route[1], "{id}") && asks == "two" {
				status = 200 // a list of its own
			}
			if slices.Contains(anybodys, route[1]) {
				status = 200
			}
			resp, err := as(asks).Get(page + path)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != status || strings.Contains(string(text), shows) != (asks == "one" && !slices.Contains(anybodys, route[1])) {
				t.Errorf("%s asks for %s: %d %.300s", asks, path, resp.StatusCode, text)
			}
		}
	}

	// the database, by the methods that gateways use
	s := store
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
	// clew_gateway and clew_owner have nothing of tenants.
	if err != nil || strings.Join(without, " ") != "clew_gateway_pkey clew_key_pkey clew_owner_pkey" {
		t.Errorf("keys without the tenant: %q, %v", without, err)
	}
}

// Every statement on what tenants have names the tenant, but for those that maintain the database as a whole. A row-level
// policy would catch the one that forgets it when it runs; this does when it is written.
func TestStatementsNameTheTenant(t *testing.T) {
	whole := map[string]string{ // beginnings of those that don't
		"DELETE FROM clew_measure WHERE ctid": "Collect and retention, of all tenants",
		"DELETE FROM clew_event WHERE ctid":   "retention, of all tenants",
		"DELETE FROM clew_measure ":           "Delete, which adds the tenant",
		"SELECT count(*) FROM clew_session ":  "Delete, which adds the tenant",
		"SELECT s.header, s.holder,":          "tail, which adds the tenant",
	}
	on := regexp.MustCompile(`\b(FROM|UPDATE|INTO|JOIN|USING) clew_(session|entry|epoch|measure|event|count|gone)\b`)
	seen := 0
	for _, dir := range []string{"session/postgres", "gateway/postgres", "internal/jobs", "internal/database", "internal/admin", "cmd/clew"} {
		files, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", dir, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				l, ok := n.(*ast.BasicLit)
				if !ok || l.Kind != token.STRING || !on.MatchString(l.Value) {
					return true
				}
				seen++
				text, _ := strconv.Unquote(l.Value)
				for beginning := range whole {
					if strings.HasPrefix(text, beginning) {
						return true
					}
				}
				if !strings.Contains(text, "tenant") {
					t.Errorf("%s: a statement for any tenant: %s", set.Position(l.Pos()), text)
				}
				return true
			})
		}
	}
	if seen < 30 {
		t.Errorf("%d statements were found", seen)
	}
}

// What only a database has needs one.
func TestGatewayNeedsDatabase(t *testing.T) {
	t.Setenv("CLEW_DATA_DIR", t.TempDir())
	file := filepath.Join(t.TempDir(), "gateway.json")
	for text, says := range map[string]string{
		`{"tenants": true}`:   "name it as db",
		`{"keepDays": 30}`:    "delete old files yourself",
		`{"keepDays": -1}`:    "keepDays is for how many days",
		`{"blobs": "s3://x"}`: "name the database as db",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, stderr := run(t, exitUsage, "gateway", "--config", file, "--dir", t.TempDir()); !strings.Contains(stderr, says) {
			t.Errorf("%s: %s", text, stderr)
		}
	}
}
