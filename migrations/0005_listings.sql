CREATE TABLE "rollbacks" (
	"chain_id" integer NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "rollbacks_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"ancestor_number" bigint NOT NULL,
	"rolled_back_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "rollbacks_chain_id_seq_pk" PRIMARY KEY("chain_id","seq")
);
--> statement-breakpoint
DROP INDEX "events_by_expiry";--> statement-breakpoint
CREATE INDEX "events_by_underlying" ON "events" USING btree ("chain_id","underlying","id");--> statement-breakpoint
CREATE INDEX "position_observations_claimable" ON "position_observations" USING btree ("chain_id","id") WHERE NOT "position_observations"."claimed" AND "position_observations"."payout_amount" > 0 AND "position_observations"."status" <> 0;--> statement-breakpoint
CREATE INDEX "events_by_expiry" ON "events" USING btree ("chain_id","expiry_date","id");