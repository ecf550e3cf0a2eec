package replay

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
)

// recordedSessions reads the real sessions, where they are.
func recordedSessions(t *testing.T) []Session {
	t.Helper()
	dir := os.Getenv("CLEW_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "corpus")
		if _, err := os.Stat(dir); err != nil {
			t.Skip("no corpus: set CLEW_CORPUS")
		}
	}
	var out []Session
	files := 0
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
		if err != nil {
			return err
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
	t.Logf("%d files", files)
	return out
}

// The baselines on real sessions lie where they lay when the measures were defined:
// an instrument that gives other figures measures something else. And the engine
// beats them.
func TestRecordedSessions(t *testing.T) {
	if testing.Short() || underRace {
		t.Skip("reads many large sessions")
	}
	t.Parallel()
	policies, err := FindPolicies([]string{"clew", "extract", "files", "soup", "tail"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(context.Background(), recordedSessions(t), Options{Policies: policies})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]Row{}
	for _, row := range r.Rows(false) {
		rows[row.Policy] = row
	}
	between := func(what string, got, least, most float64) {
		t.Helper()
		if got < least || got > most {
			t.Errorf("%s is %.3f, not between %.2f and %.2f", what, got, least, most)
		}
	}
	s := r.Support()
	between("points", float64(s.Points), 30, 60)
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
	between("IR of clew", clew.Instructions.Value, .95, 1)
	between("trail of clew", clew.TrailF1.Value, .90, 1)
	between("made up by clew", clew.Foreign.Value, 0, .001)
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
