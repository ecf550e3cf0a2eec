package jsonl_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// eachCut calls fn for every length that a file can be cut to, many at once.
func eachCut(t *testing.T, data string, fn func(t testing.TB, dir string, n int)) {
	t.Helper()
	dir := t.TempDir()
	var wg sync.WaitGroup
	room := make(chan struct{}, 4)
	for n := range len(data) + 1 {
		if (testing.Short() || underRace) && n%3 > 0 {
			continue
		}
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			defer recovered()
			at := filepath.Join(dir, fmt.Sprint(n))
			if err := os.Mkdir(at, 0o700); err != nil {
				t.Error(err)
				return
			}
			fn(failer{t, fmt.Sprintf("cut to %d bytes: ", n)}, at, n)
		})
	}
	wg.Wait()
}

// failer says where it failed, and ends only its own goroutine.
type failer struct {
	testing.TB
	at string
}

func (f failer) Fatalf(format string, args ...any) {
	f.Helper()
	f.Errorf(format, args...)
	panic(stop{})
}
func (f failer) Fatal(args ...any) { f.Helper(); f.Fatalf("%s", fmt.Sprint(args...)) }

func (f failer) Errorf(format string, args ...any) {
	f.Helper()
	f.TB.Errorf(f.at+format, args...)
}
func (f failer) Error(args ...any) { f.Helper(); f.Errorf("%s", fmt.Sprint(args...)) }

type stop struct{}

// recovered ends what Fatalf of a failer has stopped.
func recovered() {
	if r := recover(); r != nil {
		if _, ok := r.(stop); !ok {
			panic(r)
		}
	}
}

