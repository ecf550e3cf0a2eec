package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"runtime"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
)

// remote is a tool of a server.
type remote struct {
	s *server
	offer
	name string // as the model calls it
}

// Spec implements tool.Tool.
func (r *remote) Spec() model.Tool {
	return model.Tool{Name: r.name, Description: r.description, Parameters: r.schema}
}

// Effect implements tool.Tool. Nobody here knows what a server does, so it is Other,
// whatever the server says.
func (r *remote) Effect(arguments json.RawMessage) (tool.Effect, error) {
	if _, err := object(arguments); err != nil {
		return tool.Effect{}, err
	}
	line := r.s.name + ": " + r.offer.name
	if r.readOnly {
		line += " (says that it only reads)"
	}
	var args bytes.Buffer
	if json.Compact(&args, arguments) == nil && args.Len() > len("{}") {
		line += " " + args.String()
	}
	return tool.Effect{Kind: tool.Other, Line: text.OneLine(line, maxLine)}, nil
}

// Run implements tool.Tool.
func (r *remote) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	args, err := object(c.Arguments)
	if err != nil {
		return tool.Result{}, err
	}
	res, err := r.s.call(ctx, &sdk.CallToolParams{Name: r.offer.name, Arguments: args})
	if err != nil {
		return tool.Result{}, err
	}
	return result(res)
}

// object returns arguments as a JSON object; none are an empty one.
func object(arguments json.RawMessage) (json.RawMessage, error) {
	trimmed := bytes.TrimSpace(arguments)
	if len(trimmed) == 0 {
		return json.RawMessage("{}"), nil
	}
	if trimmed[0] != '{' || !json.Valid(trimmed) {
		return nil, errors.New("the arguments must be a JSON object")
	}
	return trimmed, nil
}

// maxLine is how many characters a line for the user has at most.
const maxLine = 300

// oneLine makes a text fit to be shown to the user on one line.
func oneLine(s string) string { return text.OneLine(s, maxLine) }

// inherited are the variables that a program gets, for without them programs do not run,
// or not as their users expect. Keys are not among them: a server gets one when its env
// names it.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TMPDIR", "XDG_*",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	"TEMP", "TMP", "SystemRoot", "SystemDrive", "windir", "ComSpec", "PATHEXT", "USERNAME", "USERPROFILE",
	"APPDATA", "LOCALAPPDATA", "ProgramData", "ProgramFiles", "ProgramFiles(x86)",
}

// needed returns what a program gets of an environment.
func needed(environ []string) []string {
	fold := func(s string) string { return s }
	if runtime.GOOS == "windows" {
		fold = strings.ToUpper
	}
	return slices.DeleteFunc(append([]string{}, environ...), func(v string) bool {
		name, _, ok := strings.Cut(v, "=")
		return !ok || !slices.ContainsFunc(inherited, func(n string) bool {
			is, err := path.Match(fold(n), fold(name))
			return is && err == nil
		})
	})
}

// maxName is the longest name of a tool that all providers take.
const maxName = 64

// unique returns "server__tool" in letters that all providers take. Where that is too long,
// or is taken, its end becomes a sum of the true names, which stays the same.
func unique(server, tool string, taken map[string]bool) string {
	name := plainName(server) + "__" + plainName(tool)
	if c := name[0]; c == '-' || c >= '0' && c <= '9' {
		name = "_" + name
	}
	// A zero byte stands between, so that no two pairs of names have one sum.
	sum := server + "\x00" + tool
	for full := name; len(name) > maxName || taken[name]; {
		h := sha256.Sum256([]byte(sum))
		end := "_" + hex.EncodeToString(h[:4])
		name = full[:min(len(full), maxName-len(end))] + end
		sum += "\x00"
	}
	taken[name] = true
	return name
}

func plainName(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, s)
}

// result makes of a server's answer what the model reads. What can't be shown to a model
// is named, so that it knows that there was something.
func result(res *sdk.CallToolResult) (tool.Result, error) {
	if res.NeedsInput() {
		return tool.Result{}, errors.New("the server asks for something else before it answers, which clew gives no server")
	}
	out := tool.Result{IsError: res.IsError}
	for _, c := range res.Content {
		if b := block(c); b.Type != message.BlockText || b.Text != "" {
			out.Content = append(out.Content, b)
		}
	}
	hasText := slices.ContainsFunc(out.Content, func(b message.Block) bool { return b.Type == message.BlockText })
	if !hasText && res.StructuredContent != nil {
		data, err := plainJSON(res.StructuredContent)
		if err != nil {
			return tool.Result{}, fmt.Errorf("the server's answer can't be read: %w", err)
		}
		out.Content = append(out.Content, message.TextBlock(data))
	}
	if len(out.Content) == 0 {
		out.Content = []message.Block{message.TextBlock("(the server has answered with nothing)")}
	}
	return out, nil
}

func block(c sdk.Content) message.Block {
	switch c := c.(type) {
	case *sdk.TextContent:
		return message.TextBlock(text.Valid(c.Text))
	case *sdk.ImageContent:
		return image(c.Data)
	case *sdk.AudioContent:
		return note("a sound of type %s, %d bytes, which can't be shown", c.MIMEType, len(c.Data))
	case *sdk.EmbeddedResource:
		return resource(c.Resource)
	case *sdk.ResourceLink:
		return note("a link to %s: %s", c.Name, c.URI)
	}
	return note("something of a kind that clew does not know, which can't be shown")
}

