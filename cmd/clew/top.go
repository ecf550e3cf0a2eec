package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/gateway"
	"github.com/clew-dev/clew/internal/admin"
	"github.com/clew-dev/clew/internal/top"
)

// adminAddr is where a gateway is watched if nobody says otherwise.
const adminAddr = "127.0.0.1:8791"

// listenAdmin listens for those who watch a gateway. What it returns answers until the
// context ends.
func listenAdmin(s *admin.Server, addr string) (serve func(context.Context) error, at string, err error) {
	switch err := gateway.CheckListen(addr); {
	case errors.Is(err, gateway.ErrExposed):
		return nil, "", usagef("--admin %s: %w; it shows what was said, so it answers to this machine alone", addr, err)
	case err != nil:
		return nil, "", usagef("--admin: %w", err)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, "", fmt.Errorf("%w; take another port with --admin", err)
	}
	return func(ctx context.Context) error {
		if err := serveHTTP(ctx, l, s.Handler(), 0); err != nil {
			return fmt.Errorf("the admin listener: %w", err)
		}
		return nil
	}, l.Addr().String(), nil
}

func newTop(cmd *cobra.Command) runFunc {
	addr := cmd.Flags().String("admin", adminAddr, "the `ADDRESS` at which the gateway is watched")
	return func([]string) (result, error) {
		*addr = strings.TrimSuffix(strings.TrimPrefix(*addr, "http://"), "/") // as the gateway prints it
		fetch := func(ctx context.Context) (admin.Listing, error) { return fetchSessions(ctx, *addr) }
		in, out := cmd.InOrStdin(), cmd.OutOrStdout()
		list, err := fetch(cmd.Context())
		switch {
		case err != nil:
			return nil, fmt.Errorf("top: %w", err)
		case wantsJSON(cmd):
			return nil, printJSON(cmd, list)
		case !isTerminal(in) || !isTerminal(out):
			return nil, top.Text(out, &list)
		}
		return nil, top.Run(cmd.Context(), top.Config{Fetch: fetch, Page: "http://" + *addr, In: in, Out: out, Plain: !bool(newPainter(cmd))})
	}
}

// fetchSessions asks a gateway for its conversations.
func fetchSessions(ctx context.Context, addr string) (list admin.Listing, err error) {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/sessions", nil)
	if err != nil {
		return list, usagef("--admin %s is no address; write %s", addr, adminAddr)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return list, fmt.Errorf("no gateway answers at %s; start one with clew gateway --admin %s: %w", addr, addr, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("what answers at %s is not a gateway's admin listener; give --admin the address that clew gateway --admin prints: %s: %s", addr, resp.Status, strings.TrimSpace(printable(string(body[:min(len(body), 200)]))))
	}
	if err == nil {
		if err = json.Unmarshal(body, &list); err != nil {
			err = fmt.Errorf("what answers at %s is not a gateway's admin listener; give --admin the address that clew gateway --admin prints: %w", addr, err)
		}
	}
	for i := range list.Sessions { // another program may answer there
		list.Sessions[i].ID = printable(list.Sessions[i].ID)
	}
	return list, err
}
