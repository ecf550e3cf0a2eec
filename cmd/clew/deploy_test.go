package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"

	"github.com/clew-dev/clew/internal/settings"
)

// What the files in deploy name, there is: commands and flags, members of the settings, variables, ports, probes,
// secrets. No container is run.
func TestDeployNamesWhatExists(t *testing.T) {
	read := func(name string) []byte {
		t.Helper()
		data, err := os.ReadFile(filepath.Join("..", "..", "deploy", name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	docs := func(name string) (all []node) {
		t.Helper()
		for dec := yaml.NewDecoder(bytes.NewReader(read(name))); ; {
			var n node
			err := dec.Decode(&n.v)
			if errors.Is(err, io.EOF) {
				return all
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all = append(all, n)
		}
	}

	var file gatewayFile
	plain, err := hujson.Standardize(read("gateway.json"))
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(plain))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		t.Fatalf("gateway.json: %v", err)
	}
	file.Key = "k" // as the file of a secret has it
	if err := mayListen(file.Listen, &file, true); err != nil {
		t.Errorf("gateway.json: %v", err)
	}
	_, port, _ := strings.Cut(file.Listen, ":")
	ends := int(file.Drain + file.Grace)

	// command checks what the program is started with.
	command := func(where string, args []string) {
		t.Helper()
		root := newRoot()
		cmd, rest, err := root.Find(args)
		if err != nil || cmd == root {
			t.Errorf("%s: clew %v: %v", where, args, err)
			return
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("%s: clew %v: %v", where, args, err)
		}
		if cmd.Name() == "db" && !slices.Contains(dbActions, cmd.Flags().Arg(0)) {
			t.Errorf("%s: clew %v", where, args)
		}
	}
	variable := func(where, name string) {
		known := slices.ContainsFunc(settings.Keys(), func(k settings.Key) bool { return k.Env == name })
		if !known && name != "CLEW_DATA_DIR" && name != "PGPASSFILE" {
			t.Errorf("%s: nothing reads the variable %s", where, name)
		}
	}
	probe := func(where, path string) {
		rec := httptest.NewRecorder()
		(&gatewayServer{}).health(http.NotFoundHandler()).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
		if rec.Code != http.StatusOK {
			t.Errorf("%s: %s answers %d", where, path, rec.Code)
		}
	}

	compose := docs("compose.yaml")[0]
	gateways := 0
	for name, s := range compose.at("services").all() {
		if s.at("image").text() != "clew" {
			continue
		}
		if args := s.at("command").texts(); len(args) > 0 {
			command(name, args)
		} else if gateways++; s.at("stop_grace_period").text() != fmt.Sprintf("%ds", ends+10) {
			t.Errorf("%s: it is stopped after %s, and needs %d s", name, s.at("stop_grace_period").text(), ends)
		}
		for v := range s.at("environment").all() {
			variable(name, v)
		}
		for _, secret := range s.at("secrets").texts() {
			if compose.at("secrets").at(secret).v == nil {
				t.Errorf("%s: no secret %s", name, secret)
			}
		}
		for _, volume := range s.at("volumes").texts() {
			read(strings.SplitN(volume, ":", 2)[0])
		}
		read(strings.TrimPrefix(s.at("build").at("dockerfile").text(), "deploy/"))
	}
	if gateways != 2 {
		t.Errorf("compose.yaml has %d gateways", gateways)
	}
	for _, m := range regexp.MustCompile(`(gateway-\d):(\d+)`).FindAllSubmatch(read("Caddyfile"), -1) {
		if compose.at("services").at(string(m[1])).v == nil || string(m[2]) != port {
			t.Errorf("Caddyfile: there is no %s", m[0])
		}
	}
	for _, m := range regexp.MustCompile(`health_uri (\S+)`).FindAllSubmatch(read("Caddyfile"), -1) {
		probe("Caddyfile", string(m[1]))
	}
	script := read("secrets.sh")
	for name, s := range compose.at("secrets").all() {
		if !regexp.MustCompile(`>`+name+`\n`).Match(script) || s.at("file").text() != "secrets/"+name {
			t.Errorf("secrets.sh makes no %s", name)
		}
	}

	kinds := map[string]int{}
	for _, d := range docs("kubernetes.yaml") {
		kind := d.at("kind").text()
		kinds[kind]++
		pod := d.at("spec").at("template").at("spec")
		if s := pod.at("terminationGracePeriodSeconds").v; s != nil && s.(int) <= ends {
			t.Errorf("%s: it is killed after %v s, and needs %d", kind, s, ends)
		}
		for _, c := range pod.at("containers").list() {
			command(kind, c.at("args").texts())
			for _, v := range c.at("env").list() {
				variable(kind, v.at("name").text())
			}
			for name, p := range c.all() {
				if strings.HasSuffix(name, "Probe") {
					probe(kind+" "+name, p.at("httpGet").at("path").text())
				}
			}
			for _, p := range c.at("ports").list() {
				if fmt.Sprint(p.at("containerPort").v) != port {
					t.Errorf("%s: port %v, and gateway.json has %s", kind, p.at("containerPort").v, port)
				}
			}
			for _, m := range c.at("volumeMounts").list() {
				if !slices.ContainsFunc(pod.at("volumes").list(), func(v node) bool { return v.at("name").text() == m.at("name").text() }) {
					t.Errorf("%s mounts %s, which is no volume", kind, m.at("name").text())
				}
			}
		}
	}
	for _, kind := range []string{"Deployment", "Service", "PodDisruptionBudget", "Job"} {
		if kinds[kind] != 1 {
			t.Errorf("kubernetes.yaml has %d of %s", kinds[kind], kind)
		}
	}

	container := string(read("Containerfile"))
	cmd := regexp.MustCompile(`(?m)^CMD (.*)$`).FindStringSubmatch(container)
	var args []string
	if cmd == nil || json.Unmarshal([]byte(cmd[1]), &args) != nil {
		t.Fatal("the Containerfile has no command")
	}
	command("Containerfile", args)
	goMod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if v := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(goMod); !strings.Contains(container, "FROM golang:"+string(v[1])+" ") {
		t.Errorf("the Containerfile does not build with Go %s", v[1])
	}
	if !strings.Contains(container, "EXPOSE "+port) || !strings.Contains(container, "USER 65532") {
		t.Error("the Containerfile names another port or user")
	}
	if !json.Valid(read("lifecycle.json")) {
		t.Error("lifecycle.json is no JSON")
	}
}

// node is a place in a YAML file. What is not there has no value.
type node struct{ v any }

func (n node) at(name string) node {
	m, _ := n.v.(map[string]any)
	return node{m[name]}
}

func (n node) all() map[string]node {
	out := map[string]node{}
	m, _ := n.v.(map[string]any)
	for name, v := range m {
		out[name] = node{v}
	}
	return out
}

func (n node) list() (out []node) {
	l, _ := n.v.([]any)
	for _, v := range l {
		out = append(out, node{v})
	}
	return out
}

func (n node) text() string {
	s, _ := n.v.(string)
	return s
}

func (n node) texts() (out []string) {
	for _, v := range n.list() {
		out = append(out, v.text())
	}
	return out
}
