package blob_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/clew-dev/clew/blob"
)

// numbered returns n bytes that are different for every i.
func numbered(i, n int) []byte {
	p := bytes.Repeat([]byte("0123456789abcdef"), n/16+1)[:n]
	binary.LittleEndian.PutUint64(p, uint64(i))
	return p
}

// filled returns a store with n small contents. It does not wait for the disk, and
// neither do benchmarks of it: they measure what we do.
func filled(b *testing.B, n int) *blob.Dir {
	b.Helper()
	dir := b.TempDir()
	for i := range n {
		p := numbered(i, 100)
		path := contentPath(dir, blob.IDOf(p))
		must(b, os.MkdirAll(filepath.Dir(path), 0o700))
		must(b, os.WriteFile(path, p, 0o600))
	}
	return blob.Wrap(openDir(b, dir), blob.NoSync)
}

// Storing costs the same however much there is.
func BenchmarkPutInto(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			d := filled(b, n)
			for i := 0; b.Loop(); i++ {
				p := numbered(i, 200)
				id, err := d.Put(ctx, bytes.NewReader(p))
				must(b, err)
				must(b, d.Delete(ctx, id))
			}
		})
	}
}

var sizes = []int{1 << 20, 10 << 20, 100 << 20}

// The same with waiting for the disk: "durable" is what a caller waits for.
func BenchmarkPut(b *testing.B) {
	for _, size := range sizes {
		for name, wrap := range map[string]func(blob.Files) blob.Files{"": blob.NoSync, "/durable": nil, "/same": blob.NoSync} {
			b.Run(fmt.Sprintf("%dMiB%s", size>>20, name), func(b *testing.B) {
				d := blob.Wrap(openDir(b, b.TempDir()), wrap)
				p := numbered(0, size)
				b.SetBytes(int64(size))
				for i := 0; b.Loop(); i++ {
					if name != "/same" {
						binary.LittleEndian.PutUint64(p, uint64(i))
					}
					id, err := d.Put(ctx, bytes.NewReader(p))
					must(b, err)
					if name != "/same" {
						must(b, d.Delete(ctx, id))
					}
				}
			})
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("%dMiB", size>>20), func(b *testing.B) {
			d := blob.Wrap(openDir(b, b.TempDir()), blob.NoSync)
			id, err := d.Put(ctx, bytes.NewReader(numbered(0, size)))
			must(b, err)
			b.SetBytes(int64(size))
			for b.Loop() {
				r, err := d.Open(ctx, id)
				must(b, err)
				_, err = io.Copy(io.Discard, r)
				must(b, err)
				must(b, r.Close())
			}
		})
	}
}

func BenchmarkList(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			d := filled(b, n)
			for b.Loop() {
				k := 0
				for _, err := range d.List(ctx) {
					must(b, err)
					k++
				}
				if k != n {
					b.Fatal(k)
				}
			}
		})
	}
}

// A path that is there costs the same however large the content is.
func BenchmarkPath(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("%dMiB", size>>20), func(b *testing.B) {
			store := new(blob.Memory)
			id, err := store.Put(ctx, bytes.NewReader(numbered(0, size)))
			must(b, err)
			c, err := blob.OpenCache(b.TempDir())
			must(b, err)
			blob.At(c, func() time.Time { return time.Now().Add(time.Minute) })
			for range 2 { // made, then read
				_, err = c.Path(ctx, id, "npm test", store.Open)
				must(b, err)
			}
			for b.Loop() {
				_, err = c.Path(ctx, id, "npm test", store.Open)
				must(b, err)
			}
		})
	}
}

func BenchmarkFileName(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		hint := string(numbered(1<<60, n))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				blob.FileName(blob.ID{}, hint)
			}
		})
	}
}
