package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/clew-dev/clew/internal/pgtest"
)

// cluster is the gateways and what they keep things in.
type cluster struct {
	cfg      config
	dir      string
	upstream string
	client   *http.Client
	db       *pgtest.Server // nil where files are kept
	database string
	keys     []string // of tenants

	mu       sync.Mutex
	replicas []*replica
}

// replica is one gateway.
type replica struct {
	addr string
	log  *os.File
	cmd  *exec.Cmd
	done chan struct{} // it has ended
}

// startCluster starts all of it.
func startCluster(ctx context.Context, cfg config, upstream string) (c *cluster, err error) {
	c = &cluster{cfg: cfg, upstream: upstream, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}}
	if c.dir, err = os.MkdirTemp("", "replicas"); err != nil {
		return nil, err
	}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *cluster) start(ctx context.Context) (err error) {
	if c.cfg.Store != "files" {
		if c.db, err = pgtest.Start(); err != nil {
			return err
		}
	}
	if c.cfg.Program == "" {
		c.cfg.Program = filepath.Join(c.dir, "clew")
		build := exec.CommandContext(ctx, "go", "build", "-o", c.cfg.Program, "github.com/clew-dev/clew/cmd/clew")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("building clew: %w", err)
		}
	}
	if c.db != nil {
		if c.database, err = c.db.Database(ctx); err != nil {
			return err
		}
		if _, err := c.clew(ctx, "db", "migrate"); err != nil {
			return err
		}
		for i := range c.cfg.Tenants {
			out, err := c.clew(ctx, "db", "key", "--json", fmt.Sprint("tenant", i))
			var made struct{ Key string }
			if err == nil {
				err = json.Unmarshal(out, &made)
			}
			if err != nil {
				return err
			}
			c.keys = append(c.keys, made.Key)
		}
		if err := os.WriteFile(filepath.Join(c.dir, "gateway.json"), []byte(`{"tenants": true}`), 0o600); err != nil {
			return err
		}
	}
	for i := range c.cfg.Replicas {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		addr := l.Addr().String()
		if err := l.Close(); err != nil {
			return err
		}
		log, err := os.Create(filepath.Join(c.dir, fmt.Sprintf("replica%d.log", i)))
		if err != nil {
			return err
		}
		c.replicas = append(c.replicas, &replica{addr: addr, log: log})
		if err := c.run(i); err != nil {
			return err
		}
	}
	return nil
}

// clew runs a command on the database.
func (c *cluster) clew(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, c.cfg.Program, append(args, "--db", c.database)...)
	cmd.Env = c.env()
	out, err := cmd.Output()
	if err != nil {
		var said []byte
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			said = exit.Stderr
		}
		return nil, fmt.Errorf("clew %v: %w: %s", args, err, said)
	}
	return out, nil
}

// env keeps the settings of who runs this out of it.
func (c *cluster) env() []string {
	return append(os.Environ(), "HOME="+c.dir, "XDG_DATA_HOME="+c.dir, "XDG_CONFIG_HOME="+c.dir)
}

func (c *cluster) url(replica int) string { return "http://" + c.replicas[replica].addr }

// run starts the process of a replica and waits until it listens.
func (c *cluster) run(i int) error {
	r := c.replicas[i]
	args := []string{"gateway", "--listen", r.addr, "--upstream", "anthropic=" + c.upstream, "--window", fmt.Sprint(c.cfg.Window)}
	if c.db == nil {
		args = append(args, "--dir", filepath.Join(c.dir, "sessions"))
	} else {
		args = append(args, "--db", c.database, "--config", filepath.Join(c.dir, "gateway.json"))
	}
	cmd := exec.Command(c.cfg.Program, args...)
	cmd.Env = c.env()
	cmd.Stdout, cmd.Stderr = r.log, r.log
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	c.mu.Lock()
	r.cmd, r.done = cmd, done
	c.mu.Unlock()
	for begin := time.Now(); ; {
		conn, err := net.Dial("tcp", r.addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-done:
			said, _ := os.ReadFile(r.log.Name())
			return fmt.Errorf("replica %d ended: %s", i, tail(string(said)))
		case <-time.After(pause):
		}
		if time.Since(begin) > patience {
			return fmt.Errorf("replica %d does not listen: %w", i, err)
		}
	}
}

func tail(s string) string { return s[max(0, len(s)-1000):] }

// kill ends a replica with SIGKILL and starts it again.
func (c *cluster) kill(i int) error {
	if err := c.stop(i); err != nil {
		return err
	}
	return c.run(i)
}

func (c *cluster) stop(i int) error {
	c.mu.Lock()
	r := c.replicas[i]
	c.mu.Unlock()
	if r.cmd == nil {
		return nil
	}
	if err := r.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-r.done
	return nil
}

// close ends all of it.
func (c *cluster) close() (err error) {
	for i, r := range c.replicas {
		err = errors.Join(err, c.stop(i), r.log.Close())
	}
	c.client.CloseIdleConnections()
	if c.db != nil {
		err = errors.Join(err, c.db.Close())
	}
	if c.cfg.Keep {
		fmt.Fprintln(os.Stderr, "logs are in", c.dir)
		return err
	}
	return errors.Join(err, os.RemoveAll(c.dir))
}

// authorize makes a request one of a tenant.
func (c *cluster) authorize(req *http.Request, tenant int) {
	req.Header.Set("X-Api-Key", "key of the provider")
	if c.keys != nil {
		req.Header.Set("X-Clew-Key", c.keys[tenant])
	}
}
