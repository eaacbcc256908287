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