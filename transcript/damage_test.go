package transcript_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/transcript"
)

// sources returns the inputs of the cases, by name.
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
		}
	}
	return out
}

// usable checks what must hold of anything that was read without an error: it is a
// sound tree, every provider would take its context, and it can be written and read
// again.
func usable(t testing.TB, data []byte, opt transcript.ReadOptions) (read bool) {
	t.Helper()
	tr, err := transcript.Read(bytes.NewReader(data), opt)
	if err != nil {
		if !errors.Is(err, transcript.ErrUnknown) && !errors.Is(err, transcript.ErrEmpty) &&
			!errors.Is(err, transcript.ErrFormat) && !errors.Is(err, transcript.ErrTooLarge) {
			t.Errorf("an error that is none of the package's: %v", err)
		}
		return false
	}
	whole(t, tr)
	for _, f := range writable {
		for _, full := range []bool{false, true} {
			var buf bytes.Buffer
			_, err := transcript.Write(context.Background(), &buf, tr.Store(), f, transcript.WriteOptions{Full: full})
			if errors.Is(err, transcript.ErrNothing) {
				continue
			}
			if err != nil {
				// Of a context with nothing that can be sent no request can be made.
				if !strings.Contains(err.Error(), "not-empty") {
					t.Errorf("%s, full %v: %v", f, full, err)
				}
				continue
			}
			if _, err := transcript.Read(&buf, transcript.ReadOptions{Format: f}); err != nil && !errors.Is(err, transcript.ErrEmpty) {
				t.Errorf("%s, full %v, read again: %v", f, full, err)
			}
		}
	}
	return true
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

func FuzzRead(f *testing.F) {
	for _, data := range sources(f) {
		f.Add(data, uint8(0))
	}
	formats := append([]transcript.Format{""}, transcript.Formats()...)
	f.Fuzz(func(t *testing.T, data []byte, format uint8) {
		usable(t, data, transcript.ReadOptions{Format: formats[int(format)%len(formats)], MaxBytes: 1 << 20})
	})
}
