// JDBC as its users write it, and the recipe of docs/recipes.md, which `RecipeClientTests` copies from its page beside this file.
// Prints how many checks passed. The database has the tables that `RecipeClientTests` makes.

import java.math.BigDecimal;
import java.net.URI;
import java.sql.*;
import java.util.*;

class Recipe {
    static final String FIRST = "SELECT brocot.move(?, ?, first => true, ordered_table => 'public.tasks')";
    static final String AFTER = "SELECT brocot.move(?, ?, after => ?, ordered_table => 'public.tasks')";
    static final String WAIT = "CALL brocot.wait_for(?, ?::interval)";

    static int passed = 0;

    static void check(String what, Object found, Object expected) {
        if (!Objects.equals(found, expected)) throw new AssertionError(what + ": " + found + ", not " + expected);
        passed += 1;
    }

    static Connection connect(String options) throws Exception {
        var url = new URI(System.getenv("DATABASE_URL"));
        var user = url.getUserInfo().split(":");
        return DriverManager.getConnection(
            "jdbc:postgresql://" + url.getHost() + ":" + url.getPort() + url.getPath() + "?ApplicationName=recipe" + options, user[0],
            user.length > 1 ? user[1] : null);
    }

    interface Code { void run() throws SQLException; }

    static String errorOf(Code code) {
        try {
            code.run();
            return "none";
        } catch (SQLException error) {
            return error.getSQLState();
        }
    }

    static PreparedStatement prepared(Connection connection, String statement, Object... parameters) throws SQLException {
        var prepared = connection.prepareStatement(statement);
        for (var index = 0; index < parameters.length; index += 1) prepared.setObject(index + 1, parameters[index]);
        return prepared;
    }

    static List<Long> longs(Connection connection, String statement) throws SQLException {
        var rows = connection.createStatement().executeQuery(statement);
        var found = new ArrayList<Long>();
        while (rows.next()) found.add(rows.getLong(1));
        return found;
    }

    static List<Long> order(Connection connection) throws SQLException {
        connection.createStatement().execute("SELECT brocot.apply_pending()");
        return longs(connection, "SELECT id FROM tasks WHERE project_id = 7 ORDER BY rank");
    }

    static List<String> outcome(Connection connection, long request) throws SQLException {
        var row = prepared(connection, WAIT, request, "5 seconds").executeQuery();
        row.next();
        return Arrays.asList(row.getString("status"), row.getString("error_code"), row.getString("error") == null ? null : "reason");
    }

    static void movesOfTheRecipe(Connection connection) throws SQLException {
        var request = Tasks.move(connection, 7, 41, 43L);
        check("move after a task", order(connection), List.of(42L, 43L, 41L, 44L));
        check("wait_for", outcome(connection, request), Arrays.asList("applied", null, null));
        Tasks.move(connection, 7, 41, null);
        check("move to the beginning", order(connection), List.of(41L, 42L, 43L, 44L));
        var missing = Tasks.move(connection, 7, 41, 4711L);
        order(connection);
        check("a task that is missing", outcome(connection, missing), List.of("rejected", "anchor_not_found", "reason"));
        var found = new ArrayList<Long>();
        for (var page = Tasks.page(connection, 9, "-Infinity"); !page.isEmpty();
                page = Tasks.page(connection, 9, page.get(page.size() - 1).rank())) {
            for (var task : page) found.add(task.id());
        }
        check("pages", found, longs(connection, "SELECT id FROM tasks WHERE project_id = 9 ORDER BY rank"));
        check("the rows of the pages", found.size(), 70);
    }

    // A BigDecimal is exact as well.
    static void pagesByDecimals(Connection connection) throws SQLException {
        var found = new ArrayList<Long>();
        var last = BigDecimal.valueOf(Long.MIN_VALUE);
        var statement = connection.prepareStatement("SELECT id, rank FROM tasks WHERE project_id = 9 AND rank > ? ORDER BY rank LIMIT 2");
        for (;;) {
            statement.setBigDecimal(1, last);
            var rows = statement.executeQuery();
            if (!rows.next()) break;
            do {
                found.add(rows.getLong("id"));
                last = rows.getBigDecimal("rank");
            } while (rows.next());
        }
        check("pages by decimals", found, longs(connection, "SELECT id FROM tasks WHERE project_id = 9 ORDER BY rank"));
    }

