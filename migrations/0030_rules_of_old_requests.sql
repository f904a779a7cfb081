-- Reads the requests that were there before the domain, while others go on inserting and deciding.
ALTER TABLE brocot.move_requests VALIDATE CONSTRAINT is_well_formed;
