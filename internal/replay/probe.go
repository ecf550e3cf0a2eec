package replay

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/clew-dev/clew/internal/replay/measure"
	"github.com/clew-dev/clew/session"
)

// A Probe is a folder for a test with readers: one folder for each point, in it what
// the writer of the questions reads, and for each policy one folder with what its
// reader may see. Which letter is which policy stands in key.json alone.
//
//	NN/full/dropped.txt tail.txt future.txt   for the writer of the questions
//	NN/questions.json                         written by that reader: []Question
//	NN/LETTER/text.txt tail.txt               for one answering reader
//	NN/LETTER/log.jsonl lookup                of a policy with recall
//	NN/LETTER/answers.json                    written by that reader: {"q1": "..."}
//	NN/LETTER/lookups.txt                     a line for each use of lookup
//	NN/grades.json                            {"q1": {"a": 1, "b": 0.5}}
//	key.json                                  {"NN": {"session": ..., "letters": {"a": "clew"}}}
type Probe struct{ Dir string }

// Question is a question on what was dropped.
type Question struct {
	ID   string `json:"id"`
	Kind string `json:"kind"` // rule, state, artifact, cause or detail
	Text string `json:"question"`
	Full string `json:"full"` // what a full answer says
	Half string `json:"half"` // what is worth half
}

// probeKey says what the folder of a point is about.
type probeKey struct {
	Session string            `json:"session"`
	Point   int               `json:"point"`
	Letters map[string]string `json:"letters"`
}

// RecallSuffix names the texts whose reader may also look things up in the log.
const RecallSuffix = "+recall"

// probePoint is what a probe shows of a point.
type probePoint struct {
	session               string
	at, budget            int // messages before it, tokens of a text
	dropped, kept, future []session.Item
	texts                 map[string]string
}

// Prepare makes the folder, with the briefs of the readers.
func (p Probe) Prepare() error {
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.Dir, "README.md"), []byte(briefs()), 0o644)
}

// add writes the folder of a point. Questions that are there already stay, and so do the
// letters: new texts are asked the same. What readers said of a text that is another now
// does not hold any more.
func (p Probe) add(ctx context.Context, x probePoint) error {
	keys, err := p.keys()
	if err != nil {
		return err
	}
	name := ""
	for n, k := range keys {
		if k.Session == x.session && k.Point == x.at {
			name = n
		}
	}
	if name == "" {
		name = fmt.Sprintf("%02d", len(keys)+1)
	}
	dir := filepath.Join(p.Dir, name)
	if own, err := filepath.Glob(filepath.Join(dir, "own", "*.txt")); err == nil {
		for _, path := range own { // texts that somebody else wrote, a model's among them
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			x.texts[strings.TrimSuffix(filepath.Base(path), ".txt")] = string(data)
		}
	}
	files := map[string]string{
		"full/dropped.txt": transcriptOf(x.dropped), "full/tail.txt": transcriptOf(x.kept), "full/future.txt": transcriptOf(x.future),
	}
	key := probeKey{Session: x.session, Point: x.at, Letters: map[string]string{}}
	letters := map[string]string{} // by policy
	for letter, policy := range keys[name].Letters {
		key.Letters[letter], letters[policy] = policy, letter
	}
	// The order of the letters differs from point to point, and says nothing.
	policies := slices.SortedFunc(maps.Keys(x.texts), func(a, b string) int {
		ha, hb := sha256.Sum256([]byte(x.session+a)), sha256.Sum256([]byte(x.session+b))
		return bytes.Compare(ha[:], hb[:])
	})
	for _, policy := range policies {
		letter, ok := letters[policy]
		if !ok {
			letter = string(rune('a' + len(key.Letters)))
			key.Letters[letter] = policy
		}
		text := measure.CutUnits(x.texts[policy], x.budget*measure.CharsPerToken)
		files[letter+"/text.txt"] = text
		if before, err := os.ReadFile(filepath.Join(dir, letter, "text.txt")); err != nil || string(before) != text {
			for _, said := range []string{"grades.json", letter + "/answers.json", letter + "/lookups.txt"} {
				if err := os.Remove(filepath.Join(dir, filepath.FromSlash(said))); err != nil && !os.IsNotExist(err) {
					return err
				}
			}
		}
		files[letter+"/tail.txt"] = files["full/tail.txt"]
		if strings.HasSuffix(policy, RecallSuffix) {
			log, err := logOf(ctx, slices.Concat(x.dropped, x.kept))
			if err != nil {
				return err
			}
			files[letter+"/log.jsonl"] = log
			files[letter+"/lookup"] = lookupScript
		}
	}
	for path, text := range files {
		full := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if filepath.Base(path) == "lookup" {
			mode = 0o755
		}
		if err := os.WriteFile(full, []byte(text), mode); err != nil {
			return err
		}
	}
	keys[name] = key
	data, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.Dir, "key.json"), data, 0o644)
}

