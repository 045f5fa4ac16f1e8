import type { BlockEvents, NativeEvent } from '../chain/block/entries.ts'
import type { EthereumHeader } from '../chain/block/ethereumBlock.ts'
import { orderedTrieRoot } from '../chain/block/orderedTrieRoot.ts'
import { encodeReceipt, mergeBlooms } from '../chain/block/receipt.ts'
import type { SignedTransaction } from '../chain/block/transaction.ts'
import { nativeGasLimit } from '../chain/genesis/chainConfig.ts'
import { includesFork } from '../chain/genesis/hardfork.ts'
import { callTerm } from '../chain/indexes/callIndex.ts'
import type { ChainReader } from '../chain/store/chainReader.ts'
import type { ValidatorUpdate } from '../consensus/application.ts'
import type { BlockContext, Rules } from '../evm/blockContext.ts'
import type { Engine } from '../evm/engine.ts'
import type { PrecompileTable } from '../evm/precompile.ts'
import { createPrecompileGas } from '../evm/precompileGas.ts'
import { applyBlockStart } from '../evm/systemCalls.ts'
import type { Tracer } from '../evm/tracer.ts'
import { applyTransaction } from '../evm/transition.ts'
import { AUTH_PARAMS } from '../modules/auth/params.ts'
import { burnEvents } from '../modules/bank/send.ts'
import type { NativeBlock } from '../modules/context.ts'
import { applyNativeTransaction } from '../modules/tx/applyNativeTransaction.ts'
import { laneGas, type NativeTransaction } from '../modules/tx/nativeTransaction.ts'
import type { Address } from '../primitives/address.ts'
import { EMPTY_BYTES } from '../primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, EMPTY_UNCLES_HASH, type Hash, sha256 } from '../primitives/hash.ts'
import type { Journal } from '../state/journal.ts'
import { type BlockSeed, blockContextOf } from './blockContext.ts'
import type { BlockHooks, BlockStart } from './blockHooks.ts'
import type { Entry } from './entry.ts'
import { type EntryResult, skippedEvm } from './executedBlock.ts'
import type { ParallelExecution } from './parallel/parallelExecution.ts'
import { adoptSpeculation } from './parallel/speculation.ts'
import { receiptOf } from './receiptOf.ts'

/** EIP-7685: hash of no requests. */
export const EMPTY_REQUESTS_HASH: Hash = sha256(EMPTY_BYTES)
export const EXTRA_DATA = new TextEncoder().encode('coind')
export const ZERO_NONCE = new Uint8Array(8)
/** The reason of a transaction that `tryApply` left out: in another block, or earlier in this one, it may succeed. */
export const POSTPONED = 'the block has too little precompile gas left'

interface BlockExecutionInput {
  /** on top of the parent's state */
  readonly world: Journal
  readonly seed: BlockSeed
  /** consensus time, milliseconds since the epoch */
  readonly timeMs: number
  readonly rules: Rules
  readonly engine: Engine
  readonly precompiles: PrecompileTable
  /** see `ChainConfig` */
  readonly precompileGasLimit: bigint
  /** for BLOCKHASH */
  readonly reader: Pick<ChainReader, 'hash'>
  /** see `ExecutionEnvironment.yield` */
  readonly yield?: () => Promise<void>
  /** throws `ExecutionTimeout` when the execution takes too long; see `ExecutionDeadline` */
  readonly poll?: (() => void) | undefined
  /**
   * work of native modules before and after the entries, with the facts about the block that they
   * use
   */
  readonly hooks: BlockHooks
  readonly start: BlockStart
  /** whether {@link BlockExecution.calls} is collected */
  readonly isCallIndexed?: boolean
  /** executes entries in other threads before their turn */
  readonly parallel?: ParallelExecution | undefined
}

/**
 * Executes one block's entries in order: for a proposer that builds a block, for a decided block and for the replay of a trace.
 * Created by {@link beginBlockExecution}.
 */
export interface BlockExecution {
  readonly world: Journal
  readonly seed: BlockSeed
  readonly context: BlockContext
  /** in order of data.txs */
  readonly results: readonly EntryResult[]
  /** gas that is left for EVM transactions */
  gasLeft(): bigint
  /** gas that is left for native transactions */
  nativeGasLeft(): bigint
  /** gas that Ethereum's slower precompiles may still use; `isFresh`: no transaction has used any yet */
  precompileGas(): { readonly left: bigint; readonly isFresh: boolean }
  /** whether other threads execute entries that are announced */
  readonly isParallel: boolean
  /**
   * Announces the entries that may follow, in this order: other threads may execute them
   * beforehand. No result depends on it.
   */
  announce(entries: readonly Entry[]): void
  /**
   * Runs the block's next entry. An entry that could not start is recorded as such and changed nothing. EVM transactions can be
   * traced.
   */
  apply(entry: Entry, tracer?: Tracer): Promise<EntryResult>
  /**
   * The same while building a block: an entry that cannot start is left out, and so is (as {@link POSTPONED}) one that failed because
   * transactions before it have used up the precompile gas. When it throws, the entry has left no trace, and others may follow.
   * @param mayBeUndone false: one that hits the precompile gas limit is recorded as well, as `apply` does; true by default
   */
  tryApply(entry: Entry, mayBeUndone?: boolean): Promise<EntryResult>
  /**
   * terms of who called and was called in EVM transactions, for the index of calls; empty unless
   * collected
   */
  calls(): ReadonlySet<string>
  /** Ends the block after its last entry: runs the native modules' end of block. Call it once. */
  end(): readonly ValidatorUpdate[]
  /** Events of native modules at the block's start and, once it has ended, at its end. */
  blockEvents(): BlockEvents
  /** Returns the header of the block as executed so far, with this state root. */
  header(stateRoot: Hash): EthereumHeader
}

