package page_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/clew-dev/clew/internal/page"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// hostile are texts that would do something on a page that does not take them for
// text.
var hostile = []string{
	`<script>document.title="pwned"</script>`,
	`"><img src=x onerror=document.title="pwned">`,
	`' onmouseover='document.title="pwned"' x='`,
	`" autofocus onfocus="document.title='pwned'" x="`,
	`</script><script>document.title="pwned"</script>`,
	`</style><script>document.title="pwned"</script><style>*{background:url(http://127.0.0.1:1/css)}`,
	`</textarea></title></pre></code></details></article></main><script>document.title="pwned"</script>`,
	`<svg onload=document.title="pwned"><image href="http://127.0.0.1:1/svg"/></svg>`,
	`<iframe srcdoc="<script>parent.document.title='pwned'</script>"></iframe><base href="http://127.0.0.1:1/"><meta http-equiv=refresh content="0;url=http://127.0.0.1:1/">`,
	"<!-- --><!--><script>document.title='pwned'</script>-->",
	"<![CDATA[<script>document.title='pwned'</script>]]>",
	"[click](javascript:document.title='pwned') [x](JaVaScRiPt&colon;alert(1)) [y](java\tscript:alert(1)) <javascript:alert(1)>",
	"[d](data:text/html,<script>alert(1)</script>) ![i](data:image/svg+xml,<svg/onload=alert(1)>) ![r](http://127.0.0.1:1/remote.png \"t\" onerror=alert(1))",
	"[a](https://example.org/\"onclick=alert(1)) [b](vbscript:x) [c](file:///etc/passwd) [e](//127.0.0.1:1/x) [f](#entry-x) [ref]\n\n[ref]: javascript:alert(1) 'ti\"tle'",
	"```html\" onload=\"alert(1)\n<script>alert(1)</script>\n```\n\n    <script>x</script>\n\n~~~\"><script>\nx\n~~~",
	"| a | b |\n|:-|-:|\n| <script>alert(1)</script> | [x](javascript:alert(1)) |\n\n- [ ] <b onclick=alert(1)>x</b>\n\n<div onclick=alert(1)>\n\n[![i](javascript:alert(2))](javascript:alert(3))",
	"www.example.org\"onclick=alert(1) http://127.0.0.1:1/auto?<script> ftp://127.0.0.1:1/x a@b.example javascript://example.org/%0aalert(1)",
	"line\u2028separator\u2029 \x00\x01\x1b[31mred\x1b[0m\x1b]8;;http://127.0.0.1:1/\x07link \u202Eevil\u202C \uFEFF \U000E0041 \xff\xfe &lt;b&gt; &#60;i&#62; &amp;lt;",
	`{{.}} {{template "x"}} ${alert(1)} <%= x %>`,
	`expression(alert(1)); background:url("http://127.0.0.1:1/x"); } * { color: red`,
	`a b`, `entry-1`, `transcript`, `where`, `../../x`, `#`, `%3Cscript%3E`, `__proto__`, ``,
}

