package calibration

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/token"
)

// Each step of writing fails once: the old set is there or the new one, and
// nothing else is left behind.
func TestSaveUnderFaults(t *testing.T) {
	var c token.Calibration
	if err := json.Unmarshal([]byte(`{"version":1,"provider":"p","model":"m","counter":"c","calls":1,"first":1,"last":2,"factorPPM":1100000,"weight":3000}`), &c); err != nil {
		t.Fatal(err)
	}
	old, fresh := &Set{}, &Set{}
	old.Put(c)
	c.Calls, c.Last = 2, 3
	fresh.Put(c)
	steps := 0
	for fail := 1; ; fail++ {
		path := filepath.Join(t.TempDir(), "calibration.json")
		if err := Save(path, old); err != nil {
			t.Fatal(err)
		}
		fault := &vfs.Fault{FS: vfs.OS{}, At: func(n int, _, _ string) (int, error) {
			if n == fail {
				return 3, errors.New("the disk is full")
			}
			return 0, nil
		}}
		err := save(fault, path, fresh)
		if fault.Count() < fail {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		steps++
		s, lerr := Load(path)
		if lerr != nil || len(s.All()) != 1 {
			t.Fatalf("step %d: %v, %v", fail, s.All(), lerr)
		}
		if err == nil {
			t.Errorf("step %d failed and Save said nothing", fail)
		}
		if n := s.All()[0].Calls; n != 1 && n != 2 {
			t.Errorf("step %d: %d calls", fail, n)
		}
		if files, rerr := os.ReadDir(filepath.Dir(path)); rerr != nil || len(files) != 1 {
			t.Errorf("step %d: %v, %v", fail, files, rerr)
		}
	}
	if steps < 4 {
		t.Errorf("only %d steps were made to fail", steps)
	}
}
