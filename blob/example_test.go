package blob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/clew-dev/clew/blob"
)

// Large output goes into a folder beside the session; the session keeps its
// address.
func Example() {
	dir, err := os.MkdirTemp("", "session")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	store, err := blob.OpenDir(filepath.Join(dir, "blobs"), blob.DirOptions{Quota: 1 << 30})
	if err != nil {
		fmt.Println(err)
		return
	}
	id, err := store.Put(ctx, strings.NewReader("line 1\nline 2\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(id)

	content, err := store.Open(ctx, id)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer content.Close()
	text, err := io.ReadAll(content) // checked when it is read to the end
	fmt.Printf("%q %v\n", text, err)

	fmt.Println(blob.RemoveAll(ctx, store)) // with the session
	// Output:
	// sha256-9060554863a62b9db5f726216876654e561896071d2e6480f2048b70e0fdadb9
	// "line 1\nline 2\n" <nil>
	// <nil>
}

// Content that a store does not take stays where it is.
func ExampleKeepInline() {
	store, err := blob.NewMemory(blob.MemoryOptions{Quota: 1000})
	if err != nil {
		fmt.Println(err)
		return
	}
	output := bytes.Repeat([]byte("."), 4000)
	_, err = store.Put(context.Background(), bytes.NewReader(output))
	if blob.KeepInline(err) {
		fmt.Println("kept in the session:", len(output), "bytes")
	}
	if quota := new(blob.QuotaError); errors.As(err, &quota) {
		fmt.Println("of", quota.Quota, "bytes", quota.Quota-quota.Used, "are free")
	}
	// Output:
	// kept in the session: 4000 bytes
	// of 1000 bytes 1000 are free
}

// A tool that reads paths gets one that says what it is.
func ExampleCache() {
	dir, err := os.MkdirTemp("", "cache")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	var store blob.Memory
	id, err := store.Put(ctx, strings.NewReader(`{"ok":true}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	cache, err := blob.OpenCache(dir, store.Open, blob.CacheOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 { // deleted files come back
		path, err := cache.Path(ctx, id, "curl localhost/health.json")
		if err != nil {
			fmt.Println(err)
			return
		}
		text, err := os.ReadFile(path)
		fmt.Printf("%s %s %v\n", filepath.Base(path), text, err)
		os.Remove(path)
	}
	// Output:
	// curl-localhost-health-4062edaf750fb807.json {"ok":true} <nil>
	// curl-localhost-health-4062edaf750fb807.json {"ok":true} <nil>
}

// Content that is in the log anyway needs no store to have a path.
func ExampleCache_PathFrom() {
	dir, err := os.MkdirTemp("", "cache")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	cache, err := blob.OpenCache(dir, nil, blob.CacheOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	result := []byte("the result of a tool, from its entry in the log")
	path, err := cache.PathFrom(context.Background(), blob.IDOf(result), "src/main.go",
		func(context.Context, blob.ID) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(result)), nil
		})
	fmt.Println(filepath.Base(path), err)
	// Output: main-68d2405c30611a3b.go <nil>
}
