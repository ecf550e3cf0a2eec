package sessiongen

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"regexp"
	"strings"
	"testing"
)

func variants() map[string]Options {
	return map[string]Options{
		"wild":        {},
		"pi-safe":     {PiSafe: true},
		"well-formed": {WellFormed: true},
		"v2":          {Version: 2, PiSafe: true},
		"v2 well":     {Version: 2, WellFormed: true},
		"v1":          {Version: 1},
		"v1 well":     {Version: 1, WellFormed: true},
	}
}

// seeds is how many seeds to try of n.
func seeds(n uint64) uint64 {
	if testing.Short() {
		return n / 5
	}
	return n
}

func TestSameSeedSameBytes(t *testing.T) {
	for name, o := range variants() {
		for seed := range seeds(20) {
			a, b := Generate(seed, o), Generate(seed, o)
			if !bytes.Equal(a.Bytes(), b.Bytes()) {
				t.Fatalf("%s, seed %d: two runs differ", name, seed)
			}
			if c := Generate(seed+1000, o); bytes.Equal(a.Bytes(), c.Bytes()) {
				t.Fatalf("%s: seeds %d and %d give the same session", name, seed, seed+1000)
			}
		}
	}
}

// The sum is that of one machine; it has to come out on every other. It changes
// whenever the generator does.
func TestSameBytesOnEveryMachine(t *testing.T) {
	h := sha256.New()
	for seed := range uint64(10) {
		h.Write(Generate(seed, Options{}).Bytes())
		h.Write(Generate(seed, Options{WellFormed: true}).Bytes())
	}
	const want = "56661f7f65be3bd7"
	if got := hex.EncodeToString(h.Sum(nil))[:16]; got != want {
		t.Errorf("sum of 20 sessions is %s, want %s", got, want)
	}
}

func TestEntriesDescribeTheBytes(t *testing.T) {
	for name, o := range variants() {
		for seed := range seeds(30) {
			s := Generate(seed, o)
			data := s.Bytes()
			lines := bytes.Split(data, []byte("\n"))
			if s.Stats.Entries != len(s.Entries) || s.Stats.Bytes != len(data) || s.Stats.Sessions != 1 {
				t.Fatalf("%s, seed %d: stats say %d entries, %d bytes", name, seed, s.Stats.Entries, s.Stats.Bytes)
			}
			for _, e := range s.Entries {
				line := data[e.Start:e.End]
				if !bytes.Equal(line, lines[e.Line-1]) {
					t.Fatalf("%s, seed %d: line %d is not at bytes %d to %d", name, seed, e.Line, e.Start, e.End)
				}
				if e.Type == "malformed" || s.Stats.With[MalformedRecords] > 0 {
					continue
				}
				var r record
				if err := json.Unmarshal(line, &r); err != nil {
					t.Fatal(err)
				}
				parent := ""
				if r.ParentID != nil {
					parent = *r.ParentID
				}
				if got := (Entry{ID: r.ID, Parent: parent, Type: r.Type, Role: r.role(), Line: e.Line, Start: e.Start, End: e.End}); got != e {
					t.Fatalf("%s, seed %d: entry is %+v, line says %+v", name, seed, e, got)
				}
			}
		}
	}
}

func TestWellFormed(t *testing.T) {
	for _, version := range []int{1, 2, 3} {
		for seed := range seeds(50) {
			s := Generate(seed, Options{WellFormed: true, Version: version})
			header, entries := readAll(t, s.Bytes())
			checkWellFormed(t, fmt.Sprintf("version %d, seed %d", version, seed), header, entries)
		}
	}
	// Edits and compactions are what can tear a context apart.
	for seed := range seeds(50) {
		s := Generate(seed, Options{WellFormed: true, Odds: Odds{Edit: 0.4, Compact: 0.1, Branch: 0.1}})
		header, entries := readAll(t, s.Bytes())
		checkWellFormed(t, fmt.Sprintf("many edits, seed %d", seed), header, entries)
	}
}

