-- Brings a database of 0.1.0 to the schema of 0017_baseline, which a new database has already. Processes of 0.1.0 keep running on it:
-- the last part is only for them, and the next release drops it (decision 32).
DO $$
DECLARE
  timeout_before text := current_setting('lock_timeout');
BEGIN
  IF to_regclass('unobserved') IS NULL THEN RETURN; END IF;

  -- All tables at once or none: one after another would end in a deadlock with a transaction that uses two of them. Each attempt is
  -- short, because later statements wait behind it.
  PERFORM set_config('lock_timeout', '100ms', true);
  FOR attempt IN 1..20 LOOP
    BEGIN
      LOCK TABLE cursors, unobserved, looks, rollbacks, tokens, events, deposits, positions,
        event_observations, deposit_observations, position_observations;
      EXIT;
    EXCEPTION WHEN lock_not_available THEN
      IF attempt = 20 THEN RAISE; END IF;
      PERFORM pg_sleep(0.1);
    END;
  END LOOP;
  PERFORM set_config('lock_timeout', timeout_before, true);

  -- Names.
  ALTER TABLE unobserved RENAME TO refresh_queue;
  ALTER TABLE refresh_queue RENAME COLUMN noted TO sequence;
  ALTER TABLE refresh_queue RENAME CONSTRAINT unobserved_chain_id_subject_id_pk TO refresh_queue_chain_id_subject_id_pk;
  ALTER INDEX unobserved_by_arrival RENAME TO refresh_queue_by_arrival;
  ALTER SEQUENCE unobserved_noted_seq RENAME TO refresh_queue_sequence_seq;
  ALTER TABLE looks RENAME TO heartbeats;
  ALTER TABLE heartbeats RENAME COLUMN looked_at TO reported_at;
  ALTER TABLE heartbeats RENAME COLUMN trouble TO problem;
  ALTER TABLE heartbeats RENAME CONSTRAINT looks_pkey TO heartbeats_pkey;
  ALTER TABLE rollbacks RENAME COLUMN last_note TO last_request;

  -- Additions.
  ALTER TABLE cursors ADD COLUMN fees_contradiction text;
  ALTER TABLE heartbeats
    ADD COLUMN checked_number bigint,
    ADD COLUMN head_hash bytea,
    ADD COLUMN is_quiet boolean DEFAULT false NOT NULL,
    ADD COLUMN unknown_logs bigint DEFAULT 0 NOT NULL,
    ADD COLUMN unknown_topic bytea,
    ADD COLUMN unknown_block bigint;
  CREATE TABLE log_gaps (
    chain_id integer NOT NULL,
    seq bigint GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME log_gaps_seq_seq),
    from_block bigint NOT NULL,
    to_block bigint NOT NULL,
    unread_to bigint NOT NULL,
    state text DEFAULT 'open' NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL,
    next_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT log_gaps_chain_id_seq_pk PRIMARY KEY (chain_id, seq)
  );
  CREATE INDEX deposits_without_log ON deposits (chain_id, block_number) WHERE tx_hash IS NULL;
  CREATE INDEX events_without_log ON events (chain_id, block_number) WHERE tx_hash IS NULL;
  CREATE INDEX positions_without_log ON positions (chain_id, block_number) WHERE tx_hash IS NULL;

  -- The triggers that kept texts of list rows up to date, except for two (decision 31).
  DROP TRIGGER clear_row_text ON events;
  DROP TRIGGER clear_row_text ON deposits;
  DROP TRIGGER clear_row_text ON positions;
  DROP TRIGGER clear_row_text_of_gone ON events;
  DROP TRIGGER clear_row_text_of_gone ON deposits;
  DROP TRIGGER clear_row_text_of_gone ON positions;
  DROP TRIGGER take_payment_token ON events;
  DROP TRIGGER clear_row_texts_of_event ON events;
  DROP TRIGGER clear_row_texts ON tokens;
  DROP TRIGGER clear_row_texts_of_gone ON tokens;
  DROP TRIGGER clear_every_row_text ON events;
  DROP TRIGGER clear_every_row_text ON deposits;
  DROP TRIGGER clear_every_row_text ON positions;
  DROP TRIGGER clear_every_row_text ON tokens;
  DROP FUNCTION clear_row_text_of_fact, clear_row_text_of_gone, take_payment_token, clear_row_texts_of_event, clear_row_texts_of_token,
    clear_every_row_text, clear_row_texts_of_members;

  -- For 0.1.0. It reads and writes the columns row_text, render_key, render_flip and inclusions. The trigger clear_row_text clears the
  -- text of a row that another release stores, and keep_payment_token stores the token of an event that 0.1.0 observes with its fact.
  CREATE OR REPLACE FUNCTION keep_payment_token() RETURNS trigger LANGUAGE plpgsql AS $body$
  BEGIN
    UPDATE events SET payment_token = NEW.payment_token
      WHERE chain_id = NEW.chain_id AND id = NEW.id AND payment_token IS DISTINCT FROM NEW.payment_token;
    RETURN NULL;
  END $body$;
  DROP FUNCTION hold_row_texts;
  CREATE VIEW unobserved AS
    SELECT chain_id, subject, id, many, sequence AS noted, version, since, from_block FROM refresh_queue;
  CREATE VIEW looks AS
    SELECT chain_id, reported_at AS looked_at, head_number, head_timestamp, proven_number, proven_hash, proven_timestamp, source,
      problem AS trouble, endpoints
    FROM heartbeats;
  ALTER TABLE rollbacks ADD COLUMN last_note bigint;
  UPDATE rollbacks SET last_note = last_request;
  CREATE FUNCTION keep_last_note() RETURNS trigger LANGUAGE plpgsql AS $body$
  BEGIN
    NEW.last_request := coalesce(NEW.last_note, NEW.last_request);
    NEW.last_note := NEW.last_request;
    RETURN NEW;
  END $body$;
  CREATE TRIGGER keep_last_note BEFORE INSERT ON rollbacks FOR EACH ROW EXECUTE FUNCTION keep_last_note();
END $$;
