import type { ChainConfig } from '../../chain/genesis/chainConfig.ts'
import { MODULE_ACCOUNT_NAMES } from '../../chain/genesis/genesisConstants.ts'
import { includesFork } from '../../chain/genesis/hardfork.ts'
import type { BlockContext, Rules } from '../../evm/blockContext.ts'
import { type ExecutionEnvironment, type ImmediateEngine, type Message, WorkLimitReached } from '../../evm/engine.ts'
import type { PrecompileTable, StatefulPrecompile } from '../../evm/precompile.ts'
import { createPrecompileGas } from '../../evm/precompileGas.ts'
import { applyCall, type CallMessage } from '../../evm/transition.ts'
import { blockContextOf, rulesAt } from '../../execution/blockContext.ts'
import { type Address, moduleAddress } from '../../primitives/address.ts'
import { bytesKey } from '../../primitives/bytes.ts'
import { Journal } from '../../state/journal.ts'
import type { StateReader } from '../../state/reader.ts'
import { rememberAccounts } from '../../state/rememberAccounts.ts'
import type { NodeView } from '../../state/view.ts'
import type { SocketMetrics } from '../../telemetry/metrics.ts'
import type { CallScope } from '../jsonrpc/callScope.ts'
import { responseTooLarge } from '../jsonrpc/errors.ts'
import { type RpcMethod, readArguments } from '../jsonrpc/method.ts'
import type { ContextLease, ShortCalls } from '../jsonrpc/runMethod.ts'
import type { CallOutcome } from '../jsonrpc/shortForm.ts'
import { blockFor } from './call.ts'

/** Limits of a short call. Which limit is reached decides where the call runs, never its result. */
interface ShortCallLimits {
  /** EVM gas that an attempt may use: ten times what most token calls take */
  readonly work: bigint
  /**
   * gas that an attempt may use in Ethereum's slower precompiles: enough for a call of ecrecover or
   * two
   */
  readonly precompileGas: bigint
  /**
   * database reads that an attempt may make, at 5 to 100 µs each; reads from the caches are free
   */
  readonly reads: number
  /**
   * milliseconds of attempts in one turn of the event loop, after which the turn's calls go to view
   * threads …
   */
  readonly turnMs: number
  /**
   * … if their code used this much gas, with 3,000 for each attempt: when the thread had to wait
   * for a processor, time has passed without any work. It is the gas of 50 token calls, or of six
   * of the slowest code, which take as long.
   */
  readonly turnGas: number
  /** wasted attempts of one client between two blocks */
  readonly clientDrops: number
}

/** By `bench/shortCalls.ts` the slowest code takes 0.4 ms for this much work. */
export const SHORT_CALL_LIMITS: ShortCallLimits = {
  work: 50_000n,
  precompileGas: 7_000n,
  reads: 32,
  turnMs: 2,
  turnGas: 300_000,
  clientDrops: 64,
}

/** The wasm engine has no older rules. */
const FIRST_FORK = 'cancun'
/** Gas that an attempt counts as, in addition to its code's. */
const ATTEMPT_GAS = 3_000
/**
 * Most contracts and functions that are remembered as long-running, with at most 60 characters
 * each. All are forgotten when there are more, and after LONG_BLOCKS blocks.
 */
const MAX_LONG = 4_096
const LONG_BLOCKS = 32
/**
 * Most clients whose wasted attempts are counted; when there are more, no further client may try
 * until the next block.
 */
const MAX_CLIENTS = 4_096

/** The engine of short calls. */
interface ShortEngine {
  readonly engine: ImmediateEngine
  /**
   * the chain's own precompiles whose work their gas measures; an attempt that hits another one is
   * dropped
   */
  readonly lightPrecompiles: readonly StatefulPrecompile[]
}

/** Why a call is left to a view thread. */
type Refusal = 'unfit' | 'long' | 'busy' | 'client' | 'loading' | DropReason
type DropReason = 'work' | 'reads' | 'precompile'
/** The call's answer in JSON, or why it is left to a view thread. */
type Outcome = { readonly answer: string } | Refusal

/** Thrown when an attempt reaches something that it may not do. */
class CallDropped extends Error {
  override readonly name = 'CallDropped'
}

/** A single instance: no caller sees it, and collecting a stack takes longer than the attempt. */
const DROPPED = new CallDropped('the call is left to a view thread')

