-- +goose Up
ALTER TABLE clew_session ADD COLUMN used timestamptz NOT NULL DEFAULT now(); -- for retention; not more exact than an hour

-- Which entries of a session hold epochs of a gateway. A row is only ever inserted, by who has the session's row locked.
CREATE TABLE clew_epoch (
    tenant  text NOT NULL,
    session text NOT NULL,
    head    bytea NOT NULL,   -- digest of the chain at the last block that a list must have
    attempt integer NOT NULL, -- above 1 where an upstream refused the one before as too long
    n       bigint NOT NULL,  -- from 1, in the order of their making
    entry   bytea NOT NULL,
    PRIMARY KEY (tenant, session, head, attempt),
    UNIQUE (tenant, session, n),
    FOREIGN KEY (tenant, session, entry) REFERENCES clew_entry (tenant, session, id) ON DELETE CASCADE
);

-- What upstreams measured. It may be lost.
CREATE TABLE clew_measure (
    tenant  text NOT NULL,
    session text NOT NULL,
    chain   bytea NOT NULL,
    tokens  bigint NOT NULL,
    env     bytea NOT NULL,
    epoch   bytea NOT NULL, -- empty for none
    at      timestamptz NOT NULL,
    PRIMARY KEY (tenant, session, chain)
);
CREATE INDEX clew_measure_at ON clew_measure USING brin (at);

-- The ledger: requests with which something was done.
CREATE TABLE clew_event (
    tenant  text NOT NULL,
    at      timestamptz NOT NULL,
    id      bigint GENERATED ALWAYS AS IDENTITY,
    session text NOT NULL, -- how its id begins; empty where the request was not read
    event   json NOT NULL, -- jsonb refuses some strings that JSON allows
    PRIMARY KEY (tenant, at, id)
);
CREATE INDEX clew_event_session ON clew_event (tenant, session);

CREATE TABLE clew_count (
    tenant      text NOT NULL,
    day         date NOT NULL,
    outcome     text NOT NULL,
    requests    bigint NOT NULL,
    before      bigint NOT NULL,
    after       bigint NOT NULL,
    input       bigint NOT NULL,
    cache_read  bigint NOT NULL,
    cache_write bigint NOT NULL,
    output      bigint NOT NULL,
    cost        double precision NOT NULL,
    PRIMARY KEY (tenant, day, outcome)
);

CREATE TABLE clew_key (
    hash   bytea PRIMARY KEY, -- SHA-256 of a random key
    tenant text NOT NULL,
    made   timestamptz NOT NULL DEFAULT now()
);

-- +goose Down
DROP TABLE clew_key, clew_count, clew_event, clew_measure, clew_epoch;
ALTER TABLE clew_session DROP COLUMN used;
