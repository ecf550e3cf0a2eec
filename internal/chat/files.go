package chat

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clew-dev/clew/internal/agent/tool"
)

const (
	// maxFiles is how many files of a project can be completed.
	maxFiles = 20_000
	// filesAge is how long the list of files counts.
	filesAge = 10 * time.Second
)

// fileIndex are the files of the project that git does not ignore.
type fileIndex struct {
	find tool.Tool // that the model finds files with

	mu    sync.Mutex
	names []string // folders end with /
	lower []string // the same in small letters
	at    time.Time
}

// Files implements rpc.Host. What begins with prefix comes first, then what has a part that
// does, then what has it anywhere.
func (f *fileIndex) Files(ctx context.Context, prefix string, most int) []string {
	names, lower := f.all(ctx)
	prefix = strings.ToLower(strings.TrimPrefix(prefix, "./"))
	var begins, parts, rest []string
	for i, n := range lower {
		switch at := strings.Index(n, prefix); {
		case at == 0:
			begins = append(begins, names[i])
		case at < 0:
		case n[at-1] == '/' || strings.Contains(n, "/"+prefix):
			parts = append(parts, names[i])
		default:
			rest = append(rest, names[i])
		}
		if len(begins) >= most {
			break
		}
	}
	all := slices.Concat(begins, parts, rest)
	return all[:min(len(all), max(most, 0))]
}

// all reads the names with the tool that the model finds files with.
func (f *fileIndex) all(ctx context.Context) (names, lower []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.at.IsZero() && time.Since(f.at) < filesAge {
		return f.names, f.lower
	}
	arguments, err := json.Marshal(map[string]any{"pattern": "**", "limit": maxFiles})
	if err != nil {
		return nil, nil
	}
	r, err := f.find.Run(ctx, tool.Call{Arguments: arguments})
	if err != nil || len(r.Content) == 0 {
		return f.names, f.lower
	}
	text, _, _ := strings.Cut(r.Content[0].Text, "\n\n[")
	f.names = strings.Split(text, "\n")
	if len(f.names) == 1 && strings.HasPrefix(text, "Nothing found") {
		f.names = nil
	}
	f.lower = make([]string, len(f.names))
	for i, n := range f.names {
		f.lower[i] = strings.ToLower(n)
	}
	f.at = time.Now()
	return f.names, f.lower
}
