package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// wanted skips the tests of this file unless they are asked for: they take a
// while, and what they assert is about this machine at this moment.
func wanted(t *testing.T) {
	t.Helper()
	if os.Getenv("CLEW_BENCH") == "" {
		t.Skip("CLEW_BENCH=1 runs the measurements")
	}
}

// writer makes session files, entry by entry, without holding them.
type writer struct {
	t      testing.TB
	w      *bufio.Writer
	f      *os.File
	parent string
	n      int
	bytes  int64
}

func newWriter(t testing.TB, path string) *writer {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{t: t, f: f, w: bufio.NewWriterSize(f, 1<<20)}
	w.line(`{"type":"session","version":3,"id":"bench","timestamp":"2025-01-02T03:04:05.678Z","cwd":"/x"}`)
	return w
}

func (w *writer) line(s string) {
	if _, err := w.w.WriteString(s); err != nil {
		w.t.Fatal(err)
	}
	if err := w.w.WriteByte('\n'); err != nil {
		w.t.Fatal(err)
	}
	w.bytes += int64(len(s)) + 1
}

// entry appends a child of the entry before it and returns its id.
func (w *writer) entry(typ, rest string) string {
	parent := "null"
	if w.parent != "" {
		parent = `"` + w.parent + `"`
	}
	w.parent = fmt.Sprintf("%016x", w.n)
	w.n++
	w.line(`{"type":"` + typ + `","id":"` + w.parent + `","parentId":` + parent + `,"timestamp":"2025-01-02T03:04:05.678Z",` + rest + `}`)
	return w.parent
}

func (w *writer) message(text string) string {
	return w.entry("message", `"message":{"role":"user","content":[{"type":"text","text":"`+text+`"}],"timestamp":1}`)
}

// work adds what every session of the comparisons ends with: messages, a
// compaction that keeps the last of them, and a few messages more.
func (w *writer) work(messages int) {
	var kept string
	text := strings.Repeat("a line of a context, as it might be\\n", 40)
	for n := range messages {
		id := w.message(text)
		if n == messages/10 {
			kept = id
		}
	}
	w.entry("compaction", `"summary":"so far","firstKeptEntryId":"`+kept+`","tokensBefore":1000`)
	for range messages / 10 {
		w.message(text)
	}
}

func (w *writer) close() {
	if err := w.w.Flush(); err != nil {
		w.t.Fatal(err)
	}
	if err := w.f.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// best runs fn several times and returns the shortest time.
func best(times int, fn func()) time.Duration {
	shortest := time.Duration(1<<63 - 1)
	for range times {
		runtime.GC()
		begun := time.Now()
		fn()
		shortest = min(shortest, time.Since(begun))
	}
	return shortest
}

// allocated returns the bytes that fn allocates.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// With a hundred times the history and the same context, opening for work,
// building the context and appending cost at most 1.2 times as much time and
// memory.
func TestCostOfHistory(t *testing.T) {
	wanted(t)
	dir := t.TempDir()
	var took [2]time.Duration
	var mem [2]uint64
	var size [2]int64
	for i, history := range []int{500, 50_000} {
		path := filepath.Join(dir, fmt.Sprint(history))
		w := newWriter(t, path)
		for range history {
			w.message(strings.Repeat("history ", 50))
		}
		w.work(1000)
		w.close()
		size[i] = w.bytes
		open := func() { openWork(t, path) }
		open()
		took[i] = best(40, open)
		mem[i] = allocated(open)
	}
	t.Logf("history   %10d and %10d bytes in all", size[0], size[1])
	t.Logf("time      %10v and %10v: ratio %.3f", took[0], took[1], ratio(took[1], took[0]))
	t.Logf("allocated %10d and %10d bytes: ratio %.3f", mem[0], mem[1], ratio(mem[1], mem[0]))
	if r := ratio(took[1], took[0]); r > 1.2 {
		t.Errorf("100 times the history takes %.2f times the time", r)
	}
	if r := ratio(mem[1], mem[0]); r > 1.2 {
		t.Errorf("100 times the history takes %.2f times the memory", r)
	}
}

func ratio[T ~int64 | ~uint64](a, b T) float64 { return float64(a) / float64(b) }

// openWork opens a session for work and builds the context.
func openWork(t testing.TB, path string) {
	ctx := context.Background()
	f, err := jsonl.Open(ctx, path, jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	log, err := session.NewLog(ctx, f, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := log.Context(ctx)
	if err != nil || len(c.Items) == 0 {
		t.Fatal(len(c.Items), err)
	}
}

// report is what bench/open prints.
type report struct {
	Messages int
	Bytes    int
	File     int64
	CPU      float64 `json:"cpuMs"`
	Memory   float64 `json:"memoryMiB"`
}

// program builds bench/open.
func program(t testing.TB) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "open")
	if out, err := exec.Command("go", "build", "-o", exe, "./open").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return exe
}

func run(t testing.TB, exe string, args ...string) (r report) {
	t.Helper()
	out, err := exec.Command(exe, args...).Output()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return r
}

// A session of 1 GB opens for work, gives its context and takes appends in less
// than 100 MB, whatever it consists of.
func TestGigabyte(t *testing.T) {
	wanted(t)
	exe := program(t)
	const gigabyte = 1 << 30
	for _, s := range []struct {
		name string
		fill func(w *writer)
	}{
		{"small entries", func(w *writer) {
			text := strings.Repeat("history ", 100)
			for w.bytes < gigabyte {
				w.message(text)
			}
			w.work(1000)
		}},
		{"tiny entries", func(w *writer) {
			for w.bytes < gigabyte {
				w.message("x")
			}
			w.work(1000)
		}},
		{"giant entries", func(w *writer) {
			text := strings.Repeat("0123456789abcdef", 4<<20) // 64 MiB
			for w.bytes < gigabyte {
				w.message(text)
			}
			w.work(1000)
		}},
		{"images", func(w *writer) {
			data := strings.Repeat("iVBORw0KGgoAAAANSUhE", 100<<10) // 2 MiB
			for w.bytes < gigabyte {
				w.entry("message", `"message":{"role":"user","content":[{"type":"image","mimeType":"image/png","data":"`+data+`"}],"timestamp":1}`)
			}
			w.work(1000)
		}},
		{"many compactions", func(w *writer) {
			for w.bytes < gigabyte {
				w.work(500)
			}
			w.work(1000)
		}},
	} {
		t.Run(strings.ReplaceAll(s.name, " ", "-"), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.jsonl")
			w := newWriter(t, path)
			s.fill(w)
			w.close()
			r := run(t, exe, "-append", path)
			t.Logf("%s: %d entries, %d bytes: context of %d messages, %d bytes; CPU %.1f ms, memory %.1f MiB", s.name, w.n, r.File, r.Messages, r.Bytes, r.CPU, r.Memory)
			if r.Messages < 1000 {
				t.Errorf("a context of %d messages", r.Messages)
			}
			if r.Memory > 100e6/(1<<20) {
				t.Errorf("%.1f MiB, more than 100 MB", r.Memory)
			}
		})
	}
}

