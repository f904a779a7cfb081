import LibPQ
import Ordering
import SternBrocot

/// The statements that find rows with a wrong rank, and repair them.
struct RepairStatements {
    private let columns: OrderColumns
    private let arrive: OrderDefinition.Arrival
    private let names: OrderNames
    private let table: SQL
    private let rank: SQL
    private let num: SQL
    private let den: SQL

    /// `arrive` is the end at which rows are placed like new ones.
    init(_ columns: OrderColumns, arrive: OrderDefinition.Arrival) {
        self.columns = columns
        self.arrive = arrive
        names = columns.names
        table = names.sql
        (rank, num, den) = ("stored.\(columns.rank)", "stored.\(columns.num)", "stored.\(columns.den)")
    }

    var settings: [(String, String)] { TransactionSettings.writing(names) }

    /// The bound of a fraction's terms.
    private static let termLimit = SQL(unsafeRaw: "\(Rank.limit)")
    /// The most items of a request, and the most bytes of its keys.
    private static let (mostItems, longestKey) = (
        SQL(unsafeRaw: "\(Move.mostItems)"), SQL(unsafeRaw: "\(Move.longestKey)")
    )

    /// The terms of a row's fraction. A missing term is what the other one and the rank give: the 38 decimals of the rank determine it.
    private var terms: SQL {
        """
        SELECT coalesce(\(num)::numeric, pg_catalog.round(\(rank) * \(den)::numeric)) AS num,
            coalesce(\(den)::numeric, CASE WHEN \(num) = 0::bigint THEN 1::numeric
                WHEN \(rank) <> 0::numeric THEN pg_catalog.round(\(num)::numeric / \(rank)) END) AS den
        """
    }

    /// The greatest common divisor of a fraction's terms; NULL if the fraction can't be a rank, or has a term that the rank does not
    /// give exactly. The denominator is checked first.
    private var divisor: SQL {
        """
        CASE WHEN terms.den >= 1::numeric AND terms.den < \(Self.termLimit)::numeric
            AND terms.num > (-\(Self.termLimit))::numeric AND terms.num < \(Self.termLimit)::numeric
            AND (\(num) IS NOT NULL AND \(den) IS NOT NULL OR \(rank) = \(SortKey.value("terms.num", "terms.den")))
        THEN pg_catalog.gcd(terms.num, terms.den) END
        """
    }

    private var listTexts: SQL { columns.listTexts(of: "stored") }
    private var itemText: SQL { columns.itemText(of: "stored") }

    /// Each row with a rank, the rank that it should have (NULLs mean none), and the first row with that rank.
    private func judged(_ list: [String]?) -> SQL {
        """
        SELECT judged.*, row_number() OVER same_rank > 1 AND judged.num IS NOT NULL AS has_rank_of_other_row,
            pg_catalog.first_value(judged.item) OVER same_rank AS first_item
        FROM (
            SELECT \(listTexts) AS list, \(itemText) AS item, stored.\(columns.item.identifier) AS key, \(rank) AS rank,
                (terms.num / divided.divisor)::bigint AS num, (terms.den / divided.divisor)::bigint AS den,
                coalesce(CASE WHEN divided.divisor = 1::numeric THEN
                    \(rank) = \(SortKey.value(num, den))
                        AND pg_catalog.scale(\(rank)) = pg_catalog.min_scale(\(rank)) END, false
                ) AS is_right
            FROM \(table) AS stored
            CROSS JOIN LATERAL (\(terms)) AS terms
            CROSS JOIN LATERAL (SELECT \(divisor) AS divisor) AS divided
            WHERE (\(rank) IS NOT NULL OR \(num) IS NOT NULL OR \(den) IS NOT NULL)
                AND \(list.map { columns.isIn($0, "stored") } ?? "true")
        ) AS judged
        WINDOW same_rank AS (PARTITION BY judged.list, judged.num, judged.den ORDER BY judged.is_right DESC, judged.key)
        """
    }

    private func damaged(_ list: [String]?) -> SQL {
        // A row in no list has no rank.
        """
        SELECT * FROM (\(judged(list))) AS found
        WHERE NOT found.is_right OR found.has_rank_of_other_row OR pg_catalog.array_position(found.list, NULL) IS NOT NULL
        """
    }

    var countOfDamaged: SQL { "SELECT count(*) FROM (\(damaged(nil))) AS damaged" }

    /// Some damaged rows: the key of the list, NULL for a row in no list; the item; the stored rank; the fraction that a repair writes; and the item
    /// with the same rank behind which a repair places the row.
    func firstDamaged(_ limit: Int) -> SQL {
        """
        SELECT CASE WHEN pg_catalog.array_position(damaged.list, NULL) IS NULL THEN brocot.list_key(VARIADIC damaged.list) END,
            damaged.item, damaged.rank::text, damaged.num, damaged.den,
            CASE WHEN damaged.has_rank_of_other_row AND \(isAdmitted("damaged.first_item")) THEN damaged.first_item END
        FROM (\(damaged(nil))) AS damaged
        ORDER BY damaged.list, damaged.num::numeric / damaged.den, damaged.key
        LIMIT \(Int64(limit))
        """
    }

