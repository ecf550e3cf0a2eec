package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/modeltest"
)

// TestSummarizer asks a model over the wire, at a server that speaks the formats of
// the providers.
func TestSummarizer(t *testing.T) {
	const good = "## Goal\n- go through the steps\n\n## Progress\n### In Progress\n- [ ] the step that comes next\n"
	t.Setenv("TEST_KEY", modeltest.Key)
	for _, name := range []string{"anthropic/claude-haiku-4-5", "openai/gpt-5-mini", "gemini/gemini-2.5-flash", "ollama/qwen3:8b"} {
		for _, c := range []struct {
			reply modeltest.Reply
			by    string
		}{{modeltest.Text(good), name}, {modeltest.Refused("no"), "deterministic"}} {
			srv := modeltest.Start(modeltest.Config{}, c.reply, c.reply, c.reply, c.reply)
			var base string
			switch provider, _, _ := strings.Cut(name, "/"); provider {
			case "openai", "ollama":
				base = srv.OpenAI("x").BaseURL
			case "gemini":
				base = srv.Gemini("x").BaseURL
			default:
				base = srv.Endpoint("x").BaseURL
			}
			file := filepath.Join(t.TempDir(), "s.jsonl")
			if err := os.WriteFile(file, longSession(40, 3), 0o600); err != nil {
				t.Fatal(err)
			}
			out, _ := run(t, exitDone, "compact", "--json", "--window", "16k", "--summarizer", name, "--base-url", base, "--key-env", "TEST_KEY", file)
			var r compactReport
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatal(err)
			}
			if got := strings.ReplaceAll(r.Summarizer, "google/", "gemini/"); got != c.by || (c.by == "deterministic") != (len(r.Rejected) > 0) || r.Usage == nil {
				t.Errorf("%s: made by %s, refused %v, usage %+v", name, r.Summarizer, r.Rejected, r.Usage)
			}
			if bad := srv.Violations(); len(bad) > 0 {
				t.Errorf("%s: requests that are not valid: %v", name, bad)
			}
			if strings.Contains(out+mustRead(t, file), modeltest.Key) {
				t.Error("the key is in the output or in the session")
			}
			srv.Close()
			run(t, exitDone, "verify", file)
		}
	}
	file := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(file, longSession(2, 3), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, exitUsage, "compact", "--summarizer", "nobody", file)
	run(t, exitUsage, "compact", "--summarizer", "nobody/x", file)
	run(t, exitUsage, "compact", "--base-url", "http://localhost", file)
}

// TestSummarizerSame asks the model that the session's answers name.
func TestSummarizerSame(t *testing.T) {
	t.Setenv("TEST_KEY", modeltest.Key)
	srv := modeltest.Start(modeltest.Config{}, modeltest.Text("## Goal\n- go through the steps\n"), modeltest.Text("## Goal\n- go through the steps\n"))
	defer srv.Close()
	file := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(file, longSession(40, 3), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := run(t, exitDone, "compact", "--dry-run", "--json", "--preset", "pi", "--window", "16k", "--summarizer", "same", "--base-url", srv.URL, "--key-env", "TEST_KEY", file)
	var r compactReport
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if r.Summarizer != "anthropic/claude-opus-4-5" {
		t.Errorf("made by %q, refused %v", r.Summarizer, r.Rejected)
	}
	empty := filepath.Join(t.TempDir(), "empty.jsonl")
	if err := os.WriteFile(empty, longSession(0, 3), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, exitUsage, "compact", "--summarizer", "same", empty); !strings.Contains(err, "names a model") {
		t.Error(err)
	}
}

// A model that fails for a passing reason is called as often as the setting says, else the preset.
func TestTriesOfASummary(t *testing.T) {
	t.Setenv("TEST_KEY", modeltest.Key)
	for _, c := range []struct {
		preset, variable, value string
		calls                   int
	}{{"synapse", "", "", 3}, {"synapse", "SYNAPSE_COMPACT_RETRY_COUNT", "2", 2}, {"clew", "CLEW_SUMMARY_TRIES", "1", 1}} {
		if c.variable != "" {
			t.Setenv(c.variable, c.value)
		}
		srv := modeltest.Start(modeltest.Config{})
		for range 5 {
			srv.Add(modeltest.Fail(model.KindServer))
		}
		file := filepath.Join(t.TempDir(), "s.jsonl")
		if err := os.WriteFile(file, longSession(40, 3), 0o600); err != nil {
			t.Fatal(err)
		}
		out, _ := run(t, exitDone, "compact", "--json", "--preset", c.preset, "--window", "16k", "--summarizer", "anthropic/claude-haiku-4-5",
			"--base-url", srv.URL, "--key-env", "TEST_KEY", file)
		if n := len(srv.Exchanges()); n != c.calls || !strings.Contains(out, `"summarizer": "deterministic"`) {
			t.Errorf("%s, %s=%s: %d calls\n%s", c.preset, c.variable, c.value, n, out)
		}
		srv.Close()
	}
}

// TestSummarizerIsAskedOnce: also where an interrupted call must be settled first, and
// the plan is made anew.
func TestSummarizerIsAskedOnce(t *testing.T) {
	t.Setenv("TEST_KEY", modeltest.Key)
	srv := modeltest.Start(modeltest.Config{}, modeltest.Text("## Goal\n- go through the steps\n"), modeltest.Text("## Progress\n### Done\n- the steps so far\n"))
	defer srv.Close()
	file := filepath.Join(t.TempDir(), "s.jsonl")
	call := `{"type":"message","id":"w1","parentId":"a30","timestamp":"2026-01-01T11:00:01.000Z","message":{"role":"assistant","provider":"anthropic","model":"claude-opus-4-5","stopReason":"toolUse","content":[{"type":"toolCall","id":"cw","name":"bash","arguments":{"command":"sleep 60"}}],"timestamp":2}}` + "\n"
	if err := os.WriteFile(file, append(longSession(30, 3), call...), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := run(t, exitDone, "compact", "--json", "--window", "16k", "--summarizer", "anthropic/claude-haiku-4-5", "--base-url", srv.URL, "--key-env", "TEST_KEY", file)
	var r compactReport
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	want := 1
	if r.Plan.Cut != nil && r.Plan.Cut.SplitTurn {
		want = 2
	}
	if r.Closed != 1 || len(srv.Exchanges()) != want || r.Summarizer != "anthropic/claude-haiku-4-5" {
		t.Errorf("settled %d, asked %d times, by %s: %v", r.Closed, len(srv.Exchanges()), r.Summarizer, r.Rejected)
	}
}
