// ponder indexes the token; what its tables have is compared with the transfers that were made.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const COUNT = Number(process.env.TOKEN_TRANSFERS)
const port = process.env.PORT
/** Where ponder looks for them, which reads TypeScript alone. */
const PLACES = { config: 'ponder.config', schema: 'ponder.schema', indexing: 'src/index', api: 'src/api/index' }
for (const [name, place] of Object.entries(PLACES)) cpSync(`sources/${name}.js`, `${place}.ts`)
rmSync('.ponder', { recursive: true, force: true })
const args = ['node_modules/ponder/dist/esm/bin/ponder.js', 'start', '--schema', 'public']
const ponder = spawn(process.execPath, [...args, '--port', port], { env: { ...process.env, CI: 'true' } })
let log = ''
for (const stream of [ponder.stdout, ponder.stderr]) stream.on('data', (chunk) => (log += chunk))
const exited = once(ponder, 'exit')
try {
  await untilReady()
  // The newest blocks are indexed while it is ready.
  let [transfers, calls] = [[], []]
  for (const deadline = Date.now() + 60_000; transfers.length <= COUNT && Date.now() < deadline; await sleep(300)) {
    const rows = await (await fetch(`http://127.0.0.1:${port}/rows`)).json()
    transfers = rows.transfers
    calls = rows.calls
  }
  const values = (rows) => rows.map(({ value }) => Number(value)).sort((a, b) => a - b)
  const sent = Array.from({ length: COUNT }, (_, index) => index + 1)
  // Others may have sent some since, of 1 or 2; the first event is the creation's.
  assert.ok(sent.every((value) => values(transfers).includes(value)))
  assert.ok(sent.every((value) => values(calls).includes(value)))
  assert.equal(transfers.length, calls.length + 1)
  assert.ok(calls.every(({ gasUsed }) => BigInt(gasUsed) > 21_000n))
  console.log(`${transfers.length} events with receipts and ${calls.length} traces of calls are indexed`)
} catch (error) {
  console.error(log.slice(-8_000))
  throw error
} finally {
  ponder.kill('SIGKILL')
  await exited
}

async function untilReady() {
  while (ponder.exitCode === null) {
    const answer = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => undefined)
    if (answer?.ok) return
    await sleep(200)
  }
  throw new Error(`ponder ended with ${ponder.exitCode}`)
}
