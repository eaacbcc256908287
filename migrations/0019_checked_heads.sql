ALTER TABLE "looks" ADD COLUMN "checked_number" bigint;--> statement-breakpoint
ALTER TABLE "looks" ADD COLUMN "head_hash" "bytea";--> statement-breakpoint
ALTER TABLE "looks" ADD COLUMN "is_quiet" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "looks" ADD COLUMN "unknown_logs" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "looks" ADD COLUMN "unknown_topic" "bytea";--> statement-breakpoint
ALTER TABLE "looks" ADD COLUMN "unknown_block" bigint;