package chat_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/chat"
	"github.com/clew-dev/clew/model/modeltest"
)

// TestModelsOfThisMachine: the models of a server on this machine can be chosen, with the
// window that it serves; what answers comes first, and each is listed once.
func TestModelsOfThisMachine(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, map[string]string{
			"/v1/models": `{"data":[{"id":"qwen3:8b"},{"id":"gemma3:4b"}]}`,
			"/api/ps":    `{"models":[{"name":"qwen3:8b","context_length":24576}]}`,
			"/api/show":  `{}`,
		}[r.URL.Path])
	}))
	t.Cleanup(srv.Close)
	p := newPlace(t, modeltest.Text("hello"))
	p.write("config/settings.json", `{"providers": {"ollama": {"baseURL": "`+srv.URL+`/v1"}}}`)
	s := p.open(nil)
	seen := map[string]int64{}
	list := s.Models()
	for _, m := range list {
		if _, twice := seen[m.Name]; twice {
			t.Errorf("%s is listed twice", m.Name)
		}
		seen[m.Name] = m.Window
	}
	if list[0].Name != modelName || list[1].Name != "ollama/qwen3:8b" || !list[1].Ready || seen["ollama/qwen3:8b"] != 24_576 {
		t.Errorf("%+v", list[:3])
	}
	if seen["anthropic/claude-sonnet-5-5"] == 0 {
		t.Error("the vendor's usual model is not listed, or its window is not known")
	}
	if err := s.Agent().SetModel(t.Context(), "ollama/qwen3:8b"); err != nil {
		t.Fatal(err)
	}
	if st := s.Agent().State(); st.Window != 24_576 {
		t.Errorf("a window of %d, %s", st.Window, st.WindowFrom)
	}
}

// TestKeysGivenToClew: a key that the user gave counts where the environment has none, and
// programs that the agent starts do not see it.
func TestKeysGivenToClew(t *testing.T) {
	p := newPlace(t, modeltest.Text("hello"))
	p.write("config/keys.json", `{"KEY": "`+modeltest.Key+`"}`)
	s := p.open(func(c *chat.Config) {
		c.Environ = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.root}
		c.Allow = []string{"bash"}
	})
	say(t, s, "hi")
	got, err := s.Expand(t.Context(), "!`echo key=$KEY.`")
	if err != nil || len(p.models.Exchanges()) != 1 || p.models.Exchanges()[0].Status != http.StatusOK {
		t.Fatalf("%+v %v", p.models.Exchanges(), err)
	}
	if want := "\nkey=.\n"; !strings.Contains(got.Text, want) {
		t.Errorf("no %q in %s", want, got.Text)
	}
}
