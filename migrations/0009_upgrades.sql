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
ALTER TABLE "chain_observations" ADD COLUMN "loupe_hash" "bytea";--> statement-breakpoint
ALTER TABLE "rollbacks" ADD COLUMN "last_note" bigint DEFAULT 0 NOT NULL;