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