    static void executeUpdate(Connection connection) throws SQLException {
        var requests = longs(connection, "SELECT count(*) FROM brocot.move_requests").get(0);
        check("executeUpdate", errorOf(() -> prepared(connection, FIRST, 7L, 42L).executeUpdate()), "0100E");
        check("the requests", longs(connection, "SELECT count(*) FROM brocot.move_requests").get(0), requests + 1);
        check("the order after executeUpdate", order(connection), List.of(42L, 41L, 43L, 44L));
        var batch = connection.prepareStatement(
            "INSERT INTO brocot.move_requests (ordered_table, list, items, placement) VALUES ('public.tasks', ?, ?, 'last')");
        for (var task : List.of(42L, 41L)) {
            batch.setLong(1, 7);
            batch.setArray(2, connection.createArrayOf("text", new Object[] {task}));
            batch.addBatch();
        }
        check("a batch", Arrays.stream(batch.executeBatch()).sum(), 2);
        check("the order after a batch", order(connection), List.of(43L, 44L, 42L, 41L));
    }

    static void types(Connection connection) throws SQLException {
        check("a text as the anchor of a number", errorOf(() -> prepared(connection, AFTER, 7L, 42L, "41").execute()), "42883");
        var move = prepared(connection, AFTER, 7L, 42L);
        move.setNull(3, Types.VARCHAR);
        check("a null of another type", errorOf(() -> move.execute()), "42883");
        var listAndFormerList = "SELECT brocot.move(?, ?, last => true, from_list => ?, ordered_table => 'public.tasks')";
        check("a former list of another type", errorOf(() -> prepared(connection, listAndFormerList, 7L, 42L, "8").execute()), "42883");
        var uuids = prepared(connection, "SELECT brocot.move('uuids', ?, after => ?, first => true)", UUID.randomUUID());
        uuids.setNull(2, Types.OTHER);
        check("a null as the anchor of a UUID", errorOf(() -> uuids.execute()), "none");
        check("{call …}", errorOf(() -> connection.prepareCall("{call brocot.wait_for(1, '5 seconds')}").execute()), "42809");
        check("a time that is a text", errorOf(() -> prepared(connection, "CALL brocot.wait_for(?, ?)", 1L, "5 seconds").execute()), "42883");
    }

    static void moveAtOnce(Connection connection) throws SQLException {
        var move = AFTER.replace("move", "move_now");
        connection.setAutoCommit(false);
        var savepoint = connection.setSavepoint();
        check("an anchor that is missing", errorOf(() -> prepared(connection, move, 7L, 44L, 4711L).execute()), "RK004");
        connection.rollback(savepoint);
        prepared(connection, move, 7L, 44L, 41L).execute();
        connection.commit();
        connection.setAutoCommit(true);
        check("the order after COMMIT", order(connection), List.of(43L, 42L, 41L, 44L));
        prepared(connection, "SELECT brocot.move_items_now(?, ?, first => true, ordered_table => 'public.tasks')",
            7L, connection.createArrayOf("bigint", new Object[] {41L, 42L, 43L, 44L})).execute();
        check("the first order", order(connection), List.of(41L, 42L, 43L, 44L));
    }

    public static void main(String[] arguments) throws Exception {
        for (var options : List.of("", "&prepareThreshold=1", "&preferQueryMode=simple", "&stringtype=unspecified")) {
            movesOfTheRecipe(connect(options));
        }
        var connection = connect("");
        pagesByDecimals(connection);
        executeUpdate(connection);
        types(connection);
        moveAtOnce(connection);
        System.out.println(passed + " passed");
    }
}
