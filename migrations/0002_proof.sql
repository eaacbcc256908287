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