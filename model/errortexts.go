package model

import (
	"regexp"
	"sync"
)

var (
	retryText = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:try again|retry) in ([0-9.]+(?:ms|s|m)(?:[0-9.]+s)?)`)
	})
	tags    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<[^>]*>`) })
	scripts = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?is)<(?:script|style)\b.*?</(?:script|style)>`) })
)
