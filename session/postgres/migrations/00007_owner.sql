-- +goose Up
-- The marks of this database at the places where it has large output.
CREATE TABLE clew_owner (
    mark   text PRIMARY KEY,                     -- random
    looked timestamptz NOT NULL DEFAULT 'epoch'  -- sessions that were last used before then have no garbage there
);

-- +goose Down
DROP TABLE clew_owner;
