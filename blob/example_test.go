package blob_test

import (
	"context"
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

	store, err := blob.OpenDir(filepath.Join(dir, "blobs"))
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

	fmt.Println(store.RemoveAll(ctx)) // with the session
	// Output:
	// sha256-9060554863a62b9db5f726216876654e561896071d2e6480f2048b70e0fdadb9
	// "line 1\nline 2\n" <nil>
	// <nil>
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
	cache, err := blob.OpenCache(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 { // deleted files come back
		path, err := cache.Path(ctx, id, "curl localhost/health.json", store.Open)
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
