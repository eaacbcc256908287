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