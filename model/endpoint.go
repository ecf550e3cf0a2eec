package model

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/clew-dev/clew/wire"
)

// Endpoint says where a model is and how it is reached. All adapters take one.
type Endpoint struct {
	// Model is the provider's name for the model. It is required.
	Model string
	// Provider is the name that messages carry. Default: the adapter's.
	Provider string
	// BaseURL is the address of the API without the part that names the call, as
	// "http://localhost:11434/v1". Default: the vendor's.
	BaseURL string
	// Key is the API key. Default: that of the environment, which is sent to the
	// vendor's own address alone; another server gets a key only when it is named
	// here or in KeyEnv.
	Key Key
	// KeyEnv is the environment variable to take the key from.
	KeyEnv string
	// Header is sent beside what the adapter sends.
	Header http.Header
	// Transport makes the calls. Default: one of the adapter's own. Share one
	// between models, so that they share connections.
	Transport *Transport
	// Info says what the model takes. Default: what Catalogue knows.
	Info *Info
	// Catalogue knows models. Default: the built-in one.
	Catalogue *Catalogue

	// Getenv reads the environment. Default os.Getenv.
	Getenv func(string) string
	// Now is the clock. Default time.Now.
	Now func() time.Time
	// NewID makes the id of a tool call for APIs that give none. Default: random.
	NewID func() string
}

// Vendor is what an adapter knows of its API's home.
type Vendor struct {
	Provider string
	API      string
	BaseURL  string
	KeyEnv   []string
	Profile  wire.Profile
}

// Resolve fills in the defaults and finds what is wrong. ownHome says that the
// endpoint is the vendor's own address.
func (e Endpoint) Resolve(v Vendor) (out Endpoint, ownHome bool, err error) {
	fail := func(format string, args ...any) (Endpoint, bool, error) {
		return Endpoint{}, false, &Error{
			Op: "set up", Provider: e.Provider, Model: e.Model, Kind: KindRequest, Message: fmt.Sprintf(format, args...),
		}
	}
	if e.Provider == "" {
		e.Provider = v.Provider
	}
	if e.Model = strings.TrimSpace(e.Model); e.Model == "" {
		return fail("no model is named; set Model")
	}
	if e.BaseURL == "" {
		e.BaseURL = v.BaseURL
	}
	e.BaseURL = strings.TrimRight(e.BaseURL, "/")
	u, err := url.Parse(e.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.Fragment != "" {
		return fail("the base URL must be like %s", v.BaseURL)
	}
	if u.User != nil {
		return fail("the base URL holds a user or a password; set Key or Header instead")
	}
	ownHome = e.BaseURL == v.BaseURL
	if e.Getenv == nil {
		e.Getenv = os.Getenv
	}
	if e.Key.Empty() {
		names := v.KeyEnv
		if e.KeyEnv != "" {
			names = []string{e.KeyEnv}
		} else if !ownHome {
			names = nil
		}
		for _, name := range names {
			if e.Key = NewKey(e.Getenv(name)); !e.Key.Empty() {
				break
			}
		}
		if e.Key.Empty() && len(names) > 0 {
			return fail("there is no key; set %s in the environment", strings.Join(names, " or "))
		}
	}
	if strings.ContainsFunc(e.Key.Reveal(), func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		return fail("the key has white space or other characters in it that no key has; copy it again")
	}
	if e.Transport == nil {
		e.Transport = NewTransport(TransportConfig{})
	}
	if e.Now == nil {
		e.Now = time.Now
	}
	if e.NewID == nil {
		e.NewID = randomID
	}
	if e.Info == nil {
		c := e.Catalogue
		if c == nil {
			if c, err = BuiltIn(); err != nil {
				return fail("the built-in catalogue: %v", err)
			}
		}
		i, _ := c.Lookup(e.Provider, e.Model)
		e.Info = &i
	}
	i := *e.Info
	i.Provider, i.Model, i.API = e.Provider, e.Model, v.API
	e.Info = &i
	return e, ownHome, nil
}

func randomID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails, by its documentation
	return "call_" + hex.EncodeToString(b[:])
}

// Call returns a call to the endpoint, with its headers and with what must not
// stand in errors.
func (e *Endpoint) Call(op, path string, body []byte) Call {
	h := http.Header{}
	for k, v := range e.Header {
		h[http.CanonicalHeaderKey(k)] = v
	}
	c := Call{Op: op, Provider: e.Provider, Model: e.Model, URL: e.BaseURL + path, Header: h, Body: body}
	if !e.Key.Empty() {
		c.Secrets = append(c.Secrets, e.Key.Reveal())
	}
	for k, vs := range h {
		if secretHeader(k) {
			c.Secrets = append(c.Secrets, vs...)
		}
	}
	return c
}

// secretHeader reports whether a header is likely to hold a secret.
func secretHeader(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"authorization", "key", "token", "secret", "cookie"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// Build is [Request.Build] for the endpoint's model.
func (e *Endpoint) Build(r *Request, p wire.Profile) (*wire.Request, []wire.Note, error) {
	return r.Build(p, e.Target())
}

// Target returns what wire needs to know of the model.
func (e *Endpoint) Target() wire.Target {
	return wire.Target{Provider: e.Provider, Model: e.Model, TakesImages: e.Info.Images}
}

// Fail makes an Error of an operation on the endpoint.
func (e *Endpoint) Fail(op string, kind Kind, err error) *Error {
	return &Error{Op: op, Provider: e.Provider, Model: e.Model, Kind: kind, Err: err}
}

// Unreadable makes an Error of an answer that is not what the API should give.
func (e *Endpoint) Unreadable(op string, body []byte) *Error {
	text := plainText(string(body))
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + " …"
	}
	err := e.Fail(op, KindUnreadable, nil)
	err.Message = fmt.Sprintf("the answer is not one of this API: %q", redact(text, []string{e.Key.Reveal()}))
	return err
}
