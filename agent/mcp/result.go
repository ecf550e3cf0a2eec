package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clew-dev/clew/agent/tool"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
)

// maxImage is the largest image that providers take, in bytes. One that is larger would
// make every later request invalid.
const maxImage = 5 << 20

// imageTypes are the images that all providers take.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// result makes of a server's answer what the model reads. What can't be shown to a model
// is named, so that it knows that there was something.
func result(res *sdk.CallToolResult) (tool.Result, error) {
	if res.NeedsInput() {
		return tool.Result{}, errors.New("the server asks for something else before it answers, which clew gives no server")
	}
	out := tool.Result{IsError: res.IsError}
	hasText := false
	for _, c := range res.Content {
		b := block(c)
		hasText = hasText || b.Type == message.BlockText && b.Text != ""
		out.Content = append(out.Content, b)
	}
	if !hasText && res.StructuredContent != nil {
		data, err := plainJSON(res.StructuredContent)
		if err != nil {
			return tool.Result{}, fmt.Errorf("the server's answer can't be read: %w", err)
		}
		out.Content = append(out.Content, message.TextBlock(data))
	}
	out.Content = slices.DeleteFunc(out.Content, func(b message.Block) bool { return b.Type == message.BlockText && b.Text == "" })
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
		return message.TextBlock("[" + text.OneLine(r.URI, maxLine) + "]\n" + text.Valid(r.Text))
	case slices.Contains(imageTypes, http.DetectContentType(r.Blob)):
		return image(r.Blob)
	}
	return note("%s of type %s, %d bytes, which can't be shown", r.URI, r.MIMEType, len(r.Blob))
}

// image returns an image by what it is, not by what it is said to be: providers refuse
// requests in which the two differ.
func image(data []byte) message.Block {
	kind := http.DetectContentType(data)
	switch {
	case !slices.Contains(imageTypes, kind):
		return note("an image of a kind that models don't take, %d bytes", len(data))
	case len(data) > maxImage:
		return note("an image of %d bytes, which is more than models take", len(data))
	}
	return message.ImageBlock(kind, base64.StdEncoding.EncodeToString(data))
}

// note stands for what can't be shown.
func note(format string, args ...any) message.Block {
	return message.TextBlock("[" + text.OneLine(fmt.Sprintf(format, args...), maxLine) + "]")
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
