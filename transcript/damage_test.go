package transcript_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/transcript"
)

// sources returns the inputs of the cases whose format is read, by name.
func sources(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/read/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	out := map[string][]byte{}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if f.Name == "in" {
				out[filepath.Base(file)] = f.Data
			}
			if f.Name == "want" && bytes.HasPrefix(f.Data, []byte("error: no known")) {
				delete(out, filepath.Base(file))
			}
		}
	}
	return out
}

// readable reads a source; the error, where it returns nil, is one of the package's.
func readable(t testing.TB, data []byte, opt transcript.ReadOptions) *transcript.Transcript {
	t.Helper()
	tr, err := transcript.Read(bytes.NewReader(data), opt)
	if err == nil {
		return tr
	}
	if !errors.Is(err, transcript.ErrUnknown) && !errors.Is(err, transcript.ErrEmpty) &&
		!errors.Is(err, transcript.ErrFormat) && !errors.Is(err, transcript.ErrTooLarge) {
		t.Errorf("an error that is none of the package's: %v", err)
	}
	return nil
}

// usable checks what must hold of anything that was read without an error: it is a
// sound tree, every provider would take its context, and it can be written and read
// again.
func usable(t testing.TB, data []byte, opt transcript.ReadOptions) (read bool) {
	t.Helper()
	tr := readable(t, data, opt)
	if tr == nil {
		return false
	}
	whole(t, tr)
	for _, f := range writable {
		rewritable(t, tr, f, false)
		rewritable(t, tr, f, true)
	}
	return true
}

// rewritable checks that what was read can be written and read again.
func rewritable(t testing.TB, tr *transcript.Transcript, f transcript.Format, full bool) {
	t.Helper()
	var buf bytes.Buffer
	_, err := transcript.Write(context.Background(), &buf, tr.Store(), f, transcript.WriteOptions{Full: full})
	if errors.Is(err, transcript.ErrNothing) {
		return
	}
	if err != nil {
		// Of a context with nothing that can be sent no request can be made.
		if !strings.Contains(err.Error(), "not-empty") {
			t.Errorf("%s, full %v: %v", f, full, err)
		}
		return
	}
	if _, err := transcript.Read(&buf, transcript.ReadOptions{Format: f}); err != nil && !errors.Is(err, transcript.ErrEmpty) {
		t.Errorf("%s, full %v, read again: %v", f, full, err)
	}
}

func TestDamage(t *testing.T) {
	tried, read := 0, 0
	for name, data := range sources(t) {
		t.Run(name, func(t *testing.T) {
			for seed := range seeds(20) {
				r := rand.New(rand.NewPCG(seed, 1))
				tried++
				if usable(t, harm(r, data), transcript.ReadOptions{Sidechains: seed%2 == 0}) {
					read++
				}
				if t.Failed() {
					t.Fatalf("seed %d:\n%s", seed, harm(rand.New(rand.NewPCG(seed, 1)), data))
				}
			}
		})
	}
	if t.Logf("%d of %d damaged files were read", read, tried); read < tried*2/3 {
		t.Errorf("only %d of %d damaged files were read", read, tried)
	}
}

// harm returns a copy of data with a few things wrong.
func harm(r *rand.Rand, data []byte) []byte {
	out := bytes.Clone(data)
	for range 1 + r.IntN(4) {
		if len(out) == 0 {
			return out
		}
		at := r.IntN(len(out))
		to := min(len(out), at+1+r.IntN(40))
		switch r.IntN(7) {
		case 0:
			out[at] = byte(r.IntN(256))
		case 1:
			out = out[:at]
		case 2:
			out = append(out[:at:at], out[to:]...)
		case 3:
			out = append(out[:to:to], out[at:]...)
		case 4:
			lines := bytes.SplitAfter(out, []byte("\n"))
			r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
			out = bytes.Join(lines, nil)
		case 5:
			words := []string{"null", "[]", "{}", `""`, "-1", "1e999", `"\ud83d"`, "true", "\x00", "\r", "\xef\xbb\xbf"}
			out = append(out[:at:at], append([]byte(words[r.IntN(len(words))]), out[at:]...)...)
		case 6: // a value of another kind
			parts := bytes.SplitN(out[at:], []byte(":"), 2)
			if len(parts) == 2 {
				if end := bytes.IndexAny(parts[1], ",}"); end >= 0 {
					words := []string{"null", "[]", "{}", `"x"`, "7", "[[]]", `{"type":"text"}`}
					out = fmt.Appendf(out[:at:at], "%s:%s%s", parts[0], words[r.IntN(len(words))], parts[1][end:])
				}
			}
		}
	}
	return out
}

