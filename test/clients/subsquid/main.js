// Subsquid's processor reads the chain over RPC alone; what it hands over is counted. Once with geth's tracers, once with the namespace trace.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import processors from '@subsquid/evm-processor'

const { RPC_URL, TOKEN, TOKEN_BLOCK, TOKEN_TX, TOKEN_TRANSFERS } = process.env
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const COUNT = Number(TOKEN_TRANSFERS)
const LAST = Number((await rpc('eth_getTransactionReceipt', [process.env.COIN_TX])).blockNumber)

// The processor ends the process with its last block.
const [mode] = process.argv.slice(2)
if (mode !== undefined) processBlocks(mode === 'trace')
else {
  for (const each of ['debug', 'trace']) {
    const { status, stdout } = spawnSync(process.execPath, ['main.js', each], { encoding: 'utf8' })
    assert.equal(status, 0, stdout)
    assert.match(stdout, /changes of the state/)
    console.log(`namespace ${each}: ${stdout.split('\n').find((line) => line.includes('changes of the state'))}`)
  }
}

function check(seen) {
  assert.equal(seen.logs.length, COUNT + 1)
  assert.ok(seen.transactions.some(({ hash, status }) => hash === TOKEN_TX && status === 1))
  const calls = seen.traces.filter(({ type, action }) => type === 'call' && action.to === TOKEN.toLowerCase())
  assert.equal(calls.length, COUNT)
  assert.ok(calls.every(({ result }) => BigInt(result.gasUsed) > 0n))
  const slots = seen.stateDiffs.filter(({ address, key }) => address === TOKEN.toLowerCase() && key.length === 66)
  // The balances of sender and receiver.
  assert.ok(slots.length >= 2 * COUNT)
  assert.ok(seen.stateDiffs.some(({ key }) => key === 'balance'))
  console.log(`${seen.logs.length} logs, ${calls.length} calls, ${seen.stateDiffs.length} changes of the state`)
}

function processBlocks(useTraceApi) {
  const fields = {
    log: { topics: true, data: true },
    transaction: { hash: true, status: true, gasUsed: true },
    trace: { callTo: true, callSighash: true, callResultGasUsed: true, error: true },
    stateDiff: { kind: true, next: true, prev: true },
  }
  const processor = new processors.EvmBatchProcessor()
    .setRpcEndpoint({ url: RPC_URL, maxBatchCallSize: 50 })
    .setRpcDataIngestionSettings({
      useTraceApi,
      useDebugApiForStateDiffs: !useTraceApi,
      headPollInterval: 400,
      validateHashOnly: false,
    })
    .setFinalityConfirmation(1)
    .setBlockRange({ from: Number(TOKEN_BLOCK), to: LAST })
    .setFields(fields)
    .addLog({ address: [TOKEN.toLowerCase()], topic0: [TRANSFER] })
    .addTransaction({ to: [TOKEN.toLowerCase()] })
    .addTrace({ type: ['call'], callTo: [TOKEN.toLowerCase()] })
    .addStateDiff({ address: [TOKEN.toLowerCase()] })
    .addStateDiff({ kind: ['*'], key: ['balance'] })
  const seen = { logs: [], transactions: [], traces: [], stateDiffs: [] }
  let height = -1
  // A database that keeps nothing.
  const database = {
    connect: async () => ({ height, hash: '0x' }),
    transact: async ({ nextHead }, handle) => {
      await handle({})
      height = nextHead.height
    },
  }
  processor.run(database, async ({ blocks }) => {
    for (const block of blocks) for (const [kind, entries] of Object.entries(seen)) entries.push(...block[kind])
    if (blocks.some(({ header }) => header.height >= LAST)) check(seen)
  })
}

async function rpc(method, params) {
  const response = await fetch(RPC_URL, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return (await response.json()).result
}
