-- All tables at once or none: one after another would end in a deadlock with whoever reads or writes two of them.
DO $$ BEGIN
  FOR attempt IN 1..400 LOOP
    BEGIN
      LOCK TABLE events, deposits, positions, event_observations, deposit_observations, position_observations IN ACCESS EXCLUSIVE MODE NOWAIT;
      RETURN;
    EXCEPTION WHEN lock_not_available THEN
      PERFORM pg_sleep(0.01);
    END;
  END LOOP;
  RAISE lock_not_available;
END $$;
--> statement-breakpoint
CREATE INDEX "deposit_observations_since_block" ON "deposit_observations" USING brin ("block_number") WITH (pages_per_range=16,autosummarize=true);
--> statement-breakpoint
CREATE INDEX "event_observations_since_block" ON "event_observations" USING brin ("block_number") WITH (pages_per_range=16,autosummarize=true);
--> statement-breakpoint
CREATE INDEX "position_observations_since_block" ON "position_observations" USING brin ("block_number") WITH (pages_per_range=16,autosummarize=true);
--> statement-breakpoint
CREATE TABLE "tokens" (
	"chain_id" integer NOT NULL,
	"address" "bytea" NOT NULL,
	"symbol" "bytea",
	"decimals" smallint NOT NULL,
	CONSTRAINT "tokens_chain_id_address_pk" PRIMARY KEY("chain_id","address")
);
--> statement-breakpoint
DROP INDEX "deposit_observations_by_block";
--> statement-breakpoint
DROP INDEX "event_observations_by_block";
--> statement-breakpoint
DROP INDEX "position_observations_by_block";
--> statement-breakpoint
ALTER TABLE "deposit_observations" ADD COLUMN "row_text" text;
--> statement-breakpoint
ALTER TABLE "deposit_observations" ADD COLUMN "render_key" bigint;
--> statement-breakpoint
ALTER TABLE "deposit_observations" ADD COLUMN "render_flip" boolean DEFAULT false NOT NULL;
--> statement-breakpoint
ALTER TABLE "event_observations" ADD COLUMN "row_text" text;
--> statement-breakpoint
ALTER TABLE "event_observations" ADD COLUMN "render_key" bigint;
--> statement-breakpoint
ALTER TABLE "event_observations" ADD COLUMN "render_flip" boolean DEFAULT false NOT NULL;
--> statement-breakpoint
ALTER TABLE "event_observations" ADD COLUMN "inclusions" text;
--> statement-breakpoint
ALTER TABLE "events" ADD COLUMN "payment_token" "bytea";
--> statement-breakpoint
ALTER TABLE "position_observations" ADD COLUMN "row_text" text;
--> statement-breakpoint
ALTER TABLE "position_observations" ADD COLUMN "render_key" bigint;
--> statement-breakpoint
ALTER TABLE "position_observations" ADD COLUMN "render_flip" boolean DEFAULT false NOT NULL;
--> statement-breakpoint
ALTER TABLE "event_observations" SET (fillfactor = 70);
ALTER TABLE "deposit_observations" SET (fillfactor = 70);
ALTER TABLE "position_observations" SET (fillfactor = 70);
--> statement-breakpoint
-- A statement that changes an observation without setting its text loses the text: an older release, a repair, a person.
CREATE FUNCTION clear_row_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.row_text := NULL;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER clear_row_text BEFORE UPDATE ON event_observations FOR EACH ROW
  WHEN (NEW.row_text IS NOT NULL AND NEW.render_flip = OLD.render_flip AND NEW IS DISTINCT FROM OLD) EXECUTE FUNCTION clear_row_text();
CREATE TRIGGER clear_row_text BEFORE UPDATE ON deposit_observations FOR EACH ROW
  WHEN (NEW.row_text IS NOT NULL AND NEW.render_flip = OLD.render_flip AND NEW IS DISTINCT FROM OLD) EXECUTE FUNCTION clear_row_text();
CREATE TRIGGER clear_row_text BEFORE UPDATE ON position_observations FOR EACH ROW
  WHEN (NEW.row_text IS NOT NULL AND NEW.render_flip = OLD.render_flip AND NEW IS DISTINCT FROM OLD) EXECUTE FUNCTION clear_row_text();
