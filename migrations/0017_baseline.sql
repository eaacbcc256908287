-- The schema of a new database. Its time is that of the last migration of 0.1.0, so a database of 0.1.0 counts as having it and goes
-- on with 0018_from_0_1_0 (decision 32).
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
CREATE TABLE "anchors" (
	"chain_id" integer NOT NULL,
	"block_number" bigint NOT NULL,
	"block_hash" "bytea" NOT NULL,
	"block_timestamp" bigint NOT NULL,
	"complete" boolean DEFAULT true NOT NULL,
	CONSTRAINT "anchors_chain_id_block_number_pk" PRIMARY KEY("chain_id","block_number")
);
--> statement-breakpoint
CREATE TABLE "change_counter" (
	"one" smallint PRIMARY KEY NOT NULL,
	"last" bigint NOT NULL,
	"before" bigint NOT NULL,
	"fed" bigint DEFAULT 0 NOT NULL,
	"server" text DEFAULT '' NOT NULL,
	"epoch" text DEFAULT '' NOT NULL
);
--> statement-breakpoint
CREATE TABLE "changes" (
	"seq" bigint PRIMARY KEY NOT NULL,
	"before" bigint NOT NULL,
	"chain_id" integer NOT NULL,
	"scopes" text[]
);
--> statement-breakpoint
CREATE TABLE "cursors" (
	"chain_id" integer PRIMARY KEY NOT NULL,
	"block_number" bigint NOT NULL,
	"block_hash" "bytea" NOT NULL,
	"block_timestamp" bigint NOT NULL,
	"fees_number" bigint,
	"fees_hash" "bytea",
	"fees_contradiction" text
);
--> statement-breakpoint
CREATE TABLE "log_gaps" (
	"chain_id" integer NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "log_gaps_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"from_block" bigint NOT NULL,
	"to_block" bigint NOT NULL,
	"unread_to" bigint NOT NULL,
	"state" text DEFAULT 'open' NOT NULL,
	"since" timestamp with time zone DEFAULT now() NOT NULL,
	"next_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "log_gaps_chain_id_seq_pk" PRIMARY KEY("chain_id","seq")
);
--> statement-breakpoint
CREATE TABLE "refresh_queue" (
	"chain_id" integer NOT NULL,
	"subject" text NOT NULL,
	"id" bigint NOT NULL,
	"many" integer DEFAULT 1 NOT NULL,
	"sequence" bigint GENERATED ALWAYS AS IDENTITY (sequence name "refresh_queue_sequence_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"version" integer DEFAULT 1 NOT NULL,
	"since" timestamp with time zone DEFAULT now() NOT NULL,
	"from_block" bigint DEFAULT 0,
	CONSTRAINT "refresh_queue_chain_id_subject_id_pk" PRIMARY KEY("chain_id","subject","id")
);
--> statement-breakpoint
CREATE TABLE "rollbacks" (
	"chain_id" integer NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "rollbacks_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"ancestor_number" bigint NOT NULL,
	"last_request" bigint DEFAULT 0 NOT NULL,
	"rolled_back_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "rollbacks_chain_id_seq_pk" PRIMARY KEY("chain_id","seq")
);
--> statement-breakpoint
CREATE TABLE "schema_floors" (
	"oldest" integer PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE "settlement_logs" (
	"chain_id" integer NOT NULL,
	"event_id" bigint NOT NULL,
	"block_number" bigint NOT NULL,
	"tx_hash" "bytea" NOT NULL,
	CONSTRAINT "settlement_logs_chain_id_event_id_block_number_pk" PRIMARY KEY("chain_id","event_id","block_number")
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
	"block_hash" "bytea" NOT NULL,
	"tx_hash" "bytea",
	"finalized_seq" bigint
);
--> statement-breakpoint
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
CREATE TABLE "calibrations" (
	"version" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "calibrations_version_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"model" integer NOT NULL,
	"computed_at" timestamp with time zone DEFAULT now() NOT NULL,
	"pairs" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "heartbeats" (
	"chain_id" integer PRIMARY KEY NOT NULL,
	"reported_at" timestamp with time zone DEFAULT now() NOT NULL,
	"head_number" bigint NOT NULL,
	"head_timestamp" bigint NOT NULL,
	"checked_number" bigint,
	"head_hash" "bytea",
	"is_quiet" boolean DEFAULT false NOT NULL,
	"proven_number" bigint,
	"proven_hash" "bytea",
	"proven_timestamp" bigint,
	"source" text NOT NULL,
	"problem" text,
	"endpoints" jsonb NOT NULL,
	"unknown_logs" bigint DEFAULT 0 NOT NULL,
	"unknown_topic" "bytea",
	"unknown_block" bigint
);
--> statement-breakpoint
CREATE TABLE "leases" (
	"chain_id" integer PRIMARY KEY NOT NULL,
	"holder" text NOT NULL,
	"epoch" bigint NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"session_pid" integer,
	"session_since" timestamp with time zone
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
	"loupe_hash" "bytea",
	"block_number" bigint NOT NULL,
	"block_hash" "bytea" NOT NULL,
	"block_timestamp" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "deposit_observations" (
	"id" bigint NOT NULL,
	"block_number" bigint NOT NULL,
	"block_timestamp" bigint NOT NULL,
	"chain_id" integer NOT NULL,
	"withdrawn" boolean NOT NULL,
	"premiums_earned" numeric(78,0) NOT NULL,
	"premiums_claimed" numeric(78,0) NOT NULL,
	"pending" numeric(78,0) NOT NULL,
	"block_hash" "bytea" NOT NULL,
	CONSTRAINT "deposit_observations_chain_id_id_pk" PRIMARY KEY("chain_id","id")
);
--> statement-breakpoint
CREATE TABLE "deposits" (
	"id" bigint NOT NULL,
	"event_id" bigint NOT NULL,
	"block_number" bigint NOT NULL,
	"block_timestamp" bigint NOT NULL,
	"chain_id" integer NOT NULL,
	"log_index" integer,
	"block_hash" "bytea" NOT NULL,
	"tx_hash" "bytea",
	"lp" "bytea" NOT NULL,
	"amount" numeric(78,0) NOT NULL,
	"shares" numeric(78,0) NOT NULL,
	CONSTRAINT "deposits_chain_id_id_pk" PRIMARY KEY("chain_id","id")
);
--> statement-breakpoint
CREATE TABLE "event_observations" (
	"id" bigint NOT NULL,
	"block_number" bigint NOT NULL,
	"block_timestamp" bigint NOT NULL,
	"chain_id" integer NOT NULL,
	"status" smallint NOT NULL,
	"strike_above" boolean NOT NULL,
	"pool_open" boolean NOT NULL,
	"allow_external_lp" boolean NOT NULL,
	"triggered" boolean NOT NULL,
	"name" "bytea" NOT NULL,
	"payout_cap" numeric(78,0) NOT NULL,
	"initial_rate" numeric(78,0) NOT NULL,
	"payment_token" "bytea" NOT NULL,
	"settlement_price" numeric(78,0) NOT NULL,
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
	"block_hash" "bytea" NOT NULL,
	CONSTRAINT "event_observations_chain_id_id_pk" PRIMARY KEY("chain_id","id")
);
--> statement-breakpoint
CREATE TABLE "events" (
	"id" bigint NOT NULL,
	"block_number" bigint NOT NULL,
	"block_timestamp" bigint NOT NULL,
	"chain_id" integer NOT NULL,
	"log_index" integer,
	"block_hash" "bytea" NOT NULL,
	"tx_hash" "bytea",
	"creator" "bytea" NOT NULL,
	"underlying" "bytea" NOT NULL,
	"strike" numeric(78,0) NOT NULL,
	"premium_rate" numeric(78,0) NOT NULL,
	"expiry_date" numeric(78,0) NOT NULL,
	"initial_liquidity" numeric(78,0),
	"payment_token" "bytea",
	CONSTRAINT "events_chain_id_id_pk" PRIMARY KEY("chain_id","id")
);
--> statement-breakpoint
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
CREATE TABLE "position_observations" (
	"id" bigint NOT NULL,
	"block_number" bigint NOT NULL,
	"block_timestamp" bigint NOT NULL,
	"chain_id" integer NOT NULL,
	"status" smallint NOT NULL,
	"claimed" boolean NOT NULL,
	"payout_amount" numeric(78,0) NOT NULL,
	"block_hash" "bytea" NOT NULL,
	CONSTRAINT "position_observations_chain_id_id_pk" PRIMARY KEY("chain_id","id")
);
--> statement-breakpoint
CREATE TABLE "positions" (
	"id" bigint NOT NULL,
	"event_id" bigint NOT NULL,
	"block_number" bigint NOT NULL,
	"block_timestamp" bigint NOT NULL,
	"chain_id" integer NOT NULL,
	"log_index" integer,
	"block_hash" "bytea" NOT NULL,
	"tx_hash" "bytea",
	"hedger" "bytea" NOT NULL,
	"notional" numeric(78,0) NOT NULL,
	"premium_paid" numeric(78,0) NOT NULL,
	"platform_fee" numeric(78,0) NOT NULL,
	CONSTRAINT "positions_chain_id_id_pk" PRIMARY KEY("chain_id","id")
);
--> statement-breakpoint
CREATE TABLE "tokens" (
	"chain_id" integer NOT NULL,
	"address" "bytea" NOT NULL,
	"symbol" "bytea",
	"decimals" smallint NOT NULL,
	CONSTRAINT "tokens_chain_id_address_pk" PRIMARY KEY("chain_id","address")
);
--> statement-breakpoint
ALTER TABLE "deliveries" ADD CONSTRAINT "deliveries_endpoint_webhook_endpoints_id_fk" FOREIGN KEY ("endpoint") REFERENCES "public"."webhook_endpoints"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "feed_by_seq" ON "feed" USING btree ("chain_id","type","seq");--> statement-breakpoint
CREATE INDEX "feed_by_events" ON "feed" USING btree ("chain_id","type","events") WHERE "feed"."events" > 0;--> statement-breakpoint
CREATE INDEX "feed_by_deposits" ON "feed" USING btree ("chain_id","type","deposits") WHERE "feed"."deposits" > 0;--> statement-breakpoint
CREATE INDEX "feed_by_positions" ON "feed" USING btree ("chain_id","type","positions") WHERE "feed"."positions" > 0;--> statement-breakpoint
CREATE INDEX "feed_by_claimables" ON "feed" USING btree ("chain_id","type","claimables") WHERE "feed"."claimables" > 0;--> statement-breakpoint
CREATE INDEX "refresh_queue_by_arrival" ON "refresh_queue" USING btree ("chain_id","sequence");--> statement-breakpoint
CREATE INDEX "settlements_by_event" ON "settlements" USING btree ("chain_id","event_id","seq");--> statement-breakpoint
CREATE INDEX "settlements_by_chain" ON "settlements" USING btree ("chain_id","seq");--> statement-breakpoint
CREATE INDEX "settlements_by_block" ON "settlements" USING btree ("chain_id","block_number");--> statement-breakpoint
CREATE INDEX "settlements_final" ON "settlements" USING btree ("finalized_seq") WHERE "settlements"."finalized_seq" IS NOT NULL;--> statement-breakpoint
CREATE INDEX "settlements_not_final" ON "settlements" USING btree ("chain_id","block_number") WHERE "settlements"."finalized_seq" IS NULL AND "settlements"."type" = 'settled';--> statement-breakpoint
CREATE INDEX "deliveries_waiting" ON "deliveries" USING btree ("endpoint","entity","seq") WHERE "deliveries"."state" = 'waiting';--> statement-breakpoint
CREATE INDEX "deliveries_due" ON "deliveries" USING btree ("endpoint","next_at") WHERE "deliveries"."state" = 'waiting';--> statement-breakpoint
CREATE INDEX "deliveries_ended" ON "deliveries" USING btree ("ended_at") WHERE "deliveries"."ended_at" IS NOT NULL;--> statement-breakpoint
CREATE INDEX "deposit_observations_since_block" ON "deposit_observations" USING brin ("block_number") WITH (pages_per_range=16,autosummarize=true);--> statement-breakpoint
CREATE INDEX "deposit_observations_withdrawn" ON "deposit_observations" USING btree ("chain_id","id") WHERE "deposit_observations"."withdrawn";--> statement-breakpoint
CREATE INDEX "deposits_by_lp" ON "deposits" USING btree ("chain_id","lp","id");--> statement-breakpoint
CREATE INDEX "deposits_by_event" ON "deposits" USING btree ("chain_id","event_id","id");--> statement-breakpoint
CREATE INDEX "deposits_by_block" ON "deposits" USING btree ("chain_id","block_number");--> statement-breakpoint
CREATE INDEX "deposits_without_log" ON "deposits" USING btree ("chain_id","block_number") WHERE "deposits"."tx_hash" IS NULL;--> statement-breakpoint
CREATE INDEX "event_observations_since_block" ON "event_observations" USING brin ("block_number") WITH (pages_per_range=16,autosummarize=true);--> statement-breakpoint
CREATE INDEX "event_observations_by_token" ON "event_observations" USING btree ("chain_id","payment_token","id");--> statement-breakpoint
CREATE INDEX "event_observations_writing" ON "event_observations" USING btree ("chain_id","id") WHERE "event_observations"."pool_open" AND "event_observations"."status" = 0;--> statement-breakpoint
CREATE INDEX "events_by_creator" ON "events" USING btree ("chain_id","creator","id");--> statement-breakpoint
CREATE INDEX "events_by_block" ON "events" USING btree ("chain_id","block_number");--> statement-breakpoint
CREATE INDEX "events_without_log" ON "events" USING btree ("chain_id","block_number") WHERE "events"."tx_hash" IS NULL;--> statement-breakpoint
CREATE INDEX "events_by_expiry" ON "events" USING btree ("chain_id","expiry_date","id");--> statement-breakpoint
CREATE INDEX "events_by_pair" ON "events" USING btree ("chain_id",left(lower(encode("underlying", 'escape') COLLATE "C"), 1280),"id");--> statement-breakpoint
CREATE INDEX "position_observations_since_block" ON "position_observations" USING brin ("block_number") WITH (pages_per_range=16,autosummarize=true);--> statement-breakpoint
CREATE INDEX "position_observations_claimed" ON "position_observations" USING btree ("chain_id","id") WHERE "position_observations"."claimed";--> statement-breakpoint
CREATE INDEX "position_observations_claimable" ON "position_observations" USING btree ("chain_id","id") WHERE NOT "position_observations"."claimed" AND "position_observations"."payout_amount" > 0 AND "position_observations"."status" <> 0;--> statement-breakpoint
CREATE INDEX "positions_by_hedger" ON "positions" USING btree ("chain_id","hedger","id");--> statement-breakpoint
CREATE INDEX "positions_by_event" ON "positions" USING btree ("chain_id","event_id","id");--> statement-breakpoint
CREATE INDEX "positions_by_block" ON "positions" USING btree ("chain_id","block_number");--> statement-breakpoint
CREATE INDEX "positions_without_log" ON "positions" USING btree ("chain_id","block_number") WHERE "positions"."tx_hash" IS NULL;--> statement-breakpoint
-- Updates of an observation stay in its page (HOT): each page keeps room for them.
ALTER TABLE "event_observations" SET (fillfactor = 70);
ALTER TABLE "deposit_observations" SET (fillfactor = 70);
ALTER TABLE "position_observations" SET (fillfactor = 70);
