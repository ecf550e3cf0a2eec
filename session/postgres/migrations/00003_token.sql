-- +goose Up
-- The tokens of a session that was deleted do not come again, when one of the same id is made.
ALTER TABLE clew_session ALTER COLUMN token SET DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

-- +goose Down
ALTER TABLE clew_session ALTER COLUMN token SET DEFAULT 1;
