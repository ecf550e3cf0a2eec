package provider_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/provider"
)

// serve answers paths with texts; a POST is found by path and body.
func serve(t *testing.T, answers map[string]string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		text, ok := answers[strings.TrimSpace(r.URL.Path+" "+string(body))]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestLocalFindsServers: what the servers of this machine have, each asked in its own way.
func TestLocalFindsServers(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	all := []provider.Provider{
		{Name: "anthropic", BaseURL: gone.URL, KeyEnv: []string{"ANTHROPIC_API_KEY"}},
		{Name: "elsewhere", BaseURL: "http://192.0.2.1:1/v1"},
		{Name: "gone", BaseURL: gone.URL + "/v1"},
		{Name: "llama.cpp", BaseURL: serve(t, map[string]string{
			"/v1/models": `{"object":"list","data":[{"id":"qwen3-8b-q4_k_m.gguf","object":"model","meta":{"n_ctx_train":40960}}]}`,
			"/props":     `{"default_generation_settings":{"id":0,"n_ctx":16384,"params":{}},"total_slots":1}`,
		}) + "/v1"},
		{Name: "lmstudio", BaseURL: serve(t, map[string]string{
			"/v1/models":     `{"data":[{"id":"qwen/qwen3-8b"},{"id":"gemma-3"},{"id":"text-embedding-nomic-embed-text-v1.5"}]}`,
			"/api/v0/models": `{"data":[{"id":"qwen/qwen3-8b","type":"llm","state":"loaded","max_context_length":40960,"loaded_context_length":8192},{"id":"gemma-3","state":"not-loaded","max_context_length":131072}]}`,
		}) + "/v1/"},
		{Name: "ollama", BaseURL: serve(t, map[string]string{
			"/v1/models":                            `{"object":"list","data":[{"id":"qwen3:8b"},{"id":"llama3.2:latest"},{"id":"gemma3:4b"}]}`,
			"/api/ps":                               `{"models":[{"name":"qwen3:8b","model":"qwen3:8b","context_length":32768}]}`,
			`/api/show {"model":"llama3.2:latest"}`: `{"parameters":"stop \"<|eot|>\"\nnum_ctx                        8192","model_info":{"llama.context_length":131072}}`,
			`/api/show {"model":"gemma3:4b"}`:       `{"parameters":"temperature 1"}`,
		}) + "/v1"},
		{Name: "vllm", BaseURL: serve(t, map[string]string{"/v1/models": `{"data":[{"id":"Qwen/Qwen3-8B","max_model_len":24576}]}`}) + "/v1"},
		{Name: "broken", BaseURL: serve(t, map[string]string{"/v1/models": `{"data":[{"id":`}) + "/v1"},
	}
	want := []provider.Found{
		{"llama.cpp", "qwen3-8b-q4_k_m.gguf", 16384},
		{"lmstudio", "qwen/qwen3-8b", 8192},
		{"lmstudio", "gemma-3", 0},
		{"ollama", "qwen3:8b", 32768},
		{"ollama", "llama3.2:latest", 8192},
		{"ollama", "gemma3:4b", 0},
		{"vllm", "Qwen/Qwen3-8B", 24576},
	}
	if got := provider.Local(t.Context(), all); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// TestKeysAreTheUsersAlone: a key is kept in a file that nobody else can read, counts
// where the environment has none, and is not taken from a file that others can read.
func TestKeysAreTheUsersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clew", "keys.json")
	k, err := provider.ReadKeys(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]string{"ANTHROPIC_API_KEY": " sk-1\n", "OPENAI_API_KEY": "sk-2"} {
		if err := k.Set(name, key); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Set("OPENAI_API_KEY", ""); err != nil {
		t.Fatal(err)
	}
	if k, err = provider.ReadKeys(path); err != nil {
		t.Fatal(err)
	}
	get := k.Getenv(vars{"ANTHROPIC_API_KEY": " ", "OTHER": "x"}.get)
	if get("ANTHROPIC_API_KEY") != "sk-1" || get("OPENAI_API_KEY") != "" || get("OTHER") != "x" {
		t.Error("the keys are not those that were given")
	}
	if k.Getenv(vars{"ANTHROPIC_API_KEY": "sk-env"}.get)("ANTHROPIC_API_KEY") != "sk-env" {
		t.Error("the environment does not count first")
	}
	for name, key := range map[string]string{"A B": "sk", "A": "two words"} {
		if err := k.Set(name, key); err == nil {
			t.Errorf("%q %q was taken", name, key)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
		t.Error(info.Mode(), err)
	}
	if os.PathSeparator == '/' {
		if err := os.Chmod(path, 0o640); err != nil {
			t.Fatal(err)
		}
		if _, err := provider.ReadKeys(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Error(err)
		}
	}
	if err := os.WriteFile(path, []byte("sk-1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := provider.ReadKeys(path); err == nil || !strings.Contains(err.Error(), "mend it") {
		t.Error(err)
	}
	if err := k.Set("A", "b"); err == nil {
		t.Error("a file that could not be read was written over")
	}
}
