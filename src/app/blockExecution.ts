import { logsBloom, mergeBlooms } from '../chain/bloom.ts'
import type { EthereumHeader } from '../chain/ethereumHeader.ts'
import { orderedTrieRoot } from '../chain/orderedTrieRoot.ts'
import type { ChainReader } from '../chain/reader.ts'
import type { Receipt } from '../chain/receipt.ts'
import { encodeReceipt } from '../chain/receiptCodec.ts'
import type { SignedTransaction } from '../chain/transaction.ts'
import type { ValidatorUpdate } from '../consensus/application.ts'
import type { BlockContext, Engine } from '../evm/engine.ts'
import { EngineTrapError } from '../evm/engines/engineTrapError.ts'
import type { PrecompileTable } from '../evm/precompile.ts'
import { createPrecompileGas } from '../evm/precompileGas.ts'
import { isAtLeast, type Rules } from '../evm/rules.ts'
import { applyBlockStart } from '../evm/systemCalls.ts'
import type { Tracer } from '../evm/tracer.ts'
import { applyTransaction, type TransactionFees, type TransitionOutcome } from '../evm/transition.ts'
import { recordBurn } from '../modules/bank/burn.ts'
import { FEE_COLLECTOR } from '../modules/moduleAccounts.ts'
import { EMPTY_BYTES } from '../primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, EMPTY_UNCLES_HASH, type Hash, sha256 } from '../primitives/hash.ts'
import type { Journal } from '../state/journal.ts'
import { blockContextOf } from './blockContext.ts'
import type { BlockHooks, BlockStart } from './blockHooks.ts'
import type { BlockSeed } from './blockSeed.ts'
import type { EntryResult } from './executionResults.ts'

/** EIP-7685: hash of no requests. */
export const EMPTY_REQUESTS_HASH: Hash = sha256(EMPTY_BYTES)
export const EXTRA_DATA = new TextEncoder().encode('coind')
export const ZERO_NONCE = new Uint8Array(8)
/** Why `tryApply` took a transaction back: in another block, or in front of others, it may fare better. */
export const POSTPONED = 'the block has too little precompile gas left'

export interface BlockExecutionInput {
  /** stands on the parent's state */
  readonly world: Journal
  readonly seed: BlockSeed
  readonly rules: Rules
  readonly engine: Engine
  readonly precompiles: PrecompileTable
  /** see `ChainConfig` */
  readonly precompileGasLimit: bigint
  /** for BLOCKHASH */
  readonly reader: Pick<ChainReader, 'hash'>
  /** see `ExecutionEnvironment.yield` */
  readonly yield?: () => Promise<void>
  /** what native modules do around the entries, and what the block tells them; a replay of EVM transactions has none */
  readonly modules?: { readonly hooks: BlockHooks; readonly start: BlockStart }
}

/**
 * Executes one block's entries in order: while a proposer builds, when a decided block arrives and when a trace replays
 * it. Create it with {@link beginBlock}.
 */
export interface BlockExecution {
  readonly world: Journal
  readonly seed: BlockSeed
  readonly context: BlockContext
  /** in order of data.txs */
  readonly results: readonly EntryResult[]
  /** gas that is left for EVM transactions */
  gasLeft(): bigint
  /** what Ethereum's slower precompiles may still use, and whether no transaction has used any yet */
  precompileGas(): { readonly left: bigint; readonly isFresh: boolean }
  /** Runs the block's next entry; what could not start is recorded and changed nothing. */
  apply(transaction: SignedTransaction, tracer?: Tracer): Promise<EntryResult>
  /**
   * The same while building: what cannot start is left out of the block, and so is (as {@link POSTPONED}) what ran out of
   * precompile gas that transactions before it have used.
   */
  tryApply(transaction: SignedTransaction): Promise<EntryResult>
  /** Records an entry whose bytes are not a transaction that could ever start. */
  skip(reason: string): EntryResult
  /** Ends the block after its last entry: native modules have their turn. To be called once. */
  end(): readonly ValidatorUpdate[]
  /** The header of the block as executed so far, given the root of its state. */
  header(stateRoot: Hash): EthereumHeader
}