/**
 * Starts a block, in this order: the system calls of EIP-4788 and EIP-2935, because every Ethereum block begins with them; then the
 * native modules' begin of block. After that entries may be applied.
 */
export async function beginBlockExecution(input: BlockExecutionInput): Promise<BlockExecution> {
  const { world, seed, timeMs, rules, engine, precompiles, hooks } = input
  const context = blockContextOf(seed, timeMs, input.reader, rules)
  const nativeBlock: NativeBlock = { height: seed.number, timeMs }
  const { poll } = input
  const onSlice = input.yield ?? (poll && (async () => poll()))
  const pause = onSlice === undefined ? {} : { yield: onSlice }
  const precompileGas = createPrecompileGas(input.precompileGasLimit)
  const results: EntryResult[] = []
  /** of the block, and of the transaction that runs: one that is left out of the block has no calls */
  const calls = new Set<string>()
  let newCalls = new Set<string>()
  const onParty = (address: Address): void => void newCalls.add(callTerm(address))
  let evmCount = 0
  let gasUsed = 0n
  let nativeGasLeft = nativeGasLimit(seed.gasLimit)

  world.setTime(context.timestamp)
  world.native.work.pollWith(poll)
  await applyBlockStart({
    world,
    engine,
    block: context,
    rules,
    precompiles,
    precompileGas,
    parentHash: seed.parentHash,
    parentBeaconBlockRoot: seed.parentBeaconBlockRoot,
  })
  const begin = inScope(world, () => hooks.begin(world, input.start)).events
  let end: readonly NativeEvent[] = []

  const freshPrecompileGas = precompileGas.left
  const isFresh = () => precompileGas.left === freshPrecompileGas

  const parallel = input.parallel?.begin({
    state: world.stored,
    rules,
    precompiles,
    precompileGas: freshPrecompileGas,
    collectsParties: input.isCallIndexed === true,
    seed,
    timeMs,
    poll,
  })

  const record = (result: EntryResult): EntryResult => {
    results.push(result)
    if (result.kind !== 'evm') return result
    evmCount++
    for (const term of newCalls) calls.add(term)
    return result
  }

  const execute = ({ transaction, sender }: SignedTransaction, tracer: Tracer | undefined) =>
    applyTransaction({
      transaction,
      sender,
      world,
      engine,
      block: context,
      rules,
      precompiles,
      precompileGas,
      gasAvailable: seed.gasLimit - gasUsed,
      ...pause,
      ...(tracer === undefined ? undefined : { tracer }),
      ...(input.isCallIndexed === true ? { onParty } : undefined),
    })

  /**
   * Adopts another thread's result for an entry, if an execution now would have the same result:
   * all values that it read are unchanged, and the block has enough gas left. Then the result's
   * changes are applied.
   */
  const adopted = async (signed: SignedTransaction) => {
    const result = await parallel?.take(signed)
    if (parallel === undefined || result === undefined) return undefined
    const hasGas = signed.transaction.gasLimit <= seed.gasLimit - gasUsed
    const found = hasGas ? adoptSpeculation(result, world, precompileGas.left) : undefined
    parallel.guessed(signed, result, found !== undefined)
    if (found === undefined) return undefined
    precompileGas.left -= found.precompileGas
    for (const address of found.parties) onParty(address)
    return { kind: 'applied', events: [], burns: [], ...found.outcome } as const
  }

  const runEvm = async (signed: SignedTransaction, tracer: Tracer | undefined): Promise<EntryResult> => {
    const { transaction } = signed
    if (newCalls.size > 0) newCalls = new Set()
    const known = parallel === undefined || tracer !== undefined ? undefined : await adopted(signed)
    const outcome = known ?? (await execute(signed, tracer))
    if (known === undefined) parallel?.executed(signed, world)
    if (outcome.kind === 'skipped') return skippedEvm(outcome.reason, transaction.gasLimit)
    hooks.creditFees(world, outcome, context)
    gasUsed += outcome.gasUsed
    const receipt = receiptOf(signed, outcome, { gasUsed, blobBaseFee: context.blobBaseFee })
    const { transfers } = outcome
    const events = [...outcome.events, ...outcome.burns.flatMap(burnEvents)]
    return { kind: 'evm', index: evmCount, signed, receipt, transfers, events }
  }

  /**
   * Runs a transaction after others that used precompile gas. If it fails because too little
   * precompile gas is left, it is fully reverted.
   */
  const runUnlessLate = async (signed: SignedTransaction): Promise<EntryResult> => {
    const before = { left: precompileGas.left, gasUsed }
    precompileGas.hitLimit = false
    world.checkpoint()
    const result = await runEvm(signed, undefined)
    if (!precompileGas.hitLimit) {
      world.commit()
      return result
    }
    world.revert()
    precompileGas.left = before.left
    gasUsed = before.gasUsed
    return skippedEvm(POSTPONED, signed.transaction.gasLimit)
  }

  const runNative = (transaction: NativeTransaction): EntryResult => {
    const outcome = applyNativeTransaction({
      transaction,
      world,
      block: nativeBlock,
      baseFeePerGas: seed.baseFeePerGas ?? 0n,
      gasAvailable: nativeGasLeft,
    })
    if (outcome.kind === 'skipped') {
      const { code, codespace, message } = outcome.error
      return { kind: 'skipped', code, codespace, reason: message, gasWanted: transaction.gasLimit }
    }
    // The last transaction of a block may use more than the lane has left, by work that depends on the state.
    const least = laneGas(transaction, AUTH_PARAMS.get(world.native))
    nativeGasLeft -= outcome.result.gasUsed > least ? outcome.result.gasUsed : least
    return { kind: 'native', raw: transaction.raw, transaction, result: outcome.result }
  }

  return {
    world,
    seed,
    context,
    results,
    gasLeft: () => seed.gasLimit - gasUsed,
    nativeGasLeft: () => nativeGasLeft,
    precompileGas: () => ({ left: precompileGas.left, isFresh: isFresh() }),

    isParallel: parallel !== undefined,
    announce: (entries) => {
      if (parallel?.offer(entries) === true) world.noteWrites()
    },
    apply: async (entry, tracer) => {
      if ('reason' in entry) return record(skippedEvm(entry.reason, 0n))
      return record('native' in entry ? runNative(entry.native) : await runEvm(entry, tracer))
    },
    tryApply: async (entry, mayBeUndone = true) => {
      if ('reason' in entry) return skippedEvm(entry.reason, 0n)
      const run = (signed: SignedTransaction) =>
        isFresh() || !mayBeUndone ? runEvm(signed, undefined) : runUnlessLate(signed)
      const before = { precompileGas: precompileGas.left, gasUsed, nativeGasLeft }
      try {
        const result = await world.attempt(() => ('native' in entry ? runNative(entry.native) : run(entry)))
        return result.kind === 'skipped' ? result : record(result)
      } catch (error) {
        precompileGas.left = before.precompileGas
        gasUsed = before.gasUsed
        nativeGasLeft = before.nativeGasLeft
        throw error
      }
    },
    calls: () => calls,
    end: () => {
      parallel?.close()
      const ended = inScope(world, () => hooks.end(world, nativeBlock))
      end = ended.events
      return ended.value
    },
    blockEvents: () => ({ begin, end }),
    header: (stateRoot) => headerOf(seed, rules, results, gasUsed, stateRoot),
  }
}