func checkWellFormed(t *testing.T, name string, header record, entries []record) {
	t.Helper()
	parents, byID := treeOf(header, entries)
	if header.Version > 1 && len(byID) != len(entries) {
		t.Fatalf("%s: ids are not unique", name)
	}
	for i, e := range entries {
		if header.Version > 1 && e.ParentID != nil && (parents[i] < 0 || parents[i] >= i) {
			t.Fatalf("%s: parent of %s is not an earlier entry", name, e.ID)
		}
		if e.TargetID != nil {
			if at, ok := byID[*e.TargetID]; !ok || at >= i {
				t.Fatalf("%s: target of %s is not an earlier entry", name, e.ID)
			}
		}
	}
	for _, leaf := range leavesOf(parents) {
		path := pathTo(parents, leaf)
		for k, i := range path {
			if entries[i].Type == "compaction" {
				if _, ok := keptFrom(header, entries, path, k); !ok {
					t.Fatalf("%s: first kept entry of %s dangles", name, entries[i].ID)
				}
			}
		}
		if wrong := unpaired(t, entries, path, nil); wrong != "" {
			t.Fatalf("%s, path to %s: %s", name, entries[leaf].ID, wrong)
		}
		visible, edits := contextOf(header, entries, path)
		if wrong := unpaired(t, entries, visible, edits); wrong != "" {
			t.Fatalf("%s, context of %s: %s", name, entries[leaf].ID, wrong)
		}
	}
}

// A wild session breaks what checkWellFormed asks for; if none did, the check would be blind.
func TestWildIsNotWellFormed(t *testing.T) {
	broken := 0
	for seed := range uint64(40) {
		header, entries := readAll(t, Generate(seed, Options{PiSafe: true}).Bytes())
		parents, _ := treeOf(header, entries)
		for _, leaf := range leavesOf(parents) {
			if unpaired(t, entries, pathTo(parents, leaf), nil) != "" {
				broken++
				break
			}
		}
	}
	if broken < 20 {
		t.Errorf("%d of 40 wild sessions have calls and results that do not pair", broken)
	}
}

// What makes pi throw: see the fields its estimate and serialization read without a check.
func TestPiSafe(t *testing.T) {
	for seed := range seeds(120) {
		s := Generate(seed, Options{PiSafe: true})
		header, entries := readAll(t, s.Bytes())
		parents, byID := treeOf(header, entries)
		if len(byID) != len(entries) {
			t.Fatalf("seed %d: duplicate ids", seed)
		}
		for i, e := range entries {
			bad := func(what string) { t.Fatalf("seed %d: %s in %.300s", seed, what, e.raw) }
			switch {
			case e.ID == "" || e.Type == "":
				bad("no id or type")
			case parents[i] >= i:
				bad("the parent comes later")
			case (e.Type == "compaction" || e.Type == "branch_summary") && e.Summary == nil:
				bad("no summary")
			case e.Type == "context_edit" && len(e.Replacement) == 0:
				bad("no replacement")
			case e.Type == "custom_message":
				checkContent(t, bad, e.Content)
			case e.Type == "message" && e.role() == "bashExecution":
				if e.Message.Command == nil || e.Message.Output == nil {
					bad("no command or output")
				}
			case e.Type == "message":
				checkContent(t, bad, e.Message.Content)
				if e.role() == "assistant" && e.Message.Content[0] != '[' {
					bad("an answer whose content is no list")
				}
			}
		}
	}
}

func checkContent(t *testing.T, bad func(string), content json.RawMessage) {
	t.Helper()
	if len(content) == 0 || string(content) == "null" {
		bad("no content")
	}
	for _, b := range blocksOf(t, content) {
		switch {
		case b.Type == "text" && b.Text == nil, b.Type == "thinking" && b.Thinking == nil:
			bad("a block without text")
		case b.Type == "toolCall" && (b.Name == nil || len(b.Arguments) == 0 || b.Arguments[0] != '{'):
			bad("a call without name or arguments")
		}
	}
}

