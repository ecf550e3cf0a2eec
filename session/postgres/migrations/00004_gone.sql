-- +goose Up
-- Sessions that were deleted, whose large output may still be outside the database.
CREATE TABLE clew_gone (
    tenant  text NOT NULL,
    session text NOT NULL,
    at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, session)
);

-- Conversations of gateways, which have epochs, keep nothing outside.
-- +goose StatementBegin
CREATE FUNCTION clew_note_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM clew_epoch e WHERE e.tenant = OLD.tenant AND e.session = OLD.session) THEN
        INSERT INTO clew_gone (tenant, session) VALUES (OLD.tenant, OLD.session)
            ON CONFLICT (tenant, session) DO UPDATE SET at = excluded.at;
    END IF;
    RETURN OLD;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER clew_note_gone BEFORE DELETE ON clew_session FOR EACH ROW WHEN (OLD.last_seq > 0) EXECUTE FUNCTION clew_note_gone();

-- +goose Down
DROP TRIGGER clew_note_gone ON clew_session;
DROP FUNCTION clew_note_gone;
DROP TABLE clew_gone;