const lookupScript = `#!/bin/sh
# Read or search the log of this point. Each use counts.
here=$(dirname "$0")
echo "$*" >> "$here/lookups.txt"
exec clew recall "$here/log.jsonl" "$@"
`

// transcriptOf writes messages as a reader sees them.
func transcriptOf(items []session.Item) string {
	var b strings.Builder
	for i, it := range items {
		m, where := neutral(it.Message)
		if where == placeOut {
			continue
		}
		fmt.Fprintf(&b, "=== %d %s\n%s\n", i+1, it.Message.Role, raw(&m))
	}
	return b.String()
}

// logOf writes the entries of the items as a session of their own.
func logOf(ctx context.Context, items []session.Item) (string, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"type":"session","version":%d,"id":"probe","timestamp":"2000-01-01T00:00:00Z","cwd":"/"}`+"\n", session.Version)
	parent := ""
	for _, it := range items {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		// What stands between messages is left out, so the record has to name another parent.
		e := it.Entry.WithIdentity(it.Entry.ID, parent)
		parent = e.ID
		b.Write(append(bytes.Clone(e.Raw()), '\n'))
	}
	return b.String(), nil
}

func (p Probe) keys() (map[string]probeKey, error) {
	keys := map[string]probeKey{}
	err := readJSON(filepath.Join(p.Dir, "key.json"), &keys)
	return keys, err
}

// readJSON reads a file; one that is not there changes nothing.
func readJSON(path string, to any) error {
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// The briefs of the readers.
const (
	briefWriter = `You write questions for a test of memory. The folder full/ has three files: dropped.txt is the beginning of a session of
a coding agent, tail.txt what followed, future.txt what came after that. Read all three completely. Write 14 questions whose
answers stand in dropped.txt and not in tail.txt, and which the agent would need for what it does in future.txt: 3 of kind rule
(what the user wants kept to), 3 state (how things stood at the end of dropped.txt), 3 artifact (files, functions, commands), 2
cause (why something was so or was decided), 3 detail (an exact value, name or message). Each has one definite answer of one or two
sentences, is no trivia, and gives away no other. Answer with JSON alone: [{"id":"q1","kind":"rule","question":"...","full":"what a full
answer says","half":"what is worth half"}, ...]`
	briefAnswer = `You are a coding agent. The beginning of your session was dropped; text.txt stands in its place and tail.txt is what followed.
Answer each question from these two alone, in one or two sentences. Where they do not tell, write "unsure" and your best inference.
Answer with JSON alone: {"q1": "...", ...}`
	briefLookup = `You may also use ./lookup, at most twice a question: "./lookup WORDS" searches the log of the whole session, "./lookup ID"
reads an entry, "./lookup --help" tells more. Handles in text.txt such as [#1a2b3c4d] name entries. Use it only where the texts do not tell.`
	briefGrade = `Grade answers. For each question there is what a full and a half answer say, and answers under letters. Judge the content
alone: 1, 0.5 or 0. "unsure" is no reason to deduct when the content is right. Answer with JSON alone: {"q1": {"a": 1, "b": 0.5}, ...}`
)

// briefs is the text that tells people how to play the readers.
func briefs() string {
	return "# Readers\n\nOne reader for each part; none knows what the others saw, or which letter is which policy.\n\n## NN/questions.json\n\n" + briefWriter +
		"\n\n## NN/LETTER/answers.json\n\n" + briefAnswer + "\n\nWhere there is a file lookup: " + briefLookup + "\n\n## NN/grades.json\n\n" + briefGrade + "\n"
}

// Ask lets a program play the readers that have not answered yet: it is run in the
// folder of its point with the brief on its standard input, and writes JSON.
func (p Probe) Ask(ctx context.Context, program []string) error {
	keys, err := p.keys()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		dir := filepath.Join(p.Dir, name)
		if err := ask(ctx, program, dir, "questions.json", briefWriter, "full/dropped.txt", "full/tail.txt", "full/future.txt"); err != nil {
			return err
		}
		questions, err := readQuestions(dir)
		if err != nil {
			return err
		}
		var list strings.Builder
		for _, q := range questions {
			fmt.Fprintf(&list, "%s (%s): %s\n", q.ID, q.Kind, q.Text)
		}
		all := map[string]map[string]string{}
		for letter, policy := range keys[name].Letters {
			brief := briefAnswer
			if strings.HasSuffix(policy, RecallSuffix) {
				brief += "\n" + briefLookup
			}
			own := filepath.Join(dir, letter)
			if err := ask(ctx, program, own, "answers.json", brief+"\n\n"+list.String(), "text.txt", "tail.txt"); err != nil {
				return err
			}
			answers := map[string]string{}
			if err := readJSON(filepath.Join(own, "answers.json"), &answers); err != nil {
				return err
			}
			all[letter] = answers
		}
		var sheet strings.Builder
		for _, q := range questions {
			fmt.Fprintf(&sheet, "\n%s: %s\nfull: %s\nhalf: %s\n", q.ID, q.Text, q.Full, q.Half)
			for _, letter := range slices.Sorted(maps.Keys(all)) {
				fmt.Fprintf(&sheet, "  %s: %s\n", letter, all[letter][q.ID])
			}
		}
		if err := ask(ctx, program, dir, "grades.json", briefGrade+"\n"+sheet.String()); err != nil {
			return err
		}
	}
	return nil
}

