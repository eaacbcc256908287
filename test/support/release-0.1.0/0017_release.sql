-- 0000_facts_and_observations
CREATE TABLE "anchors" (
	"chain_id" integer NOT NULL,
	"block_number" bigint NOT NULL,
	"block_hash" "bytea" NOT NULL,
	"block_timestamp" bigint NOT NULL,
	CONSTRAINT "anchors_chain_id_block_number_pk" PRIMARY KEY("chain_id","block_number")
);
--> statement-breakpoint
CREATE TABLE "chain_observations" (
	"chain_id" integer PRIMARY KEY NOT NULL,
	"creation_fee" numeric(78,0) NOT NULL,
	"hedger_fee_rate" numeric(78,0) NOT NULL,
	"payout_fee_rate" numeric(78,0) NOT NULL,
	"lp_profit_fee_rate" numeric(78,0) NOT NULL,
	"creator_loyalty_rate" numeric(78,0) NOT NULL,
	"paused" boolean NOT NULL,
	"total_events" numeric(78,0) NOT NULL,
	"block_number" bigint NOT NULL,
	"block_hash" "bytea" NOT NULL,
	"block_timestamp" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "cursors" (
	"chain_id" integer PRIMARY KEY NOT NULL,
	"block_number" bigint NOT NULL,
	"block_hash" "bytea" NOT NULL,
	"block_timestamp" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "deposit_observations" (
	"chain_id" integer NOT NULL,
	"id" bigint NOT NULL,
	"premiums_earned" numeric(78,0) NOT NULL,
	"premiums_claimed" numeric(78,0) NOT NULL,
	"pending" numeric(78,0) NOT NULL,
	"withdrawn" boolean NOT NULL,
	"block_number" bigint NOT NULL,
	"block_hash" "bytea" NOT NULL,
	"block_timestamp" bigint NOT NULL,
	CONSTRAINT "deposit_observations_chain_id_id_pk" PRIMARY KEY("chain_id","id")
);
--> statement-breakpoint
CREATE TABLE "deposits" (
	"chain_id" integer NOT NULL,
	"id" bigint NOT NULL,
	"event_id" bigint NOT NULL,
	"lp" "bytea" NOT NULL,
	"amount" numeric(78,0) NOT NULL,
	"shares" numeric(78,0) NOT NULL,
	"block_number" bigint NOT NULL,
	"block_hash" "bytea" NOT NULL,
	"block_timestamp" bigint NOT NULL,
	"tx_hash" "bytea" NOT NULL,
	"log_index" integer NOT NULL,
	CONSTRAINT "deposits_chain_id_id_pk" PRIMARY KEY("chain_id","id")
);
--> statement-breakpoint
CREATE TABLE "event_observations" (
	"chain_id" integer NOT NULL,
	"id" bigint NOT NULL,
	"name" "bytea" NOT NULL,
	"payout_cap" numeric(78,0) NOT NULL,
	"initial_rate" numeric(78,0) NOT NULL,
	"strike_above" boolean NOT NULL,
	"payment_token" "bytea" NOT NULL,
	"status" smallint NOT NULL,
	"pool_open" boolean NOT NULL,
	"allow_external_lp" boolean NOT NULL,
	"settlement_price" numeric(78,0) NOT NULL,
	"triggered" boolean NOT NULL,
	"settled_at" numeric(78,0) NOT NULL,
	"creator_earnings" numeric(78,0) NOT NULL,
	"total_liquidity" numeric(78,0) NOT NULL,
	"total_exposure" numeric(78,0) NOT NULL,
	"total_premiums" numeric(78,0) NOT NULL,
	"lp_count" numeric(78,0) NOT NULL,
	"hedger_count" numeric(78,0) NOT NULL,
	"total_max_payout" numeric(78,0) NOT NULL,
	"available_capacity" numeric(78,0) NOT NULL,
	"utilization_percent" numeric(78,0) NOT NULL,
	"block_number" bigint NOT NULL,
	"block_hash" "bytea" NOT NULL,
	"block_timestamp" bigint NOT NULL,
	CONSTRAINT "event_observations_chain_id_id_pk" PRIMARY KEY("chain_id","id")
);
--> statement-breakpoint
CREATE TABLE "events" (
	"chain_id" integer NOT NULL,
	"id" bigint NOT NULL,
	"creator" "bytea" NOT NULL,
	"underlying" "bytea" NOT NULL,
	"strike" numeric(78,0) NOT NULL,
	"premium_rate" numeric(78,0) NOT NULL,
	"expiry_date" numeric(78,0) NOT NULL,
	"initial_liquidity" numeric(78,0) NOT NULL,
	"block_number" bigint NOT NULL,
	"block_hash" "bytea" NOT NULL,
	"block_timestamp" bigint NOT NULL,
	"tx_hash" "bytea" NOT NULL,
	"log_index" integer NOT NULL,
	CONSTRAINT "events_chain_id_id_pk" PRIMARY KEY("chain_id","id")
);
--> statement-breakpoint
CREATE TABLE "leases" (
	"chain_id" integer PRIMARY KEY NOT NULL,
	"holder" text NOT NULL,
	"epoch" bigint NOT NULL,
	"expires_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "position_observations" (
	"chain_id" integer NOT NULL,
	"id" bigint NOT NULL,
	"payout_amount" numeric(78,0) NOT NULL,
	"status" smallint NOT NULL,
	"claimed" boolean NOT NULL,
	"block_number" bigint NOT NULL,
	"block_hash" "bytea" NOT NULL,
	"block_timestamp" bigint NOT NULL,
	CONSTRAINT "position_observations_chain_id_id_pk" PRIMARY KEY("chain_id","id")
);
--> statement-breakpoint
CREATE TABLE "positions" (
	"chain_id" integer NOT NULL,
	"id" bigint NOT NULL,
	"event_id" bigint NOT NULL,
	"hedger" "bytea" NOT NULL,
	"notional" numeric(78,0) NOT NULL,
	"premium_paid" numeric(78,0) NOT NULL,
	"platform_fee" numeric(78,0) NOT NULL,
	"block_number" bigint NOT NULL,
	"block_hash" "bytea" NOT NULL,
	"block_timestamp" bigint NOT NULL,
	"tx_hash" "bytea" NOT NULL,
	"log_index" integer NOT NULL,
	CONSTRAINT "positions_chain_id_id_pk" PRIMARY KEY("chain_id","id")
);
--> statement-breakpoint
CREATE TABLE "unobserved" (
	"chain_id" integer NOT NULL,
	"subject" text NOT NULL,
	"id" bigint NOT NULL,
	"noted" bigint GENERATED ALWAYS AS IDENTITY (sequence name "unobserved_noted_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	CONSTRAINT "unobserved_chain_id_subject_id_pk" PRIMARY KEY("chain_id","subject","id")
);
--> statement-breakpoint
CREATE INDEX "deposit_observations_by_block" ON "deposit_observations" USING btree ("chain_id","block_number");--> statement-breakpoint
CREATE INDEX "deposits_by_lp" ON "deposits" USING btree ("chain_id","lp","id");--> statement-breakpoint
CREATE INDEX "deposits_by_event" ON "deposits" USING btree ("chain_id","event_id","id");--> statement-breakpoint
CREATE INDEX "deposits_by_block" ON "deposits" USING btree ("chain_id","block_number");--> statement-breakpoint
CREATE INDEX "event_observations_by_block" ON "event_observations" USING btree ("chain_id","block_number");--> statement-breakpoint
CREATE INDEX "events_by_creator" ON "events" USING btree ("chain_id","creator","id");--> statement-breakpoint
CREATE INDEX "events_by_block" ON "events" USING btree ("chain_id","block_number");--> statement-breakpoint
CREATE INDEX "position_observations_by_block" ON "position_observations" USING btree ("chain_id","block_number");--> statement-breakpoint
CREATE INDEX "positions_by_hedger" ON "positions" USING btree ("chain_id","hedger","id");--> statement-breakpoint
CREATE INDEX "positions_by_event" ON "positions" USING btree ("chain_id","event_id","id");--> statement-breakpoint
CREATE INDEX "positions_by_block" ON "positions" USING btree ("chain_id","block_number");--> statement-breakpoint
CREATE INDEX "unobserved_by_arrival" ON "unobserved" USING btree ("chain_id","noted");
--> statement-breakpoint
-- 0001_calibrations
CREATE TABLE "calibrations" (
	"version" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "calibrations_version_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"model" integer NOT NULL,
	"computed_at" timestamp with time zone DEFAULT now() NOT NULL,
	"pairs" jsonb NOT NULL
);
--> statement-breakpoint
-- 0002_proof
CREATE TABLE "audits" (
	"chain_id" integer PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"next_id" bigint NOT NULL,
	"block_number" bigint NOT NULL,
	"block_hash" "bytea" NOT NULL,
	"audited_at" timestamp with time zone NOT NULL,
	"compared" bigint NOT NULL,
	"rounds" bigint NOT NULL,
	"differences" bigint NOT NULL,
	"repaired" bigint NOT NULL,
	"round_at" timestamp with time zone,
	"last_difference" text,
	"last_difference_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "looks" (
	"chain_id" integer PRIMARY KEY NOT NULL,
	"looked_at" timestamp with time zone DEFAULT now() NOT NULL,
	"head_number" bigint NOT NULL,
	"head_timestamp" bigint NOT NULL,
	"proven_number" bigint,
	"proven_hash" "bytea",
	"proven_timestamp" bigint,
	"source" text NOT NULL,
	"trouble" text,
	"endpoints" jsonb NOT NULL
);
--> statement-breakpoint
ALTER TABLE "deposits" ALTER COLUMN "tx_hash" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "deposits" ALTER COLUMN "log_index" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "events" ALTER COLUMN "initial_liquidity" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "events" ALTER COLUMN "tx_hash" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "events" ALTER COLUMN "log_index" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "positions" ALTER COLUMN "tx_hash" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "positions" ALTER COLUMN "log_index" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "anchors" ADD COLUMN "complete" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "unobserved" ADD COLUMN "version" integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "unobserved" ADD COLUMN "since" timestamp with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
CREATE INDEX "events_by_expiry" ON "events" USING btree ("chain_id","expiry_date");
--> statement-breakpoint
-- 0003_note_runs
ALTER TABLE "unobserved" ADD COLUMN "many" integer DEFAULT 1 NOT NULL;
--> statement-breakpoint
-- 0004_lease_session
ALTER TABLE "leases" ADD COLUMN "session_pid" integer;--> statement-breakpoint
ALTER TABLE "leases" ADD COLUMN "session_since" timestamp with time zone;
--> statement-breakpoint
-- 0005_listings
CREATE TABLE "rollbacks" (
	"chain_id" integer NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "rollbacks_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"ancestor_number" bigint NOT NULL,
	"rolled_back_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "rollbacks_chain_id_seq_pk" PRIMARY KEY("chain_id","seq")
);
--> statement-breakpoint
DROP INDEX "events_by_expiry";--> statement-breakpoint
CREATE INDEX "events_by_underlying" ON "events" USING btree ("chain_id","underlying","id");--> statement-breakpoint
CREATE INDEX "position_observations_claimable" ON "position_observations" USING btree ("chain_id","id") WHERE NOT "position_observations"."claimed" AND "position_observations"."payout_amount" > 0 AND "position_observations"."status" <> 0;--> statement-breakpoint
CREATE INDEX "events_by_expiry" ON "events" USING btree ("chain_id","expiry_date","id");
--> statement-breakpoint
-- 0006_changes
CREATE TABLE "change_counter" (
	"one" smallint PRIMARY KEY NOT NULL,
	"last" bigint NOT NULL,
	"before" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "changes" (
	"seq" bigint PRIMARY KEY NOT NULL,
	"before" bigint NOT NULL,
	"chain_id" integer NOT NULL,
	"scopes" text[]
);
--> statement-breakpoint
CREATE TABLE "settlements" (
	"seq" bigint PRIMARY KEY NOT NULL,
	"type" text NOT NULL,
	"chain_id" integer NOT NULL,
	"event_id" bigint NOT NULL,
	"settled_at" numeric(78,0) NOT NULL,
	"triggered" boolean NOT NULL,
	"settlement_price" numeric(78,0) NOT NULL,
	"block_number" bigint NOT NULL,
	"block_hash" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE INDEX "settlements_by_event" ON "settlements" USING btree ("chain_id","event_id","seq");--> statement-breakpoint
CREATE INDEX "settlements_by_chain" ON "settlements" USING btree ("chain_id","seq");--> statement-breakpoint
CREATE INDEX "settlements_by_block" ON "settlements" USING btree ("chain_id","block_number");
--> statement-breakpoint
-- 0007_filters
CREATE INDEX "deposit_observations_withdrawn" ON "deposit_observations" USING btree ("chain_id","id") WHERE "deposit_observations"."withdrawn";--> statement-breakpoint
CREATE INDEX "event_observations_by_token" ON "event_observations" USING btree ("chain_id","payment_token","id");--> statement-breakpoint
CREATE INDEX "position_observations_claimed" ON "position_observations" USING btree ("chain_id","id") WHERE "position_observations"."claimed";
--> statement-breakpoint
-- 0008_schema_floors
CREATE TABLE "schema_floors" (
	"oldest" integer PRIMARY KEY NOT NULL
);
--> statement-breakpoint
-- 0009_upgrades
CREATE TABLE "upgrades" (
	"chain_id" integer NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "upgrades_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"block_number" bigint NOT NULL,
	"block_hash" "bytea" NOT NULL,
	"tx_hash" "bytea",
	"recorded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "upgrades_chain_id_seq_pk" PRIMARY KEY("chain_id","seq")
);
--> statement-breakpoint
ALTER TABLE "chain_observations" ADD COLUMN "loupe_hash" "bytea";--> statement-breakpoint
ALTER TABLE "rollbacks" ADD COLUMN "last_note" bigint DEFAULT 0 NOT NULL;
--> statement-breakpoint
-- 0010_stored_rows
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
--> statement-breakpoint
-- 0011_fee_rates
CREATE TABLE "fee_rates" (
	"chain_id" integer NOT NULL,
	"block_number" bigint NOT NULL,
	"block_hash" "bytea" NOT NULL,
	"block_timestamp" bigint NOT NULL,
	"tx_hash" "bytea" NOT NULL,
	"log_index" integer NOT NULL,
	"hedger_fee_rate" numeric(78,0) NOT NULL,
	"payout_fee_rate" numeric(78,0) NOT NULL,
	"lp_profit_fee_rate" numeric(78,0) NOT NULL,
	"creator_loyalty_rate" numeric(78,0) NOT NULL,
	CONSTRAINT "fee_rates_chain_id_block_number_log_index_pk" PRIMARY KEY("chain_id","block_number","log_index")
);
--> statement-breakpoint
ALTER TABLE "cursors" ADD COLUMN "fees_number" bigint;--> statement-breakpoint
ALTER TABLE "cursors" ADD COLUMN "fees_hash" "bytea";
--> statement-breakpoint
-- 0012_event_filters
-- All tables at once or none: one after another could end in a deadlock with a transaction that uses both.
DO $$ BEGIN
  FOR attempt IN 1..400 LOOP
    BEGIN
      LOCK TABLE events, event_observations IN ACCESS EXCLUSIVE MODE NOWAIT;
      RETURN;
    EXCEPTION WHEN lock_not_available THEN
      PERFORM pg_sleep(0.01);
    END;
  END LOOP;
  RAISE lock_not_available;
END $$;
--> statement-breakpoint
DROP INDEX "events_by_underlying";--> statement-breakpoint
CREATE INDEX "event_observations_writing" ON "event_observations" USING btree ("chain_id","id") WHERE "event_observations"."pool_open" AND "event_observations"."status" = 0;--> statement-breakpoint
CREATE INDEX "events_by_pair" ON "events" USING btree ("chain_id",left(lower(encode("underlying", 'escape') COLLATE "C"), 1280),"id");
--> statement-breakpoint
-- 0013_refresh_blocks
ALTER TABLE "unobserved" ADD COLUMN "from_block" bigint DEFAULT 0;
--> statement-breakpoint
-- 0014_change_feed
CREATE TABLE "feed" (
	"chain_id" integer NOT NULL,
	"type" text NOT NULL,
	"key" text NOT NULL,
	"events" bigint NOT NULL,
	"deposits" bigint NOT NULL,
	"positions" bigint NOT NULL,
	"claimables" bigint NOT NULL,
	"seq" bigint NOT NULL,
	"block_number" bigint NOT NULL,
	"block_hash" "bytea" NOT NULL,
	CONSTRAINT "feed_chain_id_type_key_pk" PRIMARY KEY("chain_id","type","key")
);
--> statement-breakpoint
CREATE TABLE "feed_epochs" (
	"epoch" text PRIMARY KEY NOT NULL,
	"last" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "feed_floors" (
	"chain_id" integer PRIMARY KEY NOT NULL,
	"seq" bigint,
	"reason" text NOT NULL
);
--> statement-breakpoint
ALTER TABLE "change_counter" ADD COLUMN "fed" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "change_counter" ADD COLUMN "server" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "change_counter" ADD COLUMN "epoch" text DEFAULT '' NOT NULL;--> statement-breakpoint
CREATE INDEX "feed_by_seq" ON "feed" USING btree ("chain_id","type","seq");
--> statement-breakpoint
-- 0015_settlements
CREATE TABLE "settlement_logs" (
	"chain_id" integer NOT NULL,
	"event_id" bigint NOT NULL,
	"block_number" bigint NOT NULL,
	"tx_hash" "bytea" NOT NULL,
	CONSTRAINT "settlement_logs_chain_id_event_id_block_number_pk" PRIMARY KEY("chain_id","event_id","block_number")
);
--> statement-breakpoint
ALTER TABLE "settlements" ADD COLUMN "tx_hash" "bytea";--> statement-breakpoint
ALTER TABLE "settlements" ADD COLUMN "finalized_seq" bigint;--> statement-breakpoint
CREATE INDEX "settlements_final" ON "settlements" USING btree ("finalized_seq") WHERE "settlements"."finalized_seq" IS NOT NULL;--> statement-breakpoint
CREATE INDEX "settlements_not_final" ON "settlements" USING btree ("chain_id","block_number") WHERE "settlements"."finalized_seq" IS NULL AND "settlements"."type" = 'settled';
--> statement-breakpoint
-- 0016_webhooks
CREATE TABLE "deliveries" (
	"endpoint" text NOT NULL,
	"id" text NOT NULL,
	"seq" bigint NOT NULL,
	"entity" text NOT NULL,
	"body" text NOT NULL,
	"state" text DEFAULT 'waiting' NOT NULL,
	"attempt" integer DEFAULT 0 NOT NULL,
	"next_at" timestamp with time zone NOT NULL,
	"sent_at" timestamp with time zone,
	"ended_at" timestamp with time zone,
	"failure" text,
	CONSTRAINT "deliveries_endpoint_id_pk" PRIMARY KEY("endpoint","id")
);
--> statement-breakpoint
CREATE TABLE "webhook_endpoints" (
	"id" text PRIMARY KEY NOT NULL,
	"url" text NOT NULL,
	"types" text[] NOT NULL,
	"chain_ids" integer[],
	"wallets" text[],
	"event_ids" bigint[],
	"secret" text NOT NULL,
	"previous_secret" text,
	"previous_until" timestamp with time zone,
	"state" text DEFAULT 'active' NOT NULL,
	"epoch" text NOT NULL,
	"seq" bigint NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"succeeded_at" timestamp with time zone,
	"failing_since" timestamp with time zone,
	"retry_at" timestamp with time zone,
	"failure" text
);
--> statement-breakpoint
ALTER TABLE "deliveries" ADD CONSTRAINT "deliveries_endpoint_webhook_endpoints_id_fk" FOREIGN KEY ("endpoint") REFERENCES "public"."webhook_endpoints"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "deliveries_waiting" ON "deliveries" USING btree ("endpoint","entity","seq") WHERE "deliveries"."state" = 'waiting';--> statement-breakpoint
CREATE INDEX "deliveries_due" ON "deliveries" USING btree ("endpoint","next_at") WHERE "deliveries"."state" = 'waiting';--> statement-breakpoint
CREATE INDEX "deliveries_ended" ON "deliveries" USING btree ("ended_at") WHERE "deliveries"."ended_at" IS NOT NULL;
--> statement-breakpoint
-- 0017_feed_by_aspect
CREATE INDEX "feed_by_events" ON "feed" USING btree ("chain_id","type","events") WHERE "feed"."events" > 0;--> statement-breakpoint
CREATE INDEX "feed_by_deposits" ON "feed" USING btree ("chain_id","type","deposits") WHERE "feed"."deposits" > 0;--> statement-breakpoint
CREATE INDEX "feed_by_positions" ON "feed" USING btree ("chain_id","type","positions") WHERE "feed"."positions" > 0;--> statement-breakpoint
CREATE INDEX "feed_by_claimables" ON "feed" USING btree ("chain_id","type","claimables") WHERE "feed"."claimables" > 0;