export interface ShortCallsOptions {
  readonly chain: ChainConfig
  readonly lease: (scope: CallScope) => ContextLease
  /** height of the newest head */
  readonly headHeight: () => number
  /** loads the engine, at the first call */
  readonly openEngine: () => Promise<ShortEngine>
  /** monotonic clock */
  readonly nowMs: () => number
  readonly onError: (error: unknown) => void
  readonly metrics?: Pick<SocketMetrics, 'shortCallsTotal'> | undefined
  /** by default the limits of a node */
  readonly limits?: Partial<ShortCallLimits>
}

/** The engine and precompiles, once they are loaded. */
interface Loaded {
  readonly engine: ImmediateEngine
  readonly precompiles: PrecompileTable
}

/** State that all calls on one head share. */
interface Head {
  readonly view: NodeView
  readonly height: number
  readonly state: StateReader
  readonly rules: Rules
  readonly block: BlockContext
  /** the block as calls see it that pay nothing */
  readonly freeBlock: BlockContext
}

/**
 * Tries code calls in the thread that holds the connection: most take less time than the way to a
 * view thread and back. An attempt never waits, so it is bounded ({@link ShortCallLimits}) and
 * dropped when it reaches a bound; the call then runs in a view thread from the start. An attempt
 * that completes has the same result as in a view thread: the same code runs on the same state with
 * the same gas, and an attempt that would need anything else is dropped.
 *
 * Calls with overrides, on blocks other than the head, or with rare fields go to view threads at
 * once. So do calls of functions that have turned out to take long.
 */
export function createShortCalls(options: ShortCallsOptions): ShortCalls {
  const { chain, lease, metrics, nowMs } = options
  const limits = { ...SHORT_CALL_LIMITS, ...options.limits }
  const turn = createTurnBudget(limits, nowMs)
  /** by `ShortForm.target` */
  const long = new Set<string>()
  let longSince = 0
  /** wasted attempts since the last block, by client */
  const drops = new Map<string, number>()
  let countedHeight = 0
  let loaded: Loaded | undefined
  let isLoading = false
  let head: Head | undefined

  // of the current attempt
  let reads = 0
  let dropped: DropReason | undefined

  const drop = (reason: DropReason): never => {
    dropped = reason
    throw DROPPED
  }
  const countRead = (): void => {
    reads++
    if (reads > limits.reads) drop('reads')
  }
  /**
   * Counts the work of runs for the turn. A failed run uses up all its gas, which says nothing
   * about its work.
   */
  const metered = (engine: ImmediateEngine): ImmediateEngine => ({
    name: engine.name,
    run: ((message: Message, environment: ExecutionEnvironment & { readonly yield?: undefined }) => {
      let worked = limits.work
      try {
        const result = engine.run(message, environment)
        if (result.gasUsed < worked) worked = result.gasUsed
        return result
      } finally {
        turn.spend(Number(worked))
      }
    }) as ImmediateEngine['run'],
  })
  const load = async (): Promise<void> => {
    isLoading = true
    try {
      const { engine, lightPrecompiles } = await options.openEngine()
      loaded = {
        engine: metered(engine),
        precompiles: precompilesOf(chain, lightPrecompiles, () => drop('precompile')),
      }
    } catch (error) {
      // Not tried again: view threads answer, as on nodes without this engine.
      options.onError(error)
    }
  }

  const forget = (): void => {
    const height = options.headHeight()
    if (height === countedHeight) return
    countedHeight = height
    drops.clear()
    if (height - longSince < LONG_BLOCKS) return
    long.clear()
    longSince = height
  }

  const moveTo = (view: NodeView): Head | undefined => {
    const height = view.chain.headHeight
    const header = view.chain.header(height)
    if (header === undefined) return undefined
    const rules = rulesAt(chain, height)
    const reader = {
      hash: (number: number) => {
        countRead()
        return view.chain.hash(number)
      },
    }
    // Only precompiles see the milliseconds, and the light ones do not read them.
    const block = blockContextOf(header, header.timestamp * 1_000, reader, rules)
    const state = rememberAccounts(view.stateAt(height, countRead))
    return { view, height, state, rules, block, freeBlock: blockFor({}, block) }
  }

  const runOn = (head: Head, { engine, precompiles }: Loaded, message: CallMessage): CallOutcome => {
    // A byte takes a few nanoseconds, like a unit of gas.
    turn.spend(message.data?.length ?? 0)
    const { block, freeBlock, rules, state } = head
    const isFree = message.maxFeePerGas === 0n && message.maxPriorityFeePerGas === 0n
    const gas = limits.precompileGas < chain.precompileGasLimit ? limits.precompileGas : chain.precompileGasLimit
    const precompileGas = createPrecompileGas(gas)
    const outcome = applyCall({
      call: message,
      world: new Journal(state),
      block: isFree ? freeBlock : blockFor(message, block),
      rules,
      engine,
      precompiles,
      precompileGas,
      workLimit: limits.work,
      isDiscarded: true,
      acceptsBlobs: true,
    })
    if (precompileGas.hitLimit && gas < chain.precompileGasLimit) drop('precompile')
    return outcome
  }

  /** Returns the call's result, or why a view thread has to run it. @throws RpcError, the result */
  const attempt = (method: RpcMethod, params: readonly unknown[], scope: CallScope, loaded: Loaded): Outcome => {
    const { context, release } = lease(scope)
    try {
      if (head?.view !== context.view) head = moveTo(context.view)
      const own = head
      if (own === undefined || !includesFork(own.rules.fork, FIRST_FORK)) return 'unfit'
      const shortHead = { height: own.height, run: (message: CallMessage) => runOn(own, loaded, message) }
      const answer = method.short?.attempt(shortHead, context, ...readArguments(method, params))
      if (answer === undefined) return 'unfit'
      if (answer.length > context.limits.responseBytes) throw responseTooLarge()
      return { answer }
    } catch (error) {
      if (error === WorkLimitReached.instance) return 'work'
      if (dropped === undefined) throw error
      return dropped
    } finally {
      release()
    }
  }

  const tryCall = (method: RpcMethod, params: readonly unknown[], scope: CallScope): Outcome => {
    const target = method.short?.target(params)
    if (target === undefined || scope.signal.aborted) return 'unfit'
    if (loaded === undefined) {
      if (!isLoading) void load()
      return 'loading'
    }
    forget()
    if (long.has(target)) return 'long'
    const inVain = drops.get(scope.client) ?? (drops.size < MAX_CLIENTS ? 0 : limits.clientDrops)
    if (inVain >= limits.clientDrops) return 'client'
    if (!turn.begin()) return 'busy'
    reads = 0
    dropped = undefined
    const outcome = attempt(method, params, scope, loaded)
    if (!isDrop(outcome)) return outcome
    drops.set(scope.client, inVain + 1)
    // The caches have now what was read, so the next attempt gets further.
    if (outcome !== 'reads') {
      if (long.size >= MAX_LONG) long.clear()
      long.add(target)
    }
    return outcome
  }

  return {
    tryCall: (method, params, scope) => {
      const count = (outcome: Refusal | 'here'): void => metrics?.shortCallsTotal.inc({ outcome })
      let outcome: Outcome
      try {
        outcome = tryCall(method, params, scope)
      } catch (error) {
        count('here')
        throw error
      }
      if (typeof outcome === 'string') {
        count(outcome)
        return undefined
      }
      count('here')
      return outcome.answer
    },
  }
}

