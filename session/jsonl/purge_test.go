package jsonl_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// secret has what JSON and URLs escape; secretCore is what no spelling of it lacks.
const (
	secretCore = "Tr0ub4dorAnd3"
	secret     = `<pä/ss "` + secretCore + `" &>`
)

// js writes a string as JSON.
func js(s string) string {
	data, _ := json.Marshal(s) // with \u003c and the like
	return string(data)
}

// leaked is a session in which a tool result holds the secret, and everything that
// clew makes of an entry was made of it.
func leaked() string {
	result := "the configuration:\npassword = " + secret + "\nport = 8080\n"
	return lines(
		head3,
		base("message", "u1", "")+`,"message":{"role":"user","content":"show me the configuration of the server"}}`,
		base("message", "a1", "u1")+`,"message":{"role":"assistant","content":[{"type":"toolCall","id":"call1","name":"read","arguments":{"path":"server.conf"}}],"provider":"x","model":"y","stopReason":"toolUse"}}`,
		base("message", "r1", "a1")+`,"message":{"role":"toolResult","toolCallId":"call1","toolName":"read","content":[{"type":"text","text":`+js(result)+`}],"details":{"fullOutputPath":"/var/tmp/out.log","lines":[`+js(result)+`]},"isError":false}}`,
		base("message", "a2", "r1")+`,"message":{"role":"assistant","content":[{"type":"text","text":"The server listens on port 8080."}],"provider":"x","model":"y","stopReason":"stop"}}`,
		base("session_info", "n1", "a2")+`,"name":`+js("about "+secret)+`}`,
		base("custom", "p1", "n1")+`,"customType":"clew.pass","data":{"lines":3}}`,
		base("context_edit", "e1", "p1")+`,"targetId":"r1","replacement":{"content":[{"type":"text","text":`+js(result[:60])+`}]},"details":{"clew":{"rung":"offload","freed":9}}}`,
		base("compaction", "k1", "e1")+`,"summary":`+js("## Goal\n- show me the configuration\n\n## Critical Context\n- server.conf [#r1]\n  - password = "+secret+"\n\n## Files\n### Read\n- server.conf\n")+
			`,"firstKeptEntryId":"r1","tokensBefore":100,"details":{"readFiles":["server.conf"],"modifiedFiles":[],"clew":{"v":1,"ledger":{"errors":[`+js("password = "+secret)+`]},"pins":["u1"]}}}`,
		base("custom_message", "x1", "k1")+`,"customType":"clew.excerpt","content":[{"type":"text","text":`+js(result[20:])+`}],"display":true,"details":{"clew":{"rung":"clip","freed":1,"of":"r1"}}}`,
		base("message", "r2", "x1")+`,"message":{"role":"toolResult","toolCallId":"call1","toolName":"read","content":[{"type":"text","text":`+js(result)+`}],"isError":false}}`,
	)
}

// noSecret fails when any file in dir holds it.
func noSecret(t testing.TB, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if data := read(t, filepath.Join(dir, e.Name())); strings.Contains(data, secretCore) {
			k := strings.Index(data, secretCore)
			t.Errorf("%s still has it: ...%s...", e.Name(), data[max(k-200, 0):min(k+60, len(data))])
		}
	}
}

