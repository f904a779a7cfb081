-- Two tables that are alike, for statements of applications.
\set QUIET on
\set ON_ERROR_STOP on
CREATE TABLE public.tasks (id bigint PRIMARY KEY, project_id bigint NOT NULL, title text NOT NULL, created_at timestamptz DEFAULT now());
CREATE INDEX ON public.tasks (created_at);
INSERT INTO public.tasks SELECT n, n % 100, 'task ' || n FROM generate_series(1, 100000) AS n;
CREATE TABLE public.peers (LIKE public.tasks INCLUDING ALL);
INSERT INTO public.peers SELECT * FROM public.tasks;
VACUUM ANALYZE;
CHECKPOINT;
