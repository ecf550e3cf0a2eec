package replay

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/session"
)

// probed writes the test for readers of some sessions.
func probed(t *testing.T, dir string, policies ...string) Probe {
	t.Helper()
	some, err := FindPolicies(policies)
	if err != nil {
		t.Fatal(err)
	}
	p := Probe{Dir: dir}
	if err := p.Prepare(); err != nil {
		t.Fatal(err)
	}
	sessions := []Session{longSession(t, 11, 60), longSession(t, 12, 60)}
	if _, err := Run(t.Context(), sessions, Options{Policies: some, Probe: &p, Budget: 1000}); err != nil {
		t.Fatal(err)
	}
	return p
}

func fileText(t *testing.T, parts ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func put(t *testing.T, text string, parts ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(parts...), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// lettersOf returns the letters of a point by policy.
func lettersOf(t *testing.T, p Probe, point string) map[string]string {
	t.Helper()
	keys, err := p.keys()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for letter, policy := range keys[point].Letters {
		out[policy] = letter
	}
	return out
}

// TestProbeFolders: each reader finds what its part needs, and nothing that tells which
// policy a text is of. Only that of a policy of the engine has the log.
func TestProbeFolders(t *testing.T) {
	p := probed(t, t.TempDir(), "clew", "lines")
	if readme := fileText(t, p.Dir, "README.md"); !strings.Contains(readme, briefWriter) || !strings.Contains(readme, briefAnswer) || !strings.Contains(readme, briefGrade) {
		t.Error("README.md lacks a brief")
	}
	for _, point := range []string{"01", "02"} {
		letters := lettersOf(t, p, point)
		if names := slices.Sorted(maps.Keys(letters)); !slices.Equal(names, []string{"clew", "clew+recall", "lines"}) {
			t.Fatalf("%s has %v", point, names)
		}
		full := fileText(t, p.Dir, point, "full", "dropped.txt")
		if !strings.Contains(full, "Mark1User") || fileText(t, p.Dir, point, "full", "future.txt") == "" {
			t.Errorf("%s: what the writer of the questions reads begins with %.80q", point, full)
		}
		for policy, letter := range letters {
			if text := fileText(t, p.Dir, point, letter, "text.txt"); text == "" || len([]rune(text)) > 3000 {
				t.Errorf("%s: the text of %s has %d bytes", point, policy, len(text))
			}
			if fileText(t, p.Dir, point, letter, "tail.txt") != fileText(t, p.Dir, point, "full", "tail.txt") {
				t.Errorf("%s: the tail of %s is another", point, policy)
			}
			files, err := os.ReadDir(filepath.Join(p.Dir, point, letter))
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, f := range files {
				names = append(names, f.Name())
			}
			want := []string{"tail.txt", "text.txt"}
			if policy == "clew+recall" {
				want = []string{"log.jsonl", "lookup", "tail.txt", "text.txt"}
			}
			if policy == "clew+recall" {
				before := ""
				for i, line := range strings.Split(strings.TrimSpace(fileText(t, p.Dir, point, letter, "log.jsonl")), "\n")[1:] {
					e, err := session.ParseEntry([]byte(line))
					if err != nil {
						t.Fatal(err)
					}
					if e.ParentID != before {
						t.Fatalf("%s: record %d of the log hangs under %q, not under the one before it, %q", point, i, e.ParentID, before)
					}
					before = e.ID
				}
			}
			if !slices.Equal(names, want) {
				t.Errorf("%s: the folder of %s has %v", point, policy, names)
			}
		}
		if fileText(t, p.Dir, point, letters["clew"], "text.txt") != fileText(t, p.Dir, point, letters["clew+recall"], "text.txt") {
			t.Errorf("%s: with recall the text is another", point)
		}
	}
}

const twoQuestions = `[{"id":"q1","kind":"rule","question":"May it?","full":"no","half":"hardly"},{"id":"q2","kind":"state","question":"Is it?","full":"yes","half":"nearly"}]`

// TestProbeAgain: a second run keeps the questions, and each text its letter with what
// was said of it, unless the text is another.
func TestProbeAgain(t *testing.T) {
	p := probed(t, t.TempDir(), "clew", "lines")
	first := lettersOf(t, p, "01")
	put(t, twoQuestions, p.Dir, "01", "questions.json")
	for policy, letter := range first {
		put(t, fmt.Sprintf(`{"q1":"of %s"}`, policy), p.Dir, "01", letter, "answers.json")
	}
	put(t, "{}", p.Dir, "01", "grades.json")
	probed(t, p.Dir, "clew", "lines")
	if fileText(t, p.Dir, "01", "grades.json") != "{}" {
		t.Error("the same texts are graded again")
	}
	put(t, "another text", p.Dir, "01", first["clew"], "text.txt")
	probed(t, p.Dir, "clew", "files", "lines", "story", "tail")
	if fileText(t, p.Dir, "01", "questions.json") != twoQuestions {
		t.Error("the questions are others")
	}
	now := lettersOf(t, p, "01")
	if len(now) != 6 || lettersOf(t, p, "03")["clew"] != "" {
		t.Errorf("letters %v", now)
	}
	for policy, letter := range now {
		answers, err := os.ReadFile(filepath.Join(p.Dir, "01", letter, "answers.json"))
		_, old := first[policy]
		if want := old && policy != "clew"; want != (err == nil) || want && string(answers) != fmt.Sprintf(`{"q1":"of %s"}`, policy) {
			t.Errorf("the answers to the text of %s are %s", policy, answers)
		}
	}
	if _, err := os.Stat(filepath.Join(p.Dir, "01", "grades.json")); err == nil {
		t.Error("the grades of other texts are still there")
	}
}

// TestGrades: grades are averaged over all questions, by kind, with an interval that sessions
// drawn again give; lookups are counted.
func TestGrades(t *testing.T) {
	p := Probe{Dir: t.TempDir()}
	for _, dir := range []string{"01/a", "01/b", "02/a", "02/b"} {
		if err := os.MkdirAll(filepath.Join(p.Dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, `{"01":{"session":"s","point":3,"letters":{"a":"clew+recall","b":"lines"}},"02":{"session":"r","point":5,"letters":{"a":"lines","b":"clew+recall"}}}`, p.Dir, "key.json")
	put(t, twoQuestions, p.Dir, "01", "questions.json")
	put(t, twoQuestions, p.Dir, "02", "questions.json")
	put(t, `{"q1":{"a":1,"b":0.5},"q2":{"a":1,"b":0}}`, p.Dir, "01", "grades.json")
	put(t, `{"q1":{"a":0.5,"b":0},"q2":{"a":0,"b":1},"q9":{"a":1}}`, p.Dir, "02", "grades.json")
	put(t, "readRows\n1a2b3c4d\nmergeShelves\n", p.Dir, "01", "a", "lookups.txt")
	grades, err := p.Grades()
	if err != nil {
		t.Fatal(err)
	}
	if len(grades) != 2 || grades[0].Policy != "clew+recall" || grades[1].Policy != "lines" {
		t.Fatalf("grades %+v", grades)
	}
	with, without := grades[0], grades[1]
	if with.All != .75 || with.Questions != 4 || with.Sessions != 2 || with.Kinds["rule"] != .5 || with.Kinds["state"] != 1 || with.Lookups != .75 {
		t.Errorf("with recall: %+v", with)
	}
	if with.Low != .5 || with.High != 1 { // the means of the two sessions
		t.Errorf("the interval is %v to %v", with.Low, with.High)
	}
	if without.All != .25 || math.Abs(without.Low-without.All) > 1e-9 || without.Lookups != 0 {
		t.Errorf("without: %+v", without)
	}
	if table := GradeTable(grades); !strings.Contains(table, "0.750  0.50 to 1.00  0.50   1.00") {
		t.Errorf("the table:\n%s", table)
	}
}

// TestReaderProgram: a program is asked for what is missing, once, with the brief and the
// files of its part, and what it says around its JSON is left out.
func TestReaderProgram(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("there is no shell")
	}
	p := probed(t, t.TempDir(), "clew", "tail")
	letters := lettersOf(t, p, "01")
	put(t, `{"q1":"mine"}`, p.Dir, "01", letters["tail"], "answers.json")
	tools := t.TempDir()
	asked := filepath.Join(tools, "asked")
	put(t, `#!/bin/sh
input=$(cat)
at=$(basename "$(dirname "$PWD")")/$(basename "$PWD")
case "$input" in
"You write questions"*future.txt*) echo "questions $at" >> "$1"; echo "Here they are:"; echo '`+twoQuestions+`' ;;
*"Use it only where"*"q1 (rule): May it?"*text.txt*) echo "lookup $at" >> "$1"; echo '{"q1":"no","q2":"I looked"}' ;;
"You are a coding agent"*"q1 (rule): May it?"*text.txt*) echo "answers $at" >> "$1"; echo '{"q1":"unsure","q2":"yes"}' ;;
"Grade answers"*"full: no"*": mine"*|"Grade answers"*"full: no"*": unsure"*) echo "grades $at" >> "$1"; echo '{"q1":{"a":1,"b":0,"c":0.5},"q2":{"a":1,"b":1,"c":1}} That is all.' ;;
*) exit 1 ;;
esac
`, tools, "reader.sh")
	for range 2 { // the second time there is nothing left to ask
		if err := p.Ask(t.Context(), []string{filepath.Join(tools, "reader.sh"), asked}); err != nil {
			t.Fatal(err)
		}
	}
	count := map[string]int{}
	for line := range strings.Lines(fileText(t, asked)) {
		count[strings.Fields(line)[0]]++
	}
	if want := map[string]int{"questions": 2, "lookup": 2, "answers": 3, "grades": 2}; !maps.Equal(count, want) {
		t.Errorf("asked %v, want %v", count, want)
	}
	if got := fileText(t, p.Dir, "01", letters["tail"], "answers.json"); got != `{"q1":"mine"}` {
		t.Errorf("an answer that was there is %s", got)
	}
	if grades, err := p.Grades(); err != nil || len(grades) != 3 || grades[0].Questions != 4 {
		t.Errorf("grades %+v, %v", grades, err)
	}
	put(t, "#!/bin/sh\ncat > /dev/null\necho I would rather not\n", tools, "reader.sh")
	if err := os.Remove(filepath.Join(p.Dir, "02", "grades.json")); err != nil {
		t.Fatal(err)
	}
	if err := p.Ask(t.Context(), []string{filepath.Join(tools, "reader.sh")}); err == nil || !strings.Contains(err.Error(), "no JSON") {
		t.Errorf("of an answer without JSON it says %v", err)
	}
}
