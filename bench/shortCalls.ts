/**
 * How long a socket thread is busy with one attempt of `eth_call` (src/rpc/eth/shortCalls.ts): each program of the search for the worst
 * contract, endless as they are, until the attempt is dropped. Prints the longest, in milliseconds of the clock: median and most of 30.
 * The state is in LevelDB, and what a program reads is new to its caches.
 * `--help` lists the flags.
 */

import { WorkLimitReached } from '../src/evm/engine.ts'
import { loadEvmModule } from '../src/evm/engines/wasm/evmModule.ts'
import { createWasmEngine } from '../src/evm/engines/wasm/wasmEngine.ts'
import { createPrecompileGas } from '../src/evm/precompileGas.ts'
import { applyCall } from '../src/evm/transition.ts'
import { nativeToken } from '../src/modules/bank/precompile/nativeToken.ts'
import { bigIntToBytes, bytesKey } from '../src/primitives/bytes.ts'
import { SHORT_CALL_LIMITS } from '../src/rpc/eth/shortCalls.ts'
import { Journal } from '../src/state/journal.ts'
import { readFlags } from './flags.ts'
import { callPrograms } from './worstCase/callPrograms.ts'
import { creationPrograms } from './worstCase/creationPrograms.ts'
import { memoryPrograms } from './worstCase/memoryPrograms.ts'
import { opcodePrograms } from './worstCase/opcodePrograms.ts'
import { precompilePrograms } from './worstCase/precompilePrograms.ts'
import type { Program } from './worstCase/program.ts'
import { statePrograms } from './worstCase/statePrograms.ts'
import { BLOCK } from './worstCase/testBed.ts'
import { HOARDER, openTestState } from './worstCase/testState.ts'

const HELP = `node bench/shortCalls.ts [flags]
  --only text           only programs whose names contain it
  --rows 20             of the table
`

const flags = readFlags(HELP, { only: { type: 'string', default: '' }, rows: { type: 'string', default: '20' } })
const SIZE = { accounts: 20_000, slots: 20_000, contracts: 512 }
const TRIES = 30
const RICH = 10n ** 24n
const CALLER = new Uint8Array(20).fill(0xca)
/** Accounts and slots that an attempt can read at most. */
const INDEXES = 40

const PROGRAMS: readonly Program[] = [
  ...opcodePrograms(),
  ...memoryPrograms(),
  ...statePrograms(),
  ...callPrograms(SIZE.contracts),
  ...creationPrograms(),
  ...precompilePrograms(),
].filter(({ name }) => name.includes(flags.only))

const state = await openTestState(SIZE, undefined)
const engine = createWasmEngine(await loadEvmModule(), { hashSeed: 1n })
const context = {
  block: BLOCK,
  rules: { fork: 'osaka', chainId: 76287n },
  precompiles: new Map([[bytesKey(nativeToken.address), nativeToken]]),
} as const
let firstIndex = 1

/** Returns the outcome; undefined: the call was dropped at its limit of work. */
function callWithin(
  input: Parameters<typeof applyCall>[0] & { readonly engine: typeof engine; readonly yield?: undefined },
) {
  try {
    return applyCall(input)
  } catch (error) {
    if (error instanceof WorkLimitReached) return undefined
    throw error
  }
}

/** Measures one attempt: its milliseconds, and its outcome. */
function attempt({ code, helpers = [] }: Program): { readonly ms: number; readonly end: string } {
  const world = new Journal(state.store.reader())
  world.setBalance(CALLER, RICH)
  for (const contract of [{ address: HOARDER, code }, ...helpers]) {
    world.setBalance(contract.address, RICH)
    world.setCode(contract.address, contract.code)
    world.setNonce(contract.address, 1n)
  }
  world.endTransaction({ clearEmpty: false })
  firstIndex = ((firstIndex + INDEXES) % (SIZE.slots - INDEXES)) + 1
  const call = { sender: CALLER, to: HOARDER, gasLimit: 50_000_000n, data: bigIntToBytes(BigInt(firstIndex), 32) }
  const precompileGas = createPrecompileGas(SHORT_CALL_LIMITS.precompileGas)
  const sinceMs = performance.now()
  const outcome = callWithin({ ...context, call, world, engine, precompileGas, workLimit: SHORT_CALL_LIMITS.work })
  const ms = performance.now() - sinceMs
  if (outcome === undefined) return { ms, end: 'dropped' }
  return { ms, end: outcome.kind === 'skipped' ? outcome.reason : (outcome.failure ?? 'success') }
}

// What is compiled first as quickly as possible is replaced while it runs.
for (let round = 0; round < 3; round++) for (const program of PROGRAMS) attempt(program)
const rows = PROGRAMS.map((program) => {
  const tries = Array.from({ length: TRIES }, () => attempt(program)).sort((a, b) => a.ms - b.ms)
  return { name: program.name, median: tries[TRIES >> 1]!, most: tries.at(-1)! }
}).sort((a, b) => b.median.ms - a.median.ms)
for (const { name, median, most } of rows.slice(0, Number(flags.rows))) {
  console.log(`${median.ms.toFixed(3)}  ${most.ms.toFixed(3)}  ${name}: ${median.end}`)
}
await state.close()
