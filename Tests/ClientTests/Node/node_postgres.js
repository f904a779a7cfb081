// node-postgres as its users write it, and the recipe of docs/recipes.md, run from its page.
// Prints how many checks passed.
'use strict'
const { deepStrictEqual } = require('assert')
const { execFileSync, spawn } = require('child_process')
const { readFileSync } = require('fs')
const { join } = require('path')
const { Pool } = require('pg')

const BOARD = '00000000-0000-0000-0000-000000000007'
const environment = { ...process.env, BROCOT_DATABASE_URL: process.env.DATABASE_URL }
const pool = new Pool({ connectionString: process.env.DATABASE_URL })

let passed = 0
function check(what, found, expected) {
  deepStrictEqual(found, expected, `${what}: ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`)
  passed += 1
}

function brocot(...options) {
  execFileSync(process.env.BROCOT, options, { env: environment, stdio: ['ignore', 'ignore', 'inherit'] })
}

// Applies all pending requests.
function drain() {
  brocot('daemon', '--drain')
}

async function attachedTable(name, list, columns) {
  await pool.query(`CREATE TABLE ${name} (${columns})`)
  brocot('attach', `public.${name}`, '--item', 'id', '--list', list)
}

// The titles of the cards that have a place, in order.
async function titles(queryable = pool) {
  const { rows } = await queryable.query(
    'SELECT title FROM cards WHERE board_id = $1 AND rank IS NOT NULL ORDER BY rank', [BOARD])
  return rows.map(row => row.title).join('')
}

// Runs code in a transaction of its own.
async function inTransaction(end, code) {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    const result = await code(client)
    await client.query(end)
    return result
  } finally {
    client.release()
  }
}

async function errorOf(promise) {
  return promise.then(() => { throw new Error('No error was raised.') }, error => error)
}

// Cards have numbers, and boards have UUIDs.
async function cards() {
  await attachedTable(
    'cards', 'board_id', 'id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, board_id uuid NOT NULL, title text')
  const id = {}
  for (const title of 'abcd') {
    const { rows } = await pool.query(
      'INSERT INTO cards (board_id, title) VALUES ($1, $2) RETURNING id', [BOARD, title])
    id[title] = rows[0].id
  }
  const inserted = await pool.query(
    'INSERT INTO cards (board_id, title) SELECT $1, title FROM unnest($2::text[]) AS title RETURNING id, title',
    [BOARD, ['e', 'f']])
  for (const row of inserted.rows) id[row.title] = row.id
  drain()
  check('the type of an id', typeof id.a, 'string')
  check('inserted rows', await titles(), 'abcdef')
  return id
}

async function movesThroughTheQueue(id) {
  const move = "SELECT brocot.move($1, $2, after => $3, ordered_table => 'public.cards') AS request"
  const request = await inTransaction('COMMIT', async client => {
    const { rows } = await client.query(move, [BOARD, id.d, id.a])
    await client.query(
      "SELECT brocot.move($1, $2, at => $3, ordered_table => 'public.cards')", [BOARD, Number(id.f), 0])
    return rows[0].request
  })
  check('the type of a request\'s id', typeof request, 'string')
  await inTransaction('ROLLBACK', client => client.query(move, [BOARD, id.e, id.a]))
  drain()
  check('move', await titles(), 'fadbce')
  const { rows } = await pool.query('SELECT status FROM brocot.request_status($1)', [request])
  check('request_status', rows, [{ status: 'applied' }])
  await inTransaction('COMMIT', client => client.query(
    "SELECT brocot.move_items($1, $2, after => $3, ordered_table => 'public.cards')", [BOARD, [id.c, id.b], id.e]))
  drain()
  check('move_items', await titles(), 'fadecb')
  await inTransaction('COMMIT', async client => {
    await client.query("SELECT brocot.remove($1, $2, ordered_table => 'public.cards')", [BOARD, id.f])
    await client.query(
      "SELECT brocot.remove_items($1, $2, ordered_table => 'public.cards')", [BOARD, [id.d, Number(id.e)]])
  })
  drain()
  check('remove and remove_items', await titles(), 'acb')
}

async function movesAtOnce(id) {
  const move = "SELECT brocot.move_now($1, $2, first => true, ordered_table => 'public.cards')"
  await inTransaction('COMMIT', async client => {
    await client.query("SELECT brocot.lock_lists($1, ordered_table => 'public.cards')", [[BOARD]])
    await client.query(move, [BOARD, id.b])
    check('move_now in its transaction', await titles(client), 'bac')
    check('move_now before COMMIT', await titles(), 'acb')
  })
  check('move_now after COMMIT', await titles(), 'bac')
  await inTransaction('ROLLBACK', client => client.query(move, [BOARD, id.c]))
  check('move_now after ROLLBACK', await titles(), 'bac')
}

