/// The net effect of moves on the rows of one table.
struct TableChanges {
    let table: OrderedTable
    let changes: [RowChange]
}