--> statement-breakpoint
-- Rows of deposits and positions show their event's token. Before the triggers: the tables are locked until the end.
UPDATE events SET payment_token = seen.payment_token FROM event_observations AS seen
  WHERE seen.chain_id = events.chain_id AND seen.id = events.id;
--> statement-breakpoint
-- Texts also depend on rows of other tables. Whoever renders holds the chain's lock from before it reads those (7201, see db/unobserved.ts);
-- what changes them takes it too before it clears, so no text is rendered from a row that is just being changed. What the holder before
-- committed has to be seen then: a transaction that keeps to an older snapshot is refused.
CREATE FUNCTION hold_row_texts(chain integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
    RAISE EXCEPTION 'what rows of lists are rendered from cannot be changed in a % transaction', current_setting('transaction_isolation')
      USING ERRCODE = 'feature_not_supported', HINT = 'Use BEGIN ISOLATION LEVEL READ COMMITTED.';
  END IF;
  PERFORM pg_advisory_xact_lock(7201, chain);
END $$;
--> statement-breakpoint
CREATE FUNCTION clear_row_texts_of_members(chain integer, event bigint) RETURNS void LANGUAGE sql AS $$
  UPDATE deposit_observations AS seen SET row_text = NULL FROM deposits AS fact
    WHERE fact.chain_id = chain AND fact.event_id = event AND seen.chain_id = fact.chain_id AND seen.id = fact.id
      AND seen.row_text IS NOT NULL;
  UPDATE position_observations AS seen SET row_text = NULL FROM positions AS fact
    WHERE fact.chain_id = chain AND fact.event_id = event AND seen.chain_id = fact.chain_id AND seen.id = fact.id
      AND seen.row_text IS NOT NULL;
$$;
--> statement-breakpoint
CREATE FUNCTION clear_row_text_of_fact() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM hold_row_texts(OLD.chain_id);
  EXECUTE format('UPDATE %I SET row_text = NULL WHERE chain_id = $1 AND id = $2', TG_ARGV[0]) USING OLD.chain_id, OLD.id;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER clear_row_text AFTER UPDATE OF chain_id, id, creator, underlying, strike, premium_rate, expiry_date, block_number, tx_hash ON events
  FOR EACH ROW WHEN (NEW IS DISTINCT FROM OLD) EXECUTE FUNCTION clear_row_text_of_fact('event_observations');
CREATE TRIGGER clear_row_text AFTER UPDATE ON deposits
  FOR EACH ROW WHEN (NEW IS DISTINCT FROM OLD) EXECUTE FUNCTION clear_row_text_of_fact('deposit_observations');
CREATE TRIGGER clear_row_text AFTER UPDATE ON positions
  FOR EACH ROW WHEN (NEW IS DISTINCT FROM OLD) EXECUTE FUNCTION clear_row_text_of_fact('position_observations');
--> statement-breakpoint
-- One statement for all rows: a rollback deletes many, and their observations before them.
CREATE FUNCTION clear_row_text_of_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM hold_row_texts(chain_id) FROM (SELECT DISTINCT chain_id FROM gone ORDER BY chain_id) AS chains;
  EXECUTE format('UPDATE %I AS seen SET row_text = NULL FROM gone WHERE seen.chain_id = gone.chain_id AND seen.id = gone.id', TG_ARGV[0]);
  IF TG_TABLE_NAME = 'events' THEN
    PERFORM clear_row_texts_of_members(chain_id, id) FROM gone;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER clear_row_text_of_gone AFTER DELETE ON events REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION clear_row_text_of_gone('event_observations');
CREATE TRIGGER clear_row_text_of_gone AFTER DELETE ON deposits REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION clear_row_text_of_gone('deposit_observations');
CREATE TRIGGER clear_row_text_of_gone AFTER DELETE ON positions REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION clear_row_text_of_gone('position_observations');
--> statement-breakpoint
-- An event's fact has the token of its observation, whichever of the two is written last, and keeps it when the observation goes.
CREATE FUNCTION keep_payment_token() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM hold_row_texts(NEW.chain_id);
  UPDATE events SET payment_token = NEW.payment_token
    WHERE chain_id = NEW.chain_id AND id = NEW.id AND payment_token IS DISTINCT FROM NEW.payment_token;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER keep_payment_token AFTER INSERT ON event_observations FOR EACH ROW EXECUTE FUNCTION keep_payment_token();
CREATE TRIGGER keep_changed_payment_token AFTER UPDATE ON event_observations FOR EACH ROW
  WHEN ((NEW.chain_id, NEW.id, NEW.payment_token) IS DISTINCT FROM (OLD.chain_id, OLD.id, OLD.payment_token))
  EXECUTE FUNCTION keep_payment_token();
--> statement-breakpoint
CREATE FUNCTION take_payment_token() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM hold_row_texts(chain_id) FROM (SELECT DISTINCT chain_id FROM made ORDER BY chain_id) AS chains;
  UPDATE events SET payment_token = seen.payment_token FROM made JOIN event_observations AS seen USING (chain_id, id)
    WHERE events.chain_id = made.chain_id AND events.id = made.id AND events.payment_token IS DISTINCT FROM seen.payment_token;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER take_payment_token AFTER INSERT ON events REFERENCING NEW TABLE AS made
  FOR EACH STATEMENT EXECUTE FUNCTION take_payment_token();
--> statement-breakpoint
CREATE FUNCTION clear_row_texts_of_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM hold_row_texts(OLD.chain_id);
  UPDATE events SET payment_token = seen.payment_token FROM event_observations AS seen
    WHERE events.chain_id = NEW.chain_id AND events.id = NEW.id AND seen.chain_id = NEW.chain_id AND seen.id = NEW.id
      AND events.payment_token IS DISTINCT FROM seen.payment_token;
  PERFORM clear_row_texts_of_members(OLD.chain_id, OLD.id);
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER clear_row_texts_of_event AFTER UPDATE OF chain_id, id, payment_token ON events FOR EACH ROW
  WHEN ((NEW.chain_id, NEW.id, NEW.payment_token) IS DISTINCT FROM (OLD.chain_id, OLD.id, OLD.payment_token))
  EXECUTE FUNCTION clear_row_texts_of_event();
--> statement-breakpoint
CREATE FUNCTION clear_row_texts_of_token() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM hold_row_texts(OLD.chain_id);
  UPDATE event_observations SET row_text = NULL WHERE chain_id = OLD.chain_id AND payment_token = OLD.address;
  PERFORM clear_row_texts_of_members(chain_id, id) FROM events WHERE chain_id = OLD.chain_id AND payment_token = OLD.address;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER clear_row_texts AFTER UPDATE ON tokens FOR EACH ROW
  WHEN (NEW IS DISTINCT FROM OLD) EXECUTE FUNCTION clear_row_texts_of_token();
CREATE TRIGGER clear_row_texts_of_gone AFTER DELETE ON tokens FOR EACH ROW EXECUTE FUNCTION clear_row_texts_of_token();
--> statement-breakpoint
-- Whoever rendered from a table holds it until its texts are committed, and so TRUNCATE waits for them: no chain is held (there is none
-- of number 0), but an older snapshot is refused.
CREATE FUNCTION clear_every_row_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM hold_row_texts(0);
  UPDATE event_observations SET row_text = NULL WHERE row_text IS NOT NULL;
  UPDATE deposit_observations SET row_text = NULL WHERE row_text IS NOT NULL;
  UPDATE position_observations SET row_text = NULL WHERE row_text IS NOT NULL;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER clear_every_row_text AFTER TRUNCATE ON events FOR EACH STATEMENT EXECUTE FUNCTION clear_every_row_text();
CREATE TRIGGER clear_every_row_text AFTER TRUNCATE ON deposits FOR EACH STATEMENT EXECUTE FUNCTION clear_every_row_text();
CREATE TRIGGER clear_every_row_text AFTER TRUNCATE ON positions FOR EACH STATEMENT EXECUTE FUNCTION clear_every_row_text();
CREATE TRIGGER clear_every_row_text AFTER TRUNCATE ON tokens FOR EACH STATEMENT EXECUTE FUNCTION clear_every_row_text();
