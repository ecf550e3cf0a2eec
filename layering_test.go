package clew_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const importTable = "testdata/imports.txt"

// TestLayering holds the table in testdata/imports.txt against what the
// packages import, on each system we support. Imports of tests do not count.
func TestLayering(t *testing.T) {
	goCommand, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command to list the packages with")
	}
	doc, err := os.ReadFile(filepath.FromSlash(importTable))
	if err != nil {
		t.Fatal(err)
	}
	table, err := parseImportTable(string(doc))
	if err != nil {
		t.Fatalf("%s: %v", importTable, err)
	}
	touchSources(t)
	for _, goos := range []string{"linux", "darwin", "windows"} {
		t.Run(goos, func(t *testing.T) {
			t.Parallel()
			pkgs := listPackages(t, goCommand, goos)
			for _, problem := range checkImports(table, pkgs) {
				t.Errorf("%s (the table is in %s)", problem, importTable)
			}
		})
	}
}

// TestPublicPackages counts what others may import. Drivers and the suites for those who write one are apart: they stand
// below the package whose interface they fill.
func TestPublicPackages(t *testing.T) {
	goCommand, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command to list the packages with")
	}
	touchSources(t)
	drivers := []string{"session/...", "blob/...", "gateway/...", "model/..."}
	inner := []string{"bench/...", "cmd/...", "examples/...", "internal/...", "scripts/..."}
	var public []string
	for _, p := range listPackages(t, goCommand, "linux") {
		driver := func(pattern string) bool { return matches(pattern, p.name) && p.name+"/..." != pattern }
		within := func(pattern string) bool { return matches(pattern, p.name) }
		if slices.ContainsFunc(inner, within) || slices.ContainsFunc(drivers, driver) && p.name != "model/catalogue" {
			continue
		}
		public = append(public, p.name)
	}
	if len(public) > 15 {
		t.Errorf("%d packages are public, and 15 are the most: %q", len(public), public)
	}
}

// touchSources lists the folders of the module. The go command reuses a test's
// result until a file that the test itself has looked at changes; it does not
// know what go list reads, and would go on saying "ok (cached)".
func touchSources(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != "." && (name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".")) {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// An importRow says what the packages that it covers may import directly.
type importRow struct {
	pkg     string   // relative to the module, "." for the root, may end in "/..."
	allowed []string // likewise, "..." for all of ours; or the path of a module
}

func parseImportTable(text string) ([]importRow, error) {
	var table []importRow
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, list, ok := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return nil, fmt.Errorf("%q is not of the form \"package: allowed, allowed\"", line)
		}
		if seen[name] {
			return nil, fmt.Errorf("two rows for %s", name)
		}
		seen[name] = true
		row := importRow{pkg: name}
		for item := range strings.SplitSeq(list, ",") {
			item = strings.TrimSpace(item)
			switch {
			case item == "" && strings.TrimSpace(list) == "", item == "std":
			case item == "" || strings.ContainsAny(item, " \t"):
				return nil, fmt.Errorf("the row of %s has the item %q; items are separated by commas", name, item)
			default:
				row.allowed = append(row.allowed, item)
			}
		}
		table = append(table, row)
	}
	if len(table) == 0 {
		return nil, errors.New("the import table is empty")
	}
	return table, nil
}

// rowFor returns the row of a package: its own, or the longest "/..." above it.
func rowFor(table []importRow, pkg string) (importRow, bool) {
	var best importRow
	found := false
	for _, r := range table {
		if r.pkg == pkg {
			return r, true
		}
		if strings.HasSuffix(r.pkg, "...") && matches(r.pkg, pkg) && (!found || len(r.pkg) > len(best.pkg)) {
			best, found = r, true
		}
	}
	return best, found
}

// matches reports whether pkg is pattern or, for "dir/...", dir or below it.
func matches(pattern, pkg string) bool {
	if pattern == "..." {
		return true
	}
	if dir, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == dir || strings.HasPrefix(pkg, dir+"/")
	}
	return pattern == pkg
}

// A goPackage is one package of ours with what it imports.
type goPackage struct {
	name       string   // relative to the module, "." for the root
	ours       []string // direct imports of ours
	modules    []string // modules of the other direct imports
	oursAll    []string // all packages of ours that are linked with it
	modulesAll []string // all other modules that are linked with it
}

// isCore reports whether what a package links is held to a short list: all but
// the programs and what only they use.
func isCore(pkg string) bool {
	for _, edge := range []string{"cmd/...", "internal/admin/...", "internal/chat/...", "internal/demo/...", "internal/mcpserver/...", "internal/top/...", "internal/tui/...", "scripts/...", "internal/web/...", "agent/...", "internal/agent/...", "gateway/..."} {
		if matches(edge, pkg) {
			return false
		}
	}
	return true
}

