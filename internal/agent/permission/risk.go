package permission

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

const (
	maxWords   = 400  // of a command that a star may allow
	maxMatches = 1000 // of a "*" or "?" in such a word
	maxFolders = 8    // that a line may be in, by its calls of cd
)

// risk says what a "*" of a rule would let through with a command and must not: a flag
// that writes, deletes or runs something, or a place outside the project or where
// secrets are. own is how much of the command's text the rule has written out: what
// stands there is the user's decision. It returns "" where there is none.
func (q *question) risk(c command, own int) string {
	switch {
	case q.folders == nil:
		return "the folder that it runs in"
	case len(c.words) > maxWords:
		return "its many words"
	}
	stars := slices.IndexFunc(c.words, func(w word) bool { return w.end > own })
	if stars < 0 {
		return ""
	}
	for i := stars; i < len(c.words); i++ {
		if w := c.words[i]; w.open != "" && c.name != "echo" {
			return display(w.text) + ", which has " + w.open
		}
	}
	if what := hazard(c.words, stars); what != "" {
		return what
	}
	if c.name == "echo" {
		if slices.ContainsFunc(c.words, func(w word) bool { return w.open != "" || w.glob }) {
			return "what the shell puts in"
		}
		return ""
	}
	skip := patternAt(c.words)
	for i := stars; i < len(c.words); i++ {
		w := c.words[i]
		named := "" // the folder that the rule has written out, as far as this word goes
		if w.at < own {
			named = w.text[:min(len(w.text), own-w.at)]
			named = named[:strings.LastIndexByte(named, '/')+1]
			if !strings.HasPrefix(named, "/") && !strings.HasPrefix(named, "~/") && !strings.HasPrefix(named, "../") {
				named = "" // in the project links are looked at
			}
		}
		if i != skip && q.strays(w, named) {
			return display(w.text) + ", which is outside the project or where secrets may be"
		}
	}
	return q.hidden(c.words)
}

// enter notes the folders that a line may be in. It leaves none when one of them is not
// known, or outside.
func (q *question) enter(line []command) {
	q.folders = []string{q.where.dir}
	for _, c := range line {
		if c.name != "cd" && c.name != "pushd" && c.name != "popd" {
			continue
		}
		to := c.words[1:]
		if len(to) > 0 && to[0].text == "--" {
			to = to[1:]
		}
		if len(to) != 1 || to[0].glob || to[0].open != "" || strings.HasPrefix(to[0].text, "-") || q.strays(to[0], "") || len(q.folders) > maxFolders {
			q.folders = nil
			return
		}
		for _, dir := range slices.Clone(q.folders) {
			if next := join(dir, to[0].text); !slices.Contains(q.folders, next) {
				q.folders = append(q.folders, next)
			}
		}
	}
}

func join(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return dir + "/" + name // not cleaned: what ".." is depends on the links before it
}

// strays reports whether a word may name a place outside the project, but for one in
// the folder that the rule names, or one where secrets are.
func (q *question) strays(w word, named string) bool {
	for _, name := range mayName(w.text) {
		if named != "" && strings.HasPrefix(name, named) && !climbs(name[len(named):]) && !Secret(name) {
			continue
		}
		if q.where.home != "" && (name == "~" || strings.HasPrefix(name, "~/")) {
			name = q.where.home + name[1:]
		}
		if strings.HasPrefix(name, "~") || strings.HasPrefix(name, "/") && !filepath.IsAbs(name) || !filepath.IsAbs(name) && Secret(filepath.ToSlash(name)) {
			return true
		}
		for _, dir := range q.folders {
			full := join(dir, name)
			if w.glob {
				if q.matchStrays(full, name) {
					return true
				}
				continue
			}
			if q.placeStrays(full) {
				return true
			}
		}
	}
	return false
}

