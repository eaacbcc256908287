CREATE TABLE "ledger_reversals" (
	"chain_id" integer NOT NULL,
	"block_number" bigint NOT NULL,
	"block_hash" "bytea" NOT NULL,
	"block_timestamp" bigint NOT NULL,
	"log_index" integer NOT NULL,
	"tx_hash" "bytea" NOT NULL,
	"topics" "bytea" NOT NULL,
	"data" "bytea" NOT NULL,
	"type" smallint NOT NULL,
	"event_id" bigint,
	"deposit_id" bigint,
	"position_id" bigint,
	"wallet" "bytea",
	"amount" numeric(78,0),
	"fee" numeric(78,0),
	"seq" bigint PRIMARY KEY NOT NULL
);
--> statement-breakpoint
ALTER TABLE "ledger" ADD COLUMN "seq" bigint;--> statement-breakpoint
CREATE INDEX "ledger_by_seq" ON "ledger" USING btree ("seq") WHERE "ledger"."seq" IS NOT NULL;