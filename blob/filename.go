package blob

import (
	"encoding/hex"
	"path"
	"strings"
	"unicode"
)

const (
	maxStem = 32 // characters, so that a name is well below 255 bytes in UTF-8
	hexLen  = 16 // digits of the address in a file name
	// noStem is the name of content whose hint has no letter.
	noStem = "content"
	// textExt is the ending where the hint has none that is known.
	textExt = "txt"
)

// extensions are the endings that a file may have: what tools that read go by.
// An ending that makes a system do something with a file when it is clicked on or
// listed, such as .exe, .lnk or .url, is not among them.
var extensions = func() map[string]bool {
	m := map[string]bool{}
	for ext := range strings.FieldsSeq(`txt md rst tex log csv tsv diff patch
		json jsonl ndjson yaml yml toml ini xml html css svg sql proto graphql
		go mod rs py ipynb js mjs cjs jsx ts tsx java kt swift c h cc cpp hpp cs rb php pl lua r scala ex exs hs ml zig dart vue
		png jpg jpeg gif webp bmp tiff pdf`) {
		m[ext] = true
	}
	return m
}()

// FileName returns the name of the file that a Cache gives to content: from hint,
// which may be anything, such as the path of a file that was read or a command
// line, what is readable in it, then 16 digits of the address and an ending that
// tells readers of files what it is. It is one file name on every system:
// letters and digits of any script, "-" and "_", and one full stop.
func FileName(id ID, hint string) string {
	stem, ext := splitHint(hint)
	return stem + "-" + shortHex(id) + "." + ext
}

func shortHex(id ID) string { return hex.EncodeToString(id[:hexLen/2]) }

// splitHint returns the readable part of a name and its ending.
func splitHint(hint string) (stem, ext string) {
	hint = strings.TrimSpace(hint)
	if !strings.ContainsFunc(hint, unicode.IsSpace) { // a path: its last part says most
		last := hint[strings.LastIndexAny(strings.TrimRight(hint, `/\`), `/\`)+1:]
		if strings.ContainsFunc(last, isNameRune) {
			hint = last
		}
	}
	ext = textExt
	if end := path.Ext(hint); end != "" && extensions[strings.ToLower(end[1:])] {
		ext = strings.ToLower(end[1:])
		hint = strings.TrimSuffix(hint, end)
	}
	return cleanStem(hint), ext
}

// cleanStem keeps the letters and digits of s, and puts one "-" where there was
// something else between them. It has no full stop, because Windows takes what is
// before the first one for the name of a device, such as NUL.
func cleanStem(s string) string {
	var b strings.Builder
	n, gap := 0, false
	for _, r := range s {
		if !isNameRune(r) && (!unicode.IsMark(r) || n == 0 || gap || invisible(r)) {
			gap = n > 0
			continue
		}
		if gap {
			n++
		}
		if n++; n > maxStem {
			break
		}
		if gap {
			b.WriteByte('-')
			gap = false
		}
		b.WriteRune(r)
	}
	if n == 0 {
		return noStem
	}
	return b.String()
}

func isNameRune(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_') && !invisible(r)
}

// invisible reports whether a letter or mark shows nothing, such as a filler.
func invisible(r rune) bool {
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// isCacheName reports whether FileName could have made a name, and returns the
// digits of the address in it.
func isCacheName(name string) (digits string, ok bool) {
	rest, ext, ok := strings.Cut(name, ".")
	if !ok || !extensions[ext] {
		return "", false
	}
	i := strings.LastIndexByte(rest, '-')
	if i <= 0 || len(rest)-i-1 != hexLen || strings.Trim(rest[i+1:], hexDigits) != "" {
		return "", false
	}
	return rest[i+1:], cleanStem(rest[:i]) == rest[:i]
}
