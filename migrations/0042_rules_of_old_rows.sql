-- Reads the ranks and outcomes that were there before these rules, while others go on moving items.
ALTER TABLE brocot.items VALIDATE CONSTRAINT rank_is_valid;
ALTER TABLE brocot.move_log VALIDATE CONSTRAINT outcome_is_applied_or_else_rejected_with_error_code;
