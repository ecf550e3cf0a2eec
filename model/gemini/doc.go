// Package gemini speaks to models through Google's generateContent API.
//
//	m, err := gemini.New(gemini.Config{Endpoint: model.Endpoint{Model: "gemini-2.5-flash"}})
//
// The key comes from GEMINI_API_KEY, else GOOGLE_API_KEY, and goes into a header,
// never into an address. The format is that of
// https://ai.google.dev/api/generate-content.
package gemini
