import { QueryError } from '../../src/modules/query/queryError.ts'
import { isSdkError } from '../../src/modules/sdkError.ts'
import { simulateNative } from '../../src/modules/tx/simulateNative.ts'
import { createTransactionDecoder } from '../../src/modules/tx/transactionDecoder.ts'
import { AuthInfo, Fee, TxBody, TxRaw } from '../../src/modules/tx/types.ts'
import { JSON_TYPES_OF_ANY } from '../../src/rpc/cosmos/anyTypes.ts'
import { QUERIES } from '../../src/rpc/cosmos/queries.ts'
import type { QueryContext } from '../../src/rpc/cosmos/queryPort.ts'
import type { Journal } from '../../src/state/journal.ts'
import { countedWorld, leastGas, noWork } from './countedWorld.ts'
import type { StepCounter } from './countSteps.ts'
import type { Measured } from './measure.ts'
import { MESSAGE_ROWS } from './messageRows.ts'
import type { Stage } from './stage.ts'
import { SIMULATE, VIEW_ROWS } from './viewRows.ts'

/** Gas that a simulation may use: that of a call of a client, with its default. */
const CALL_GAS = 25_000_000n

interface Outcome {
  readonly error?: string | undefined
  /** that a simulation says the transaction uses */
  readonly gas?: number
}

interface ViewStage {
  readonly stage: Stage
  readonly size: number
  readonly counter: StepCounter | undefined
}

/** Runs every view on a grown state. */
export async function measureViews({ stage, size, counter }: ViewStage): Promise<readonly Measured[]> {
  const work = noWork()
  const measured: Measured[] = []
  const measure = async (
    name: string,
    expected: Pick<Measured, 'fails' | 'isWalk'>,
    run: (world: Journal) => Promise<Outcome>,
  ): Promise<void> => {
    // Modules that load late, and what is computed once.
    await run(countedWorld(stage.state, work))
    const world = countedWorld(stage.state, work)
    Object.assign(work, noWork())
    let outcome: Outcome = {}
    let ms: number | undefined
    let steps: number | undefined
    const once = async (): Promise<void> => {
      const beginMs = performance.now()
      outcome = await run(world)
      ms = performance.now() - beginMs
    }
    if (counter === undefined) await once()
    else steps = await counter.countAsync(once)
    const gas = Math.max(world.native.work.done, outcome.gas ?? 0)
    const { error } = outcome
    measured.push({ kind: 'view', name, size, gas, state: leastGas(work), steps, ms, error, ...expected })
  }

  for (const [path, rows] of Object.entries(VIEW_ROWS)) {
    const query = QUERIES.get(path)
    if (query === undefined) throw new Error(`there is no view ${path}`)
    for (const { variant, request, isWalk = false, fails = false } of rows) {
      const message = query.request.fromJson(request(size, stage), JSON_TYPES_OF_ANY)
      const name = variant === undefined ? path : `${path}, ${variant}`
      await measure(name, { fails, isWalk }, async (world) => {
        try {
          query.response.encode(await query.run(contextOf(stage, world), message))
          return {}
        } catch (error) {
          if (error instanceof QueryError) return { error: error.message }
          throw error
        }
      })
    }
  }
  const decoder = createTransactionDecoder({ chainId: 'coin_76287-1', evmChainId: 76287n })
  for (const [name, [row]] of Object.entries(MESSAGE_ROWS)) {
    const { make, before } = row!
    const raw = unsigned(make(size, stage))
    await measure(`${SIMULATE}, ${name}`, { fails: 'either', isWalk: true }, async (world) => {
      world.beginTransaction()
      before?.(stage, world, size)
      world.endTransaction({ clearEmpty: true })
      const result = simulateNative(raw, {
        world,
        block: stage.block,
        baseFeePerGas: 1n,
        gasCap: { lane: CALL_GAS, call: CALL_GAS },
        decoder,
      })
      if (isSdkError(result)) return { error: result.message }
      return { error: result.code === 0 ? undefined : result.log, gas: Number(result.gasUsed) }
    })
  }
  return measured
}

function contextOf(stage: Stage, world: Journal): QueryContext {
  const beginPauses = () => async () => undefined
  return { world, block: stage.block, beginPauses, node: { pruningWindow: 0 } } as unknown as QueryContext
}

/** A transaction as wallets simulate it. */
function unsigned(message: { readonly typeUrl: string; readonly value: Uint8Array }): Uint8Array {
  return TxRaw.encode({
    bodyBytes: TxBody.encode(TxBody.create({ messages: [message] })),
    authInfoBytes: AuthInfo.encode(
      AuthInfo.create({
        signerInfos: [{ publicKey: undefined, modeInfo: undefined, sequence: 0n }],
        fee: Fee.create({}),
      }),
    ),
    signatures: [new Uint8Array(0)],
  })
}