// Sessions that are wild and damaged are read and written too.
func TestWildSessions(t *testing.T) {
	for seed := range seeds(30) {
		data := sessiongen.Generate(seed, sessiongen.Options{Entries: 40}).Bytes()
		if seed%2 == 0 {
			data, _ = sessiongen.Damage(seed, data)
		}
		usable(t, data, transcript.ReadOptions{})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// Half a case would be minimized for a minute before the next execution, so an input
// is a case by its number and a few edits to it; edits alone are a source themselves.
func FuzzRead(f *testing.F) {
	cases := sources(f)
	names := slices.Sorted(maps.Keys(cases))
	for i := range names {
		f.Add(uint8(i+1), uint8(0), []byte{})
		f.Add(uint8(i+1), uint8(0), []byte{9, 0, 4, 0, 100, 1, 1, 0, 20, 3})
	}
	for _, s := range []string{"\n", "[]", "{}", `{"role":"user","content":"x"}`, "\xef\xbb\xbf{", "\xff\xfe", "\x00\x00{"} {
		f.Add(uint8(0), uint8(0), []byte(s))
	}
	formats := append([]transcript.Format{""}, transcript.Formats()...)
	f.Fuzz(func(t *testing.T, from, format uint8, edits []byte) {
		data := edits
		if n := int(from) % (len(names) + 1); n > 0 {
			data = edited(cases[names[n-1]], edits)
		}
		opt := transcript.ReadOptions{Format: formats[int(format)%len(formats)], MaxBytes: 1 << 20, Sidechains: from >= 128}
		if tr := readable(t, data, opt); tr != nil {
			whole(t, tr)
			into := int(format) / len(formats) // one of twelve ways to write it
			rewritable(t, tr, writable[into%len(writable)], into/len(writable)%2 == 1)
		}
	})
}

// edited returns a copy of data with edits made to it: for each a kind, two bytes that
// say where, and one that says how much.
func edited(data, edits []byte) []byte {
	words := []string{
		"null", "[]", "{}", `""`, "-1", "1e999", `"\ud83d"`, "true", "\x00", "\r", "\n", "\xef\xbb\xbf", "[[", `{"a":`, `"x"`, ",", `{"type":"text"}`,
	}
	out := bytes.Clone(data)
	for ; len(edits) >= 4 && len(out) > 0; edits = edits[4:] {
		at, much := (int(edits[1])<<8|int(edits[2]))%len(out), edits[3]
		to := min(len(out), at+1+int(much))
		switch edits[0] % 8 {
		case 0:
			out[at] = much
		case 1:
			out = slices.Delete(out, at, to)
		case 2:
			out = slices.Insert(out, at, out[at:to]...)
		case 3:
			out = out[:at]
		case 4:
			out = slices.Insert(out, at, []byte(words[int(much)%len(words)])...)
		case 5: // a value of another kind
			if colon := bytes.IndexByte(out[at:], ':'); colon >= 0 {
				if end := bytes.IndexAny(out[at+colon:], ",}"); end > 0 {
					out = slices.Replace(out, at+colon+1, at+colon+end, []byte(words[int(much)%len(words)])...)
				}
			}
		case 6: // a line again, at the end
			lines := bytes.SplitAfter(out, []byte("\n"))
			out = append(out, lines[at%len(lines)]...)
		case 7: // two lines in each other's place
			lines := bytes.SplitAfter(out, []byte("\n"))
			i, j := at%len(lines), int(much)%len(lines)
			lines[i], lines[j] = lines[j], lines[i]
			out = bytes.Join(lines, nil)
		}
		if len(out) > 64<<10 {
			break
		}
	}
	return out
}

// Issue 11, defect 6: 1 MiB of newlines made Read panic.
func TestBlankSources(t *testing.T) {
	mega := 1 << 20
	if underRace {
		mega >>= 3
	}
	bom := "\xef\xbb\xbf"
	for name, s := range map[string]string{
		"nothing": "", "newlines": strings.Repeat("\n", mega), "spaces": strings.Repeat(" ", mega), "NULs": strings.Repeat("\x00", mega),
		"mixed": strings.Repeat(" \r\n\x00\t", mega), "a mark": bom, "a mark and newlines": bom + strings.Repeat("\n", mega),
		"as much as is looked at first": strings.Repeat("\n", 256<<10), "one byte more": strings.Repeat("\n", 256<<10+1),
	} {
		for _, f := range append(transcript.Formats(), "") {
			if _, err := transcript.Read(strings.NewReader(s), transcript.ReadOptions{Format: f}); !errors.Is(err, transcript.ErrEmpty) {
				t.Errorf("%s as %q: got %v, want ErrEmpty", name, f, err)
			}
		}
	}
}

// What a crash or an editor puts before a session does not hide it, and its lines
// keep their numbers.
func TestBlankBeforeSession(t *testing.T) {
	const line = `{"role":"user","content":"hello"}`
	for _, size := range []int{1, 1000, 256<<10 - 1, 256 << 10, 1 << 20} {
		for _, blank := range []string{"\n", "\x00", " "} {
			for _, in := range []string{line + "\n" + line + "\n", "[" + line + "," + line + "]"} {
				tr, err := transcript.Read(strings.NewReader(strings.Repeat(blank, size)+in), transcript.ReadOptions{})
				if err != nil {
					t.Errorf("%d of %q: %v", size, blank, err)
					continue
				}
				want := 1
				if blank == "\n" && in[0] == '{' {
					want += size
				}
				if len(tr.Entries) != 2 || tr.Lines[0] != want {
					t.Errorf("%d of %q: %d entries, the first at %d, want 2 and %d", size, blank, len(tr.Entries), tr.Lines[0], want)
				}
			}
		}
	}
}

// Sources that cost more than their size make nobody wait, nor fall over.
func TestExtremeSources(t *testing.T) {
	mega := 1 << 20
	if underRace {
		mega >>= 5
	}
	deep := func(open, shut string, n int) string { return strings.Repeat(open, n) + strings.Repeat(shut, n) }
	for name, s := range map[string]string{
		"deep lists": deep("[", "]", mega), "deep objects": deep(`{"a":`, "}", mega), "deep and torn": strings.Repeat("[", mega),
		"torn objects": strings.Repeat(`{"messages":[`, mega/8), "deep lists of much": strings.Repeat("[", 9000) + `"` + strings.Repeat("x", mega) + `"` + strings.Repeat("]", 9000),
		"one long line":  `{"role":"user","content":"` + strings.Repeat("x", 8*mega) + `"}`,
		"torn long line": `{"role":"user","content":"` + strings.Repeat("x", 8*mega),
		"many openings":  "x" + strings.Repeat(`{"`, mega), "UTF-16": "\xff\xfe{\x00}\x00", "UTF-16 the other way": "\xfe\xff\x00{\x00}",
		"NULs between": strings.Repeat("{\"role\":\"user\",\"content\":\"x\"}\x00\n", 100), "a string": `"x"`, "a number": "7",
	} {
		t.Run(name, func(t *testing.T) {
			usable(t, []byte(s), transcript.ReadOptions{})
			usable(t, []byte(s), transcript.ReadOptions{MaxBytes: int64(mega / 2)})
		})
	}
}