// ask runs the program once, unless its answer is there already. The files follow the
// brief on its input.
func ask(ctx context.Context, program []string, dir, out, brief string, files ...string) error {
	path := filepath.Join(dir, out)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	input := brief
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f)))
		if err != nil {
			return err
		}
		input += "\n\n<file name=\"" + f + "\">\n" + string(data) + "\n</file>\n"
	}
	cmd := exec.CommandContext(ctx, program[0], program[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, strings.NewReader(input), os.Stderr
	data, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("the reader %s, for %s: %w", program[0], path, err)
	}
	if from, to := bytes.IndexAny(data, "[{"), bytes.LastIndexAny(data, "]}"); from >= 0 && to > from {
		data = data[from : to+1] // what stands around the JSON is talk
	}
	if !json.Valid(data) {
		return fmt.Errorf("the reader %s, for %s: it wrote no JSON", program[0], path)
	}
	return os.WriteFile(path, data, 0o644)
}

func readQuestions(dir string) (out []Question, err error) {
	err = readJSON(filepath.Join(dir, "questions.json"), &out)
	return out, err
}

// Kinds are the kinds of questions.
func Kinds() []string { return []string{"rule", "state", "artifact", "cause", "detail"} }

// Grade is how the readers of a policy did.
type Grade struct {
	Policy    string             `json:"policy"`
	Questions int                `json:"questions"`
	Sessions  int                `json:"sessions"`
	All       float64            `json:"all"`
	Low       float64            `json:"low"` // of the 95 % interval of All, sessions drawn again
	High      float64            `json:"high"`
	Kinds     map[string]float64 `json:"kinds"`
	Lookups   float64            `json:"lookups"` // for each question
}

// Grades reads the graded answers of a probe, the best policy first.
func (p Probe) Grades() ([]Grade, error) {
	keys, err := p.keys()
	if err != nil {
		return nil, err
	}
	type tally struct {
		sum, n map[string]float64
		points [][2]float64 // sum and number of each point
		looked float64
	}
	by := map[string]*tally{}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		dir := filepath.Join(p.Dir, name)
		questions, err := readQuestions(dir)
		if err != nil {
			return nil, err
		}
		grades := map[string]map[string]float64{}
		if err := readJSON(filepath.Join(dir, "grades.json"), &grades); err != nil {
			return nil, err
		}
		for letter, policy := range keys[name].Letters {
			t := by[policy]
			if t == nil {
				t = &tally{sum: map[string]float64{}, n: map[string]float64{}}
				by[policy] = t
			}
			var point [2]float64
			for _, q := range questions {
				g, ok := grades[q.ID][letter]
				if !ok {
					continue
				}
				t.sum[q.Kind] += g
				t.n[q.Kind]++
				point[0] += g
				point[1]++
			}
			if point[1] == 0 {
				continue
			}
			t.points = append(t.points, point)
			if data, err := os.ReadFile(filepath.Join(dir, letter, "lookups.txt")); err == nil {
				t.looked += float64(bytes.Count(data, []byte("\n")))
			}
		}
	}
	var out []Grade
	for policy, t := range by {
		if len(t.points) == 0 {
			continue
		}
		g := Grade{Policy: policy, Sessions: len(t.points), Kinds: map[string]float64{}}
		sum := 0.0
		for _, pt := range t.points {
			sum += pt[0]
			g.Questions += int(pt[1])
		}
		g.All, g.Lookups = sum/float64(g.Questions), t.looked/float64(g.Questions)
		for kind, n := range t.n {
			g.Kinds[kind] = t.sum[kind] / n
		}
		g.Low, g.High = drawnAgain(t.points, 2)
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b Grade) int { return cmp.Or(cmp.Compare(b.All, a.All), cmp.Compare(a.Policy, b.Policy)) })
	return out, nil
}

// GradeTable writes grades as a table.
func GradeTable(grades []Grade) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "policy\tquestions\tall\t95%%\t%s\tlookups\t\n", strings.Join(Kinds(), "\t"))
	for _, g := range grades {
		fmt.Fprintf(w, "%s\t%d\t%.3f\t%.2f to %.2f\t", g.Policy, g.Questions, g.All, g.Low, g.High)
		for _, k := range Kinds() {
			fmt.Fprintf(w, "%.2f\t", g.Kinds[k])
		}
		fmt.Fprintf(w, "%.2f\t\n", g.Lookups)
	}
	_ = w.Flush()
	return b.String()
}
