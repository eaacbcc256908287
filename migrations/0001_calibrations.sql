CREATE TABLE "calibrations" (
	"version" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "calibrations_version_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"model" integer NOT NULL,
	"computed_at" timestamp with time zone DEFAULT now() NOT NULL,
	"pairs" jsonb NOT NULL
);