func TestPurgeEntry(t *testing.T) {
	p := write(t, leaked())
	dry, err := jsonl.Purge(ctx, p, jsonl.PurgeOptions{ID: "r1", DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	if read(t, p) != leaked() {
		t.Fatal("a dry run changed the file")
	}
	got, err := jsonl.Purge(ctx, p, jsonl.PurgeOptions{ID: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(dry.Places) != fmt.Sprint(got.Places) {
		t.Errorf("planned %+v\ndone %+v", dry.Places, got.Places)
	}
	places := map[string]bool{}
	for _, pl := range got.Places {
		places[pl.EntryID] = true
	}
	for _, id := range []string{"r1", "n1", "e1", "k1", "x1", "r2"} {
		if !places[id] {
			t.Errorf("%s was not purged: %+v", id, got.Places)
		}
	}
	if len(places) != 6 {
		t.Errorf("too much was purged: %+v", got.Places)
	}
	noSecret(t, filepath.Dir(p))
	data := read(t, p)
	for _, stays := range []string{"show me the configuration of the server", "server.conf", "port 8080", "## Critical Context", `"toolCallId":"call1"`, `"firstKeptEntryId":"r1"`, `"of":"r1"`, `"pins":["u1"]`} {
		if !strings.Contains(data, stays) {
			t.Errorf("%q went too", stays)
		}
	}
	if len(got.Left) != 1 || got.Left[0].File != "/var/tmp/out.log" {
		t.Errorf("left: %+v", got.Left)
	}
	soundPath(t, p, "u1 a1 r1 a2 n1 p1 e1 k1 x1 r2")

	again, err := jsonl.Purge(ctx, p, jsonl.PurgeOptions{ID: "r1"})
	if err != nil || len(again.Places) != 0 || read(t, p) != data {
		t.Errorf("purged again: %+v, %v", again, err)
	}
}

// soundPath fails when a session has errors or another path.
func soundPath(t testing.TB, p, want string) {
	t.Helper()
	f, err := jsonl.Open(ctx, p, jsonl.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := path(t, f, leaf(t, f)); got != want {
		t.Errorf("the path is %q, want %q", got, want)
	}
	problems, err := f.Verify(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, pr := range problems {
		if pr.Severity == session.SevError {
			t.Errorf("%+v", pr)
		}
	}
}

func TestPurgeText(t *testing.T) {
	html := strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "ä", `\u00E4`, "/", `\/`).Replace(`"` + strings.ReplaceAll(secret, `"`, `\"`) + `"`)
	inner := js(`{"password":` + js(secret) + `}`) // JSON in a string
	data := leaked() + lines(
		base("message", "m1", "r2")+`,"message":{"role":"assistant","content":[{"type":"toolCall","id":"call2","name":"bash","arguments":{"command":`+html+`,`+js(secret)+`:"x","n":1}}],"provider":"x","model":"y","stopReason":"toolUse"}}`,
		base("message", "m2", "m1")+`,"message":{"role":"toolResult","toolCallId":"call2","toolName":"bash","content":[{"type":"text","text":`+inner+`}],"isError":false}}`,
		base("custom", "m3", "m2")+`,"customType":"other","data":{"url":"https://example.org/?q=%3Cp%C3%A4%2Fss+%22`+secretCore+`%22+%26%3E"}}`,
	) + base("message", "m4", "m3") + `,"message":{"role":"user","content":` + html + ` torn off` // with the secret in it
	p := write(t, data)
	if err := os.WriteFile(p+".cut", []byte(`{"type":"message","message":{"content":`+html+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p+".new", []byte(leaked()), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := jsonl.Purge(ctx, p, jsonl.PurgeOptions{Text: secret})
	if err != nil {
		t.Fatal(err)
	}
	noSecret(t, filepath.Dir(p))
	if len(got.Left) != 0 || len(got.Removed) != 1 {
		t.Errorf("%+v", got)
	}
	out := read(t, p)
	for _, stays := range []string{"the configuration:", "port = 8080", `"n":1`, "password = [purged]"} {
		if !strings.Contains(out, stays) {
			t.Errorf("%q went too", stays)
		}
	}
	soundPath(t, p, "u1 a1 r1 a2 n1 p1 e1 k1 x1 r2 m1 m2 m3")
}

// TestPurgeTornLine: a text is found in bytes that are no record, also where it has characters beyond ASCII, as they
// are or escaped.
func TestPurgeTornLine(t *testing.T) {
	for _, spelled := range []string{"pässwörd-ключ", `p\u00e4ssw\u00f6rd-\u043a\u043b\u044e\u0447`} {
		line := `{"type":"message","id":"m1","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"a ` + spelled + ` b`
		p := write(t, `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}`+"\n"+line+"\n")
		out, err := jsonl.Purge(t.Context(), p, jsonl.PurgeOptions{Text: "pässwörd-ключ"})
		if err != nil || len(out.Places) != 1 || len(out.Left) != 0 {
			t.Fatalf("%s: %+v %v", spelled, out, err)
		}
		if data := read(t, p); strings.Contains(data, spelled) {
			t.Errorf("%s is still there: %s", spelled, data)
		}
	}
}

func TestPurgeOldVersions(t *testing.T) {
	v1 := lines(head1,
		`{"type":"message",`+stamp+`,"message":{"role":"user","content":"hello"}}`,
		`{"type":"message",`+stamp+`,"message":{"role":"user","content":`+js("it is "+secret)+`}}`)
	for _, migrated := range []bool{false, true} {
		p := write(t, v1)
		f, err := jsonl.Open(ctx, p, jsonl.Options{})
		if err != nil {
			t.Fatal(err)
		}
		id := leaf(t, f)
		if migrated {
			log, err := session.NewLog(ctx, f, session.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := log.Append(ctx, user("more")); err != nil {
				t.Fatal(err)
			}
		}
		f.Close()
		got, err := jsonl.Purge(ctx, p, jsonl.PurgeOptions{ID: id})
		if err != nil {
			t.Fatal(err)
		}
		want := 1
		if migrated {
			want = 2 // the backup too
		}
		if len(got.Places) != want {
			t.Errorf("migrated %v: %+v", migrated, got)
		}
		noSecret(t, filepath.Dir(p))
		if !strings.Contains(read(t, p), "hello") {
			t.Error("too much went")
		}
	}
}

// TestPurgeHardLink shows that the file has no secret under another name either.
func TestPurgeHardLink(t *testing.T) {
	p := write(t, leaked())
	other := filepath.Join(t.TempDir(), "other.jsonl")
	if err := os.Link(p, other); err != nil {
		t.Skip(err)
	}
	if _, err := jsonl.Purge(ctx, p, jsonl.PurgeOptions{Text: secret}); err != nil {
		t.Fatal(err)
	}
	noSecret(t, filepath.Dir(p))
	switch data := read(t, other); {
	case data == leaked():
		t.Log("this system does not let go of the old file")
	case data != read(t, p):
		t.Error("the other name shows neither the old file nor the new one")
	}
}

// TestPurgeFaults makes each step fail, and stops at each: every file is the old one
// or the new one, and purging again does the rest.
func TestPurgeFaults(t *testing.T) {
	bak := lines(head1, `{"type":"message",`+stamp+`,"message":{"role":"user","content":`+js(secret)+`}}`)
	opt := jsonl.PurgeOptions{Text: secret}
	begin := func() string {
		p := write(t, leaked())
		if err := os.WriteFile(p+".bak", []byte(bak), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := begin()
	count := &vfs.Fault{FS: vfs.OS{}}
	counted := opt
	counted.FS = count
	if _, err := jsonl.Purge(ctx, p, counted); err != nil {
		t.Fatal(err)
	}
	done, doneBak := read(t, p), read(t, p+".bak")
	type stopped struct{}
	for n := 1; n <= count.Count(); n++ {
		for _, kill := range []bool{false, true} {
			p := begin()
			failed := ""
			fault := &vfs.Fault{FS: vfs.OS{}, At: func(i int, op, name string) (int, error) {
				if i != n {
					return 0, nil
				}
				failed = op + " " + filepath.Base(name)
				if kill {
					panic(stopped{})
				}
				return 7, errDisk
			}}
			failing := opt
			failing.FS = fault
			var err error
			func() {
				defer func() {
					if r := recover(); r != nil && r != any(stopped{}) {
						panic(r)
					}
				}()
				_, err = jsonl.Purge(ctx, p, failing)
			}()
			if got := read(t, p); got != leaked() && got != done {
				t.Fatalf("step %d, kill %v: the file is neither the old one nor the new one", n, kill)
			}
			if got := read(t, p+".bak"); got != bak && got != doneBak {
				t.Fatalf("step %d, kill %v: the backup is neither the old one nor the new one", n, kill)
			}
			if !kill && err == nil { // no success without every write and sync (issue 11, defect 1.8)
				t.Errorf("step %d, %s, failed, and purge says it is done", n, failed)
			}
			if _, err := jsonl.Purge(ctx, p, opt); err != nil {
				t.Fatalf("step %d, kill %v: again: %v", n, kill, err)
			}
			noSecret(t, filepath.Dir(p))
			if read(t, p) != done || read(t, p+".bak") != doneBak {
				t.Errorf("step %d, kill %v: another result", n, kill)
			}
		}
	}
	t.Logf("%d steps", count.Count())
}

func TestPurgeRefuses(t *testing.T) {
	future := strings.Replace(leaked(), `"version":3`, `"version":9`, 1)
	for _, c := range []struct {
		name, data string
		opt        jsonl.PurgeOptions
		want       error
		says       string
	}{
		{"nothing named", leaked(), jsonl.PurgeOptions{}, nil, "give an entry or a text"},
		{"short text", leaked(), jsonl.PurgeOptions{Text: "abc"}, nil, "shorter than 4 bytes"},
		{"no such entry", leaked(), jsonl.PurgeOptions{ID: "nix"}, session.ErrNotFound, "one of its entries"},
		{"bookkeeping", leaked(), jsonl.PurgeOptions{ID: "p1"}, jsonl.ErrNoContent, "name the message"},
		{"future version", future, jsonl.PurgeOptions{ID: "r1"}, session.ErrReadOnly, "use a newer clew"},
		{"empty", "", jsonl.PurgeOptions{ID: "r1"}, jsonl.ErrEmpty, "empty"},
		{"no session", "notes\n", jsonl.PurgeOptions{Text: "notes"}, session.ErrNotSession, "not a session"},
	} {
		p := write(t, c.data)
		_, err := jsonl.Purge(ctx, p, c.opt)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
		if read(t, p) != c.data {
			t.Errorf("%s: the file was changed", c.name)
		}
		if left, _ := os.ReadDir(filepath.Dir(p)); len(left) != 1 {
			t.Errorf("%s: files were left: %v", c.name, left)
		}
	}
	p := write(t, leaked())
	held, err := jsonl.Open(ctx, p, jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if _, err := jsonl.Purge(ctx, p, jsonl.PurgeOptions{ID: "r1"}); !errors.Is(err, jsonl.ErrLocked) {
		t.Errorf("held by another: %v", err)
	}
}

// TestPurgeLeavesNames shows that a text that is also the name of a member breaks no
// record, and that what can't go is said.
func TestPurgeLeavesNames(t *testing.T) {
	data := lines(head3, msg("one", ""), base("message", "two", "one")+`,"message":{"role":"user","content":"a message about content"}}`)
	p := write(t, data)
	got, err := jsonl.Purge(ctx, p, jsonl.PurgeOptions{Text: "message"})
	if err != nil {
		t.Fatal(err)
	}
	soundPath(t, p, "one two")
	if want := strings.Replace(data, "a message about", "a [purged] about", 1); read(t, p) != want {
		t.Errorf("got  %s\nwant %s", read(t, p), want)
	}
	if len(got.Left) != 2 {
		t.Errorf("left: %+v", got.Left)
	}
}

// TestPurgeSaysWhatLooksAlike shows that a key of the purged entry that another entry
// has too is pointed out.
func TestPurgeSaysWhatLooksAlike(t *testing.T) {
	key := "sk_live_4f9a8b7c6d5e4f3a"
	data := lines(head3,
		base("message", "u1", "")+`,"message":{"role":"user","content":"use `+key+` please"}}`,
		base("message", "u2", "u1")+`,"message":{"role":"user","content":"did you use `+key+`?"}}`)
	p := write(t, data)
	got, err := jsonl.Purge(ctx, p, jsonl.PurgeOptions{ID: "u1"})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Left) != 1 || got.Left[0].EntryID != "u2" {
		t.Errorf("left: %+v", got.Left)
	}
}
