-- For pgbench: a statement for one row of a table. Variables: inserts is 0 or 1, and table is 0 for a table that was never attached, 1 for an
-- attached one, and 2 for an attached one whose triggers are disabled.
\set id random(1, 100000)
\set new random(1000000, 1000000000000000)
\set project random(0, 99)
\if :inserts
\if :table = 0
INSERT INTO public.plain (id, project_id, title) VALUES (:new, :project, 'title');
\elif :table = 1
INSERT INTO public.tasks (id, project_id, title) VALUES (:new, :project, 'title');
\else
INSERT INTO public.peers (id, project_id, title) VALUES (:new, :project, 'title');
\endif
\else
\if :table = 0
UPDATE public.plain SET title = 'title ' || :new WHERE id = :id;
\elif :table = 1
UPDATE public.tasks SET title = 'title ' || :new WHERE id = :id;
\else
UPDATE public.peers SET title = 'title ' || :new WHERE id = :id;
\endif
\endif
