// Command screens makes the pictures of clew chat that are in docs/screens: it runs the demo in
// tmux, types what a user would type, and draws what is on the screen.
//
//	go run ./scripts/screens            all pictures, into docs/screens
//	go run ./scripts/screens -to /tmp   into another folder
//
// Beside each picture is its text. It needs tmux 3 and takes two minutes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// limit is how long anything may take to appear.
const limit = 40 * time.Second

// think is how long a user looks at the screen before the next key. What is typed sooner is
// not taken for an answer to a question.
const think = 1500 * time.Millisecond

// step is something that a user does, and what is to be seen then.
type step struct {
	keys []string // as tmux names them; what is longer than a key is typed
	see  string   // a regular expression of the screen
	shot string   // the name of the picture; "" for none
	says string   // its title
}

// terminal is a size, and what is done in it.
type terminal struct {
	columns, rows int
	steps         []step
}

func say(text string) []string { return []string{text, "Enter"} }

// The demo as its hints have it.
var (
	fix    = step{keys: say("find out why check.sh fails"), see: `allow bash\?`}
	yes    = []string{"y"}
	escape = []string{"Escape"}
	idle   = `(?m)^ *\d[\d.]*k of 12k`
)

var terminals = []terminal{
	{80, 24, []step{
		{nil, `say what to do`, "start", "The start of clew chat --demo"},
		fix,
		{yes, `allow edit\?`, "question", "A change is shown before it is allowed"},
		{yes, `(?s)check again.*allow bash\?`, "", ""},
		{yes, `(?s)compaction.*check\.sh passes.*` + idle, "compacted", "The window was full, and was compacted"},
		{say("/context"), `threshold`, "context", "What the window holds"},
		{escape, `say what to do`, "", ""},
		{say("/undo"), `take back what`, "undo", "Files, messages or a pass are taken back"},
		{[]string{"p"}, `keep later messages`, "", ""},
		{[]string{"k"}, `~1\d[\d.]*k of 12k`, "", ""},
		{say("what was the exact error at the start?"), `(?s)Word for word.*` + idle, "recall", "What has left the window is read from the log"},
	}},
	{200, 50, []step{
		{nil, `say what to do`, "", ""},
		fix,
		{yes, `allow edit\?`, "", ""},
		{yes, `(?s)check again.*allow bash\?`, "", ""},
		{yes, `(?s)compaction.*check\.sh passes.*` + idle, "", ""},
		{say("/tree"), `leaf`, "", ""},
		{[]string{"Home", "Enter"}, `go there\?`, "", ""},
		{[]string{"s"}, `stay on the branch`, "", ""},
		{[]string{"C-c"}, `say what to do`, "", ""},
		{say("teach check.sh to say what was meant"), `allow edit\?`, "", ""},
		{yes, `allow bash\?`, "", ""},
		{yes, `(?s)may be meant.*` + idle, "branch", "Another way, on a branch of its own"},
		{say("/tree"), `leaf`, "tree", "The tree of the session"},
	}},
}

func main() {
	to := flag.String("to", filepath.Join("docs", "screens"), "the folder of the pictures")
	flag.Parse()
	if err := pictures(context.Background(), *to); err != nil {
		fmt.Fprintf(os.Stderr, "screens: %v\n", err)
		os.Exit(1)
	}
}

// pictures makes all of them.
func pictures(ctx context.Context, to string) (err error) {
	dir, err := os.MkdirTemp("", "clew-screens-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program := filepath.Join(dir, "clew")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/clew").CombinedOutput(); err != nil {
		return fmt.Errorf("clew can't be built; run this in the repository's folder: %w\n%s", err, out)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, t := range terminals {
		s := &session{socket: filepath.Join(dir, fmt.Sprintf("tmux%d", t.columns)), size: t}
		err := s.play(ctx, program, to)
		if err = errors.Join(err, s.end()); err != nil {
			return err
		}
	}
	return nil
}

// session is a tmux of its own with one screen.
type session struct {
	socket string
	size   terminal
}

func (s *session) tmux(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "tmux", append([]string{"-S", s.socket, "-f", os.DevNull}, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", args[0], err, out)
	}
	return string(out), nil
}

func (s *session) end() error {
	_, err := s.tmux(context.Background(), "kill-server")
	return err
}

// play goes through the steps.
func (s *session) play(ctx context.Context, program, to string) error {
	command := "env -u NO_COLOR TERM=tmux-256color COLORTERM=truecolor " + program + " chat --demo --theme dark"
	if _, err := s.tmux(ctx, "new-session", "-d", "-x", strconv.Itoa(s.size.columns), "-y", strconv.Itoa(s.size.rows), command, ";", "set-option", "-sg", "escape-time", "10"); err != nil {
		return err
	}
	for _, st := range s.size.steps {
		time.Sleep(think)
		for _, key := range st.keys {
			args := []string{"send-keys", key}
			if len(key) > 1 && strings.ContainsAny(key, " /") {
				args = []string{"send-keys", "-l", key}
			}
			if _, err := s.tmux(ctx, args...); err != nil {
				return err
			}
			time.Sleep(300 * time.Millisecond)
		}
		if err := s.until(ctx, st.see); err != nil {
			return err
		}
		if st.shot == "" {
			continue
		}
		if err := s.shoot(ctx, filepath.Join(to, st.shot), st.says); err != nil {
			return err
		}
	}
	return nil
}

// until waits until something is on the screen, and the screen stays as it is.
func (s *session) until(ctx context.Context, see string) error {
	re := regexp.MustCompile(see)
	before := ""
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		now, err := s.tmux(ctx, "capture-pane", "-p")
		if err != nil {
			return err
		}
		if re.MatchString(now) && now == before {
			return nil
		}
		before = now
	}
	return fmt.Errorf("%q has not come up; the screen is\n%s", see, before)
}

// shoot writes the picture and the text of the screen.
func (s *session) shoot(ctx context.Context, name, title string) error {
	text, err := s.tmux(ctx, "capture-pane", "-p")
	if err != nil {
		return err
	}
	coloured, err := s.tmux(ctx, "capture-pane", "-p", "-e")
	if err != nil {
		return err
	}
	if err := os.WriteFile(name+".txt", []byte(text), 0o644); err != nil {
		return err
	}
	return os.WriteFile(name+".svg", []byte(svg(title, coloured, s.size.columns, s.size.rows)), 0o644)
}
