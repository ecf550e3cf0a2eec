package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/clew-dev/clew/transcript"
)

// opencode keeps its sessions in a database, and is asked for them. In place of a file a
// session of it is named by this and its id.
const openCodePath = "opencode:"

// InOpenCode reports whether a path names a session of opencode.
func InOpenCode(path string) bool { return strings.HasPrefix(path, openCodePath) }

// How long opencode may take to list its sessions, and to export one.
const (
	openCodeListTime   = 20 * time.Second
	openCodeExportTime = time.Minute
)

// openCode is a run of opencode. As npm installs it, a script starts the program: where the script
// is ended, the program still holds the pipes, and these are not waited for.
func openCode(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "opencode", args...)
	cmd.WaitDelay = 200 * time.Millisecond
	return cmd
}

// openCodeQuery lists sessions, but for those of agents that another one started.
const openCodeQuery = `select id, directory, title, time_created as begun, time_updated as last,
(select data from message m where m.session_id = s.id and json_extract(data, '$.role') = 'assistant' order by time_created desc limit 1) as answer,
(select max(time_created) from part p where p.session_id = s.id and data like '{"type":"compaction"%') as compacted
from session s where parent_id is null`

// openCodeSessions lists the sessions of opencode, none where there is no database. failed
// says that there is one, and that opencode gave no answer.
func openCodeSessions(ctx context.Context, getenv func(string) string, userHome string) (found []Found, failed bool) {
	data := filepath.Join(userHome, ".local", "share")
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		data = dir
	}
	if _, err := os.Stat(filepath.Join(data, "opencode", "opencode.db")); err != nil {
		return nil, false
	}
	ctx, stop := context.WithTimeout(ctx, openCodeListTime)
	defer stop()
	out, err := openCode(ctx, "db", "--format", "json", openCodeQuery).Output()
	if err != nil {
		return nil, true
	}
	return openCodeFound(out)
}

// openCodeFound reads what the query gives.
func openCodeFound(rows []byte) (found []Found, failed bool) {
	var list []struct {
		ID, Directory, Title   string
		Answer                 string
		Begun, Last, Compacted int64
	}
	if json.Unmarshal(rows, &list) != nil {
		return nil, true
	}
	at := func(ms int64) time.Time {
		if ms <= 0 {
			return time.Time{}
		}
		return time.UnixMilli(ms).UTC()
	}
	for _, r := range list {
		f := Found{Program: transcript.OpenCode, Path: openCodePath + r.ID, Modified: at(r.Last)}
		f.Glance = transcript.Glance{
			Format: transcript.OpenCode, ID: r.ID, Cwd: r.Directory, Name: r.Title,
			Begun: at(r.Begun), Last: at(r.Last), Compacted: at(r.Compacted),
		}
		var answer struct {
			ModelID string
			Summary bool
			Tokens  struct {
				Input, Output, Reasoning int64
				Cache                    struct{ Read, Write int64 }
			}
		}
		if json.Unmarshal([]byte(r.Answer), &answer) == nil {
			f.Model = answer.ModelID
			if t := answer.Tokens; !answer.Summary {
				f.Tokens = t.Input + t.Output + t.Reasoning + t.Cache.Read + t.Cache.Write
			}
		}
		found = append(found, f)
	}
	return found, false
}

// Open opens the file of a session. One of opencode is exported for that.
func Open(ctx context.Context, path string) (*os.File, error) {
	id, ok := strings.CutPrefix(path, openCodePath)
	if !ok {
		return os.Open(path)
	}
	ctx, stop := context.WithTimeout(ctx, openCodeExportTime)
	defer stop()
	f, err := os.CreateTemp("", "clew-opencode-*.json")
	if err != nil {
		return nil, err
	}
	// It is read through what is open; on Windows it stays.
	defer os.Remove(f.Name())
	cmd := openCode(ctx, "export", id)
	cmd.Stdout = f // no pipe: opencode ends before all of it is read
	var said strings.Builder
	cmd.Stderr = &said
	if err = cmd.Run(); err == nil {
		_, err = f.Seek(0, 0)
	} else if errors.Is(err, exec.ErrNotFound) {
		err = fmt.Errorf("%w; it has the session in its database", err)
	} else if lines := strings.TrimSpace(said.String()); lines != "" {
		err = fmt.Errorf("opencode export %s: %w: %s", id, err, lines[strings.LastIndexByte(lines, '\n')+1:])
	}
	if err != nil {
		_ = f.Close() // it is gone
		return nil, err
	}
	return f, nil
}
