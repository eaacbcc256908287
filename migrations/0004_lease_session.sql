ALTER TABLE "leases" ADD COLUMN "session_pid" integer;--> statement-breakpoint
ALTER TABLE "leases" ADD COLUMN "session_since" timestamp with time zone;