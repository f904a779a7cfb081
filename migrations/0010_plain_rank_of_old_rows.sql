-- Reads the rows that were there before the rules, while all others go on reading and writing. Then the column can be said to be
-- NOT NULL without reading them again under a lock that stops everybody.
ALTER TABLE brocot.items VALIDATE CONSTRAINT rank_is_that_of_the_pair;
ALTER TABLE brocot.items VALIDATE CONSTRAINT rank_is_not_null;
ALTER TABLE brocot.items ALTER COLUMN rank SET NOT NULL;
ALTER TABLE brocot.items DROP CONSTRAINT rank_is_not_null;
