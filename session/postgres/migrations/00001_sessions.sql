-- +goose Up
CREATE TABLE clew_session (
    tenant   text NOT NULL,
    session  text NOT NULL,
    header   bytea NOT NULL,
    last_seq bigint NOT NULL DEFAULT 0,
    token    bigint NOT NULL DEFAULT 1, -- of the lease; grows each time it changes hands
    holder   text NOT NULL DEFAULT '',
    expires  timestamptz NOT NULL DEFAULT 'epoch',
    PRIMARY KEY (tenant, session)
);

-- Rows are only ever inserted. Ids are bytes, because a text can't hold all that JSON can say.
CREATE TABLE clew_entry (
    tenant  text NOT NULL,
    session text NOT NULL,
    seq     bigint NOT NULL, -- from 1, without gaps
    id      bytea NOT NULL,
    parent  bytea NOT NULL,  -- empty for a root
    raw     bytea NOT NULL,
    PRIMARY KEY (tenant, session, seq),
    UNIQUE (tenant, session, id),
    FOREIGN KEY (tenant, session) REFERENCES clew_session ON DELETE CASCADE
) PARTITION BY HASH (tenant, session);

-- +goose StatementBegin
DO $$
BEGIN
    FOR n IN 0..15 LOOP
        EXECUTE format('CREATE TABLE clew_entry_%s PARTITION OF clew_entry FOR VALUES WITH (MODULUS 16, REMAINDER %s)', n, n);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP TABLE clew_entry;
DROP TABLE clew_session;
