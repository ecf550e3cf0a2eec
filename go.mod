module github.com/clew-dev/clew

go 1.26.0

require (
	github.com/gofrs/flock v0.13.1 // indirect
	golang.org/x/sys v0.47.0 // indirect
)
