// Command vocab makes the vocabulary files of package bpe from OpenAI's rank
// files, which it takes from a module that has copies of them. Run it in the
// folder of the module oracle:
//
//	go run ./vocab ../vocab
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pkoukk/tiktoken-go-loader/assets"
)

// sums are the SHA-256 of the rank files, as tiktoken's openai_public.py has them.
var sums = map[string]string{
	"cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
	"o200k_base":  "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: vocab FOLDER")
		os.Exit(2)
	}
	for name, sum := range sums {
		if err := write(filepath.Join(os.Args[1], name+".gz"), name, sum); err != nil {
			fmt.Fprintf(os.Stderr, "vocab: %s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

func write(path, name, sum string) error {
	ranks, err := assets.Assets.ReadFile(name + ".tiktoken")
	if err != nil {
		return err
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(ranks)); got != sum {
		return fmt.Errorf("the rank file has the SHA-256 %s, want %s", got, sum)
	}
	list, err := pack(ranks)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(list); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, packed.Bytes(), 0o644)
}

// pack turns lines of a token in base64 and its rank, in the order of rank, into
// the length of each token and its bytes.
func pack(ranks []byte) (list []byte, err error) {
	next := 0
	for line := range bytes.Lines(ranks) {
		token, rank, ok := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		if !ok {
			return nil, fmt.Errorf("line %d is no token and rank: %q", next+1, line)
		}
		if n, err := strconv.Atoi(string(rank)); err != nil || n != next {
			return nil, fmt.Errorf("line %d has the rank %q, want %d", next+1, rank, next)
		}
		raw, err := base64.StdEncoding.DecodeString(string(token))
		if err != nil || len(raw) == 0 || len(raw) > 255 {
			return nil, fmt.Errorf("line %d has a token of %d bytes: %v", next+1, len(raw), err)
		}
		list = append(append(list, byte(len(raw))), raw...)
		next++
	}
	return list, nil
}
