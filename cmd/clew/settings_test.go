package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/clew-dev/clew/model/modeltest"
)

// What the settings say of a model's price is what its calls are said to cost.
func TestPriceOfTheSettings(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("HOME", dir)
	t.Setenv("AppData", dir)
	t.Setenv("TEST_KEY", modeltest.Key)
	for _, sub := range []string{"clew", filepath.Join("Library", "Application Support", "clew")} {
		path := filepath.Join(dir, sub, "settings.json")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(`{"prices": {"anthropic/claude-haiku-4-5": {"input": 500000, "output": 0}}}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reply := modeltest.Text("## Goal\n- go through the steps\n\n## Progress\n### In Progress\n- [ ] the step that comes next\n")
	srv := modeltest.Start(modeltest.Config{}, reply, reply, reply, reply)
	defer srv.Close()
	file := filepath.Join(dir, "s.jsonl")
	if err := os.WriteFile(file, longSession(40, 3), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := run(t, exitDone, "compact", "--json", "--window", "16k", "--summarizer", "anthropic/claude-haiku-4-5", "--base-url", srv.Endpoint("x").BaseURL, "--key-env", "TEST_KEY", file)
	var r compactReport
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if u := r.Usage; u == nil || u.Input == 0 || u.Cost != float64(u.Input)/2 { // half a dollar a token
		t.Errorf("usage %+v", u)
	}
}