    /// The numbers of rows without a place, and of those among them that can't have one, because a key is empty or too long.
    var countsOfUnplaced: SQL {
        """
        SELECT count(*), count(*) FILTER (WHERE NOT \(isAdmitted(itemText))
            OR pg_catalog.octet_length(brocot.list_key(VARIADIC \(listTexts))) > \(Self.longestKey))
        FROM \(table) AS stored WHERE \(columns.isInList("stored")) AND \(rank) IS NULL
        """
    }

    /// The lists of damaged rows, as the texts of their columns and as their key. Rows with NULL in a list column are in no list.
    var damagedLists: SQL {
        """
        SELECT DISTINCT damaged.list, brocot.list_key(VARIADIC damaged.list) FROM (\(damaged(nil))) AS damaged
        WHERE pg_catalog.array_position(damaged.list, NULL) IS NULL
        """
    }

    /// Removes the ranks of a list's damaged rows, and then writes the corrected ranks: otherwise a corrected rank could be equal
    /// to one that is not corrected yet. Of several rows with equal ranks, the first keeps its rank.
    func repair(_ list: [String]) -> [SQL] {
        let isSame: SQL = """
            \(itemText) = damaged.item AND \(listTexts) OPERATOR(pg_catalog.=) damaged.list
            """
        return [
            "CREATE TEMPORARY TABLE brocot_damaged ON COMMIT DROP AS \(damaged(list))",
            """
            UPDATE \(table) AS stored
            SET \(columns.removal)
            FROM pg_temp.brocot_damaged AS damaged WHERE \(isSame)
            """,
            """
            UPDATE \(table) AS stored
            SET \(columns.num) = damaged.num, \(columns.den) = damaged.den,
                \(columns.rank) = pg_catalog.trim_scale(\(SortKey.value("damaged.num", "damaged.den")))
            FROM pg_temp.brocot_damaged AS damaged WHERE \(isSame) AND NOT damaged.has_rank_of_other_row AND damaged.num IS NOT NULL
            """,
            requestPlacesBesideFirst, requestPlacesOfDamaged,
        ]
    }

    /// Whether the queue admits the key `key` of an item.
    private func isAdmitted(_ key: SQL) -> SQL {
        "pg_catalog.octet_length(\(key)) BETWEEN 1 AND \(Self.longestKey)"
    }

    /// Rows with the rank of another row get places directly behind it. The last one is requested first, so that the others come before it. A
    /// row that is deleted meanwhile is not inserted again.
    private var requestPlacesBesideFirst: SQL {
        """
        INSERT INTO brocot.move_requests (ordered_table, list, items, placement, anchor, missing)
        SELECT \(names.orderedTable), brocot.list_key(VARIADIC damaged.list), ARRAY[damaged.item], 'after', damaged.first_item, 'reject'
        FROM pg_temp.brocot_damaged AS damaged
        WHERE damaged.has_rank_of_other_row AND \(isAdmitted("damaged.item")) AND \(isAdmitted("damaged.first_item"))
            AND pg_catalog.octet_length(brocot.list_key(VARIADIC damaged.list)) <= \(Self.longestKey)
        ORDER BY damaged.num, damaged.den, damaged.key DESC
        """
    }

    /// Rows whose rank could not be corrected get a new place, at the table's end for new rows and in the order of their ranks.
    private var requestPlacesOfDamaged: SQL {
        requestArrivals(
            of: """
                SELECT brocot.list_key(VARIADIC damaged.list) AS list, damaged.item,
                    row_number() OVER (ORDER BY damaged.rank, damaged.key) AS number
                FROM pg_temp.brocot_damaged AS damaged
                WHERE damaged.num IS NULL OR damaged.has_rank_of_other_row AND NOT \(isAdmitted("damaged.first_item"))
                """)
    }

    /// Removes the ranks of rows that are in no list.
    var forgetRanksOutsideLists: SQL {
        """
        UPDATE \(table) AS stored SET \(columns.removal)
        WHERE NOT (\(columns.isInList("stored"))) AND (\(rank) IS NOT NULL OR \(num) IS NOT NULL OR \(den) IS NOT NULL)
        """
    }

    /// Requests places for rows without a rank, in the order of their keys, like the triggers for new rows.
    var requestArrivals: SQL {
        requestArrivals(
            of: """
                SELECT brocot.list_key(VARIADIC \(listTexts)) AS list, \(itemText) AS item,
                    row_number() OVER (ORDER BY stored.\(columns.item.identifier)) AS number
                FROM \(table) AS stored
                WHERE \(columns.isInList("stored")) AND \(rank) IS NULL
                """)
    }

    /// Requests places for rows in the order of `number`: one or several requests for each list, as many as its items need. Where rows arrive first, the
    /// last of these requests comes first, since each one places its rows before all others.
    private func requestArrivals(of rows: SQL) -> SQL {
        """
        INSERT INTO brocot.move_requests (ordered_table, list, items, placement)
        SELECT \(names.orderedTable), keyed.list, pg_catalog.array_agg(keyed.item ORDER BY keyed.number), 'arrive'
        FROM (
            SELECT named.*, row_number() OVER (PARTITION BY named.list ORDER BY named.number) AS place
            FROM (\(rows)) AS named (list, item, number)
        ) AS keyed
        WHERE pg_catalog.octet_length(keyed.list) <= \(Self.longestKey) AND \(isAdmitted("keyed.item"))
        GROUP BY keyed.list, (keyed.place - 1) / \(Self.mostItems)
        ORDER BY min(keyed.number)\(arrive == .first ? " DESC" : "" as SQL)
        """
    }
}
