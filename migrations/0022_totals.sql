CREATE TABLE "ledger_days" (
	"chain_id" integer NOT NULL,
	"day" integer NOT NULL,
	"token" "bytea" NOT NULL,
	"type" smallint NOT NULL,
	"rows" bigint NOT NULL,
	"amount" numeric(78,0) NOT NULL,
	"fee" numeric(78,0) NOT NULL,
	"notional" numeric(78,0) NOT NULL,
	CONSTRAINT "ledger_days_chain_id_day_token_type_pk" PRIMARY KEY("chain_id","day","token","type")
);
--> statement-breakpoint
ALTER TABLE "cursors" ADD COLUMN "totals_number" bigint;