// The smallest share of sessions with each feature, over 500 sessions with defaults.
var minimum = map[Feature]float64{
	TwoCompactions:    0.40,
	ParallelCalls:     0.90,
	ShuffledResults:   0.75,
	MissingResults:    0.70,
	OrphanResults:     0.20,
	EditsOnKept:       0.20,
	EditsOnFixed:      0.05,
	Omissions:         0.65,
	Replacements:      0.65,
	Branches:          0.70,
	SeveralRoots:      0.30,
	Images:            0.80,
	CJK:               0.95,
	Emoji:             0.95,
	LoneSurrogates:    0.60,
	LabelFirstKept:    0.20,
	RetainNone:        0.12,
	DanglingFirstKept: 0.10,
	NestedCompaction:  0.30,
	CustomMessages:    0.65,
	BashRuns:          0.65,
	BashExcluded:      0.30,
	SystemSections:    0.50,
	SystemTools:       0.50,
	UsageRecords:      0.40,
	BranchSummaries:   0.55,
	FailedAnswers:     0.70,
	SignedThinking:    0.90,
	OddArguments:      0.70,
	Labels:            0.65,
	DanglingRefs:      0.12,
	UnknownRecords:    0.60,
	MalformedRecords:  0.20,
	DuplicateIDs:      0.04,
	Cycles:            0.02,
}

func TestShares(t *testing.T) {
	var all Stats
	for seed := range uint64(500) {
		all.Merge(Generate(seed, Options{}).Stats)
	}
	t.Log(all.Shares())
	for _, short := range all.Below(minimum) {
		t.Error(short)
	}
}

func TestBelow(t *testing.T) {
	s := Stats{Sessions: 4, With: map[Feature]int{Images: 1}}
	if got := s.Below(map[Feature]float64{Images: 0.25}); len(got) != 0 {
		t.Errorf("a share that is met is reported: %q", got)
	}
	if got := s.Below(map[Feature]float64{Images: 0.26, CJK: 0.1}); len(got) != 2 || !strings.Contains(got[0], "CJK: 0.0 %") {
		t.Errorf("got %q", got)
	}
}

var (
	cjkPattern       = regexp.MustCompile(`[\x{3040}-\x{30ff}\x{4e00}-\x{9fff}\x{ac00}-\x{d7a3}]`)
	emojiPattern     = regexp.MustCompile(`[\x{1f300}-\x{1faff}\x{1f1e6}-\x{1f1ff}\x{2705}]`)
	escapedHalf      = regexp.MustCompile(`(?i)\\u(d[89a-f][0-9a-f]{2})`)
	escapedPair      = regexp.MustCompile(`(?i)\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}`)
	escapedBackslash = regexp.MustCompile(`\\\\`)
)

// Stats are only worth something if a reader that knows nothing of the generator
// finds the same features in the file.
func TestStatsAreTrue(t *testing.T) {
	for name, o := range map[string]Options{"pi-safe": {PiSafe: true}, "well-formed": {WellFormed: true}, "v2": {Version: 2, PiSafe: true}} {
		for seed := range seeds(50) {
			s := Generate(seed, o)
			found := recount(t, s.Bytes())
			for f := range minimum {
				if f == DanglingRefs || f == UnknownRecords || f == OddArguments {
					continue // seen by the sections below and by their absence elsewhere
				}
				if got, want := s.Stats.With[f] > 0, found[f]; got != want {
					t.Errorf("%s, seed %d: stats say %s is %v, the file says %v", name, seed, f, got, want)
				}
			}
		}
	}
}

