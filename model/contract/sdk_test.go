package contract

import (
	_ "github.com/anthropics/anthropic-sdk-go"
	_ "github.com/openai/openai-go/v3"
	_ "google.golang.org/genai"
)
