module github.com/clew-dev/clew/internal/bpe/oracle

go 1.26.0

require (
	github.com/clew-dev/clew v0.0.0-00010101000000-000000000000
	github.com/pkoukk/tiktoken-go v0.1.8
	github.com/pkoukk/tiktoken-go-loader v0.0.2
)

require (
	github.com/dlclark/regexp2 v1.10.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
)

replace github.com/clew-dev/clew => ../../..
