CREATE INDEX "feed_by_events" ON "feed" USING btree ("chain_id","type","events") WHERE "feed"."events" > 0;--> statement-breakpoint
CREATE INDEX "feed_by_deposits" ON "feed" USING btree ("chain_id","type","deposits") WHERE "feed"."deposits" > 0;--> statement-breakpoint
CREATE INDEX "feed_by_positions" ON "feed" USING btree ("chain_id","type","positions") WHERE "feed"."positions" > 0;--> statement-breakpoint
CREATE INDEX "feed_by_claimables" ON "feed" USING btree ("chain_id","type","claimables") WHERE "feed"."claimables" > 0;