package replay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
)

// recordedSessions reads the real sessions, where they are.
func recordedSessions(t *testing.T) []Session {
	t.Helper()
	dir := os.Getenv("CLEW_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpus")
		if _, err := os.Stat(dir); err != nil {
			t.Skip("no corpus: set CLEW_CORPUS")
		}
	}
	var out []Session
	files, refused := 0, 0
	err := filepath.WalkDir(filepath.Join(dir, "sessions"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		tr, err := transcript.Read(f, transcript.ReadOptions{})
		if errors.Is(err, transcript.ErrUnknown) {
			refused++ // a program whose logs are not read
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		files++
		entries, err := session.Path(context.Background(), tr.Store(), tr.Entries[len(tr.Entries)-1].ID)
		if err != nil {
			return err
		}
		out = append(out, Session{Name: filepath.Base(path), Group: string(tr.Format), Cwd: tr.Header.Cwd, Path: entries})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Fatalf("no sessions in %s", dir)
	}
	t.Logf("%d files, %d more of no known format", files, refused)
	return out
}

// The baselines on real sessions lie where they lay when the measures were defined:
// an instrument that gives other figures measures something else. The engine beats
// them, stays within its budget and makes nothing up. How good its summaries are is
// printed.
func TestRecordedSessions(t *testing.T) {
	if testing.Short() || underRace {
		t.Skip("reads many large sessions")
	}
	t.Parallel()
	policies, err := FindPolicies([]string{"clew", "extract", "files", "soup", "tail"})
	if err != nil {
		t.Fatal(err)
	}
	sessions := recordedSessions(t)
	var mu sync.Mutex
	var texts []Text
	r, err := Run(context.Background(), sessions, Options{Policies: policies, Text: func(x Text) {
		if x.Policy == "clew" {
			mu.Lock()
			defer mu.Unlock()
			texts = append(texts, x)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]Row{}
	for _, row := range r.Rows(false) {
		rows[row.Policy] = row
		t.Logf("%s: cCR %.3f, CR %.3f, IR %.3f, trail %.3f, made up %.4f, plain %.3f, %+v", row.Policy, row.Contextual.Value, row.Recall.Value,
			row.Instructions.Value, row.TrailF1.Value, row.Foreign.Value, row.Plain.Value, row.Gates)
	}
	between := func(what string, got, least, most float64) {
		t.Helper()
		if got < least || got > most {
			t.Errorf("%s is %.3f, not between %.2f and %.2f", what, got, least, most)
		}
	}
	s := r.Support()
	t.Logf("%d points, %d needs in the middle one, ceiling %.3f", s.Points, s.Needs, s.Ceiling.Value)
	if s.Points == 0 {
		t.Fatal("no points")
	}
	between("needs of a point", float64(s.Needs), 7, 25)
	between("the ceiling", s.Ceiling.Value, .70, .90)
	between("cCR of extract", rows["extract"].Contextual.Value, .40, .56)
	between("CR of extract", rows["extract"].Recall.Value, .66, .80)
	between("IR of extract", rows["extract"].Instructions.Value, .85, 1)
	between("cCR of files", rows["files"].Contextual.Value, .05, .20)
	between("IR of files", rows["files"].Instructions.Value, .97, 1)
	between("trail of files", rows["files"].TrailF1.Value, .97, 1)
	between("cCR of soup", rows["soup"].Contextual.Value, 0, .10)
	between("CR of soup", rows["soup"].Recall.Value, .85, 1)
	between("CR of tail", rows["tail"].Recall.Value, 0, 0)

	clew := rows["clew"]
	between("cCR of clew", clew.Contextual.Value, rows["extract"].Contextual.Value, 1)
	between("CR of clew", clew.Recall.Value, rows["extract"].Recall.Value, 1)
	// A fifth of the room is for the user's words; the rules among them come first.
	between("IR of clew", clew.Instructions.Value, .85, 1)
	between("IR-c of clew", clew.Constraints.Value, .95, 1)
	between("trail of clew", clew.TrailF1.Value, .93, 1)
	between("junk of clew", clew.Junk.Value, 0, .10)
	if clew.Gates.OverBudget > 0 {
		t.Errorf("clew is over its budget at %d points", clew.Gates.OverBudget)
	}
	checkMadeUp(t, sessions, texts)
	for _, row := range r.Rows(true) {
		if row.Policy == RecordedPolicy {
			between("cCR of recorded summaries", row.Contextual.Value, .30, .55)
			between("made up by models", row.Foreign.Value, .005, .15)
		}
	}
	for _, row := range r.Costs.Rows {
		switch row.Policy {
		case "clew":
			between("cost of clew", row.Pooled, .30, .45)
		case appendPolicy:
			between("cost of never rewriting", row.Pooled, 1, 1)
		}
	}
}

// checkMadeUp checks that every identifier in the texts stands in its session. One kind of
// them may stand there in two parts: the end of a path in a list of files whose folder
// comes from a "cd" or an "mv" and whose name from another word.
func checkMadeUp(t *testing.T, sessions []Session, texts []Text) {
	t.Helper()
	said := map[string]string{}
	for i := range sessions {
		var b strings.Builder
		for _, e := range sessions[i].Path {
			b.Write(e.Raw())
		}
		said[sessions[i].Name] = b.String()
	}
	joined := 0
	for _, x := range texts {
		for _, id := range x.Score.ForeignIDs {
			folder, name, ok := strings.Cut(id, "/")
			listed := regexp.MustCompile(`(?m)^- (?:\S*/)?` + regexp.QuoteMeta(id) + `$`).MatchString(x.Text)
			if !ok || !listed || !holdsName(said[x.Session], folder) || !holdsName(said[x.Session], name) {
				t.Errorf("%s at %d: %q is made up", x.Session, x.Point, id)
				continue
			}
			joined++
		}
	}
	t.Logf("%d texts, %d ends of joined paths in them", len(texts), joined)
}

func holdsName(s, name string) bool {
	return regexp.MustCompile(`(?:^|[^\w.-])` + regexp.QuoteMeta(name) + `(?:$|[^\w-])`).MatchString(s)
}
