package model

import "regexp"

var (
	retryText = regexp.MustCompile(`(?:try again|retry) in ([0-9.]+(?:ms|s|m)(?:[0-9.]+s)?)`)
	tags      = regexp.MustCompile(`<[^>]*>`)
	scripts   = regexp.MustCompile(`(?is)<(?:script|style)\b.*?</(?:script|style)>`)
)