/** Runs native code as a transaction of its own: collects its events and deletes empty accounts that it touched (EIP-161). */
function inScope<T>(world: Journal, run: () => T): { readonly value: T; readonly events: readonly NativeEvent[] } {
  world.beginTransaction()
  const value = run()
  const events = world.events()
  world.endTransaction({ clearEmpty: true })
  return { value, events }
}

/** Returns the header of a block with these results. */
export function headerOf(
  seed: BlockSeed,
  rules: Rules,
  results: readonly EntryResult[],
  gasUsed: bigint,
  stateRoot: Hash,
): EthereumHeader {
  const executed = results.filter((result) => result.kind === 'evm')
  return {
    ...seed,
    sha3Uncles: EMPTY_UNCLES_HASH,
    stateRoot,
    transactionsRoot: orderedTrieRoot(executed.map((result) => result.signed.transaction.raw)),
    receiptsRoot: orderedTrieRoot(executed.map((result) => encodeReceipt(result.receipt))),
    logsBloom: mergeBlooms(executed.map((result) => result.receipt.logsBloom)),
    gasUsed,
    extraData: EXTRA_DATA,
    nonce: ZERO_NONCE,
    withdrawalsRoot: EMPTY_TRIE_ROOT,
    blobGasUsed: 0n,
    requestsHash: includesFork(rules.fork, 'prague') ? EMPTY_REQUESTS_HASH : undefined,
  }
}
