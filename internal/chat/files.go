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
	mu    sync.Mutex
	names []string // folders end with /
	at    time.Time
}

// Files implements rpc.Host. What begins with prefix comes first, then what has a part that
// does, then what has it anywhere.
func (h *Host) Files(ctx context.Context, prefix string, most int) []string {
	prefix = strings.ToLower(strings.TrimPrefix(prefix, "./"))
	var begins, parts, rest []string
	for _, name := range h.fileNames(ctx) {
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

// fileNames reads the names with the tool that the model finds files with.
func (h *Host) fileNames(ctx context.Context) []string {
	h.fileIndex.mu.Lock()
	defer h.fileIndex.mu.Unlock()
	if !h.fileIndex.at.IsZero() && time.Since(h.fileIndex.at) < filesAge {
		return h.fileIndex.names
	}
	arguments, err := json.Marshal(map[string]any{"pattern": "**", "limit": maxFiles})
	if err != nil {
		return nil
	}
	r, err := h.builtinTool("find").Run(ctx, tool.Call{Arguments: arguments})
	if err != nil || len(r.Content) == 0 {
		return h.fileIndex.names
	}
	text, _, _ := strings.Cut(r.Content[0].Text, "\n\n[")
	h.fileIndex.names = strings.Split(text, "\n")
	if len(h.fileIndex.names) == 1 && strings.HasPrefix(text, "Nothing found") {
		h.fileIndex.names = nil
	}
	h.fileIndex.at = time.Now()
	return h.fileIndex.names
}
