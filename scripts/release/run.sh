#!/usr/bin/env bash
# Makes everything that a release consists of, from this checkout, and publishes nothing:
# archives with checksums (goreleaser), manual pages and completions, npm packages, the
# Homebrew formula. What was made is then installed and run where the tool for it is there.
#
#   scripts/release/run.sh [FOLDER]     default: dist/release
#
# A tool that is missing is named and its part left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=$(realpath -m "${1:-dist/release}")
version=$(git describe --tags --exact-match 2>/dev/null || true)
version=${version#v}
tagged=${version:+yes}
version=${version:-0.0.0-$(git rev-parse --short=12 HEAD)}
rm -rf "$out" && mkdir -p "$out"
platforms=(linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64)
here=$(go env GOOS)/$(go env GOARCH)

echo "release: manual pages and completions"
go run -tags man ./cmd/clew "$out/doc"
for page in "$out"/doc/*.1; do
  if command -v man >/dev/null; then
    [ -z "$(man --warnings -E UTF-8 -l "$page" 2>&1 >/dev/null)" ] || { echo "release: $page is no page that man reads without a warning"; exit 1; }
  fi
done

if command -v goreleaser >/dev/null; then
  echo "release: archives"
  goreleaser check
  goreleaser release --snapshot --clean --skip=publish
  (cd dist && sha256sum --check --quiet checksums.txt)
else
  echo "release: goreleaser is not installed; no archives are made, and the npm packages are for $here alone"
  platforms=("$here")
fi

echo "release: npm packages"
npm_os() { case $1 in windows) echo win32 ;; *) echo "$1" ;; esac; }
npm_cpu() { case $1 in amd64) echo x64 ;; *) echo "$1" ;; esac; }
optional=
for p in "${platforms[@]}"; do
  os=${p%/*} cpu=${p#*/}
  name=clew-$(npm_os "$os")-$(npm_cpu "$cpu")
  exe=clew; [ "$os" = windows ] && exe=clew.exe
  mkdir -p "$out/npm/$name/bin"
  GOOS=$os GOARCH=$cpu CGO_ENABLED=0 go build -trimpath -buildvcs=auto -ldflags '-s -w' -o "$out/npm/$name/bin/$exe" ./cmd/clew
  cp LICENSE NOTICE "$out/npm/$name"
  cat >"$out/npm/$name/package.json" <<JSON
{
  "name": "@clew-dev/$name",
  "version": "$version",
  "description": "The program clew for $os on $cpu",
  "license": "MIT",
  "repository": "github:clew-dev/clew",
  "os": ["$(npm_os "$os")"],
  "cpu": ["$(npm_cpu "$cpu")"]
}
JSON
  optional+="${optional:+,}
    \"@clew-dev/$name\": \"$version\""
done
mkdir -p "$out/npm/clew"
cp LICENSE NOTICE packaging/npm/clew.js packaging/npm/README.md "$out/npm/clew"
cat >"$out/npm/clew/package.json" <<JSON
{
  "name": "@clew-dev/clew",
  "version": "$version",
  "description": "Keep long agent conversations inside the model's window",
  "license": "MIT",
  "repository": "github:clew-dev/clew",
  "bin": {"clew": "clew.js"},
  "engines": {"node": ">=18"},
  "optionalDependencies": {$optional
  }
}
JSON
if command -v npm >/dev/null; then
  # As a user gets it: both packages packed, installed without a network, run.
  tried=$(mktemp -d)
  trap 'rm -rf "$tried"' EXIT
  mine=clew-$(npm_os "${here%/*}")-$(npm_cpu "${here#*/}")
  (cd "$out/npm" && npm pack --silent --pack-destination "$tried" "./$mine" ./clew >/dev/null)
  (cd "$tried" && npm init -y >/dev/null && npm install --silent --offline --no-audit --no-fund --omit=optional "$tried"/*.tgz)
  "$tried/node_modules/.bin/clew" version
  code=0; "$tried/node_modules/.bin/clew" nonsense 2>/dev/null || code=$?
  [ "$code" = 2 ] || { echo "release: through npm clew ends with $code where it should end with 2"; exit 1; }
else
  echo "release: npm is not installed; the npm packages were not tried"
fi

echo "release: Homebrew formula"
if [ -n "$tagged" ] && [ -f dist/checksums.txt ]; then
  url=https://github.com/clew-dev/clew/releases/download/v$version/clew-$version.tar.gz
  sum=$(awk -v name="clew-$version.tar.gz" '$2 == name { print $1 }' dist/checksums.txt)
  sed "s|^  head |  url \"$url\"\n  sha256 \"$sum\"\n  head |" packaging/clew.rb >"$out/clew.rb"
else
  cp packaging/clew.rb "$out/clew.rb"
fi
if command -v ruby >/dev/null; then ruby -c "$out/clew.rb" >/dev/null; fi
echo "release: $out"
