package demo

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
)

// project has a small library whose check fails, because one digit of a number is a
// letter.
//
//go:embed project
var project embed.FS

// layOut writes the project into a folder.
func layOut(dir string) error {
	in, err := fs.Sub(project, "project")
	if err != nil {
		return err
	}
	return fs.WalkDir(in, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if d.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		data, err := fs.ReadFile(in, name)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o600)
	})
}
