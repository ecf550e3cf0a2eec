package clew_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

var errDisk = errors.New("the disk is gone")

// failingStore is a store that fails once, at the nth operation.
type failingStore struct {
	session.Store
	left   int // operations until it fails; it never does when negative
	noSync int // appends that did not wait for the disk
	syncs  int
}

func (f *failingStore) fail() error {
	f.left--
	if f.left == 0 {
		return errDisk
	}
	return nil
}

func (f *failingStore) Last(ctx context.Context) (*session.Entry, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	return f.Store.Last(ctx)
}

func (f *failingStore) Get(ctx context.Context, id string) (*session.Entry, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	return f.Store.Get(ctx, id)
}

func (f *failingStore) Parent(ctx context.Context, e *session.Entry) (*session.Entry, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	return f.Store.Parent(ctx, e)
}

func (f *failingStore) Append(ctx context.Context, batch []*session.Entry, opt session.AppendOptions) error {
	if opt.NoSync {
		f.noSync++
	}
	if err := f.fail(); err != nil {
		return err
	}
	return f.Store.Append(ctx, batch, opt)
}

func (f *failingStore) Sync(ctx context.Context) error {
	f.syncs++
	if err := f.fail(); err != nil {
		return err
	}
	return f.Store.Sync(ctx)
}

// Whatever operation of the store fails: the context is the one before or the one
// after, and doing it again succeeds.
func TestStoreThatFails(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(9, 9))
	var talk []*message.Message
	for k := range 14 {
		talk = append(talk, turn(r, k)...)
	}
	steps := []func(*clew.Session) error{
		func(s *clew.Session) error { _, err := s.Prepare(ctx); return err },
		func(s *clew.Session) error { _, err := s.Undo(ctx, session.UndoOptions{}); return err },
		func(s *clew.Session) error {
			_, err := s.Compact(ctx, clew.CompactOptions{Keep: compact.Tokens(600)})
			return err
		},
		func(s *clew.Session) error {
			_, err := s.Append(ctx, message.User("more", start))
			return err
		},
		func(s *clew.Session) error {
			_, err := s.Undo(ctx, session.UndoOptions{KeepLater: true})
			return err
		},
	}
	open := func(step int) (*failingStore, *clew.Session) {
		store := &failingStore{Store: session.NewMemory(session.Header{ID: "s"}), left: -1}
		s, err := clew.OpenStore(ctx, store, fixed(small(8_000)))
		if err != nil {
			t.Fatal(err)
		}
		add(t, s, talk...)
		for _, do := range steps[:step] {
			if err := do(s); err != nil {
				t.Fatal(err)
			}
		}
		return store, s
	}
	failures, most := 0, 5
	if testing.Short() {
		most = 1
	}
	for step, do := range steps {
		store, s := open(step)
		const many = 1 << 20
		store.left = many
		if err := do(s); err != nil {
			t.Fatal(err)
		}
		operations := many - store.left
		for n := 1; n <= operations; n++ {
			// Of many operations in a row that only read, some are enough.
			if n > most && n < operations-most && n%16 != 0 {
				continue
			}
			store, s := open(step)
			before, log := contextOf(t, store.Store), logged(t, store.Store)
			store.left = n
			err := do(s)
			store.left = -1
			failures++
			if !errors.Is(err, errDisk) {
				t.Errorf("step %d, operation %d: %v", step, n, err)
			}
			if contextOf(t, store.Store) != before || logged(t, store.Store) != log {
				t.Errorf("I9: step %d, operation %d: a failure changed the log", step, n)
			}
			if err := do(s); err != nil {
				t.Errorf("step %d again after operation %d failed: %v", step, n, err)
			}
			if p := prepare(t, s); shown(p.Messages) != contextOf(t, store.Store) {
				t.Errorf("step %d after operation %d: the session shows another context than its log has", step, n)
			}
		}
	}
	t.Log(failures, "failures")
	if failures < 4*most {
		t.Errorf("only %d failures", failures)
	}
}

// A crash at any byte of a pass leaves the context from before it or after it.
func TestCrashInAPass(t *testing.T) {
	ctx := context.Background()
	path := tempFile(t)
	s, err := clew.Open(ctx, path, fixed(small(8_000)))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 5))
	for k := range 14 {
		add(t, s, turn(r, k)...)
	}
	before := contextOf(t, s.Log().Store())
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if p := prepare(t, s); !p.Plan.Act {
		t.Fatal("no pass was due")
	}
	after := contextOf(t, s.Log().Store())
	s.Close()
	whole, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(whole, old) {
		t.Fatal("I4: the pass changed what was there", err)
	}
	seen := map[bool]int{}
	step := max(1, (len(whole)-len(old))/150)
	for cut := len(old); cut <= len(whole); cut++ {
		if (cut-len(old))%step != 0 && cut < len(whole)-2 {
			continue
		}
		f, err := jsonl.Read(ctx, "cut", bytes.NewReader(whole[:cut]))
		if err != nil {
			t.Fatal(cut, err)
		}
		got := contextOf(t, f)
		if got != before && got != after {
			t.Fatalf("I9: cut at byte %d of %d: a context that never was", cut-len(old), len(whole)-len(old))
		}
		seen[got == after]++
	}
	if seen[false] < 100 || seen[true] == 0 {
		t.Errorf("old and new contexts: %v", seen)
	}
}

func TestDurability(t *testing.T) {
	ctx := context.Background()
	for _, late := range []bool{false, true} {
		store := &failingStore{Store: session.NewMemory(session.Header{ID: "s"}), left: -1}
		s, err := clew.OpenStore(ctx, store, clew.Config{SyncLate: late})
		if err != nil {
			t.Fatal(err)
		}
		add(t, s, message.User("typed", start))
		if store.noSync != 0 {
			t.Errorf("%v: what the user typed was not synced", late)
		}
		add(t, s, message.Assistant(start, message.TextBlock("a")))
		want := 0
		if late {
			want = 1
		}
		if store.noSync != want {
			t.Errorf("%v: %d appends without sync, want %d", late, store.noSync, want)
		}
		prepare(t, s)
		prepare(t, s)
		if store.syncs != want {
			t.Errorf("%v: %d syncs before the request, want %d", late, store.syncs, want)
		}
	}
}

func TestDamagedFileIsLeftAlone(t *testing.T) {
	for name, data := range map[string]string{
		"empty": "", "no session": "hello\n", "other JSON": `{"a":1}` + "\n",
	} {
		path := tempFile(t)
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := clew.Open(context.Background(), path, clew.Config{})
		var rich *clew.Error
		if !errors.As(err, &rich) || !strings.Contains(fmt.Sprint(err), path) {
			t.Errorf("%s: %v", name, err)
		}
		if got, _ := os.ReadFile(path); string(got) != data {
			t.Errorf("%s: the file was changed", name)
		}
	}
}
