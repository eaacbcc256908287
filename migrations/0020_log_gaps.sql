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
CREATE INDEX "deposits_without_log" ON "deposits" USING btree ("chain_id","block_number") WHERE "deposits"."tx_hash" IS NULL;--> statement-breakpoint
CREATE INDEX "events_without_log" ON "events" USING btree ("chain_id","block_number") WHERE "events"."tx_hash" IS NULL;--> statement-breakpoint
CREATE INDEX "positions_without_log" ON "positions" USING btree ("chain_id","block_number") WHERE "positions"."tx_hash" IS NULL;