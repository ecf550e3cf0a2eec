module github.com/clew-dev/clew

go 1.26.0