func resource(r *sdk.ResourceContents) message.Block {
	switch {
	case r == nil:
		return message.TextBlock("")
	case len(r.Blob) == 0:
		return message.TextBlock("[" + oneLine(r.URI) + "]\n" + text.Valid(r.Text))
	case slices.Contains(tool.ImageTypes, http.DetectContentType(r.Blob)):
		return image(r.Blob)
	}
	return note("%s of type %s, %d bytes, which can't be shown", r.URI, r.MIMEType, len(r.Blob))
}

// image returns an image by what it is, not by what it is said to be: providers refuse
// requests in which the two differ.
func image(data []byte) message.Block {
	kind := http.DetectContentType(data)
	switch {
	case !slices.Contains(tool.ImageTypes, kind):
		return note("an image of a kind that models don't take, %d bytes", len(data))
	case len(data) > tool.MaxImage:
		return note("an image of %d bytes, which is more than models take", len(data))
	}
	return message.ImageBlock(kind, base64.StdEncoding.EncodeToString(data))
}

// note stands for what can't be shown.
func note(format string, args ...any) message.Block {
	return message.TextBlock("[" + oneLine(fmt.Sprintf(format, args...)) + "]")
}

// plainJSON writes a value as JSON, with the characters as they are.
func plainJSON(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

const (
	// maxTools is the most tools that are taken of a server.
	maxTools = 500
	// maxSchema is the largest schema of a tool, in bytes: it is sent with each request.
	maxSchema = 64 << 10
	// maxDescription is the longest description, in characters.
	maxDescription = 8000
)

// offer is a tool as a server offers it.
type offer struct {
	name        string
	description string
	schema      json.RawMessage
	readOnly    bool // the server says so
}

// list asks for the tools. A tool that can't be used is left out with a warning.
func (l *link) list(ctx context.Context, only []string) (offers []offer, warnings []error, err error) {
	var found []*sdk.Tool
	for t, err := range l.session.Tools(ctx, nil) {
		if err != nil {
			if r := l.session.InitializeResult(); r != nil && r.Capabilities != nil && r.Capabilities.Tools == nil && ctx.Err() == nil {
				return nil, nil, errors.New("it has none")
			}
			return nil, nil, err
		}
		if len(found) == maxTools {
			warnings = append(warnings, fmt.Errorf("it offers more than %d tools, and the rest is left out; name those to be used in its tools", maxTools))
			break
		}
		found = append(found, t)
	}
	var names []string
	for _, t := range found {
		if slices.Contains(names, t.Name) {
			warnings = append(warnings, fmt.Errorf("it offers %s twice; the first counts", oneLine(t.Name)))
			continue
		}
		names = append(names, t.Name)
		if only != nil && !slices.Contains(only, t.Name) {
			continue
		}
		o, err := newOffer(t)
		if err != nil {
			warnings = append(warnings, fmt.Errorf("its tool %s is left out: %w", oneLine(t.Name), err))
			continue
		}
		offers = append(offers, o)
	}
	for _, name := range only {
		if !slices.Contains(names, name) {
			hint := ""
			if near := text.Nearest(name, names); near != "" {
				hint = fmt.Sprintf("; did you mean %s?", oneLine(near))
			}
			warnings = append(warnings, fmt.Errorf("it has no tool %s%s", oneLine(name), hint))
		}
	}
	return offers, warnings, nil
}

// newOffer checks a tool. The members of its schema are in the order of their names, whatever order
// the server sent them in, for the SDK gives them as a map.
func newOffer(t *sdk.Tool) (o offer, err error) {
	if t.Name == "" {
		return o, errors.New("it has no name")
	}
	raw, err := json.Marshal(t.InputSchema)
	if err != nil {
		return o, fmt.Errorf("its schema can't be written: %w", err)
	}
	if err := checkSchema(raw); err != nil {
		return o, err
	}
	o = offer{name: t.Name, schema: raw, description: text.Clip(text.Valid(strings.TrimSpace(t.Description)), maxDescription)}
	if t.Annotations != nil {
		o.readOnly = t.Annotations.ReadOnlyHint
		if o.description == "" {
			o.description = text.Clip(text.Valid(t.Annotations.Title), maxDescription)
		}
	}
	return o, nil
}

// checkSchema finds what makes providers refuse a request with the schema in it.
func checkSchema(raw json.RawMessage) error {
	if len(raw) > maxSchema {
		return fmt.Errorf("its schema has %d bytes, and at most %d are sent with each request", len(raw), maxSchema)
	}
	var s struct {
		Type       any                        `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(raw, &s); err != nil || string(raw) == "null" {
		return errors.New("its schema is no JSON schema of an object")
	}
	if s.Type != "object" {
		return errors.New(`its schema is not of type "object"`)
	}
	for name, p := range s.Properties {
		if p[0] != '{' && string(p) != "true" && string(p) != "false" {
			return fmt.Errorf("its schema has no schema for %s", oneLine(name))
		}
	}
	return nil
}
