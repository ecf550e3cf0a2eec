package blob

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Source opens content. Store.Open is one.
type Source func(ctx context.Context, id ID) (io.ReadCloser, error)

// Cache keeps copies of content as files with readable names, for tools that read files. It
// may be used from several goroutines and processes.
type Cache struct {
	place
	mu   sync.Mutex
	seen map[string]fs.FileInfo // what the files were like when their content was last checked
}

// OpenCache returns the cache in the folder at path, which must be no symbolic link and is made when first needed.
func OpenCache(path string) (*Cache, error) {
	p, err := newPlace(path)
	if err != nil {
		return nil, fail("cache", path, err)
	}
	return &Cache{place: p, seen: map[string]fs.FileInfo{}}, nil
}

// Path returns the absolute path of a file that has the content of id, named by FileName. It
// makes the file from the source if it is not there or was changed. The error is ErrNotFound
// or ErrCorrupt when the source does not give that content; otherwise see KeepInline.
func (c *Cache) Path(ctx context.Context, id ID, hint string, from Source) (string, error) {
	name := FileName(id, hint)
	path := filepath.Join(c.path, name)
	if err := c.provide(ctx, id, name, from); err != nil {
		return "", fail("cache", path, err)
	}
	return path, nil
}

func (c *Cache) provide(ctx context.Context, id ID, name string, from Source) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := c.create()
	if err != nil {
		return err
	}
	defer f.Close()
	if c.has(ctx, f, id, name) {
		return nil
	}
	src, err := from(ctx, id)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSource, err)
	}
	defer src.Close()
	t, got, err := takeTemp(ctx, f, c.now(), src)
	if err != nil {
		return err
	}
	defer t.discard()
	if got != id {
		return fmt.Errorf("%w: the source gave that of %s", ErrCorrupt, got)
	}
	// The file is synced, so that it is never there in part. The folder is not: a file that is gone is made again.
	if err := t.finish(); err != nil {
		return err
	}
	if err := t.move(name); err != nil && !c.has(ctx, f, id, name) {
		return err
	}
	return nil
}

// settled is how old a file must be for its time to show a change since: some systems count in steps of two seconds.
const settled = 2 * time.Second

// has reports whether the file is there with the right content. A tool may have written to
// it, so it is read unless it looks as it did when it was last read.
func (c *Cache) has(ctx context.Context, f files, id ID, name string) bool {
	info, err := lstatRegular(f, name)
	if err != nil {
		return false
	}
	c.mu.Lock()
	seen := c.seen[name]
	c.mu.Unlock()
	if seen != nil && os.SameFile(seen, info) && seen.Size() == info.Size() && seen.ModTime().Equal(info.ModTime()) {
		return true
	}
	file, err := openRegular(f, name, os.O_RDONLY)
	if err != nil {
		return false
	}
	if !sound(ctx, file, id) {
		return false
	}
	if c.now().Sub(info.ModTime()) >= settled {
		c.mu.Lock()
		c.seen[name] = info
		c.mu.Unlock()
	}
	return true
}

// maxStem is the most characters of a hint in a name, which stays well below 255 bytes.
const maxStem = 32

// extensions are the endings that a file may have: those that tools go by. Endings with which
// a system runs or opens something, such as .exe, .lnk or .url, are not among them.
var extensions = strings.Fields(`txt md rst tex log csv tsv diff patch
	json jsonl ndjson yaml yml toml ini xml html css svg sql proto graphql
	go mod rs py ipynb js mjs cjs jsx ts tsx java kt swift c h cc cpp hpp cs rb php pl lua r scala ex exs hs ml zig dart vue
	png jpg jpeg gif webp bmp tiff pdf`)

// FileName returns the name that a Cache gives to a file: what is readable in hint, which may be any text such as a
// path or a command line, then 16 digits of the address and an ending. It is one file name on every system.
func FileName(id ID, hint string) string {
	stem, ext := splitHint(hint)
	return stem + "-" + hex.EncodeToString(id[:8]) + "." + ext
}

func splitHint(hint string) (stem, ext string) {
	hint = strings.TrimSpace(hint)
	if !strings.ContainsFunc(hint, unicode.IsSpace) { // a path: its last part says most
		last := hint[strings.LastIndexAny(strings.TrimRight(hint, `/\`), `/\`)+1:]
		if strings.ContainsFunc(last, isNameRune) {
			hint = last
		}
	}
	ext = "txt"
	if end := path.Ext(hint); end != "" && slices.Contains(extensions, strings.ToLower(end[1:])) {
		ext = strings.ToLower(end[1:])
		hint = strings.TrimSuffix(hint, end)
	}
	return cleanStem(hint), ext
}

// cleanStem keeps the letters and digits of s with their marks, and puts one "-" where there was something else between
// them. It has no full stop, because Windows takes what is before the first one for the name of a device, such as NUL.
func cleanStem(s string) string {
	var words []string
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return !isNameRune(r) && (!unicode.IsMark(r) || invisible(r)) }) {
		if w = strings.TrimLeftFunc(w, unicode.IsMark); w != "" {
			words = append(words, w)
		}
	}
	stem := []rune(strings.Join(words, "-"))
	return cmp.Or(strings.TrimRight(string(stem[:min(maxStem, len(stem))]), "-"), "content")
}

func isNameRune(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_') && !invisible(r)
}

// invisible reports whether a letter or mark shows nothing, such as a filler.
func invisible(r rune) bool {
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
