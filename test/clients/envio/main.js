// Envio indexes a token from its first block by RPC alone into PostgreSQL; ends with 1 when its table is not what the chain has.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { delimiter, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

const { RPC_URL, CHAIN_ID, TOKEN, TOKEN_BLOCK, TOKEN_TX, TOKEN_TRANSFERS, POSTGRES_URL, PORT, PATH } = process.env
const PATIENCE_MS = 60_000
const database = new URL(POSTGRES_URL)
const env = {
  ...process.env,
  // A package of its indexer, yargs 17, does not load in Node.js 26.
  PATH: [resolve(`node_modules/node-linux-${process.arch}/bin`), resolve('node_modules/.bin'), PATH].join(delimiter),
  ENVIO_HASURA: 'false',
  ENVIO_PG_HOST: database.hostname,
  ENVIO_PG_PORT: database.port,
  ENVIO_PG_USER: database.username,
  ENVIO_PG_PASSWORD: 'unused',
  ENVIO_PG_DATABASE: database.pathname.slice(1),
  ENVIO_INDEXER_PORT: PORT,
  TUI_OFF: 'true',
  CI: 'true',
}
const envio = resolve('node_modules/.bin/envio')

// JSON is YAML, too.
writeFileSync(
  'indexer/config.yaml',
  JSON.stringify({
    name: 'indexer',
    field_selection: { transaction_fields: ['hash'] },
    networks: [
      {
        id: Number(CHAIN_ID),
        start_block: Number(TOKEN_BLOCK),
        rpc: { url: RPC_URL, for: 'sync' },
        contracts: [
          {
            name: 'Token',
            address: TOKEN,
            handler: 'src/EventHandlers.js',
            events: [{ event: 'Transfer(address indexed from, address indexed to, uint256 value)' }],
          },
        ],
      },
    ],
  }),
)
run('codegen')
run('local', 'db-migrate', 'setup')
await index()

function run(...args) {
  const { status, stdout, stderr } = spawnSync(envio, args, { cwd: 'indexer', encoding: 'utf8', env })
  assert.equal(status, 0, stdout + stderr)
}

async function index() {
  const client = new pg.Client({ connectionString: POSTGRES_URL })
  await client.connect()
  const indexer = spawn(envio, ['start'], { cwd: 'indexer', env, detached: true })
  let log = ''
  for (const stream of [indexer.stdout, indexer.stderr]) stream.on('data', (chunk) => (log += chunk))
  const exited = once(indexer, 'exit')
  try {
    const rows = await untilIndexed(client, indexer)
    const receipt = await ask('eth_getTransactionReceipt', TOKEN_TX)
    assert.ok(rows.some((row) => row.transaction === TOKEN_TX && row.block === Number(receipt.blockNumber)))
    const topics = ['0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef']
    const last = rows.reduce((highest, { block }) => Math.max(highest, block), 0)
    const range = { fromBlock: `0x${Number(TOKEN_BLOCK).toString(16)}`, toBlock: `0x${last.toString(16)}` }
    const logs = await ask('eth_getLogs', { address: TOKEN, topics, ...range })
    const ids = logs.map(({ blockNumber, logIndex }) => `${Number(blockNumber)}-${Number(logIndex)}`)
    assert.deepEqual(rows.map(({ id }) => id).toSorted(), ids.toSorted())
    console.log(`${rows.length} transfers of the token, those of the chain`)
  } catch (error) {
    console.error(log.slice(-8_000))
    throw error
  } finally {
    await client.end()
    if (indexer.exitCode === null) process.kill(-indexer.pid, 'SIGKILL')
    await exited
  }
}

/** The rows once there are as many as transfers that were sent, and one more for what was minted. */
async function untilIndexed(client, indexer) {
  const endMs = Date.now() + PATIENCE_MS
  while (indexer.exitCode === null && Date.now() < endMs) {
    const { rows } = await client.query('SELECT * FROM "public"."Movement"')
    if (rows.length > Number(TOKEN_TRANSFERS)) return rows
    await sleep(200)
  }
  throw new Error(indexer.exitCode === null ? 'the indexer does not come to the head' : 'the indexer ended')
}

async function ask(method, ...params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const answer = await fetch(RPC_URL, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return (await answer.json()).result
}