// A context that is a whole path of any depth costs the same for each entry.
func TestDeepChains(t *testing.T) {
	wanted(t)
	dir := t.TempDir()
	var each []time.Duration
	depths := []int{10_000, 100_000, 200_000}
	for _, depth := range depths {
		path := filepath.Join(dir, fmt.Sprint(depth))
		w := newWriter(t, path)
		for range depth {
			w.message("a link of the chain")
		}
		w.close()
		took := best(3, func() {
			if c := openContext(t, path); len(c.Items) != depth {
				t.Fatalf("%d messages", len(c.Items))
			}
		})
		each = append(each, took/time.Duration(depth))
		t.Logf("%7d entries: %v, %v each", depth, took, took/time.Duration(depth))
	}
	if r := ratio(each[2], each[0]); r > 2 {
		t.Errorf("an entry of %d costs %.1f times one of %d", depths[2], r, depths[0])
	}
}

// TestCPU prints the CPU time, user and system, of a whole process that opens a
// real session and builds its context: the least of many runs, and that of the
// same process with a session of one message, which is its start-up.
func TestCPU(t *testing.T) {
	wanted(t)
	exe := program(t)
	tiny := filepath.Join(t.TempDir(), "tiny.jsonl")
	w := newWriter(t, tiny)
	w.message("x")
	w.close()
	for _, c := range []struct{ name, file string }{{"one message", tiny}, {"version 1", corpus(t, version1)}, {"version 3", corpus(t, version3)}} {
		least := report{CPU: 1e9}
		for range 40 {
			if r := run(t, exe, c.file); r.CPU < least.CPU {
				least = r
			}
		}
		if least.CPU == 0 {
			t.Skip("this system does not tell")
		}
		t.Logf("%-12s %8d bytes, context of %4d messages: %6.2f ms CPU, %5.1f MiB", c.name, least.File, least.Messages, least.CPU, least.Memory)
	}
}

// TestStartup compares `clew version` with a Go program that does nothing, in turns: the
// least wall time of many runs of each, with and without cgo.
func TestStartup(t *testing.T) {
	wanted(t)
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.go")
	if err := os.WriteFile(empty, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, cgo := range []string{"1", "0"} {
		build := func(name, pkg string) string {
			exe := filepath.Join(dir, name+cgo)
			cmd := exec.Command("go", "build", "-o", exe, pkg)
			cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			return installed(t, exe)
		}
		nothing, clew := build("empty", empty), build("clew", "../cmd/clew")
		least := map[string]time.Duration{nothing: time.Hour, clew: time.Hour}
		for range 100 {
			for exe := range least {
				least[exe] = min(least[exe], best(1, func() {
					if err := exec.Command(exe, "version").Run(); err != nil {
						t.Fatal(err)
					}
				}))
			}
		}
		t.Logf("cgo %s: empty %v, clew version %v: %.1f times", cgo, least[nothing], least[clew], ratio(least[clew], least[nothing]))
	}
}

// installed returns a copy of a program, as an installer makes one: pages that the linker has
// just written take longer to map than those of a file that was written in order.
func installed(t *testing.T, exe string) string {
	data, err := os.ReadFile(exe)
	if err == nil {
		exe += "-installed"
		err = os.WriteFile(exe, data, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// BenchmarkAppend appends a message, with and without waiting for the disk.
func BenchmarkAppend(b *testing.B) {
	for _, noSync := range []bool{true, false} {
		b.Run(fmt.Sprintf("sync=%v", !noSync), func(b *testing.B) {
			ctx := context.Background()
			path := filepath.Join(b.TempDir(), "s.jsonl")
			w := newWriter(b, path)
			w.message("x")
			w.close()
			f, err := jsonl.Open(ctx, path, jsonl.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			n := 0
			raw := `","parentId":null,"message":{"role":"user","content":"` + strings.Repeat("text ", 200) + `"}}`
			b.ReportAllocs()
			for b.Loop() {
				e, err := session.ParseEntry([]byte(fmt.Sprintf(`{"type":"message","id":"%016x`, 1<<32+n) + raw))
				if err != nil {
					b.Fatal(err)
				}
				n++
				if err := f.Append(ctx, []*session.Entry{e}, session.AppendOptions{NoSync: noSync}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