// session of a text: every field that holds one has it.
func hostileSession(t testing.TB, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	q := func(s string) string {
		out, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	x := q(s)
	n := 0
	parent := "null"
	add := func(id, rest string) {
		n++
		fmt.Fprintf(&b, `{"id":%s,"parentId":%s,"timestamp":"2026-01-05T15:02:%02d.000Z",%s}`+"\n", q(id), parent, n%60, rest)
		parent = q(id)
	}
	fmt.Fprintf(&b, `{"type":"session","version":3,"id":%s,"timestamp":"2026-01-05T15:02:01.000Z","cwd":%s,"parentSession":%s}`+"\n", q("s"+s), x, x)
	msg := func(id, body string) { add(id, `"type":"message","message":{`+body+`}`) }
	msg("u1", `"role":"user","content":`+x+`,"timestamp":1`)
	msg("u"+s, `"role":"user","origin":"hook","content":[{"type":"text","text":`+x+`},{"type":"image","mimeType":`+x+`,"data":`+x+`}]`)
	for _, mime := range []string{"image/svg+xml", "image/png", `image/png" onerror="alert(1)`, "text/html"} {
		msg("i"+mime, `"role":"user","content":[{"type":"image","mimeType":`+q(mime)+`,"data":`+x+`},{"type":"image","mimeType":`+q(mime)+`,"data":"iVBORw0KGgo="}]`)
	}
	msg("sy", `"role":"system","content":`+x+`,"sections":{`+x+`:`+x+`},"toolsAdded":[{"name":`+x+`,"description":`+x+`}],"toolsRemoved":[`+x+`]`)
	msg("a1", `"role":"assistant","api":`+x+`,"provider":`+x+`,"model":`+x+`,"responseModel":`+x+`,"content":[{"type":"thinking","thinking":`+x+`},{"type":"text","text":`+x+`},{"type":"toolCall","id":`+x+`,"name":`+x+`,"arguments":{`+x+`:`+x+`,"command":`+x+`,"n":[`+x+`]}},{"type":`+x+`,"x":`+x+`}],"usage":{"input":5,"output":9,"cost":{"total":0.5}},"stopReason":"error","errorMessage":`+x)
	msg("r1", `"role":"toolResult","toolCallId":`+x+`,"toolName":`+x+`,"content":[{"type":"text","text":`+x+`}],"isError":true,"details":{"diff":`+q("+"+s+"\n-"+s+"\n@@ "+s+"\n"+s)+`,"clew":{"blob":{"id":`+x+`,"size":5}}}`)
	msg("b1", `"role":"bashExecution","command":`+x+`,"output":`+x+`,"exitCode":1,"truncated":true,"fullOutputPath":`+x)
	msg("w1", `"role":`+x+`,"content":`+x)
	add("cm", `"type":"custom_message","customType":`+x+`,"content":`+x+`,"display":true`)
	add("ch", `"type":"custom_message","customType":`+x+`,"content":`+x+`,"display":false`)
	add("mc", `"type":"model_change","provider":`+x+`,"modelId":`+x)
	add("tl", `"type":"thinking_level_change","thinkingLevel":`+x)
	add("la", `"type":"label","targetId":"u1","label":`+x)
	add("na", `"type":"session_info","name":`+x)
	add("ps", `"type":"custom","customType":"clew.pass","data":{"lines":2,"reason":`+x+`,"edits":[`+x+`]}`)
	add("ed", `"type":"context_edit","targetId":"r1","replacement":{"content":`+x+`},"details":{"x":`+x+`}`)
	add("co", `"type":"compaction","summary":`+x+`,"firstKeptEntryId":"r1","tokensBefore":12,"details":{"x":`+x+`},"systemMessage":{"role":"system","content":`+x+`}`)
	add("bs", `"type":"branch_summary","fromId":`+x+`,"summary":`+x)
	add("un", `"type":`+x+`,"anything":`+x)
	parent = q("u1")
	msg("u2", `"role":"user","content":`+x)
	msg("a2", `"role":"assistant","provider":"p","model":"m","content":[{"type":"text","text":`+x+`}],"stopReason":"stop"`)
	return b.Bytes()
}

func open(t testing.TB, data []byte) session.Store {
	t.Helper()
	f, err := jsonl.Read(context.Background(), "test", bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func write(t testing.TB, s session.Store, leaf string, opt page.Options) string {
	t.Helper()
	var b strings.Builder
	if err := page.Write(context.Background(), &b, s, leaf, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func lines(records ...string) []byte {
	head := `{"type":"session","version":3,"id":"s1","timestamp":"2026-01-05T15:02:01.000Z","cwd":"/work"}`
	return []byte(head + "\n" + strings.Join(records, "\n") + "\n")
}

// allowed are the elements of a page and their attributes.
var allowed = map[string]string{
	"html": "lang class", "head": "", "body": "", "meta": "charset name content http-equiv", "title": "", "link": "rel href", "style": "", "script": "",
	"a": "class href rel", "header": "id", "main": "id tabindex data-n data-leaf data-parents data-edits", "nav": "id aria-label",
	"section": "id aria-labelledby", "article": "id class data-i data-kept", "div": "id class dir", "span": "class title",
	"h1": "", "h2": "id", "h3": "", "h4": "", "h5": "", "h6": "", "p": "id class role data-i data-e hidden", "pre": "class tabindex", "code": "",
	"details": "class open data-e hidden", "summary": "", "dl": "", "dt": "", "dd": "", "ol": "start", "ul": "", "li": "class data-t",
	"b": "", "i": "", "ins": "", "del": "", "em": "", "strong": "", "mark": "", "time": "datetime", "input": "type id", "label": "for",
	"img": "alt src", "br": "", "hr": "", "blockquote": "", "table": "", "thead": "", "tbody": "", "tr": "", "th": "", "td": "",
}

// values are what attributes may hold, where that matters.
var values = map[string]*regexp.Regexp{
	"class":   regexp.MustCompile(`^(skip|id|md|said|nolink|bad|usage|command|from|note|more|thinking|call|output|output bad|diff|injected|instead|js|(user|injected|assistant|result|shell|system|custom|compaction|branch|unknown|note)( out)?( d[0-6])?( minor)?( first)?( on)?)$`),
	"id":      regexp.MustCompile(`^(entry-[A-Za-z0-9._-]+|n-\d+|head|columns|tree|all|transcript|where|others|others-title)$`),
	"src":     regexp.MustCompile(`^data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$`),
	"rel":     regexp.MustCompile(`^(icon|noopener noreferrer nofollow)$`),
	"dir":     regexp.MustCompile(`^auto$`),
	"role":    regexp.MustCompile(`^status$`),
	"start":   regexp.MustCompile(`^\d+$`),
	"data-i":  regexp.MustCompile(`^\d+$`),
	"data-e":  regexp.MustCompile(`^\d+$`),
	"data-t":  regexp.MustCompile(`^\d+$`),
	"data-n":  regexp.MustCompile(`^\d+$`),
	"content": regexp.MustCompile(`^(width=device-width, initial-scale=1|no-referrer|default-src 'none'; script-src 'sha256-[A-Za-z0-9+/=]+'; style-src 'sha256-[A-Za-z0-9+/=]+'; img-src data:; base-uri 'none'; form-action 'none')$`),
	"href":    regexp.MustCompile(`^(#[A-Za-z0-9._-]+|data:,|(?i:https?)://.*|(?i:mailto):.*)$`),
}

// check parses a page and reports whatever is not meant to be in one.
func check(doc string) (problems []string) {
	bad := func(format string, args ...any) {
		if len(problems) < 10 {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	root, err := html.Parse(strings.NewReader(doc))
	if err != nil {
		return []string{err.Error()}
	}
	ids := map[string]bool{}
	count := map[string]int{}
	policy, style, script := "", "", ""
	for n := range root.Descendants() {
		switch n.Type {
		case html.CommentNode:
			bad("a comment: %.100s", n.Data)
		case html.ErrorNode, html.TextNode, html.DocumentNode, html.DoctypeNode, html.RawNode:
		case html.ElementNode:
			count[n.Data]++
			attrs, ok := allowed[n.Data]
			if !ok || n.Namespace != "" {
				bad("an element %s %s", n.Namespace, n.Data)
			}
			for _, a := range n.Attr {
				if !slices.Contains(strings.Fields(attrs), a.Key) || a.Namespace != "" {
					bad("%s has an attribute %s=%.100q", n.Data, a.Key, a.Val)
				}
				if re := values[a.Key]; re != nil && !re.MatchString(a.Val) {
					bad("%s has %s=%.200q", n.Data, a.Key, a.Val)
				}
				switch a.Key {
				case "id":
					if ids[a.Val] {
						bad("two elements have the id %s", a.Val)
					}
					ids[a.Val] = true
				case "content":
					if strings.HasPrefix(a.Val, "default-src") {
						policy = a.Val
					}
				}
			}
			if n.FirstChild != nil {
				switch n.Data {
				case "style":
					style = n.FirstChild.Data
				case "script":
					script = n.FirstChild.Data
				}
			}
		}
	}
	for _, once := range []string{"script", "style", "main", "nav", "h1", "title"} {
		if count[once] != 1 {
			bad("%d elements %s", count[once], once)
		}
	}
	for what, text := range map[string]string{"script": script, "style": style} {
		sum := sha256.Sum256([]byte(text))
		if !strings.Contains(policy, what+"-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
			bad("the policy does not allow the %s that is there", what)
		}
	}
	return problems
}

// words is the text of the page's main part, without tags.
func words(t testing.TB, doc string) string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for n := range root.Descendants() {
		if n.Type == html.TextNode && (n.Parent == nil || n.Parent.Data != "script" && n.Parent.Data != "style") {
			b.WriteString(n.Data)
		}
	}
	return b.String()
}

// article is the source of one entry's part of a page.
func article(t testing.TB, doc, id string) string {
	t.Helper()
	m := regexp.MustCompile(`(?s)<article id="` + regexp.QuoteMeta(id) + `".*?</article>`).FindString(doc)
	if m == "" {
		t.Fatalf("no entry %s on the page", id)
	}
	return m
}

type failing struct{ after int }

func (f *failing) Write(p []byte) (int, error) {
	if f.after -= len(p); f.after < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}
