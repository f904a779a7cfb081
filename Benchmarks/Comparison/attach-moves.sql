-- The same lists in brocot.items, in a table whose rows have more columns, and in a join table.
-- psql -v lists=1000 -v items=100 -v indexes=0.
\set QUIET on
\set ON_ERROR_STOP on
\if :{?indexes}
\else
    \set indexes 0
\endif
DROP TABLE IF EXISTS public.tasks, public.songs;
CREATE TABLE public.tasks (
    id bigint PRIMARY KEY, project_id bigint NOT NULL, title text NOT NULL, note1 text, note2 text, note3 text, note4 text,
    note5 text, note6 text, note7 text, note8 text);
CREATE TABLE public.songs (playlist bigint, song bigint, PRIMARY KEY (playlist, song));
INSERT INTO public.tasks
SELECT 1000000 * l + i, l, repeat('words ', 10), md5('1' || i || l), md5('2' || i || l), md5('3' || i || l), md5('4' || i || l),
    md5('5' || i || l), md5('6' || i || l), md5('7' || i || l), md5('8' || i || l)
FROM generate_series(1, :lists) AS l, generate_series(1, :items) AS i;
INSERT INTO public.songs
SELECT l, 1000000 * l + i FROM generate_series(1, :lists) AS l, generate_series(1, :items) AS i;
TRUNCATE brocot.items, brocot.move_requests, brocot.move_log;
INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
SELECT l::text, (1000000 * l + i)::text, i, 1, i FROM generate_series(1, :lists) AS l, generate_series(1, :items) AS i;
SELECT format('CREATE INDEX ON public.tasks (note%s)', number) FROM generate_series(1, :indexes) AS number \gexec
VACUUM ANALYZE;
CHECKPOINT;
