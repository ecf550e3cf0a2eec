package postgres

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/clew-dev/clew/gateway"
	sessions "github.com/clew-dev/clew/session/postgres"
)

// How long a key that was good counts as good: while the database answers, and while it does not.
const (
	keyHolds   = 30 * time.Second
	keyOutlast = time.Hour
)

// maxKeys is how many keys are kept at hand.
const maxKeys = 10_000

// keys are those that were good lately, by their hash.
type keys struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]known
}

type known struct {
	tenant string
	at     time.Time
}

// Tenant returns whose key this is. Errors: gateway.ErrNoKey, gateway.ErrStoreDown where nobody can tell.
func (s *Store) Tenant(ctx context.Context, key string) (tenant string, err error) {
	if key == "" {
		return "", gateway.ErrNoKey
	}
	hash, now := sha256.Sum256([]byte(key)), time.Now()
	s.keys.mu.Lock()
	k, ok := s.keys.known[hash]
	s.keys.mu.Unlock()
	if ok && now.Sub(k.at) < keyHolds {
		return k.tenant, nil
	}
	err = s.use(ctx, lookWait, func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, "SELECT tenant FROM clew_key WHERE hash = $1", hash[:]).Scan(&tenant)
	})
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	switch {
	case err == nil:
		if len(s.keys.known) >= maxKeys {
			clear(s.keys.known)
		}
		s.keys.known[hash] = known{tenant, now}
	case errors.Is(err, pgx.ErrNoRows):
		delete(s.keys.known, hash)
		return "", gateway.ErrNoKey
	case ok && errors.Is(err, gateway.ErrStoreDown) && now.Sub(k.at) < keyOutlast:
		return k.tenant, nil
	}
	return tenant, err
}

// AddKey makes a key for a tenant. Nobody can read it again: the database has its hash.
func AddKey(ctx context.Context, pool *pgxpool.Pool, tenant string) (string, error) {
	if _, err := sessions.New(ctx, pool, tenant); err != nil {
		return "", err
	}
	key := "clew-" + rand.Text()
	hash := sha256.Sum256([]byte(key))
	_, err := pool.Exec(ctx, "INSERT INTO clew_key (hash, tenant) VALUES ($1, $2)", hash[:], tenant)
	return key, err
}

// DropKey makes a key worthless, within half a minute at gateways that run.
func DropKey(ctx context.Context, pool *pgxpool.Pool, key string) error {
	hash := sha256.Sum256([]byte(key))
	tag, err := pool.Exec(ctx, "DELETE FROM clew_key WHERE hash = $1", hash[:])
	if err == nil && tag.RowsAffected() == 0 {
		err = gateway.ErrNoKey
	}
	return err
}
