-- All tables at once or none: one after another could end in a deadlock with a transaction that uses both.
DO $$ BEGIN
  FOR attempt IN 1..400 LOOP
    BEGIN
      LOCK TABLE events, event_observations IN ACCESS EXCLUSIVE MODE NOWAIT;
      RETURN;
    EXCEPTION WHEN lock_not_available THEN
      PERFORM pg_sleep(0.01);
    END;
  END LOOP;
  RAISE lock_not_available;
END $$;
--> statement-breakpoint
DROP INDEX "events_by_underlying";--> statement-breakpoint
CREATE INDEX "event_observations_writing" ON "event_observations" USING btree ("chain_id","id") WHERE "event_observations"."pool_open" AND "event_observations"."status" = 0;--> statement-breakpoint
CREATE INDEX "events_by_pair" ON "events" USING btree ("chain_id",left(lower(encode("underlying", 'escape') COLLATE "C"), 1280),"id");
