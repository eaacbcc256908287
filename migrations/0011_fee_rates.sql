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