function isDrop(outcome: Outcome): outcome is DropReason {
  return outcome === 'work' || outcome === 'reads' || outcome === 'precompile'
}

/**
 * Returns the chain's own precompiles as attempts see them: all but the light ones are replaced by
 * `run`.
 */
function precompilesOf(
  { registeredPrecompiles }: ChainConfig,
  light: readonly StatefulPrecompile[],
  run: StatefulPrecompile['run'],
): PrecompileTable {
  const known = new Map(light.map((precompile) => [bytesKey(precompile.address), precompile]))
  const addresses: readonly Address[] = [...MODULE_ACCOUNT_NAMES.map(moduleAddress), ...registeredPrecompiles]
  return new Map(addresses.map((address) => [bytesKey(address), known.get(bytesKey(address)) ?? { address, run }]))
}

/** Creates the budget of the attempts in one turn of the event loop. */
function createTurnBudget({ turnMs, turnGas }: Pick<ShortCallLimits, 'turnMs' | 'turnGas'>, nowMs: () => number) {
  let sinceMs: number | undefined
  let spent = 0
  const end = (): void => {
    sinceMs = undefined
  }
  return {
    /** Whether one more attempt may begin. */
    begin: (): boolean => {
      if (sinceMs === undefined) {
        setImmediate(end)
        sinceMs = nowMs()
        spent = 0
      } else if (spent >= turnGas && nowMs() - sinceMs >= turnMs) {
        return false
      }
      spent += ATTEMPT_GAS
      return true
    },
    spend: (gas: number): void => {
      spent += gas
    },
  }
}
