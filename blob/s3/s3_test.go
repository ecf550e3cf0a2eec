package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/blob/blobtest"
	"github.com/clew-dev/clew/blob/s3"
	"github.com/clew-dev/clew/internal/s3test"
)

var ctx = context.Background()

func options(b *s3test.Bucket) s3.Options {
	return s3.Options{Bucket: b.Name, Endpoint: b.URL, Region: "us-east-1", AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey, Tries: 1}
}

func open(t testing.TB, opt s3.Options) *s3.Store {
	t.Helper()
	s, err := s3.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func data(n int) []byte {
	p := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(p) // it never fails
	return p
}

func put(t testing.TB, s *s3.Store, p []byte) blob.ID {
	t.Helper()
	id, err := s.Put(ctx, bytes.NewReader(p))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func read(s *s3.Store, id blob.ID) ([]byte, error) {
	r, err := s.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	p, err := io.ReadAll(r)
	return p, errors.Join(err, r.Close())
}

func TestStore(t *testing.T) {
	b := s3test.New(t)
	var stores atomic.Int64
	blobtest.Run(t, blobtest.Subject{
		New: func(t testing.TB) blob.Store {
			opt := options(b)
			opt.Prefix = fmt.Sprintf("some/folder%d", stores.Add(1))
			return under{open(t, opt), opt}
		},
		Reopen: func(t testing.TB, s blob.Store) blob.Store {
			return under{open(t, s.(under).opt), s.(under).opt}
		},
		Damage: func(t testing.TB, s blob.Store, id blob.ID) {
			client, err := minio.New(strings.TrimPrefix(b.URL, "http://"), &minio.Options{Creds: credentials.NewStaticV4(s3test.AccessKey, s3test.SecretKey, "")})
			if err == nil {
				info, _ := s.Stat(ctx, id)
				_, err = client.PutObject(ctx, b.Name, s.(under).opt.Prefix+"/"+id.String(), bytes.NewReader(make([]byte, info.Size)), info.Size, minio.PutObjectOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
		},
	})
}

type under struct {
	*s3.Store
	opt s3.Options
}

// counted returns the methods of the requests that reach a bucket from now on.
func counted(b *s3test.Bucket) func() string {
	seen := make(chan string, 100)
	b.Fail(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		m := r.Method
		if r.Header.Get("If-None-Match") != "" {
			m += " if none"
		}
		seen <- m
		return false
	})
	return func() string {
		var all []string
		for len(seen) > 0 {
			all = append(all, <-seen)
		}
		return strings.Join(all, ", ")
	}
}

// What is there is not sent again, but once a day; and what somebody else puts there meanwhile is as good.
func TestPutOnce(t *testing.T) {
	b := s3test.New(t)
	opt := options(b)
	now := time.Now()
	opt.Now = func() time.Time { return now }
	s := open(t, opt)
	seen := counted(b)
	p := data(1000)
	for _, want := range []string{"HEAD, PUT if none", "HEAD"} {
		put(t, s, p)
		if got := seen(); got != want {
			t.Errorf("requests of a put: %s, want %s", got, want)
		}
	}
	now = now.Add(25 * time.Hour)
	put(t, s, p)
	if got := seen(); got != "HEAD, PUT" {
		t.Errorf("requests of a put a day later: %s", got)
	}

	now, p = time.Now(), data(2000)
	raced := false
	b.Fail(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if r.Method == http.MethodPut && !raced {
			raced = true
			put(t, s, p)
		}
		return false
	})
	id := put(t, s, p)
	if got, err := read(s, id); err != nil || !bytes.Equal(got, p) || !raced {
		t.Errorf("%d bytes, %v, raced %v", len(got), err, raced)
	}
}

// A server that has a conflict with another request is asked again, and not for ever.
func TestPutConflicts(t *testing.T) {
	b := s3test.New(t)
	s := open(t, options(b))
	for _, c := range []struct {
		status int
		code   string
	}{{http.StatusConflict, "ConditionalRequestConflict"}, {http.StatusPreconditionFailed, "PreconditionFailed"}} {
		refused, ever := 0, false
		b.Fail(func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
			if r.Method != http.MethodPut || refused > 0 && !ever {
				return false
			}
			refused++
			w.WriteHeader(c.status)
			fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", c.code)
			return true
		})
		p := data(1000 + c.status)
		if got, err := read(s, put(t, s, p)); err != nil || !bytes.Equal(got, p) || refused != 1 {
			t.Errorf("%s: %d bytes, %v, refused %d", c.code, len(got), err, refused)
		}
		ever = true
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if _, err := s.Put(ctx, bytes.NewReader(data(2000+c.status))); err == nil || ctx.Err() != nil || refused != 1+5 {
			t.Errorf("%s: %v after %d requests", c.code, err, refused)
		}
		cancel()
	}
}

// Large content goes through a temporary file, and parts of it can be read.
func TestLarge(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := open(t, options(s3test.New(t)))
	p := data(5<<20 + 17)
	id := put(t, s, p)
	if got, err := read(s, id); err != nil || !bytes.Equal(got, p) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	for _, part := range []struct{ at, size, want int64 }{{0, 1, 1}, {0, 5000, 5000}, {4 << 20, 100, 100}, {5 << 20, 100, 17}, {5<<20 + 17, 10, 0}} {
		r, err := s.OpenRange(ctx, id, part.at, part.size)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, p[part.at:part.at+part.want]) {
			t.Errorf("%d bytes from %d on: %d, %v", part.size, part.at, len(got), err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range [][2]int64{{-1, 5}, {0, 0}} {
		if _, err := s.OpenRange(ctx, id, bad[0], bad[1]); err == nil {
			t.Errorf("the part %v is opened", bad)
		}
	}
}

// cut answers a GET with the beginning of what the server says, and breaks the connection.
func cut(w http.ResponseWriter, r *http.Request, real http.Handler) bool {
	if r.Method != http.MethodGet {
		return false
	}
	rec := httptest.NewRecorder()
	real.ServeHTTP(rec, r)
	for name, values := range rec.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes()[:rec.Body.Len()/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// A read goes on where a connection broke. Where it keeps breaking the error says how far it came.
func TestBrokenRead(t *testing.T) {
	b := s3test.New(t)
	opt := options(b)
	opt.Tries = 3
	s := open(t, opt)
	p := data(300_000)
	id := put(t, s, p)
	breaks := 0
	b.Fail(func(w http.ResponseWriter, r *http.Request, real http.Handler) bool {
		if breaks++; breaks > 3 {
			return false
		}
		return cut(w, r, real)
	})
	if got, err := read(s, id); err != nil || !bytes.Equal(got, p) || breaks != 4 {
		t.Fatalf("%d bytes, %v, after %d requests", len(got), err, breaks)
	}
	b.Fail(cut)
	got, err := read(s, id)
	if err == nil || !bytes.HasPrefix(p, got) || !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "of 300000") {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// Each fault has an error that says what to do, and nothing is half there afterwards.
func TestFaults(t *testing.T) {
	b := s3test.New(t)
	s := open(t, options(b))
	p := data(9000)
	there := put(t, s, data(100))
	answer := func(status int, code string) func(http.ResponseWriter, *http.Request, http.Handler) bool {
		return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
			w.WriteHeader(status)
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
			return true
		}
	}
	for _, c := range []struct {
		name  string
		fault func(http.ResponseWriter, *http.Request, http.Handler) bool
		says  string
	}{
		{"overloaded", answer(503, "SlowDown"), "try again"},
		{"forbidden", answer(403, "AccessDenied"), "check the keys"},
		{"full", answer(507, "QuotaExceeded"), "make room"},
		{"changed on the way", func(w http.ResponseWriter, r *http.Request, real http.Handler) bool {
			if r.Method == http.MethodPut {
				r.Body = io.NopCloser(io.MultiReader(strings.NewReader("x"), io.LimitReader(r.Body, r.ContentLength-1)))
			}
			real.ServeHTTP(w, r)
			return true
		}, "changed on its way"},
		{"broken off", func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
			if r.Method == http.MethodPut {
				_, _ = io.CopyN(io.Discard, r.Body, 1000)
				panic(http.ErrAbortHandler)
			}
			return false
		}, "try again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.Fail(c.fault)
			id, err := s.Put(ctx, bytes.NewReader(p))
			if err == nil || !id.IsZero() || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), b.Name) {
				t.Errorf("%v, %v; want %q", id, err, c.says)
			}
			if !blob.KeepInline(err) {
				t.Errorf("%v does not ask to keep the content elsewhere", err)
			}
			b.Fail(nil)
			if _, err := s.Open(ctx, blob.IDOf(p)); !errors.Is(err, blob.ErrNotFound) {
				t.Errorf("after the fault: %v", err)
			}
		})
	}
	b.Fail(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		_, _ = w.Write([]byte("another content"))
		return true
	})
	if _, err := read(s, there); !errors.Is(err, blob.ErrCorrupt) {
		t.Errorf("another content: %v", err)
	}
	b.Fail(nil)

	opt := options(b)
	opt.Endpoint = "http://127.0.0.1:1"
	gone := open(t, opt)
	_, err := gone.Put(ctx, bytes.NewReader(p))
	_, err2 := gone.Open(ctx, there)
	for _, err := range []error{err, err2} {
		if err == nil || !strings.Contains(err.Error(), "check that the server runs") {
			t.Errorf("without a server: %v", err)
		}
	}
	opt = options(b)
	opt.Bucket = "no-such-bucket"
	if _, err := open(t, opt).Put(ctx, bytes.NewReader(p)); err == nil || !strings.Contains(err.Error(), "make the bucket") {
		t.Errorf("without a bucket: %v", err)
	}
}

