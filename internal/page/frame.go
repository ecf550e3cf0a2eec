package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"slices"
	"strings"
)

//go:embed page.css
var styleFile string

//go:embed page.js
var scriptFile string

// inline is a file as it stands between tags: a browser reads line ends as newlines
// before it takes the hash.
func inline(file string) string { return "\n" + strings.ReplaceAll(file, "\r\n", "\n") }

// hash is how a policy names an inline style or script.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// head writes everything before the tree.
func (p *Page) head(o *out) {
	style, script := inline(styleFile), inline(scriptFile)
	o.raw(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src ` + hash(script) + `; style-src ` + hash(style) + `; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">
<title>`)
	o.text(p.title())
	o.raw("</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>" + style + "</style>\n</head>\n<body>\n")
	o.raw("<a class=\"skip\" href=\"#transcript\">To the conversation</a>\n<header id=\"head\">\n<h1>")
	o.text(p.title())
	o.raw("</h1>\n<dl>\n")
	p.facts(o)
	o.raw("</dl>\n")
	if p.secrets > 0 {
		o.raw("<p>" + count(p.secrets, "secret"))
		if p.secrets == 1 {
			o.raw(" was taken out and has a mark in its place.</p>\n")
		} else {
			o.raw(" were taken out and have marks in their places.</p>\n")
		}
	}
	o.raw("</header>\n<div id=\"columns\">\n")
}

func (p *Page) title() string {
	if p.name != "" {
		return p.name
	}
	if id := line(p.header.ID); id != "" {
		return "Session " + id
	}
	return "Session"
}

func (p *Page) facts(o *out) {
	fact := func(name, value string) {
		if value == "" {
			return
		}
		o.raw("<div><dt>" + name + "</dt><dd>")
		o.text(value)
		o.raw("</dd></div>\n")
	}
	t := &p.totals
	if p.name != "" {
		fact("Session", line(p.header.ID)) // else it is the title
	}
	fact("Folder", line(p.header.Cwd))
	fact("Forked from", line(p.header.ParentSession))
	from, to := t.from, t.to
	if !p.header.Timestamp.IsZero() && (from.IsZero() || p.header.Timestamp.Before(from)) {
		from = p.header.Timestamp
	}
	if !from.IsZero() {
		o.raw("<div><dt>Time</dt><dd>")
		when(o, from)
		if to.After(from) {
			o.raw(" to")
			when(o, to)
		}
		o.raw(" UTC</dd></div>\n")
	}
	const most = 8
	models := slices.Clone(t.models)
	if len(models) > most {
		models = append(models[:most:most], "and "+number(int64(len(t.models)-most))+" more")
	}
	for i := range models {
		models[i] = line(models[i])
	}
	fact("Models", strings.Join(models, ", "))
	fact("Log", number(int64(t.entries))+" entries"+", "+count(t.messages, "message"))
	if t.input+t.output+t.cacheRead+t.writes > 0 {
		fact("Tokens", number(t.input)+" in, "+number(t.cacheRead)+" from the cache, "+number(t.writes)+" to the cache, "+number(t.output)+" out")
	}
	if t.cost > 0 {
		fact("Cost", dollars(t.cost))
	}
}

func (p *Page) foot(o *out) {
	o.raw("</div>\n<script>" + inline(scriptFile) + "</script>\n</body>\n</html>\n")
}
