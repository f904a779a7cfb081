-- Tables that are alike, for statements of applications: tasks and peers are attached later. Variable references: 1 if their lists are rows
-- of another table, as in most applications.
\set QUIET on
\set ON_ERROR_STOP on
CREATE TABLE public.tasks (id bigint PRIMARY KEY, project_id bigint NOT NULL, title text NOT NULL, created_at timestamptz DEFAULT now());
CREATE INDEX ON public.tasks (created_at);
INSERT INTO public.tasks SELECT n, n % 100, 'task ' || n FROM generate_series(1, 100000) AS n;
CREATE TABLE public.peers (LIKE public.tasks INCLUDING ALL);
INSERT INTO public.peers SELECT * FROM public.tasks;
CREATE TABLE public.plain (LIKE public.tasks INCLUDING ALL);
INSERT INTO public.plain SELECT * FROM public.tasks;
\if :references
CREATE TABLE public.projects (id bigint PRIMARY KEY);
INSERT INTO public.projects SELECT generate_series(0, 99);
ALTER TABLE public.tasks ADD FOREIGN KEY (project_id) REFERENCES public.projects;
ALTER TABLE public.peers ADD FOREIGN KEY (project_id) REFERENCES public.projects;
ALTER TABLE public.plain ADD FOREIGN KEY (project_id) REFERENCES public.projects;
\endif
VACUUM ANALYZE;
CHECKPOINT;