// A store below another is its own, and goes as a whole.
func TestBelow(t *testing.T) {
	s := open(t, options(s3test.New(t)))
	one, two := s.Below("one"), s.Below("two")
	for _, each := range []*s3.Store{s, one, two} {
		put(t, each, data(10))
		put(t, each, data(11))
	}
	if err := one.Erase(ctx, blob.IDOf(data(10))); err != nil {
		t.Fatal(err)
	}
	if err := two.RemoveAll(ctx); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{2, 1, 0} {
		n := 0
		for _, err := range []*s3.Store{s, one, two}[i].List(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != want {
			t.Errorf("store %d has %d contents, want %d", i, n, want)
		}
	}
}

// What an address says reaches the server.
func TestAddress(t *testing.T) {
	opt, err := s3.Parse("s3://bucket/a/b/?endpoint=http://localhost:7070&region=eu&style=path&encrypt=aws:kms&kms-key=k")
	want := s3.Options{Bucket: "bucket", Prefix: "a/b", Endpoint: "http://localhost:7070", Region: "eu", PathStyle: true, Encrypt: "aws:kms", KMSKey: "k"}
	if err != nil || fmt.Sprintf("%+v", opt) != fmt.Sprintf("%+v", want) {
		t.Fatalf("%+v, %v", opt, err)
	}
	var saw *http.Request
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		saw = r.Clone(ctx)
	}))
	defer srv.Close()
	opt.Endpoint, opt.AccessKey, opt.SecretKey = srv.URL, "a", "b"
	put(t, open(t, opt), data(5))
	if saw == nil || !strings.HasPrefix(saw.URL.Path, "/bucket/a/b/sha256-") || saw.Header.Get("X-Amz-Server-Side-Encryption") != "aws:kms" ||
		saw.Header.Get("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id") != "k" || saw.Header.Get("If-None-Match") != "*" {
		t.Errorf("the server saw %+v", saw)
	}
	for _, bad := range []string{
		"", "bucket", "http://bucket", "s3://", "s3://key:secret@bucket", "s3://b?style=x", "s3://b?what=x", "s3://b?endpoint=localhost",
		"s3://b?endpoint=ftp://h", "s3://b?endpoint=http://h/path", "s3://b?encrypt=rot13", "s3://b?kms-key=k",
	} {
		if _, err := s3.Open(bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q is opened, or the error tells the secret: %v", bad, err)
		}
	}
}

// Where versions may not be listed, content is not said to be erased.
func TestEraseFails(t *testing.T) {
	b := s3test.New(t)
	s := open(t, options(b))
	id := put(t, s, data(10))
	b.Fail(func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		listed := r.URL.Query().Has("versions")
		if listed {
			w.WriteHeader(http.StatusForbidden)
		}
		return listed
	})
	if err := s.Erase(ctx, id); !errors.Is(err, blob.ErrDenied) {
		t.Errorf("Erase says %v, want that it is not allowed", err)
	}
	if _, err := s.Stat(ctx, id); err != nil {
		t.Error(err)
	}
}