/** Starts a block: the system calls of EIP-4788 and EIP-2935 run, then native modules; then entries may be applied. */
export async function beginBlock(input: BlockExecutionInput): Promise<BlockExecution> {
  const { world, seed, rules, engine, precompiles } = input
  const context = blockContextOf(seed, input.reader, rules)
  const pause = input.yield === undefined ? {} : { yield: input.yield }
  const precompileGas = createPrecompileGas(input.precompileGasLimit)
  const results: EntryResult[] = []
  let gasUsed = 0n

  try {
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
  } catch (error) {
    throw error instanceof EngineTrapError ? error.in(context.number, undefined) : error
  }
  const { modules } = input
  modules?.hooks.begin(world, modules.start)

  const freshPrecompileGas = precompileGas.left
  const isFresh = () => precompileGas.left === freshPrecompileGas

  const record = (result: EntryResult): EntryResult => {
    results.push(result)
    return result
  }

  const run = async (signed: SignedTransaction, tracer: Tracer | undefined): Promise<EntryResult> => {
    const { transaction } = signed
    let outcome: TransitionOutcome
    try {
      outcome = await applyTransaction({
        transaction,
        sender: signed.sender,
        world,
        engine,
        block: context,
        rules,
        precompiles,
        precompileGas,
        gasAvailable: seed.gasLimit - gasUsed,
        ...pause,
        ...(tracer === undefined ? undefined : { tracer }),
      })
    } catch (error) {
      throw error instanceof EngineTrapError ? error.in(context.number, transaction.hash) : error
    }
    if (outcome.kind === 'skipped') {
      return { kind: 'skipped', reason: outcome.reason, gasWanted: transaction.gasLimit }
    }
    routeFees(world, outcome.fees, outcome.burntAcoin)
    gasUsed += outcome.gasUsed
    const receipt: Receipt = {
      type: transaction.type,
      status: outcome.status === 'success' ? 1 : 0,
      gasUsed: outcome.gasUsed,
      cumulativeGasUsed: gasUsed,
      effectiveGasPrice: outcome.effectiveGasPrice,
      logs: outcome.logs,
      logsBloom: logsBloom(outcome.logs),
      contractAddress: outcome.createdAddress,
      blobGasUsed: undefined,
      blobGasPrice: undefined,
    }
    return { kind: 'evm', transaction: signed, receipt }
  }

  /** Runs a transaction behind others that used precompile gas. Where that made it fail, nothing of it stays. */
  const runUnlessLate = async (signed: SignedTransaction): Promise<EntryResult> => {
    const before = { left: precompileGas.left, gasUsed }
    precompileGas.hitLimit = false
    world.checkpoint()
    const result = await run(signed, undefined)
    if (!precompileGas.hitLimit) {
      world.commit()
      return result
    }
    world.revert()
    precompileGas.left = before.left
    gasUsed = before.gasUsed
    return { kind: 'skipped', reason: POSTPONED, gasWanted: signed.transaction.gasLimit }
  }

  return {
    world,
    seed,
    context,
    results,
    gasLeft: () => seed.gasLimit - gasUsed,
    precompileGas: () => ({ left: precompileGas.left, isFresh: isFresh() }),
    skip: (reason) => record({ kind: 'skipped', reason, gasWanted: 0n }),

    apply: async (signed, tracer) => record(await run(signed, tracer)),
    tryApply: async (signed) => {
      const result = await (isFresh() ? run(signed, undefined) : runUnlessLate(signed))
      return result.kind === 'evm' ? record(result) : result
    },
    end: () => modules?.hooks.end(world, seed.number) ?? [],
    header: (stateRoot) => headerOf(seed, rules, results, gasUsed, stateRoot),
  }
}

/**
 * Base fee and tip of a transaction go to the fee collector; coins that a rule destroys (a self-destruct to itself,
 * EIP-6780) leave the total supply.
 */
function routeFees(world: Journal, fees: TransactionFees, burntAcoin: bigint): void {
  const fee = fees.baseFeeAcoin + fees.tipAcoin
  if (fee > 0n) world.addBalance(FEE_COLLECTOR, fee)
  recordBurn(world, burntAcoin)
}

function headerOf(
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
    transactionsRoot: orderedTrieRoot(executed.map((result) => result.transaction.transaction.raw)),
    receiptsRoot: orderedTrieRoot(executed.map((result) => encodeReceipt(result.receipt))),
    logsBloom: mergeBlooms(executed.map((result) => result.receipt.logsBloom)),
    gasUsed,
    extraData: EXTRA_DATA,
    nonce: ZERO_NONCE,
    withdrawalsRoot: EMPTY_TRIE_ROOT,
    blobGasUsed: 0n,
    requestsHash: isAtLeast(rules, 'prague') ? EMPTY_REQUESTS_HASH : undefined,
  }
}
