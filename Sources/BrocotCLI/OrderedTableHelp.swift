/// The help of arguments and options that name an ordered table. `Connection.orderedTable(named:)` finds the name in the registry.
let orderedTableHelp = """
    The ordered table: items for the built-in one, schema.table for your own. A schema in the search_path may be left out. For an order \
    whose rank column is not called rank: schema.table.column.
    """
