import { encodeValues, selectorOf } from '../../src/modules/precompileFunctions/abi/codec.ts'
import { concatBytes } from '../../src/primitives/bytes.ts'
import { BLOCK_ROWS } from './blockRows.ts'
import { countedWorld, leastGas, noWork } from './countedWorld.ts'
import type { StepCounter } from './countSteps.ts'
import { ACTOR, grow, leaveDeadKeys } from './grow.ts'
import { measureViews } from './measureViews.ts'
import { MESSAGE_ROWS } from './messageRows.ts'
import { CALL_ROWS, CONTRACTS } from './precompileRows.ts'
import { account } from './stage.ts'

/** What an operation did on a state of one size. */
export interface Measured {
  readonly kind: 'message' | 'call' | 'block' | 'view'
  readonly name: string
  readonly size: number
  /** gas that it uses; of a block's work, what the meter counted */
  readonly gas: number
  /** gas that the work on the state costs at the least */
  readonly state: number
  /** steps of JavaScript; counting makes it slow, so there are either these or times */
  readonly steps: number | undefined
  /** milliseconds */
  readonly ms: number | undefined
  readonly error: string | undefined
  /** whether an error is expected */
  readonly fails: boolean | 'either'
  /** see `ViewRow` */
  readonly isWalk?: boolean
}

interface Operation {
  readonly kind: Measured['kind']
  readonly name: string
  readonly fails: boolean
  readonly prepare: () => void
  readonly run: () => { readonly gas: number; readonly error: string | undefined }
}

/** Gas of a call to a warm account. */
const CALL_GAS = 100
const CALL_LIMIT = 16_000_000n
const TIMED_RUNS = 7

/** Runs every row on a state that strangers have grown to `size`. @param counter of steps; without one times are measured */
export async function measure(size: number, counter: StepCounter | undefined): Promise<readonly Measured[]> {
  const stage = grow(size)
  const work = noWork()
  const world = countedWorld(stage.state, work)
  world.beginTransaction()
  leaveDeadKeys(stage, world, size)
  world.endTransaction({ clearEmpty: true })
  const { height, timeMs } = stage
  const operations: Operation[] = []

  for (const [name, rows] of Object.entries(MESSAGE_ROWS)) {
    for (const { variant, before, make, fails = false } of rows) {
      const message = make(size, stage)
      operations.push({
        kind: 'message',
        name: variant === undefined ? name : `${name}, ${variant}`,
        fails,
        prepare: () => before?.(stage, world, size),
        run: () => stage.run(world, message),
      })
    }
  }

  for (const [name, rows] of Object.entries(CALL_ROWS)) {
    const [contractName, functionName] = name.split('.') as [string, string]
    const contract = CONTRACTS[contractName]!
    const entry = contract.functions.find((each) => each.name === functionName)
    if (entry === undefined) throw new Error(`${contractName} has no function ${functionName}`)
    for (const { variant, caller = account(ACTOR), inputs, fails = false } of rows) {
      const data = concatBytes(selectorOf(entry.signature), encodeValues(entry.inputs, inputs(size, stage) as never))
      operations.push({
        kind: 'call',
        name: variant === undefined ? name : `${name}, ${variant}`,
        fails,
        prepare: () => undefined,
        run: () => {
          const { status, gasUsed, output } = contract.run({
            caller,
            value: 0n,
            data,
            gasLimit: CALL_LIMIT,
            isStatic: false,
            isDelegated: false,
            world,
            block: {
              number: stage.height,
              timestamp: Math.floor(stage.timeMs / 1_000),
              timeMs: stage.timeMs,
              gasLimit: 30_000_000n,
              coinbase: account(ACTOR),
              baseFeePerGas: 1n,
              prevRandao: new Uint8Array(32),
              difficulty: 0n,
              blobBaseFee: 1n,
              blockHash: () => undefined,
            },
            beforeWrite: () => undefined,
          })
          const error =
            status === 'success' ? undefined : `${status}: ${Buffer.from(output.slice(68)).toString('utf8')}`
          return { gas: Number(gasUsed) + CALL_GAS, error }
        },
      })
    }
  }

  for (const { name, afterMs, afterBlocks = 1, before: earlier, run } of BLOCK_ROWS) {
    operations.push({
      kind: 'block',
      name,
      fails: false,
      prepare: () => {
        earlier?.({ world, block: stage.block }, size)
        stage.height += afterBlocks
        stage.timeMs += afterMs
      },
      run: () => {
        const before = world.native.work.done
        run({ world, block: stage.block })
        return { gas: world.native.work.done - before, error: undefined }
      },
    })
  }

  /** One run that leaves no trace. */
  const tryOnce = <T>(operation: Operation, use: (run: Operation['run']) => T): T => {
    stage.height = height
    stage.timeMs = timeMs
    world.beginTransaction()
    world.checkpoint()
    try {
      operation.prepare()
      return use(operation.run)
    } finally {
      world.revert()
      world.endTransaction({ clearEmpty: true })
    }
  }

  const measured = operations.map((operation): Measured => {
    const { kind, name, fails } = operation
    // Once before: modules that load late, and what is computed once.
    tryOnce(operation, (run) => run())
    const measured = tryOnce(operation, (run) => {
      Object.assign(work, noWork())
      let outcome: ReturnType<typeof run> | undefined
      const once = (): void => {
        outcome = run()
      }
      const steps = counter?.count(once)
      if (counter === undefined) once()
      const state = leastGas(work)
      return { kind, name, size, fails, ...outcome!, state, steps }
    })
    const ms = counter === undefined ? leastMs(() => tryOnce(operation, timed)) : undefined
    return { ...measured, ms }
  })
  stage.height = height
  stage.timeMs = timeMs
  return [...measured, ...(await measureViews({ stage, size, counter }))]
}

function timed(run: () => unknown): number {
  const start = performance.now()
  run()
  return performance.now() - start
}

function leastMs(run: () => number): number {
  const times = Array.from({ length: TIMED_RUNS }, run)
  return Math.min(...times)
}
