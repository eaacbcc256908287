CREATE TABLE "ledger" (
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
	CONSTRAINT "ledger_chain_id_block_number_log_index_pk" PRIMARY KEY("chain_id","block_number","log_index")
);
--> statement-breakpoint
ALTER TABLE "cursors" ADD COLUMN "ledger_number" bigint;--> statement-breakpoint
ALTER TABLE "log_gaps" ADD COLUMN "ledger_only" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "audits" ADD COLUMN "ledger_next" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "ledger_by_type" ON "ledger" USING btree ("chain_id","type","block_number","log_index");--> statement-breakpoint
CREATE INDEX "ledger_by_event" ON "ledger" USING btree ("chain_id","event_id","block_number","log_index") WHERE "ledger"."event_id" IS NOT NULL;--> statement-breakpoint
CREATE INDEX "ledger_by_wallet" ON "ledger" USING btree ("chain_id","wallet","block_number","log_index") WHERE "ledger"."wallet" IS NOT NULL;--> statement-breakpoint
CREATE INDEX "ledger_by_deposit" ON "ledger" USING btree ("chain_id","deposit_id","block_number","log_index") WHERE "ledger"."deposit_id" IS NOT NULL;--> statement-breakpoint
CREATE INDEX "ledger_by_position" ON "ledger" USING btree ("chain_id","position_id","block_number","log_index") WHERE "ledger"."position_id" IS NOT NULL;