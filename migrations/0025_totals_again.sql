DELETE FROM "ledger_days";--> statement-breakpoint
UPDATE "cursors" SET "totals_number" = NULL;