async function errors(id) {
  for (const name of ['move', 'remove']) {
    const place = name === 'move' ? 'first => true, ' : ''
    const error = await errorOf(
      pool.query(`SELECT brocot.${name}($1, $2, ${place}ordered_table => 'public.cards')`, [BOARD, [id.b, id.c]]))
    check(`an array for ${name}`, [error.code, error.message],
      ['22023', `the item {"${id.b}","${id.c}"} looks like an array`])
  }
  const negative = await errorOf(
    pool.query("SELECT brocot.move($1, $2, at => $3, ordered_table => 'public.cards')", [BOARD, id.b, -1]))
  check('a refused request', [negative.code, negative.constraint], ['23514', 'position_is_not_negative'])
  await inTransaction('COMMIT', async client => {
    await client.query('SAVEPOINT before_the_move')
    const move = "SELECT brocot.move_now($1, $2, after => $3, ordered_table => 'public.cards')"
    const error = await errorOf(client.query(move, [BOARD, id.b, '4711']))
    check('an anchor that is missing', error.code, 'RK004')
    await client.query('ROLLBACK TO SAVEPOINT before_the_move')
    await client.query(move, [BOARD, id.b, id.a])
  })
  check('the transaction after an error', await titles(), 'abc')
}

async function pages() {
  await pool.query(
    'INSERT INTO cards (board_id, title) SELECT $1, title FROM unnest($2::text[]) AS title', [BOARD, ['x', 'y']])
  drain()
  // Cards go directly after the first one again and again, so their ranks get decimals.
  for (let turn = 0; turn < 4; turn += 1) {
    await pool.query(
      `SELECT brocot.move($1, (SELECT id FROM cards WHERE title = $2),
         after => (SELECT id FROM cards WHERE title = 'a'), ordered_table => 'public.cards')`, [BOARD, 'xy'[turn % 2]])
  }
  drain()
  const found = []
  let last = '-Infinity'
  for (;;) {
    const { rows } = await pool.query(
      'SELECT title, rank FROM cards WHERE board_id = $1 AND rank > $2::numeric ORDER BY rank LIMIT 2', [BOARD, last])
    if (rows.length === 0) break
    found.push(rows.map(row => row.title).join(''))
    last = rows[rows.length - 1].rank
  }
  check('pages', [found, typeof last], [['ay', 'xb', 'c'], 'string'])
}

// The code block of the page, with projects and tasks that have numbers.
async function recipe() {
  const page = readFileSync(join(__dirname, '../../../docs/recipes.md'), 'utf8')
  const code = page.split('\n## node-postgres\n')[1].match(/```js\n(.*?)```/s)[1]
  const AsyncFunction = (async () => {}).constructor
  const run = new AsyncFunction('pool', 'lastRank', `${code}\nreturn page.rows`)
  await attachedTable('tasks', 'project_id', 'id bigint PRIMARY KEY, project_id bigint NOT NULL, title text')
  await pool.query("INSERT INTO tasks SELECT id, 7, '' FROM unnest($1::bigint[]) AS id", [[42, 44, 43, 41]])
  drain()
  const order = async () => {
    const { rows } = await pool.query('SELECT id FROM tasks WHERE project_id = 7 ORDER BY rank')
    return rows.map(row => row.id)
  }
  const daemon = spawn(process.env.BROCOT, ['daemon'], { env: environment, stdio: 'ignore' })
  try {
    const rows = await run(pool, undefined)
    check('the first page of the recipe', rows.map(row => row.id), ['42', '44', '43', '41'])
    check('the moves of the recipe', await order(), ['41', '42', '44', '43'])
    await pool.query('DELETE FROM tasks WHERE id = 44')
    const rest = await run(pool, (await pool.query('SELECT rank FROM tasks WHERE id = 42')).rows[0].rank)
    check('the next page of the recipe', rest.map(row => row.id), ['43'])
    check('the recipe with a task that somebody has deleted', await order(), ['41', '42', '43'])
  } finally {
    const ended = new Promise(resolve => daemon.on('exit', resolve))
    daemon.kill()
    await ended
  }
}

async function main() {
  const id = await cards()
  await movesThroughTheQueue(id)
  await movesAtOnce(id)
  await errors(id)
  await pages()
  await recipe()
  await pool.end()
  console.log(`${passed} passed`)
}

main().catch(error => {
  console.error(error)
  process.exit(1)
})