// mayName returns the names of files that may be in a word: the value of a flag, what
// stands behind a colon, a comma or an at sign.
func mayName(w string) []string {
	if w == "/dev/null" {
		return nil
	}
	out := []string{w}
	if strings.HasPrefix(w, "http://") || strings.HasPrefix(w, "https://") {
		return out // as a whole it may be a file's name; its parts are not
	}
	add := func(s string) {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	if len(w) > 2 && w[0] == '-' && w[1] != '-' {
		add(w[2:]) // the value of a short flag
	}
	for piece := range strings.FieldsFuncSeq(w, func(r rune) bool { return strings.ContainsRune("=:,@", r) }) {
		add(piece)
	}
	return out
}

// placeStrays reports whether a path leads outside, or to where secrets are.
func (q *question) placeStrays(full string) bool {
	real, err := filepath.EvalSymlinks(full)
	if err != nil {
		if climbs(strings.TrimPrefix(full, q.where.dir)) {
			return true // where it leads is not known before there is something
		}
		real = filepath.Clean(full)
		for at := real; at != filepath.Dir(at); at = filepath.Dir(at) {
			if _, err := os.Lstat(at); err != nil {
				continue
			}
			parent, err := filepath.EvalSymlinks(at)
			if err != nil {
				return true // a link to nothing
			}
			real = filepath.Join(parent, strings.TrimPrefix(real, at))
			break
		}
	}
	real = slashed(real)
	return q.isOutside(real) || Secret(q.within(real))
}

// matchStrays reports whether one of the files that the shell puts in the place of a
// pattern is outside or secret, or would be read as a flag.
func (q *question) matchStrays(full, pattern string) bool {
	if strings.ContainsAny(pattern, `[\`) || strings.Count(pattern, "*")+strings.Count(pattern, "?") > 3 || climbs(pattern) {
		return true
	}
	full, pattern = filepath.Clean(full), path.Clean(pattern)
	if q.isOutside(slashed(full)) {
		return true
	}
	found, err := filepath.Glob(full)
	if err != nil || len(found) > maxMatches {
		return true
	}
	names := func(path string) []string { return strings.Split(slashed(path), "/") }
	patterns := names(full)
	for _, f := range found {
		at := names(f)
		if slices.ContainsFunc(at, func(name string) bool { return strings.HasPrefix(name, ".") }) &&
			!slices.EqualFunc(at, patterns, func(name, p string) bool { return !strings.HasPrefix(name, ".") || strings.HasPrefix(p, ".") }) {
			continue // the shell leaves out names with a dot, but for a pattern with one
		}
		if q.placeStrays(f) || hasWild(strings.SplitN(pattern, "/", 2)[0]) && strings.HasPrefix(at[len(at)-strings.Count(pattern, "/")-1], "-") {
			return true
		}
	}
	return false
}

// hidden says what a search through folders would find in files with secrets, or behind
// links that lead out. It looks through the first folders.
func (q *question) hidden(words []word) string {
	flags := map[string]string{"grep": "r R d --recursive --dereference-recursive --directories", "rg": "u . g --unrestricted --hidden --no-ignore --glob --iglob"}[path.Base(words[0].text)]
	if flags == "" || !slices.ContainsFunc(words[1:], func(w word) bool { return isFlag(w.text, flags) }) {
		return ""
	}
	only := func(w word) bool { return strings.HasPrefix(w.text, "--include") }
	if slices.ContainsFunc(words, only) && !slices.ContainsFunc(words, func(w word) bool {
		end, ok := strings.CutPrefix(w.text, "--include=*.")
		return only(w) && (!ok || hasWild(end) || Secret("."+end))
	}) {
		return "" // it searches the files of one ending
	}
	const most, deepest = 2000, 3
	found, looked, pattern := "", 0, patternAt(words)
	for _, dir := range q.folders {
		where := []string{}
		for i, w := range words[1:] {
			if info, err := os.Stat(join(dir, w.text)); err == nil && info.IsDir() && i+1 != pattern {
				where = append(where, filepath.Clean(join(dir, w.text)))
			}
		}
		if len(where) == 0 {
			where = []string{filepath.Clean(dir)}
		}
		for _, top := range where {
			_ = filepath.WalkDir(top, func(at string, e os.DirEntry, err error) error {
				looked++
				switch {
				case found != "" || looked > most:
					return filepath.SkipAll
				case err != nil || e.Name() == ".git" || strings.Count(slashed(at), "/") > strings.Count(slashed(top), "/")+deepest:
					return filepath.SkipDir
				case at != top && (e.Type()&os.ModeSymlink != 0 || Secret(e.Name())) && q.placeStrays(at):
					found = display(e.Name()) + ", which it would search as well"
				}
				return nil
			})
		}
	}
	return found
}

// Secret reports whether a path, with slashes, is one of a place for keys and passwords:
// .env, ~/.ssh and the like.
func Secret(path string) bool {
	all := "/" + strings.ToLower(path) + "/"
	if slices.ContainsFunc(secretPlaces, func(p string) bool { return strings.Contains(all, "/"+p+"/") }) {
		return true
	}
	return slices.ContainsFunc(strings.Split(all, "/"), func(name string) bool {
		if rest, ok := strings.CutPrefix(name, ".env."); ok {
			return !slices.Contains([]string{"example", "sample", "template", "dist", "defaults", "schema"}, rest)
		}
		return slices.ContainsFunc(secretEnds, func(end string) bool { return strings.HasSuffix(name, end) })
	})
}

var (
	secretPlaces = []string{
		".env", ".envrc", ".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker/config.json", ".config/gcloud", ".config/gh", ".config/op", ".password-store", ".netrc", "_netrc",
		".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".git-credentials", ".vault-token", ".cargo/credentials", ".cargo/credentials.toml", ".local/share/keyrings",
		"library/keychains", ".bash_history", ".zsh_history", ".terraform.d", ".terraformrc", ".htpasswd", ".git/config",
		"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519",
	}
	secretEnds = []string{".pem", ".p12", ".pfx", ".kdbx", ".keystore", ".jks"}
)

// runsByItself reports whether a file of the project, by its names, is run or obeyed by
// programs that nobody told to: hooks, settings of editors and agents, steps of CI. What
// runs when somebody says so, such as a Makefile, is not meant.
func runsByItself(path string) bool {
	all := "/" + strings.ToLower(path)
	if path == "" || slices.ContainsFunc(ownFolders, func(p string) bool { return strings.Contains(all+"/", "/"+p+"/") }) {
		return true
	}
	return slices.Contains(ownFiles, all[strings.LastIndexByte(all, '/')+1:])
}

var (
	ownFolders = strings.Fields(`.git .clew .vscode .idea .zed .devcontainer .husky .githooks .claude .codex .cursor .gemini .agents .pi .opencode
		.windsurf .github/workflows .github/actions .circleci .gitlab .buildkite .woodpecker .gitea/workflows .forgejo/workflows .direnv .config/mise`)
	ownFiles = strings.Fields(`.envrc .mcp.json agents.md claude.md claude.local.md gemini.md .cursorrules .windsurfrules copilot-instructions.md
		.gitlab-ci.yml .travis.yml .drone.yml .woodpecker.yml .appveyor.yml appveyor.yml azure-pipelines.yml bitbucket-pipelines.yml
		cloudbuild.yaml jenkinsfile .pre-commit-config.yaml lefthook.yml .lefthook.yml .gitmodules .gitattributes .gitconfig .npmrc .yarnrc
		.yarnrc.yml .pnpmfile.cjs .bazelrc .mise.toml mise.toml .tool-versions .bashrc .bash_profile .profile .zshrc .zshenv .zprofile
		.vimrc .exrc .nvimrc .gdbinit .lldbinit .devcontainer.json`)
)

// patternAt returns which word is a pattern or a program and no file; -1 for none.
func patternAt(words []word) int {
	flags, ok := map[string]string{
		"grep": "e f --regexp --file", "egrep": "e f --regexp --file", "fgrep": "e f --regexp --file", "rg": "e f --regexp --file --files --type-list",
		"sed": "e f --expression --file", "awk": "f --file", "jq": "f --from-file",
	}[words[0].text]
	first := slices.IndexFunc(words[1:], func(w word) bool { return !strings.HasPrefix(w.text, "-") })
	if !ok || first < 0 || slices.ContainsFunc(words, func(w word) bool { return isFlag(w.text, flags) }) {
		return -1
	}
	return first + 1
}

// hazard says which of the words from one on makes a command write, delete or run
// something that its name does not say.
func hazard(words []word, from int) string {
	name := path.Base(words[0].text)
	if wrappers[name] || name == "eval" || name == "trap" || name == "source" || name == "." {
		at := 1
		for at < len(words) && (strings.HasPrefix(words[at].text, "-") || isAssignment(words[at].text) || strings.Trim(words[at].text, "0123456789.smhd") == "") {
			at++
		}
		if at >= len(words) || at >= from {
			return "the command that it would run"
		}
		return hazard(words[at:], from-at)
	}
	flags := hazards()[name]
	if len(words) > 1 {
		if name == "git" && from <= 1 && strings.HasPrefix(words[1].text, "-") {
			return words[1].text
		}
		flags += " " + hazards()[name+" "+words[1].text]
	}
	program := patternAt(words)
	operands := 0
	for i, w := range words {
		if i == 0 {
			continue
		}
		text := w.text
		if !strings.HasPrefix(text, "-") {
			operands++
		}
		switch {
		case i < from:
			continue
		case isFlag(text, flags), i == 1 && name == "tar" && isFlag("-"+text, flags),
			name == "make" && strings.Contains(text, "="), name == "git" && strings.Contains(text, "ext::"), name == "uniq" && operands > 1,
			name == "sed" && (i == program || program < 0 && !strings.HasPrefix(text, "-")) && !tameSed(text),
			name == "awk" && (i == program || strings.HasPrefix(text, "-")) && strings.ContainsAny(text, ">|@") || name == "awk" && containsAny(text, "system", "getline", "ARGV", "ENVIRON"):
			return display(text)
		}
	}
	return ""
}

func containsAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}

// tameSed reports whether a program of sed prints, deletes or replaces, and no more.
func tameSed(program string) bool {
	if rest, ok := strings.CutPrefix(program, "s/"); ok {
		parts := strings.Split(rest, "/")
		return len(parts) == 3 && strings.Trim(parts[2], "gIip0123456789") == "" && !strings.ContainsAny(program, "\n;")
	}
	return strings.Trim(program, "0123456789,$;+~! pdq=") == ""
}

// isFlag reports whether a word is one of some flags. These are separated by blanks: a
// letter may be in a group, such as -xo; what begins with two dashes may be shortened, as
// getopt allows; and what begins with one may be written with two, as Go allows.
func isFlag(w, flags string) bool {
	if len(w) < 2 || w[0] != '-' {
		return false
	}
	name, _, _ := strings.Cut(w, "=")
	long := strings.HasPrefix(name, "--")
	for flag := range strings.FieldsSeq(flags) {
		switch {
		case strings.HasPrefix(flag, "--"):
			if long && len(name) > 2 && strings.HasPrefix(flag, name) {
				return true
			}
		case strings.HasPrefix(flag, "-"):
			if short := strings.TrimPrefix(name, "-"); short == flag || name == flag || strings.TrimPrefix(short, "test.") == flag[1:] || strings.TrimPrefix(short, "-test.") == flag[1:] {
				return true
			}
		case !long && strings.Contains(name, flag):
			return true
		}
	}
	return false
}

// hazards are the flags that make a command write, delete or run something; by its name,
// or its name and second word.
var hazards = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for names, flags := range map[string]string{
		"git":        "O --output --output-directory --ext-diff --textconv --exec --extcmd --upload-pack --receive-pack --open-files-in-pager --config --template",
		"git branch": "d D m M c C f u --delete --move --copy --force --edit-description --set-upstream-to --unset-upstream",
		"git tag":    "d f --delete --force", "git add": "f e --force --edit", "git commit": "--amend", "git rebase": "x", "git clone": "c u",
		"git push":    "f d --force --force-with-lease --delete --mirror --prune",
		"git archive": "o", "git format-patch": "o", "git difftool": "x",
		"go": `-exec -toolexec -vettool -o -c -modfile -overlay -coverprofile -cpuprofile -memprofile -blockprofile -mutexprofile -trace -outputdir
			-pkgdir -ldflags -gcflags -asmflags -gccgoflags -compiler -fix -w`,
		"find":      "-delete -exec -execdir -ok -okdir -fprint -fprint0 -fprintf -fls -files0-from",
		"fd,fdfind": "x X --exec --exec-batch",
		"sort":      "o T --output --temporary-directory --compress-program --files0-from", "wc": "--files0-from", "du": "--files0-from",
		"tar": `I F P --to-command --use-compress-program --checkpoint-action --info-script --new-volume-script --rsh-command --rmt-command
			--absolute-names --remove-files --files-from T`,
		"rg": "z --pre --hostname-bin --search-zip", "sed": "i f --in-place --file",
		"awk":  "f i l o d p D E --file --include --load --exec --source --pretty-print --dump-variables --profile --debug",
		"date": "s --set", "file": "C f m z Z --compile --files-from --magic-file --uncompress --uncompress-noreport",
		"gofmt": "-w -cpuprofile", "pytest": "p o c --basetemp --override-ini --junitxml --junit-xml --log-file --pdbcls",
		"cargo": "Z --config --target-dir --manifest-path --fix", "make": "f C I E --eval --file --makefile --directory --include-dir",
		"pip": "--log --python", "docker": "H --host --config",
		"curl":  "o O K T c D --output --output-dir --remote-name --remote-name-all --config --upload-file --cookie-jar --dump-header --trace --trace-ascii --libcurl --stderr",
		"rsync": "e --rsh --rsync-path --delete --remove-source-files --log-file", "ssh": "o F", "scp": "o F S", "zip": "T TT", "man": "P H --pager --html",
		"perl": "e E i x", "ruby": "e r i", "php": "r B R E", "printf": "v", "python,python3,pypy": "c",
		"node,bun,deno":     "e p r --eval --print --require --import --loader --experimental-loader",
		"npm,pnpm,yarn,npx": "--script-shell --node-options --prefix --userconfig --globalconfig --call c",
	} {
		for name := range strings.SplitSeq(names, ",") {
			m[name] = flags
		}
	}
	for name := range shells {
		m[name] = "c s --command --rcfile --init-file"
	}
	return m
})
