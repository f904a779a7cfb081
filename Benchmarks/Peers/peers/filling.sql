-- The items with which lists begin. The same names in every peer, and unique in all lists.
CREATE FUNCTION filling(lists integer, items integer) RETURNS TABLE (list text, item text, number integer) LANGUAGE sql AS $$
    SELECT 'l' || l, 'i' || (l - 1) * items + position, position + 1
    FROM generate_series(1, lists) AS l, generate_series(0, items - 1) AS position
$$;
