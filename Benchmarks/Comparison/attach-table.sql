-- A table like those of applications. psql -v rows=3000000 -v lists=3000.
\set QUIET on
\set ON_ERROR_STOP on
CREATE TABLE public.tasks (
    id bigint PRIMARY KEY, project_id bigint NOT NULL, position integer, title text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now());
INSERT INTO public.tasks (id, project_id, position, title)
SELECT n, n % :lists, -n, 'task ' || n || repeat(' words', 10) FROM generate_series(1, :rows) AS n;
CREATE INDEX ON public.tasks (project_id);
CREATE INDEX ON public.tasks (created_at);
VACUUM ANALYZE public.tasks;
CHECKPOINT;