// checkImports returns one sentence for each import that table does not allow.
//
// A core package may link, over any number of steps, only modules that are named
// in its own row or in the row of a package of ours that it links.
func checkImports(table []importRow, pkgs []goPackage) []string {
	var problems []string
	report := func(format string, args ...any) {
		problems = append(problems, fmt.Sprintf(format, args...))
	}
	for _, p := range pkgs {
		row, ok := rowFor(table, p.name)
		if !ok {
			report("%s has no row", p.name)
			continue
		}
		for _, dep := range p.ours {
			if !slices.ContainsFunc(row.allowed, func(a string) bool { return matches(a, dep) }) {
				report("%s imports %s, which its row does not allow", p.name, dep)
			}
		}
		for _, mod := range p.modules {
			if !slices.Contains(row.allowed, mod) {
				report("%s imports module %s, which its row does not name", p.name, mod)
			}
		}
		if !isCore(p.name) {
			continue
		}
		named := slices.Clone(row.allowed)
		for _, dep := range p.oursAll {
			if !isCore(dep) {
				report("%s links %s, which is not for core packages", p.name, dep)
			}
			if r, ok := rowFor(table, dep); ok {
				named = append(named, r.allowed...)
			}
		}
		for _, mod := range p.modulesAll {
			if !slices.Contains(named, mod) {
				report("%s links module %s, which no row on the way names", p.name, mod)
			}
		}
	}
	return problems
}

// listPackages asks the go command for the packages of this module on goos.
func listPackages(t *testing.T, goCommand, goos string) []goPackage {
	t.Helper()
	cmd := exec.Command(goCommand, "list", "-deps", "-json=ImportPath,Imports,Deps,Standard,Module,DepOnly", "./...")
	cmd.Env = os.Environ()
	if goos != runtime.GOOS {
		cmd.Env = append(cmd.Env, "GOOS="+goos, "CGO_ENABLED=0", "GOPROXY=off")
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if strings.Contains(stderr.String(), "GOPROXY=off") {
			t.Skipf("modules for %s are not on this machine; run: go mod download", goos)
		}
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}

	type listed struct {
		ImportPath string
		Imports    []string
		Deps       []string
		Standard   bool
		DepOnly    bool
		Module     *struct{ Path string }
	}
	all := map[string]listed{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		all[l.ImportPath] = l
	}

	var pkgs []goPackage
	for _, path := range slices.Sorted(maps.Keys(all)) {
		l := all[path]
		if l.DepOnly {
			continue
		}
		module := l.Module.Path
		// split divides import paths into packages of ours and other modules.
		split := func(paths []string) (ours, modules []string) {
			for _, path := range paths {
				dep := all[path]
				switch {
				case dep.Standard || dep.Module == nil: // "C" is not listed
				case dep.Module.Path == module:
					ours = append(ours, relative(module, path))
				default:
					modules = append(modules, dep.Module.Path)
				}
			}
			slices.Sort(modules)
			return ours, slices.Compact(modules)
		}
		p := goPackage{name: relative(module, path)}
		p.ours, p.modules = split(l.Imports)
		p.oursAll, p.modulesAll = split(l.Deps)
		pkgs = append(pkgs, p)
	}
	if len(pkgs) == 0 {
		t.Fatal("go list found no package")
	}
	return pkgs
}

func relative(module, path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}

// TestImportTableBites shows that TestLayering would notice: each graph breaks
// one rule of the table and must be reported in these words and no others.
func TestImportTableBites(t *testing.T) {
	table, err := parseImportTable(`
# what stands below
message:
store: message, example.org/lock
store/...: store
store/deep/...: message
.: message, store, std
cmd/...: ..., example.org/flags
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		pkg  goPackage
		want []string
	}{
		{"allowed", goPackage{name: "store", ours: []string{"message"}, modules: []string{"example.org/lock"}, oursAll: []string{"message"}, modulesAll: []string{"example.org/lock"}}, nil},
		{"allowed over a package of ours", goPackage{name: ".", ours: []string{"store"}, oursAll: []string{"message", "store"}, modulesAll: []string{"example.org/lock"}}, nil},
		{"all of ours", goPackage{name: "cmd/x", ours: []string{".", "store/a"}, modules: []string{"example.org/flags"}, modulesAll: []string{"example.org/flags", "example.org/more"}}, nil},
		{"row for a folder", goPackage{name: "store/a/b", ours: []string{"store"}}, nil},
		{"longer row for a folder", goPackage{name: "store/deep/b", ours: []string{"store"}}, []string{"store/deep/b imports store, which its row does not allow"}},
		{"upwards", goPackage{name: "message", ours: []string{"store"}}, []string{"message imports store, which its row does not allow"}},
		{"like an allowed one", goPackage{name: ".", ours: []string{"messages"}}, []string{". imports messages, which its row does not allow"}},
		{"no row", goPackage{name: "other"}, []string{"other has no row"}},
		{"foreign module", goPackage{name: "cmd/x", modules: []string{"example.org/lock"}}, []string{"cmd/x imports module example.org/lock, which its row does not name"}},
		{"foreign module behind an allowed one", goPackage{name: "store", modules: []string{"example.org/lock"}, modulesAll: []string{"example.org/lock", "example.org/sys"}}, []string{"store links module example.org/sys, which no row on the way names"}},
		{"foreign module of a package of ours it does not link", goPackage{name: "message", modulesAll: []string{"example.org/lock"}}, []string{"message links module example.org/lock, which no row on the way names"}},
		{"a program in the core", goPackage{name: "message", oursAll: []string{"cmd/x"}}, []string{"message links cmd/x, which is not for core packages"}},
	} {
		if got := checkImports(table, []goPackage{tc.pkg}); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestParseImportTableRefuses(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"# only a comment\n", "empty"},
		{"a b\n", "is not of the form"},
		{"a: b\na: c\n", "two rows for a"},
		{"a: b c\n", `the item "b c"`},
		{"a: b,,c\n", `the item ""`},
	} {
		if _, err := parseImportTable(tc.text); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: error %v, want %q", tc.text, err, tc.want)
		}
	}
}
