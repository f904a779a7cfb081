-- A condition on visible rows contains operators without a schema. In the caller's search_path, another role may have made an operator whose types fit
-- better than those of the server's own, and its function would run with the caller's rights.
ALTER FUNCTION brocot.neighbour(brocot.order_shape, text, boolean, numeric, numeric[], bigint, boolean) SET search_path = pg_catalog, pg_temp;
-- Names of types have their schema, also if it is in the caller's search_path.
ALTER FUNCTION brocot.order_shape(text) SET search_path = pg_catalog, pg_temp;
