<?php
// PDO as its users write it, and the recipe of docs/recipes.md, which `RecipeClientTests` copies from its page beside this file.
// Prints how many checks passed. The database has the tables that `RecipeClientTests` makes.

require __DIR__ . '/tasks.php';

$passed = 0;
function check(string $what, mixed $found, mixed $expected): void
{
    if ($found !== $expected) {
        fwrite(STDERR, "$what: " . json_encode($found) . ', not ' . json_encode($expected) . "\n");
        exit(1);
    }
    $GLOBALS['passed'] += 1;
}

function connection(array $options): PDO
{
    $url = parse_url(getenv('DATABASE_URL'));
    $database = ltrim($url['path'], '/');
    return new PDO("pgsql:host=$url[host];port=$url[port];dbname=$database", $url['user'], $url['pass'] ?? null, $options);
}

function errorOf(callable $code): string
{
    try {
        $code();
    } catch (PDOException $error) {
        return $error->getCode();
    }
    return 'none';
}

function drain(PDO $db): void
{
    $db->exec('SELECT brocot.apply_pending()');
}

function order(PDO $db): array
{
    return $db->query('SELECT id FROM tasks WHERE project_id = 7 ORDER BY rank')->fetchAll(PDO::FETCH_COLUMN);
}

function outcome(PDO $db, int $request): array
{
    $statement = $db->prepare("CALL brocot.wait_for(?, '5 seconds')");
    $statement->execute([$request]);
    $outcome = $statement->fetch(PDO::FETCH_ASSOC);
    return [array_keys($outcome), $outcome['status'], $outcome['error_code']];
}

function movesOfTheRecipe(PDO $db): void
{
    $columns = ['status', 'error_code', 'error'];
    $request = move($db, 7, 41, 43);
    drain($db);
    check('move after a task', order($db), [42, 43, 41, 44]);
    check('wait_for', outcome($db, $request), [$columns, 'applied', null]);
    move($db, 7, 41, null);
    drain($db);
    check('move to the beginning', order($db), [41, 42, 43, 44]);
    $request = move($db, 7, 41, 4711);
    drain($db);
    check('a task that is missing', outcome($db, $request), [$columns, 'rejected', 'anchor_not_found']);
    $db->beginTransaction();
    check('at once, after a task that is missing', moveAtOnce($db, 7, [43, 44], 4711), false);
    check('at once', moveAtOnce($db, 7, [44, 43], 41), true);
    $db->commit();
    check('the order after COMMIT', order($db), [41, 44, 43, 42]);
    $db->exec("SELECT brocot.move_items_now(7, '{41,42,43,44}', first => true, ordered_table => 'public.tasks')");
    $found = [];
    for ($rows = page($db, 9); $rows; $rows = page($db, 9, end($rows)['rank'])) {
        array_push($found, ...array_column($rows, 'id'));
    }
    check('pages', $found, $db->query('SELECT id FROM tasks WHERE project_id = 9 ORDER BY rank')->fetchAll(PDO::FETCH_COLUMN));
    check('the rows of the pages', count($found), 70);
}

foreach ([[], [PDO::ATTR_EMULATE_PREPARES => true], [PDO::PGSQL_ATTR_DISABLE_PREPARES => true]] as $options) {
    movesOfTheRecipe(connection($options));
}
$db = connection([]);

// The new row, also where a trigger places it at once. Requests have other numbers.
foreach (['tasks', 'tasks_at_once'] as $table) {
    $db->exec("INSERT INTO $table (project_id, title) VALUES (8, 'Paint')");
    check("lastInsertId() after an INSERT into $table", $db->lastInsertId(), '501');
    check("the id of the row in $table", $db->query("SELECT id FROM $table WHERE project_id = 8")->fetchColumn(), 501);
}

$move = $db->prepare("SELECT brocot.move(?, ?, first => ?, ordered_table => 'public.tasks')");
check('false', errorOf(fn() => $move->execute([7, 42, false])), '22P02');
$move->bindValue(1, 7);
$move->bindValue(2, 42);
$move->bindValue(3, true, PDO::PARAM_BOOL);
check('PARAM_BOOL', $move->execute(), true);
drain($db);
check('the order after PARAM_BOOL', order($db), [42, 41, 43, 44]);
check('an array as text', errorOf(fn() => $db->prepare(
    "SELECT brocot.move_items(?, ?, last => true, ordered_table => 'public.tasks')")->execute([7, '{42,41}'])), 'none');
drain($db);
check('the order after move_items', order($db), [43, 44, 42, 41]);
check('a parameter that occurs twice, without a cast', errorOf(fn() => $db->prepare(
    "SELECT brocot.move(7, 42, after => :after, first => :after IS NULL, ordered_table => 'public.tasks')")
    ->execute(['after' => 41])), '42P08');

$db->beginTransaction();
$db->exec("UPDATE tasks SET title = 'changed' WHERE id = 41");
check('an error at once', errorOf(fn() => $db->exec(
    "SELECT brocot.move_now(7, 41, after => 4711, ordered_table => 'public.tasks')")), 'RK004');
check('commit() after an error', $db->commit(), true);
check('the transaction after an error', $db->query('SELECT title FROM tasks WHERE id = 41')->fetchColumn(), '');

echo "$passed passed\n";
