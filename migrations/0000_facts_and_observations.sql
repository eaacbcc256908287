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