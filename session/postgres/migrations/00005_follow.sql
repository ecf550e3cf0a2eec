-- +goose Up
ALTER TABLE clew_session ADD COLUMN followed timestamptz NOT NULL DEFAULT 'epoch'; -- until when somebody wants to hear of appends

-- A commit that notifies waits for all others that do, so nobody is notified for whom nobody listens.
-- +goose StatementBegin
CREATE FUNCTION clew_tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('clew_' || left(encode(sha256(convert_to(length(NEW.tenant) || ' ' || NEW.tenant || NEW.session, 'UTF8')), 'hex'), 48), '');
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER clew_tell AFTER UPDATE ON clew_session FOR EACH ROW
    WHEN (NEW.last_seq > OLD.last_seq AND NEW.followed > now()) EXECUTE FUNCTION clew_tell();

-- +goose Down
DROP TRIGGER clew_tell ON clew_session;
DROP FUNCTION clew_tell;
ALTER TABLE clew_session DROP COLUMN followed;
