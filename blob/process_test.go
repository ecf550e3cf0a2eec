package blob_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/blob"
)

// child starts a test of this program in a process of its own.
func child(t testing.TB, test string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$")
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// TestWriterChild is a child of TestProcesses: it stores what the others store too, and what
// it alone has.
func TestWriterChild(t *testing.T) {
	dir, name := os.Getenv("CLEW_TEST_DIR"), os.Getenv("CLEW_TEST_NAME")
	if dir == "" || name == "" {
		t.Skip("only as a child of TestProcesses")
	}
	d := openDir(t, dir)
	for i := range 8 {
		for _, text := range []string{"shared " + strconv.Itoa(i), name + " " + strconv.Itoa(i)} {
			p := bytes.Repeat([]byte(text), 1000/len(text))
			id, err := d.Put(ctx, bytes.NewReader(p))
			must(t, err)
			if got, err := read(d, id); err != nil || !bytes.Equal(got, p) {
				t.Fatalf("%q: %d bytes, %v", text, len(got), err)
			}
		}
	}
}

// Processes share a folder without a lock.
func TestProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var cmds []*exec.Cmd
	for i := range 3 {
		cmd := child(t, "TestWriterChild", "CLEW_TEST_DIR="+dir, fmt.Sprintf("CLEW_TEST_NAME=%d", i))
		must(t, cmd.Start())
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Errorf("a writer: %v", err)
		}
	}
	checkWhole(t, "after", dir)
	n := 0
	for _, err := range openDir(t, dir).List(ctx) {
		must(t, err)
		n++
	}
	if n != 8+3*8 {
		t.Errorf("there are %d", n)
	}
	if left := temps(t, dir); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// TestKilledChild is a child of TestKill: it stores what comes from its input.
func TestKilledChild(t *testing.T) {
	dir := os.Getenv("CLEW_TEST_KILL")
	if dir == "" {
		t.Skip("only as a child of TestKill")
	}
	told := false
	_, err := openDir(t, dir).Put(ctx, readerFunc(func(p []byte) (int, error) {
		n, err := os.Stdin.Read(p)
		if !told && len(temps(t, dir)) > 0 {
			told = true
			fmt.Println("writing")
		}
		return n, err
	}))
	must(t, err)
}

// A process that is killed while it writes leaves a temporary file and no more.
func TestKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := child(t, "TestKilledChild", "CLEW_TEST_KILL="+dir)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	text := strings.Repeat("x", 200_000)
	_, err = io.WriteString(in, text)
	must(t, err)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "writing\n" {
		t.Errorf("the child says %q, %v", line, err)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	_ = in.Close() // broken by now
	if left := temps(t, dir); len(left) != 1 {
		t.Errorf("%v are left", left)
	}
	for info, err := range openDir(t, dir).List(ctx) {
		t.Errorf("%+v, %v", info, err)
	}
	d := blob.At(openDir(t, dir), func() time.Time { return time.Now().Add(2 * time.Hour) })
	if got := getText(t, d, putText(t, d, text)); got != text {
		t.Error("something else is stored")
	}
	if left := temps(t, dir); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}
