// pgx 4 as its users write it, and the recipe of docs/recipes.md, which `RecipeClientTests` copies from its page beside this file.
// Prints how many checks passed. The database has the tables that `RecipeClientTests` makes.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"

	"github.com/jackc/pgconn"
	"github.com/jackc/pgtype"
	"github.com/jackc/pgx/v4"
	"github.com/jackc/pgx/v4/pgxpool"
)

var (
	ctx    = context.Background()
	passed = 0
)

func check(what string, found, expected any) {
	if !reflect.DeepEqual(found, expected) {
		panic(fmt.Sprintf("%s: %v, not %v", what, found, expected))
	}
	passed += 1
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func order(pool *pgxpool.Pool, project int64) (ids []int64) {
	_, err := pool.Exec(ctx, "SELECT brocot.apply_pending()")
	must(err)
	must(pool.QueryRow(ctx, "SELECT array_agg(id ORDER BY rank) FROM tasks WHERE project_id = $1", project).Scan(&ids))
	return
}

func outcome(pool *pgxpool.Pool, request int64) (status string, code *string) {
	must(pool.QueryRow(ctx, "CALL brocot.wait_for($1, '5 seconds')", request).Scan(&status, &code, nil))
	return
}

func movesThroughTheQueue(pool *pgxpool.Pool) {
	anchor := int64(43)
	request, err := move(ctx, pool, 7, 41, &anchor)
	must(err)
	check("move after a task", order(pool, 7), []int64{42, 43, 41, 44})
	status, code := outcome(pool, request)
	check("an applied move", []any{status, code}, []any{"applied", (*string)(nil)})
	_, err = move(ctx, pool, 7, 41, nil)
	must(err)
	check("move to the beginning", order(pool, 7), []int64{41, 42, 43, 44})
	anchor = 4711
	request, err = move(ctx, pool, 7, 41, &anchor)
	must(err)
	order(pool, 7)
	status, code = outcome(pool, request)
	check("a task that is missing", []any{status, *code}, []any{"rejected", "anchor_not_found"})
}

func movesAtOnce(pool *pgxpool.Pool) {
	tx, err := pool.Begin(ctx)
	must(err)
	found, err := moveAtOnce(ctx, tx, 7, []int64{43, 44}, 4711)
	check("at once, after a task that is missing", []any{found, err}, []any{false, nil})
	found, err = moveAtOnce(ctx, tx, 7, []int64{44, 43}, 41)
	check("at once", []any{found, err}, []any{true, nil})
	_, err = moveAtOnce(ctx, tx, 7, []int64{44, 4711}, 41)
	var refused *pgconn.PgError
	check("another error", errors.As(err, &refused) && refused.Code == "RK005", true)
	must(tx.Commit(ctx))
	check("the order after COMMIT", order(pool, 7), []int64{41, 44, 43, 42})
	_, err = pool.Exec(ctx, "SELECT brocot.move_items_now(7, $1::bigint[], first => true, ordered_table => 'public.tasks')",
		[]int64{41, 42, 43, 44})
	must(err)
}

func pages(pool *pgxpool.Pool) {
	var found []int64
	for last, isLast := "-Infinity", false; !isLast; {
		rows, err := page(ctx, pool, 9, last)
		must(err)
		isLast = true
		for rows.Next() {
			var id int64
			var title string
			must(rows.Scan(&id, &title, &last))
			found, isLast = append(found, id), false
		}
		must(rows.Err())
	}
	check("pages", found, order(pool, 9))
	check("the rows of the pages", len(found), 70)
}

func pagesByNumeric(pool *pgxpool.Pool) {
	var found []int64
	var last pgtype.Numeric
	must(pool.QueryRow(ctx, "SELECT '-Infinity'::numeric").Scan(&last))
	for {
		var id int64
		err := pool.QueryRow(ctx, "SELECT id, rank FROM tasks WHERE project_id = 9 AND rank > $1 ORDER BY rank LIMIT 1", last).Scan(&id, &last)
		if errors.Is(err, pgx.ErrNoRows) {
			break
		}
		must(err)
		found = append(found, id)
	}
	check("pages by pgtype.Numeric", found, order(pool, 9))
}

func withoutCasts(pool *pgxpool.Pool) {
	_, err := pool.Exec(ctx, "SELECT brocot.move($1, $2, first => true, ordered_table => 'public.tasks')", 7, 42)
	check("a number without a cast", err.Error(), "cannot convert 7 to Text")
}

func main() {
	pool, err := pgxpool.Connect(ctx, os.Getenv("DATABASE_URL"))
	must(err)
	movesThroughTheQueue(pool)
	movesAtOnce(pool)
	pages(pool)
	pagesByNumeric(pool)
	withoutCasts(pool)
	fmt.Println(passed, "passed")
}
