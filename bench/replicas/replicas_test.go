package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/clew-dev/clew/internal/pgtest"
	"github.com/clew-dev/clew/internal/s3test"
	"github.com/clew-dev/clew/session/postgres"
)

// brokenGateway is a gateway that does one thing wrong.
type brokenGateway struct {
	name   string
	breaks func(n int, list []string) []string // the list of the n-th request
	answer func(n int, w http.ResponseWriter) bool
	stored string  // in its folder
	found  []fault // among others
}

func summary(text string, list []string) []string {
	if len(list) < 6 {
		return list
	}
	return slices.Concat([]string{fmt.Sprintf(`{"role":"user","content":%q}`, text)}, list[1:])
}

// twoEpochs are two for one list, and messages of two conversations in one session.
const twoEpochs = `{"customType":"clew.gateway.epoch","data":{"head":"ab","render":"one [c0.0.0]"}}
{"customType":"clew.gateway.epoch","data":{"head":"ab","render":"two [c1.0.0]"}}
`

// Each thing that is counted is found where a gateway does it.
func TestBrokenGateways(t *testing.T) {
	var before atomic.Pointer[string]
	for _, b := range []brokenGateway{
		{name: "none"},
		{name: "refuses", found: []fault{refused}, answer: func(n int, w http.ResponseWriter) bool {
			if n%10 == 3 {
				w.WriteHeader(http.StatusBadGateway)
			}
			return n%10 == 3
		}},
		{name: "gives another's answer", found: []fault{foreign}, answer: func(n int, w http.ResponseWriter) bool {
			if n%10 == 3 {
				fmt.Fprint(w, `{"text":"99999 1"}`)
			}
			return n%10 == 3
		}},
		{name: "leaks", found: []fault{foreign, altered}, breaks: func(_ int, list []string) []string {
			i := slices.IndexFunc(list, func(m string) bool { return strings.Contains(m, secretMark) })
			if i < 0 {
				return list
			}
			if had := before.Swap(&list[i]); had != nil && *had != list[i] {
				return slices.Concat([]string{*had}, list)
			}
			return list
		}},
		{name: "parts calls from results", found: []fault{orphan, refused}, breaks: func(_ int, list []string) []string {
			return slices.DeleteFunc(list, func(m string) bool { return strings.Contains(m, "tool_result") })
		}},
		{name: "keeps nothing", found: []fault{lost}, breaks: func(_ int, list []string) []string { return summary("A summary.", list) }},
		{name: "forgets that it made one", found: []fault{lost, altered}, breaks: func(n int, list []string) []string {
			if n%2 == 0 {
				return list
			}
			return summary("A summary.", list)
		}},
		{name: "makes another each time", found: []fault{lost, raced, again}, breaks: func(n int, list []string) []string {
			return summary(fmt.Sprint("Summary ", n), list)
		}},
		{name: "keeps two epochs for a list, of two conversations", found: []fault{twice, foreign}, stored: twoEpochs},
		{name: "says something else than the client", found: []fault{altered}, breaks: func(_ int, list []string) []string {
			return slices.Concat(list[:len(list)-1], []string{`{"role":"user","content":"Go on."}`})
		}},
	} {
		t.Run(b.name, func(t *testing.T) {
			res := b.run(t)
			for f, name := range faultNames {
				if want := slices.Contains(b.found, fault(f)); want != (res.Found[name] > 0) && (want || b.found == nil) {
					t.Errorf("%s: %d", name, res.Found[name])
				}
			}
			if err := res.write(io.Discard, false); (err == nil) != (len(b.found) == 0) {
				t.Errorf("the run ends with %v", err)
			}
			if t.Failed() {
				t.Log(strings.Join(res.Samples, "\n"))
			}
		})
	}
}

