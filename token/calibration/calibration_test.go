package calibration_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/clew-dev/clew/token"
	"github.com/clew-dev/clew/token/calibration"
)

// learned returns a calibration of a model, last learnt from at that time.
func learned(t testing.TB, model string, calls, last int64) (c token.Calibration) {
	t.Helper()
	err := json.Unmarshal(fmt.Appendf(nil, `{"version":1,"provider":"acme","model":%q,"counter":"chars4","calls":%d,"first":1,"last":%d,"factorPPM":1100000,"weight":3000}`,
		model, calls, last), &c)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func setOf(all ...token.Calibration) *calibration.Set {
	s := &calibration.Set{}
	for _, c := range all {
		s.Put(c)
	}
	return s
}

// show lists a set as model:calls@last.
func show(s *calibration.Set) string {
	var b strings.Builder
	for _, c := range s.All() {
		fmt.Fprintf(&b, "%s:%d@%d ", c.Model, c.Calls, c.Last)
	}
	return strings.TrimSpace(b.String())
}

func TestSet(t *testing.T) {
	s := setOf(learned(t, "b", 3, 10), learned(t, "a", 5, 20), token.Calibration{Provider: "acme", Model: "nothing"})
	if got := show(s); got != "a:5@20 b:3@10" {
		t.Error(got)
	}
	if c := s.For(token.Chars4(), "acme", "a"); c.Calls != 5 {
		t.Error(c.Explain())
	}
	if c := s.For(token.Heuristic(token.GPT), "acme", "a"); c.Calls != 0 {
		t.Errorf("of another counter: %s", c.Explain())
	}
	var empty calibration.Set
	if c := empty.For(token.Chars4(), "acme", "a"); c.Calls != 0 || len(empty.All()) != 0 {
		t.Error("an empty set has something")
	}
}

// Of two sets that are merged, in either order, what was learnt later stays.
func TestMerge(t *testing.T) {
	one := func() *calibration.Set {
		return setOf(learned(t, "a", 5, 20), learned(t, "b", 9, 30), learned(t, "c", 2, 40), learned(t, "only", 1, 1))
	}
	two := func() *calibration.Set {
		return setOf(learned(t, "a", 3, 21), learned(t, "b", 8, 30), learned(t, "c", 2, 40), learned(t, "other", 1, 1))
	}
	x, y := one(), two()
	x.Merge(two())
	y.Merge(one())
	const want = "a:3@21 b:9@30 c:2@40 only:1@1 other:1@1"
	if show(x) != want || show(y) != want {
		t.Errorf("%s\n%s", show(x), show(y))
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "er", "calibration.json")
	if s, err := calibration.Load(path); err != nil || len(s.All()) != 0 {
		t.Fatalf("a file that is not there: %v, %v", s.All(), err)
	}
	if err := calibration.Save(path, setOf(learned(t, "a", 5, 20), learned(t, "b", 1, 5))); err != nil {
		t.Fatal(err)
	}
	// Another program has learnt more about b, and nothing about a.
	if err := calibration.Save(path, setOf(learned(t, "b", 2, 6))); err != nil {
		t.Fatal(err)
	}
	s, err := calibration.Load(path)
	if err != nil || show(s) != "a:5@20 b:2@6" {
		t.Errorf("%s, %v", show(s), err)
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}

// What is damaged is said, with the file, and costs no more than what it hit.
func TestDamagedFile(t *testing.T) {
	data, err := setOf(learned(t, "a", 5, 20), learned(t, "b", 1, 5)).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	good := string(data)
	for name, c := range map[string]struct{ content, left string }{
		"empty":           {"", ""},
		"torn":            {good[:len(good)/2], ""},
		"binary":          {"\x00\xff\x00", ""},
		"another version": {strings.Replace(good, `"version":1`, `"version":7`, 1), ""},
		"no version":      {"{}", ""},
		"one is damaged":  {strings.Replace(good, `"factorPPM":1100000`, `"factorPPM":-4`, 1), "b:1@5"},
		"huge":            {strings.Repeat(" ", 2<<20), ""},
	} {
		path := filepath.Join(t.TempDir(), "calibration.json")
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := calibration.Load(path)
		if err == nil || !strings.Contains(err.Error(), path) || show(s) != c.left {
			t.Errorf("%s: %q, %v", name, show(s), err)
		}
		if left, _ := os.ReadFile(path); string(left) != c.content {
			t.Errorf("%s: Load changed the file", name)
		}
		if err := calibration.Save(path, setOf(learned(t, "new", 1, 9))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if s, err := calibration.Load(path); err != nil || !strings.Contains(show(s), "new:1@9") {
			t.Errorf("%s: after Save %q, %v", name, show(s), err)
		}
	}
}

// Of writers at once each leaves a whole file.
func TestWritersAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calibration.json")
	var wg sync.WaitGroup
	for i := range 16 {
		c := learned(t, fmt.Sprint("m", i), 1, int64(i))
		wg.Go(func() {
			if err := calibration.Save(path, setOf(c)); err != nil {
				t.Error(err)
			}
			if _, err := calibration.Load(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}

// A set does not grow without end: what was learnt longest ago goes.
func TestSetIsBounded(t *testing.T) {
	s := &calibration.Set{}
	for i := range 300 {
		s.Put(learned(t, fmt.Sprintf("m%03d", i), 1, int64(i)))
	}
	data, err := s.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var back calibration.Set
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if all := back.All(); len(all) != 200 || all[0].Model != "m100" {
		t.Errorf("%d are left, the first is %s", len(all), all[0].Model)
	}
}

func FuzzSet(f *testing.F) {
	data, err := setOf(learned(f, "a", 5, 20)).MarshalJSON()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"version":1,"calibrations":[{},null,7]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s calibration.Set
		if json.Unmarshal(data, &s) != nil {
			return
		}
		out, err := s.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var again calibration.Set
		if err := json.Unmarshal(out, &again); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		for _, c := range again.All() {
			if f := c.Factor(); f < .5 || f > 2 {
				t.Errorf("factor %v", f)
			}
		}
	})
}
