-- +goose Up
-- Gateways that run, or did lately.
CREATE TABLE clew_gateway (
    id       text PRIMARY KEY,          -- of the process, random
    batch    bigint NOT NULL DEFAULT 0, -- the last of its batches for the ledger that was written
    settings jsonb NOT NULL,
    seen     timestamptz NOT NULL DEFAULT now()
);

-- +goose Down
DROP TABLE clew_gateway;
