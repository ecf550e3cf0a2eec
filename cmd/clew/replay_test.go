package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/replay"
)

const exampleSession = "../../examples/long-session.jsonl"

func runReplay(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := Main(append([]string{"replay"}, args...), strings.NewReader(""), &out, &errs); code != exitDone {
		t.Fatalf("replay %v: exit code %d: %s", args, code, errs.String())
	}
	return out.String(), errs.String()
}

// The example session: a table with the policies that were asked for, the same each
// time, with nothing on the error output and no colours.
func TestReplayExample(t *testing.T) {
	if testing.Short() {
		t.Skip("another form of what TestReplayJSONAndFiles writes")
	}
	t.Parallel()
	out, errs := runReplay(t, "--policy", "clew", exampleSession)
	if errs != "" || strings.Contains(out, "\x1b") {
		t.Errorf("error output %q, or colours in\n%s", errs, out)
	}
	for _, want := range []string{
		`(?m)^3 points in 1 session; 4,000 tokens a text, a tail of 8,000\.$`,
		`(?m)^policy +cCR +CR +IR +IR-c +trail +fresh +made up +plain +junk +decay +tokens +cost +median +rewrites +context +lost cache$`,
		`(?m)^clew +\.[4-9]\d +\.[5-9]\d `, `(?m)^extract +\.\d\d `, `(?m)^soup +\.00 1\.00 `, `(?m)^tail +\.00 +\.00 `,
		`(?m)^append +1\.00 +1\.00 +0 `, `(?m)^model `,
		`(?m)^Costs: 1 session of at least 60,000 tokens, rewritten at 100,000, prices anthropic`,
		`(?m)^Meter: \d+ calls with usage`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("nothing matches %s in\n%s", want, out)
		}
	}
	if again, _ := runReplay(t, "--policy", "clew", exampleSession); again != out {
		t.Errorf("a second run printed\n%s\nafter\n%s", again, out)
	}
}

func TestReplayJSONAndFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	prices := filepath.Join(dir, "prices.json")
	if err := os.WriteFile(prices, []byte(`{"*": {"input": 3, "output": 15}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	html, dump := filepath.Join(dir, "report.html"), filepath.Join(dir, "texts")
	out, _ := runReplay(t, "--json", "--policy", "clew,mask", "--prices", prices, "--html", html, "--dump", dump, exampleSession)
	var got struct {
		Points int
		Kept   []struct {
			Policy string
			CCR    *float64
			Chain  []float64
			Gates  replay.Gates
		}
		Costs struct {
			Gaps     []string
			Prices   string
			Policies []struct {
				Policy  string
				Dollars float64
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.Points != 3 || len(got.Kept) != 8 || got.Kept[0].Policy != "clew" || got.Kept[0].CCR == nil || len(got.Kept[0].Chain) != 3 {
		t.Errorf("%+v", got.Kept)
	}
	if g := got.Kept[0].Gates; g.OverBudget+g.Lists+g.Unstable > 0 {
		t.Errorf("gates: %+v", g)
	}
	if c := got.Costs; len(c.Gaps) != 2 || c.Prices != "prices.json" || c.Policies[0].Policy != "append" || c.Policies[0].Dollars <= 0 {
		t.Errorf("%+v", c)
	}
	texts, err := os.ReadDir(dump)
	if err != nil || len(texts) != 24 {
		t.Errorf("%d texts (%v)", len(texts), err)
	}
	page, err := os.ReadFile(html)
	if err != nil || !bytes.Contains(page, []byte("long-session.jsonl")) {
		t.Errorf("the page has %d bytes (%v)", len(page), err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 3 {
		t.Errorf("%d files beside the page (%v)", len(left), err)
	}
}
