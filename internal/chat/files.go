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
	at    time.Time
}

// Files implements rpc.Host. What begins with prefix comes first, then what has a part that
// does, then what has it anywhere.
func (f *fileIndex) Files(ctx context.Context, prefix string, most int) []string {
	prefix = strings.ToLower(strings.TrimPrefix(prefix, "./"))
	var begins, parts, rest []string
	for _, name := range f.all(ctx) {
		lower := strings.ToLower(name)
		switch at := strings.Index(lower, prefix); {
		case at == 0:
			begins = append(begins, name)
		case at < 0:
		case lower[at-1] == '/' || strings.Contains(lower, "/"+prefix):
			parts = append(parts, name)
		default:
			rest = append(rest, name)
		}
		if len(begins) >= most {
			break
		}
	}
	all := slices.Concat(begins, parts, rest)
	return all[:min(len(all), max(most, 0))]
}

// all reads the names with the tool that the model finds files with.
func (f *fileIndex) all(ctx context.Context) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.at.IsZero() && time.Since(f.at) < filesAge {
		return f.names
	}
	arguments, err := json.Marshal(map[string]any{"pattern": "**", "limit": maxFiles})
	if err != nil {
		return nil
	}
	r, err := f.find.Run(ctx, tool.Call{Arguments: arguments})
	if err != nil || len(r.Content) == 0 {
		return f.names
	}
	text, _, _ := strings.Cut(r.Content[0].Text, "\n\n[")
	f.names = strings.Split(text, "\n")
	if len(f.names) == 1 && strings.HasPrefix(text, "Nothing found") {
		f.names = nil
	}
	f.at = time.Now()
	return f.names
}