// Two gateways on one database serve whatever comes, while they are killed and the database is started again.
func TestReplicas(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program and runs PostgreSQL")
	}
	res, err := execute(t.Context(), config{
		Seed: 1, Conversations: 60, Live: 30, Turns: 6, Tenants: 4, Workers: 6, Replicas: 2, Kills: 4, Window: 6000, Store: "postgres", Limit: patience, Writers: 2,
	})
	if errors.Is(err, pgtest.ErrMissing) || errors.Is(err, s3test.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	if err := res.write(&said, false); err != nil || res.Epochs == 0 || len(res.Events) != 7 || res.Conversations != 60 ||
		res.Outputs != 2*outputs || res.InBucket < outputs/4 || res.Refused == 0 || res.Collected == 0 {
		t.Errorf("%v\n%s", err, said.String())
	}
	t.Log(said.String())
}

// Output that is lost, damaged or another's is found.
func TestBrokenBucket(t *testing.T) {
	pool, err := pgxpool.New(t.Context(), pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := postgres.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	r := newRun(config{Seed: 1, Writers: 2, Limit: patience})
	r.writers = &writers{run: r, bucket: s3test.New(t), pool: pool, log: make([][]output, 2)}
	defer pool.Close()
	if err := r.writers.work(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	judge := func(wantLost, wantUnread int) {
		t.Helper()
		r.count = counts{}
		res := &result{}
		if err := r.writers.judge(t.Context(), res); err != nil || res.InBucket < outputs/2 {
			t.Fatalf("%d outputs are in the bucket, %v", res.InBucket, err)
		}
		if r.count.bad[lost] != wantLost || r.count.bad[unread] != wantUnread {
			t.Errorf("%d are lost and %d unreadable, want %d and %d", r.count.bad[lost], r.count.bad[unread], wantLost, wantUnread)
		}
	}
	judge(0, 0)
	objects, err := filepath.Glob(filepath.Join(r.writers.bucket.Dir, "*", "sha256-*"))
	if err != nil || len(objects) < 3 {
		t.Fatalf("%d objects, %v", len(objects), err)
	}
	if err := errors.Join(os.Remove(objects[0]), os.WriteFile(objects[1], []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	judge(0, 2)
	r.writers.log[0] = append(r.writers.log[0], output{"never", ""})
	r.writers.log[1][0].text += "!"
	judge(1, 3)
}

func (b *brokenGateway) run(t *testing.T) *result {
	r := newRun(config{Seed: 1, Conversations: 8, Live: 4, Turns: 5, Tenants: 2, Workers: 1, Replicas: 1, Window: 100_000, Store: "files", Limit: patience})
	provider := httptest.NewServer(http.HandlerFunc(r.upstream))
	defer provider.Close()
	var requests atomic.Int64
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		n := int(requests.Add(1))
		body, _ := io.ReadAll(req.Body)
		if b.answer != nil && b.answer(n, w) {
			return
		}
		var v map[string]json.RawMessage
		var list []json.RawMessage
		if err := json.Unmarshal(body, &v); err != nil || json.Unmarshal(v["messages"], &list) != nil {
			t.Error("a request that can't be read")
		}
		if b.breaks != nil {
			var as []string
			for _, m := range list {
				as = append(as, string(m))
			}
			v["messages"] = json.RawMessage("[" + strings.Join(b.breaks(n, as), ",") + "]")
			body, _ = json.Marshal(v)
		}
		out, _ := http.NewRequestWithContext(req.Context(), req.Method, provider.URL+req.URL.Path, bytes.NewReader(body))
		out.Header = req.Header.Clone()
		resp, err := http.DefaultTransport.RoundTrip(out)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
	defer front.Close()
	r.cluster = &cluster{cfg: r.cfg, dir: t.TempDir(), client: front.Client(), replicas: []*replica{{addr: front.Listener.Addr().String()}}}
	if err := os.Mkdir(filepath.Join(r.cluster.dir, "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.cluster.dir, "sessions", "one.jsonl"), []byte(b.stored), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.talk(t.Context()); err != nil {
		t.Fatal(err)
	}
	res, err := r.judge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return res
}
