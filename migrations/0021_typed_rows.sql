-- Lists read typed columns, so nothing keeps texts of rows up to date any more. A build that still writes and reads them takes a null for a
-- text to be made; the next release drops the columns.
-- All tables at once or none: one after another would end in a deadlock with whoever reads or writes two of them.
DO $$ BEGIN
  FOR attempt IN 1..400 LOOP
    BEGIN
      LOCK TABLE events, deposits, positions, event_observations, deposit_observations, position_observations IN ACCESS EXCLUSIVE MODE NOWAIT;
      RETURN;
    EXCEPTION WHEN lock_not_available THEN
      PERFORM pg_sleep(0.01);
    END;
  END LOOP;
  RAISE lock_not_available;
END $$;
--> statement-breakpoint
DROP TRIGGER "clear_row_text" ON "event_observations";
DROP TRIGGER "clear_row_text" ON "deposit_observations";
DROP TRIGGER "clear_row_text" ON "position_observations";
DROP TRIGGER "clear_row_text" ON "events";
DROP TRIGGER "clear_row_text" ON "deposits";
DROP TRIGGER "clear_row_text" ON "positions";
DROP TRIGGER "clear_row_text_of_gone" ON "events";
DROP TRIGGER "clear_row_text_of_gone" ON "deposits";
DROP TRIGGER "clear_row_text_of_gone" ON "positions";
DROP TRIGGER "keep_payment_token" ON "event_observations";
DROP TRIGGER "keep_changed_payment_token" ON "event_observations";
DROP TRIGGER "take_payment_token" ON "events";
DROP TRIGGER "clear_row_texts_of_event" ON "events";
DROP TRIGGER "clear_row_texts" ON "tokens";
DROP TRIGGER "clear_row_texts_of_gone" ON "tokens";
DROP TRIGGER "clear_every_row_text" ON "events";
DROP TRIGGER "clear_every_row_text" ON "deposits";
DROP TRIGGER "clear_every_row_text" ON "positions";
DROP TRIGGER "clear_every_row_text" ON "tokens";
--> statement-breakpoint
DROP FUNCTION "clear_every_row_text"();
DROP FUNCTION "clear_row_texts_of_token"();
DROP FUNCTION "clear_row_texts_of_event"();
DROP FUNCTION "take_payment_token"();
DROP FUNCTION "keep_payment_token"();
DROP FUNCTION "clear_row_text_of_gone"();
DROP FUNCTION "clear_row_text_of_fact"();
DROP FUNCTION "clear_row_texts_of_members"(integer, bigint);
DROP FUNCTION "hold_row_texts"(integer);
DROP FUNCTION "clear_row_text"();