func recount(t *testing.T, data []byte) map[Feature]bool {
	t.Helper()
	header, entries := readAll(t, data)
	parents, byID := treeOf(header, entries)
	has := map[Feature]bool{}
	flat := escapedBackslash.ReplaceAll(data, nil)
	has[LoneSurrogates] = escapedHalf.Match(escapedPair.ReplaceAll(flat, nil))
	has[Images] = bytes.Contains(data, []byte(`{"type":"image"`))

	children, roots := map[int]int{}, 0
	for i, e := range entries {
		children[parents[i]]++
		if parents[i] < 0 {
			roots++
		}
		switch e.Type {
		case "custom_message":
			has[CustomMessages] = true
		case "usage":
			has[UsageRecords] = true
		case "branch_summary":
			has[BranchSummaries] = true
		case "label":
			if _, ok := byID[*e.TargetID]; ok {
				has[Labels] = true
			}
		case "context_edit":
			at, ok := byID[*e.TargetID]
			if !ok {
				break
			}
			has[Omissions] = has[Omissions] || string(e.Replacement) == "null"
			has[Replacements] = has[Replacements] || string(e.Replacement) != "null"
			target := &entries[at]
			switch target.role() {
			case "user", "assistant", "toolResult":
			default:
				has[EditsOnFixed] = has[EditsOnFixed] || target.Type != "custom_message"
			}
			path := pathTo(parents, i)
			for c := len(path) - 1; c >= 0; c-- {
				if entries[path[c]].Type == "compaction" {
					from, _ := keptFrom(header, entries, path, c)
					for _, k := range path[from:c] {
						has[EditsOnKept] = has[EditsOnKept] || k == at
					}
					break
				}
			}
		case "compaction":
			path := pathTo(parents, i)
			c := len(path) - 1
			for _, k := range path[:c] {
				has[TwoCompactions] = has[TwoCompactions] || entries[k].Type == "compaction"
			}
			from, ok := keptFrom(header, entries, path, c)
			has[DanglingFirstKept] = has[DanglingFirstKept] || !ok
			has[RetainNone] = has[RetainNone] || ok && from == c
			if ok && from < c {
				has[LabelFirstKept] = has[LabelFirstKept] || entries[path[from]].Type == "label"
				for _, k := range path[from:c] {
					has[NestedCompaction] = has[NestedCompaction] || entries[k].Type == "compaction"
				}
			}
			has[SystemSections] = has[SystemSections] || len(e.SystemMessage) > 0
			has[SystemTools] = has[SystemTools] || len(e.SystemMessage) > 0
		}
		if e.Type != "message" {
			continue
		}
		switch m := e.Message; m.Role {
		case "custom", "hookMessage":
			has[CustomMessages] = true
		case "bashExecution":
			has[BashRuns] = true
			has[BashExcluded] = has[BashExcluded] || m.ExcludeFromContext
		case "system":
			has[SystemSections] = has[SystemSections] || m.Sections != nil
			has[SystemTools] = has[SystemTools] || m.ToolsAdded != nil
		case "assistant":
			calls := 0
			for _, b := range blocksOf(t, m.Content) {
				if b.Type == "toolCall" {
					calls++
				}
				has[SignedThinking] = has[SignedThinking] || b.ThinkingSignature != ""
			}
			has[ParallelCalls] = has[ParallelCalls] || calls > 1
			has[FailedAnswers] = has[FailedAnswers] || m.StopReason == "aborted" || m.StopReason == "error"
		}
	}
	for i := range entries {
		has[Branches] = has[Branches] || children[i] > 1
	}
	has[SeveralRoots] = roots > 1
	for _, leaf := range leavesOf(parents) {
		pairing(t, entries, pathTo(parents, leaf), has)
	}
	text := decoded(t, data)
	has[CJK] = cjkPattern.MatchString(text)
	has[Emoji] = emojiPattern.MatchString(text)
	return has
}

// pairing looks at the answers of a path and the results that follow each before
// another message that can be seen.
func pairing(t *testing.T, entries []record, path []int, has map[Feature]bool) {
	t.Helper()
	var calls []string
	got := map[string]bool{}
	at := 0
	end := func() {
		for _, c := range calls {
			has[MissingResults] = has[MissingResults] || !got[c]
		}
		calls, got, at = nil, map[string]bool{}, 0
	}
	for _, i := range path {
		e := &entries[i]
		switch {
		case e.role() == "toolResult":
			id := e.Message.ToolCallID
			where := -1
			for k, c := range calls {
				if c == id {
					where = k
				}
			}
			switch {
			case where < 0:
				has[OrphanResults] = true
			case where < at:
				has[ShuffledResults] = has[ShuffledResults] || !got[id]
			default:
				at = where
			}
			got[id] = true
		case e.role() == "assistant":
			end()
			for _, b := range blocksOf(t, e.Message.Content) {
				if b.Type == "toolCall" {
					calls = append(calls, b.ID)
				}
			}
		case e.role() != "", e.Type == "custom_message", e.Type == "compaction", e.Type == "branch_summary":
			end()
		}
	}
	end()
}

// decoded joins all strings of the file with their escapes resolved.
func decoded(t *testing.T, data []byte) string {
	t.Helper()
	var b strings.Builder
	d := json.NewDecoder(bytes.NewReader(data))
	for {
		tok, err := d.Token()
		if err != nil {
			return b.String()
		}
		if s, ok := tok.(string); ok {
			b.WriteString(s)
			b.WriteByte('\n')
		}
	}
}

