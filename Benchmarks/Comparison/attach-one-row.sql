-- For pgbench: a statement for one row of a table. Variables attached and inserts are 0 or 1.
\set id random(1, 100000)
\set new random(1000000, 1000000000000000)
\set project random(0, 99)
\if :inserts
\if :attached
INSERT INTO public.tasks (id, project_id, title) VALUES (:new, :project, 'title');
\else
INSERT INTO public.plain (id, project_id, title) VALUES (:new, :project, 'title');
\endif
\else
\if :attached
UPDATE public.tasks SET title = 'title ' || :new WHERE id = :id;
\else
UPDATE public.plain SET title = 'title ' || :new WHERE id = :id;
\endif
\endif
