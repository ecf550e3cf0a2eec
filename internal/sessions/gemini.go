package sessions

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// geminiMark is the file in a folder of Gemini CLI that names the project.
const geminiMark = ".project_root"

// geminiOwner returns the project that a folder of Gemini CLI belongs to, empty where that is
// not known.
func geminiOwner(dir string) string {
	data, err := os.ReadFile(filepath.Join(dir, geminiMark))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

var notSlug = text.Pattern(`[^a-z0-9]+`)

// GeminiProject returns the name of the folder that Gemini CLI, whose own folder is dir, has
// for a project, or will give it: the one in its registry or with the project's mark, else the
// first name that is free (packages/core/src/config/projectRegistry.ts).
func GeminiProject(dir, cwd string) string {
	var registry struct{ Projects map[string]string }
	if data, err := os.ReadFile(filepath.Join(dir, "projects.json")); err == nil {
		_ = json.Unmarshal(data, &registry) // Gemini CLI begins anew with one that is damaged
	}
	taken := map[string]bool{}
	for _, name := range registry.Projects {
		taken[name] = true
	}
	owned := func(name string) bool { // by this project or by none
		for _, base := range []string{"tmp", "history"} {
			if owner := geminiOwner(filepath.Join(dir, base, name)); owner != "" && owner != cwd {
				return false
			}
		}
		return true
	}
	if name := registry.Projects[cwd]; name != "" && owned(name) {
		return name
	}
	entries, _ := os.ReadDir(filepath.Join(dir, "tmp"))
	for _, e := range entries {
		if geminiOwner(filepath.Join(dir, "tmp", e.Name())) == cwd {
			return e.Name()
		}
	}
	slug := strings.Trim(notSlug().ReplaceAllString(strings.ToLower(filepath.Base(cwd)), "-"), "-")
	if slug == "" {
		slug = "project"
	}
	name := slug
	for i := 1; taken[name] || !owned(name); i++ {
		name = fmt.Sprintf("%s-%d", slug, i)
	}
	return name
}

// MarkGemini says of a folder whose it is, as Gemini CLI does when it makes one.
func MarkGemini(dir, cwd string) error {
	if geminiOwner(dir) != "" {
		return nil
	}
	return os.WriteFile(filepath.Join(dir, geminiMark), []byte(cwd), 0o600)
}
