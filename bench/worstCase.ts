/**
 * Looks for the contract that executes the least gas per second, under Osaka's rules, on a state in LevelDB. It tries loops of every
 * opcode with its costliest operands, calls, creations and precompiles. A random search finds further programs. Each program
 * fills transactions (2^24 gas each). Times are of this thread's processor, so other load hardly changes them. `--help` lists the flags.
 */

import { readFlags } from './flags.ts'
import { callPrograms } from './worstCase/callPrograms.ts'
import { creationPrograms } from './worstCase/creationPrograms.ts'
import { engineNamed } from './worstCase/engines.ts'
import { climb } from './worstCase/hillClimb.ts'
import { memoryPrograms } from './worstCase/memoryPrograms.ts'
import { nativePrograms } from './worstCase/nativePrograms.ts'
import { opcodePrograms } from './worstCase/opcodePrograms.ts'
import { precompilePrograms } from './worstCase/precompilePrograms.ts'
import type { Program } from './worstCase/program.ts'
import { printResults, type Result } from './worstCase/report.ts'
import { statePrograms } from './worstCase/statePrograms.ts'
import { createMeasure, type Measure, TRANSACTION_GAS } from './worstCase/testBed.ts'
import { openTestState } from './worstCase/testState.ts'

const PARTS = 'opcodes,memory,state,calls,creation,precompiles,native,search'
const HELP = `node bench/worstCase.ts [flags]
  --engine wasm         or reference
  --parts a,b           of ${PARTS} (all)
  --only text           only programs whose names contain it
  --seconds 0.3         that each program is measured
  --home DIR            keeps the state there, and takes it from there when it exists
  --accounts 200000     of the state
  --slots 200000
  --contracts 4096
  --search-seconds 60   of the part search
  --seed 1              of its random programs
  --without EXP,MULMOD  opcodes that they do not use
  --index-traces        with what INDEX_TRACES collects
`

const flags = readFlags(HELP, {
  engine: { type: 'string', default: 'wasm' },
  parts: { type: 'string', default: PARTS },
  only: { type: 'string', default: '' },
  seconds: { type: 'string', default: '0.3' },
  home: { type: 'string' },
  accounts: { type: 'string', default: '200000' },
  slots: { type: 'string', default: '200000' },
  contracts: { type: 'string', default: '4096' },
  'search-seconds': { type: 'string', default: '60' },
  seed: { type: 'string', default: '1' },
  without: { type: 'string', default: '' },
  'index-traces': { type: 'boolean', default: false },
})
const contracts = Number(flags.contracts)

const PROGRAMS: Readonly<Record<string, () => readonly Program[]>> = {
  opcodes: opcodePrograms,
  memory: memoryPrograms,
  state: statePrograms,
  calls: () => callPrograms(contracts),
  creation: creationPrograms,
  precompiles: precompilePrograms,
  native: nativePrograms,
}

/** Gas of the run that shows how fast a program is. */
const TRIAL_GAS = 1_000_000
const WARM_UP_MS = 2_000

/** Accounts that one transaction can read at most: each run begins after those of the run before. */
const INDEXES_OF_RUN = 9_000
let nextIndex = 1

function freshIndexes(): number {
  const first = nextIndex
  nextIndex += INDEXES_OF_RUN
  if (nextIndex > Math.min(Number(flags.accounts), Number(flags.slots))) nextIndex = 1
  return first
}

/** Executes transactions of a program until they took the requested time; a slow program gets smaller ones. */
async function rateOf(measure: Measure, program: Program): Promise<Result> {
  const milliseconds = Number(flags.seconds) * 1_000
  const trial = await measure(program, program.commits === true ? TRANSACTION_GAS : TRIAL_GAS, freshIndexes())
  const affordable = (trial.gas / Math.max(1, trial.ms)) * milliseconds
  const gas = Math.max(TRIAL_GAS, Math.min(TRANSACTION_GAS, Math.floor(affordable)))
  const sum = { gas: 0, ms: 0, commitMs: 0 }
  let failure: string | undefined
  while (sum.ms < milliseconds) {
    const run = await measure(program, gas, freshIndexes())
    sum.gas += run.gas
    sum.ms += run.ms
    sum.commitMs += run.commitMs
    failure = run.failure
  }
  return {
    name: program.name,
    megagasPerSecond: sum.gas / sum.ms / 1_000,
    commitShare: program.commits === true ? sum.commitMs / sum.ms : 0,
    failure,
  }
}

const state = await openTestState(
  { accounts: Number(flags.accounts), slots: Number(flags.slots), contracts },
  flags.home,
)
const measure = createMeasure(state.store, await engineNamed(flags.engine), flags['index-traces'])
// what is compiled first as quickly as possible is replaced while it runs
const warmUpEnds = performance.now() + WARM_UP_MS
while (performance.now() < warmUpEnds) for (const program of opcodePrograms()) await measure(program, TRIAL_GAS, 1)
const results: Result[] = []
for (const [name, programs] of Object.entries(PROGRAMS)) {
  if (!flags.parts.split(',').includes(name)) continue
  for (const program of programs()) {
    if (!program.name.includes(flags.only)) continue
    results.push(await rateOf(measure, program))
    console.log(`${program.name}: ${results.at(-1)!.megagasPerSecond.toFixed(1)} Mgas/s`)
  }
}
if (flags.parts.split(',').includes('search')) {
  const without = flags.without.split(',').filter(Boolean)
  const search = { measure, seed: Number(flags.seed), seconds: Number(flags['search-seconds']), without }
  for (const program of await climb(search)) results.push(await rateOf(measure, program))
}
printResults(results)
await state.close()