// A session cut off at any byte opens with all its complete records, is written
// to without joining anything, and keeps what was cut off.
func TestDefect087_CutAtEveryByte(t *testing.T) {
	t.Parallel()
	records := []string{
		head3, msg("a", ""), msg("b", "a"), edit("c", "b", "a", "A\u2028\U0001F600"), compaction("d", "c", "b"), msg("e", "d"),
		passStart("p", "e", 2), edit("q", "p", "e", "E"), compaction("r", "q", "e"),
	}
	for i := range records {
		records[i] = strings.Replace(records[i], stamp, `"timestamp":"0"`, 1) // fewer bytes to cut at
	}
	data := lines(records...)
	var clean []state // by the number of entries
	for n := range records {
		clean = append(clean, stateOf(t, write(t, lines(records[:n+1]...))))
	}
	eachCut(t, data, func(t testing.TB, dir string, n int) {
		path := filepath.Join(dir, "s.jsonl")
		if err := os.WriteFile(path, []byte(data[:n]), 0o600); err != nil {
			t.Fatal(err)
		}
		if n < len(records[0]) {
			f, err := openQuick(path)
			if err == nil {
				f.Close()
				t.Fatal("opened without a header")
			}
			if want := session.ErrNotSession; n > 0 && !errors.Is(err, want) || n == 0 && !errors.Is(err, jsonl.ErrEmpty) {
				t.Errorf("error %v", err)
			}
			if read(t, path) != data[:n] {
				t.Error("the file was changed")
			}
			if left, _ := os.ReadDir(dir); len(left) != 1 {
				t.Errorf("files were left: %v", left)
			}
			return
		}
		// What must be there: the complete records, and no part of the pass.
		var want []string
		end := 0
		for i, at := 0, 0; i < len(records); i++ {
			at += len(records[i])
			if at > n {
				break
			}
			want = append(want, records[i])
			end = min(at+1, n)
			at++
		}
		if len(want) > 6 && len(want) < 9 {
			want, end = want[:6], len(lines(records[:6]...))
		}
		c := clean[len(want)-1]
		f, err := openQuick(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got, want := ids(t, f), c.ids; got != want {
			t.Errorf("entries %q, want %q", got, want)
		}
		if got, want := shows(t, f, leaf(t, f)), c.shows; got != want {
			t.Errorf("the context is %q, want %q", got, want)
		}
		if got, want := codes(t, f) != "", end < n; got != want {
			t.Errorf("problems %q, with %d bytes behind the end", codes(t, f), n-end)
		}
		before := ids(t, f)
		one := say(t, f, "one")
		f.Close()
		f = look(t, path)
		after := read(t, path)
		sound(t, after)
		if !strings.HasPrefix(after, data[:end]) {
			t.Errorf("the sound part was changed: %q", after)
		}
		if got, want := ids(t, f), strings.TrimSpace(before+" "+one); got != want {
			t.Errorf("entries %q, want %q", got, want)
		}
		if got, want := shows(t, f, one), strings.TrimSpace(c.shows+" one"); got != want {
			t.Errorf("the context is %q, want %q", got, want)
		}
		if codes(t, f) != "" {
			t.Errorf("problems after appending: %s", codes(t, f))
		}
		cut, _ := os.ReadFile(path + ".cut")
		if got, want := string(cut), data[end:n]; got != want+"\n" && (got != "" || want != "") {
			t.Errorf("cut off was %q, want %q", got, want)
		}
	})
}

// The same in a file of version 1, which the first append turns into version 3.
func TestVersion1CutAtEveryByte(t *testing.T) {
	t.Parallel()
	records := []string{
		`{"type":"session","id":"s1",` + stamp + `,"cwd":"/x","provider":"p","modelId":"m"}`,
		`{"type":"message",` + stamp + `,"message":{"role":"user","content":"one"}}`,
		`{"type":"message",` + stamp + `,"message":{"role":"assistant","content":[{"type":"text","text":"two"}]}}`,
		`{"type":"compaction",` + stamp + `,"summary":"sum","firstKeptEntryIndex":2,"tokensBefore":5}`,
		`{"type":"message",` + stamp + `,"message":{"role":"user","content":"three"}}`,
	}
	for i := range records {
		records[i] = strings.Replace(records[i], stamp, `"timestamp":"0"`, 1)
	}
	shown := []string{"", "one", "one two", "sum two", "sum two three"}
	data := lines(records...)
	eachCut(t, data, func(t testing.TB, dir string, n int) {
		path := filepath.Join(dir, "s.jsonl")
		if err := os.WriteFile(path, []byte(data[:n]), 0o600); err != nil {
			t.Fatal(err)
		}
		if n < len(records[0]) {
			if f, err := openQuick(path); err == nil {
				f.Close()
				t.Fatal("opened without a header")
			}
			return
		}
		whole := -1
		for i, at := 0, 0; i < len(records) && at+len(records[i]) <= n; i++ {
			at += len(records[i]) + 1
			whole++
		}
		f, err := openQuick(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got := shows(t, f, leaf(t, f)); got != shown[whole] {
			t.Errorf("the context is %q, want %q", got, shown[whole])
		}
		before := ids(t, f)
		if read(t, path) != data[:n] {
			t.Error("reading has changed the file")
		}
		id := say(t, f, "new")
		if got, want := ids(t, f), strings.TrimSpace(before+" "+id); got != want {
			t.Errorf("entries %q, want %q", got, want)
		}
		f.Close()
		after := read(t, path)
		sound(t, after)
		if read(t, path+".bak") != data[:n] {
			t.Error("the backup is not the original")
		}
		if f, err = openQuick(path); err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if f.Version() != 3 || f.Header().Version != 3 || f.Header().ID != "s1" {
			t.Errorf("version %d, header %+v", f.Version(), f.Header())
		}
		if got, want := ids(t, f), strings.TrimSpace(before+" "+id); got != want {
			t.Errorf("entries %q after reopening, want %q", got, want)
		}
		if got, want := shows(t, f, leaf(t, f)), strings.TrimSpace(shown[whole]+" new"); got != want {
			t.Errorf("the context is %q, want %q", got, want)
		}
	})
}

// A pass at the end of a file is there whole or not at all, whatever it was cut
// off at, also where pi has put a line break behind the torn line.
func TestPartOfAPass(t *testing.T) {
	sofar := []string{head3, msg("a", ""), msg("b", "a")}
	body := []string{
		passStart("p", "b", 4), edit("q", "p", "a", "A"), edit("r", "q", "b", "B"), compaction("s", "r", "b"),
		base("custom", "u", "s") + `,"customType":"clew.note"}`,
	}
	for n := range len(body) + 1 {
		for _, end := range []string{"\n", "", "\n" + `{"type":"context_e`, "\n" + `{"type":"context_e` + "\n"} {
			t.Run(fmt.Sprintf("%d of %d %q", n, len(body), end), func(t *testing.T) {
				data := strings.TrimSuffix(lines(append(sofar[:3:3], body[:n]...)...), "\n") + end
				f := look(t, write(t, data))
				wantIDs, wantShown := "a b", "a b"
				if n == len(body) {
					wantIDs, wantShown = "a b p q r s u", "sum-s B"
				}
				if got := shows(t, f, leaf(t, f)); got != wantShown {
					t.Errorf("the context is %q, want %q", got, wantShown)
				}
				if got := ids(t, f); got != wantIDs {
					t.Errorf("entries %q, want %q", got, wantIDs)
				}
				if got := strings.Contains(codes(t, f), "part-pass"); got != (n > 0 && n < len(body)) {
					t.Errorf("problems %q", codes(t, f))
				}
			})
		}
	}
	// Entries after a pass do not make it a part of one.
	f := look(t, write(t, lines(head3, msg("a", ""), passStart("p", "a", 1), edit("q", "p", "a", "A"),
		edit("r", "q", "a", "AA"), base("custom", "u", "r")+`,"customType":"clew.note"}`)))
	if got := shows(t, f, leaf(t, f)); got != "AA" || codes(t, f) != "" {
		t.Errorf("the context is %q, problems %q", got, codes(t, f))
	}
	// An undo that appends again what came after the pass.
	f = open(t, write(t, lines(head3, msg("a", ""))))
	w := &work{path: f.Path(), fs: unsynced{}}
	must(t, w.use(f, nil))
	must(t, passing.do(w))
	must(t, appending("b", "c").do(w))
	before := len(lines(strings.Split(strings.TrimSuffix(read(t, w.path), "\n"), "\n")...))
	must(t, undoing.do(w))
	data := read(t, w.path)
	for at := before + 1; at < len(data); at++ {
		if data[at-1] != '\n' {
			continue
		}
		f := look(t, write(t, data[:at]))
		if got := shows(t, f, leaf(t, f)); !strings.HasSuffix(got, "edited again b c") || !strings.Contains(codes(t, f), "part-pass") {
			t.Errorf("cut to %d bytes, the context is %q, problems %q", at, got, codes(t, f))
		}
	}
	if got := shows(t, f, leaf(t, f)); got != "a b c" {
		t.Errorf("undone, the context is %q", got)
	}
	// A pass whose entry stands on the line of another record.
	p := write(t, lines(head3, msg("a", "")+passStart("p", "a", 2), edit("q", "p", "a", "A")))
	f = open(t, p)
	id := say(t, f, "new")
	if got := ids(t, f); got != "a "+id {
		t.Errorf("entries %q", got)
	}
	sound(t, read(t, p))
}
