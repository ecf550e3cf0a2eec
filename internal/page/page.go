// Package page writes a session as one HTML file: all branches, the current path
// first. The file needs no network and no other file, and can be read without
// scripts. Every text in it is escaped, and a policy in it allows nothing but its own
// style, its own script, and images that are in it.
//
//	err := page.Write(ctx, file, store, "", page.Options{})
//
// Whatever was compacted away stands where it was said: the page shows the log, and
// marks what the model sees of it. page.html is the template; the types in this
// package are what it is filled with.
package page

import (
	"bufio"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"strings"
	"sync"

	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
)

// Options changes what is written. The zero value takes secrets out.
type Options struct {
	// KeepSecrets leaves keys, tokens and passwords in. By default each is replaced
	// by a mark; see transcript.Redact.
	KeepSecrets bool
}

// Write writes a session at the path to leaf; "" means where the session stands. The
// same session gives the same bytes. The session is read twice and not held in
// memory. The errors are those of the store, session.ErrNotFound for a leaf that does
// not exist among them, and those of w.
func Write(ctx context.Context, w io.Writer, s session.Store, leaf string, opt Options) error {
	p, err := New(ctx, s, leaf, opt)
	if err != nil {
		return err
	}
	return p.Write(ctx, w)
}

// Page is a session that was indexed; Write writes it.
type Page struct{ doc document }

// New reads a session. It fails as Write does.
func New(ctx context.Context, s session.Store, leaf string, opt Options) (*Page, error) {
	var r *transcript.Redacted
	if !opt.KeepSecrets {
		r = transcript.Redact(s)
		s = r
	}
	p := &Page{document{store: s, header: s.Header(), byID: map[string]int{}, edits: map[int][]int{}, Leaf: -1}}
	d := &p.doc
	if err := d.read(ctx); err != nil {
		return nil, err
	}
	if leaf == "" {
		d.Leaf = len(d.Nodes) - 1
	} else if at, ok := d.byID[leaf]; ok {
		d.Leaf = at
	} else if _, err := s.Get(ctx, leaf); err != nil {
		return nil, err
	} else {
		return nil, &session.Error{Op: "export", Subject: leaf, Err: session.ErrNotFound}
	}
	d.link()
	if r != nil {
		d.Secrets = r.Secrets()
	}
	return p, nil
}

// Messages returns how many messages the session has on all branches.
func (p *Page) Messages() int { return p.doc.Messages }

// Secrets returns how many secrets were taken out.
func (p *Page) Secrets() int { return p.doc.Secrets }

// Write writes the page.
func (p *Page) Write(ctx context.Context, w io.Writer) error {
	b := bufio.NewWriterSize(w, 64<<10)
	d := p.doc
	d.ctx, d.Style, d.Script = ctx, inline(styleFile), inline(scriptFile)
	if err := pageTemplate().Execute(b, &d); err != nil {
		return err
	}
	if d.err != nil {
		return d.err
	}
	return b.Flush()
}

var (
	//go:embed page.html
	templateFile string
	//go:embed page.css
	styleFile string
	//go:embed page.js
	scriptFile string
)

// inline is a file as it stands between tags: a browser reads line ends as newlines
// before it takes the hash.
func inline(file string) string { return "\n" + strings.ReplaceAll(file, "\r\n", "\n") }

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"text":    escaped,
		"diff":    diffLines,
		"count":   count,
		"number":  number,
		"dollars": dollars,
		"hash":    hash,
		"css":     func(s string) template.CSS { return template.CSS(s) },
		"js":      func(s string) template.JS { return template.JS(s) },
	}).Parse(strings.ReplaceAll(templateFile, "\r\n", "\n")))
})

// escaped is a text of the session as it is shown between tags. It is shorter than
// what the template would make of it, which escapes plus signs.
func escaped(s string) template.HTML {
	return template.HTML(template.HTMLEscapeString(text.Visible(s)))
}

// hash is how a policy names an inline style or script.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