func TestVersions(t *testing.T) {
	var v1, v2 Stats
	for seed := range uint64(60) {
		s := Generate(seed, Options{Version: 1, PiSafe: true})
		v1.Merge(s.Stats)
		header, entries := readAll(t, s.Bytes())
		if header.Version != 0 {
			t.Fatalf("a version 1 header says version %d", header.Version)
		}
		for _, e := range entries {
			if e.ID != "" || e.ParentID != nil || e.FirstKeptEntryID != nil {
				t.Fatalf("a version 1 record has ids: %.200s", e.raw)
			}
			if e.Type == "compaction" && e.FirstKeptEntryIndex == nil {
				t.Fatalf("a version 1 compaction has no index: %.200s", e.raw)
			}
		}
		s = Generate(seed, Options{Version: 2, PiSafe: true})
		v2.Merge(s.Stats)
		header, _ = readAll(t, s.Bytes())
		if header.Version != 2 {
			t.Fatalf("a version 2 header says version %d", header.Version)
		}
	}
	for _, short := range v1.Below(map[Feature]float64{TwoCompactions: 0.3, ParallelCalls: 0.9, MissingResults: 0.4, DanglingFirstKept: 0.05, NestedCompaction: 0.1}) {
		t.Error("version 1:", short)
	}
	for _, short := range v2.Below(map[Feature]float64{TwoCompactions: 0.3, Branches: 0.5, CustomMessages: 0.5}) {
		t.Error("version 2:", short)
	}
	if v2.Types["message/hookMessage"] == 0 || v2.Types["context_edit"]+v2.Types["usage"]+v2.Types["message/system"] > 0 {
		t.Errorf("version 2 has %v", v2.Types)
	}
}

func TestHugeTextsAndLongChains(t *testing.T) {
	s := Generate(3, Options{Entries: 60, HugeUsers: 1, HugeResults: 2, HugeUserBytes: 100_000, HugeResultBytes: 700_000})
	if n := s.Stats.Count[HugeTexts]; n != 3 {
		t.Errorf("%d huge texts, want 3", n)
	}
	if s.Stats.Bytes < 1_500_000 || s.Stats.Bytes > 2_500_000 {
		t.Errorf("%d bytes", s.Stats.Bytes)
	}
	readAll(t, s.Bytes())

	n := 20_000
	if testing.Short() {
		n = 5_000
	}
	s = Generate(4, Options{Entries: n, UserBytes: 10, AnswerBytes: 10, ResultBytes: 10, WellFormed: true, Odds: Odds{Branch: -1, Root: -1}})
	header, entries := readAll(t, s.Bytes())
	parents, _ := treeOf(header, entries)
	if leaves := leavesOf(parents); len(leaves) != 1 || len(entries) < n {
		t.Fatalf("%d entries with %d leaves, want one chain", len(entries), len(leaves))
	}
}

func TestNeverMeansNever(t *testing.T) {
	o := Options{Entries: 300, Odds: Odds{Compact: -1, Edit: -1, Branch: -1, Root: -1, DanglingRef: -1, Malformed: -1, Cycle: -1, DuplicateID: -1}}
	for seed := range uint64(10) {
		s := Generate(seed, o)
		for _, f := range []Feature{TwoCompactions, RetainNone, Omissions, Replacements, Branches, SeveralRoots, MalformedRecords, Cycles, DuplicateIDs} {
			if s.Stats.Count[f] > 0 {
				t.Errorf("seed %d has %s", seed, f)
			}
		}
	}
}

func TestImagesHaveTheSizeTheySay(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {640, 480}, {3000, 4000}} {
		for kind, data := range map[string][]byte{"png": png(size[0], size[1]), "jpeg": jpeg(size[0], size[1])} {
			c, format, err := image.DecodeConfig(bytes.NewReader(data))
			if err != nil || format != kind || c.Width != size[0] || c.Height != size[1] {
				t.Errorf("%s %v: %v %s %v", kind, size, c, format, err)
			}
		}
	}
	if _, _, err := image.Decode(bytes.NewReader(png(16, 9))); err != nil {
		t.Errorf("a small picture does not decode: %v", err)
	}
}

func TestGenerateRefusesAnUnknownVersion(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("version 4 was accepted")
		}
	}()
	Generate(1, Options{Version: 4})
}
