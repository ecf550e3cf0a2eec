// Package pgtest gives tests a real PostgreSQL.
//
// One server a test binary is started when the first test asks for a database. It runs in a temporary folder, listens
// on a unix socket there, and ends with the test binary. Where there is no PostgreSQL the tests are skipped.
package pgtest

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

//go:embed server.sh
var script string

// ErrMissing says that there is no PostgreSQL on the machine; tests are skipped then.
var ErrMissing = errors.New("no PostgreSQL to test with")

var (
	server    = sync.OnceValues(Start)
	databases atomic.Int64
)

// Server is a running server.
type Server struct {
	dir    string // has the socket
	cmd    *exec.Cmd
	input  io.WriteCloser
	output *bufio.Reader
}

// Database makes an empty database and returns the string to connect to it with.
func Database(t testing.TB) string {
	t.Helper()
	pg, err := server()
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	database, err := pg.Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return database
}

// Database makes an empty database and returns the string to connect to it with.
func (s *Server) Database(ctx context.Context) (string, error) {
	c, err := pgx.Connect(ctx, connect(s.dir, "postgres"))
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	name := fmt.Sprint("test", databases.Add(1))
	_, err = c.Exec(ctx, "CREATE DATABASE "+name)
	return connect(s.dir, name), err
}

// Restart ends the server as a crash would, and starts it again.
func (s *Server) Restart() error {
	if _, err := io.WriteString(s.input, "restart\n"); err != nil {
		return err
	}
	return s.ready()
}

// Close ends the server and removes its folder.
func (s *Server) Close() error { return errors.Join(s.input.Close(), s.cmd.Wait()) }

// ready waits until the server takes connections.
func (s *Server) ready() error {
	line, err := s.output.ReadString('\n')
	if line == "ready\n" {
		return nil
	}
	rest, _ := io.ReadAll(s.output)
	return fmt.Errorf("PostgreSQL does not start: %s%s (%w)", line, rest, errors.Join(err, s.cmd.Wait()))
}

func connect(dir, database string) string {
	return fmt.Sprintf("host=%s user=clew dbname=%s", dir, database)
}

// Start starts a server. It ends when our end of its input is closed, which the operating
// system does however this program ends.
func Start() (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return nil, err
	}
	args := []string{shell, "-c", script, "server.sh", bin, dir}
	if os.Getuid() == 0 {
		if args, err = unprivileged(dir, args); err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
	cmd := exec.Command(args[0], args[1:]...)
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &Server{dir: dir, cmd: cmd, input: input, output: bufio.NewReader(out)}
	return s, s.ready()
}

// programs finds the folder with initdb and pg_ctl. Debian keeps them out of the PATH.
func programs() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	initdb, err := exec.LookPath("initdb")
	if err == nil {
		initdb, err = filepath.EvalSymlinks(initdb)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w; install it (Debian: apt-get install postgresql)", ErrMissing, err)
	}
	return filepath.Dir(initdb), nil
}

// unprivileged makes a command one of another user, who gets dir: PostgreSQL refuses to run as root.
func unprivileged(dir string, args []string) ([]string, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(u.Uid)
		if err != nil {
			return nil, err
		}
		if err := os.Chown(dir, uid, -1); err != nil {
			return nil, err
		}
		if path, err := exec.LookPath("setpriv"); err == nil {
			return append([]string{path, "--reuid=" + u.Uid, "--regid=" + u.Gid, "--clear-groups"}, args...), nil
		}
		if path, err := exec.LookPath("runuser"); err == nil {
			return append([]string{path, "-u", name, "--"}, args...), nil
		}
	}
	return nil, fmt.Errorf("%w: it does not run as root, and there is no setpriv or runuser, or no user postgres or nobody", ErrMissing)
}
