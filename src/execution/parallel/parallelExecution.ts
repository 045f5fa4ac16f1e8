import type { SignedTransaction } from '../../chain/block/transaction.ts'
import type { Rules } from '../../evm/blockContext.ts'
import type { PrecompileTable } from '../../evm/precompile.ts'
import type { Address } from '../../primitives/address.ts'
import { bytesKey, EMPTY_BYTES, equalBytes } from '../../primitives/bytes.ts'
import { EMPTY_CODE_HASH } from '../../primitives/hash.ts'
import type { Journal } from '../../state/journal.ts'
import type { StateReader } from '../../state/reader.ts'
import type { BlockSeed } from '../blockContext.ts'
import type { Entry } from '../entry.ts'
import { Benefit, type CallCosts } from './benefit.ts'
import {
  FLAGS,
  MOST_ENTRIES,
  NoRoom,
  STATES,
  type TableMemory,
  type TableResult,
  VersionTable,
} from './versionTable.ts'

/** A message to the speculators: entries of a block that can be executed beforehand. */
export interface Offer {
  /** number of the block's session; 0: no session */
  readonly session: number
  readonly seed: BlockSeed
  readonly timeMs: number
  readonly rules: Rules
  readonly precompileGas: bigint
  readonly collectsParties: boolean
  /** index of the first entry in the table */
  readonly first: number
  /** raw transactions, one after the other; shared by all speculators */
  readonly raws: Uint8Array
  readonly lengths: Uint32Array
  /** their senders, 20 bytes each */
  readonly senders: Uint8Array
}

export interface ParallelOptions {
  readonly memory: TableMemory
  /** Sends an offer to all other threads. */
  readonly send: (offer: Offer) => void
  /** false once one of the other threads has ended */
  readonly areAlive: () => boolean
  /** lets the thread's events happen that have happened */
  readonly pause: () => Promise<void>
  /** called with the outcomes of the entries that a block has offered */
  readonly observe: (counts: ParallelCounts) => void
  /** milliseconds, monotonic; no result depends on it */
  readonly now: () => number
  /** number of threads that execute alongside this one */
  readonly speculators: number
  /** offers calls also where guesses about them have not paid; false by default */
  readonly isForced?: boolean
}

export interface ParallelCounts {
  /** their execution before their turn counted */
  adopted: number
  /** values that they had read were no longer true: they were executed again */
  conflicts: number
  /** they were executed in their turn alone */
  alone: number
}

/** Facts about a block that the executor knows before its entries. */
interface ParallelBlockInput extends Pick<Offer, 'seed' | 'timeMs' | 'rules' | 'precompileGas' | 'collectsParties'> {
  /** the parent's */
  readonly state: Pick<StateReader, 'getAccount'>
  readonly precompiles: PrecompileTable
  /** throws when the block takes too long; no wait for another thread outlasts that */
  readonly poll?: (() => void) | undefined
}

/** Executes transactions of one block after the other in several threads. */
export interface ParallelExecution {
  /** Begins a block, and ends the one before. Undefined when other threads cannot help. */
  begin(input: ParallelBlockInput): ParallelBlock | undefined
}

/** Access of a block's execution to the work of the other threads. */
export interface ParallelBlock {
  readonly counts: ParallelCounts
  /** Tells which entries may follow in the block, in this order. @returns whether others may execute any */
  offer(entries: readonly Entry[]): boolean
  /**
   * Returns the speculative result of an offered entry; undefined: execute the entry in its turn.
   */
  take(entry: Entry): Promise<TableResult | undefined>
  /**
   * Reports whether a taken result was right. If so its changes are applied; otherwise the entry is
   * executed in its turn.
   */
  guessed(entry: Entry, result: TableResult, isRight: boolean): void
  /**
   * Reports that the entry was executed in its turn. Its writes may help the speculators to guess.
   */
  executed(entry: Entry, world: Pick<Journal, 'visitWritten'>): void
  /** Ends the block: no further result is taken. */
  close(): void
}

/** Fewer entries are not worth a message. */
const LEAST_OFFER = 4
/** All that a plain transfer uses. */
const PLAIN_GAS = 21_000n

/**
 * When the executor catches up with the speculators, it reserves the next entries for itself so
 * that they get ahead of it again: about this many milliseconds of execution, but at most a share
 * of the remaining entries.
 */
const LEAD_MS = 0.5
const MOST_LEAD = 32
const LEAD_SHARE = 1 / 8
/**
 * With this many more useless guesses than right ones, the rest of a block is executed in order.
 */
const MOST_USELESS = 16

/**
 * Optimistic concurrency within a block, after Block-STM (Gelashvili et al., 2022):
 * 1. The executor offers the entries of a block, and speculators execute them beforehand, in about
 *    their order, on the parent's state and the versions in the multi-version table.
 * 2. The executor processes the block in order. It takes a speculator's result for an entry if all
 *    values that were read are true when the entry's turn comes; otherwise it executes the entry
 *    itself. So results are those of an execution in order, whatever the speculators do.
 * 3. The executor adds the writes of its own executions to the table. When it catches up with the
 *    speculators, it reserves some entries for itself: checking a guess takes a part of the time of
 *    an execution.
 * 4. It measures the savings and costs of guesses, and stops offering calls for some blocks when
 *    they have not paid ({@link Benefit}).
 *
 * Fees are credited in order by the executor, and no thread reads the account that receives them
 * unless a contract does. Native transactions are executed in order only.
 */
export function createParallelExecution(options: ParallelOptions): ParallelExecution {
  const table = new VersionTable(options.memory)
  const benefit = new Benefit(options.speculators)
  let lastSession = 0
  let current: ParallelBlock | undefined
  return {
    begin: (input) => {
      current?.close()
      current = undefined
      if (!options.areAlive()) return undefined
      current = beginBlock(table, benefit, ++lastSession, input, options)
      return current
    },
  }
}

function beginBlock(
  table: VersionTable,
  benefit: Benefit,
  session: number,
  input: ParallelBlockInput,
  { send, areAlive, pause, observe, now, isForced = false }: ParallelOptions,
): ParallelBlock {
  const { seed, timeMs, rules, precompileGas, collectsParties, poll } = input
  const counts: ParallelCounts = { adopted: 0, conflicts: 0, alone: 0 }
  const places = new Map<Entry, Place>()
  const offered: SignedTransaction[] = []
  const lastOf = new Map<string, number>()
  const hasCode = createCodeLookup(input.state)
  let state: 'new' | 'open' | 'closed' = 'new'
  /** when the current entry's turn began, or its execution */
  let sinceMs = 0

  const close = (): void => {
    if (state === 'open') {
      table.close()
      observe(counts)
    }
    if (state !== 'closed') benefit.endBlock()
    state = 'closed'
  }

  /** Where this fails, because a speculator is still busy with an earlier block: it ends then. */
  const open = (): boolean => {
    if (state === 'new') state = table.open(session) ? 'open' : 'closed'
    return state === 'open'
  }

  const leadOf = ({ index, costs }: Place): number => {
    const rest = (offered.length - index) * LEAD_SHARE
    const count = costs.executionMs === 0 ? MOST_LEAD : LEAD_MS / costs.executionMs
    return Math.max(1, Math.floor(Math.min(count, rest, MOST_LEAD)))
  }

  /**
   * Waits until no speculator is executing the entry.
   * @returns whether its result is in the table
   */
  const waitForEarlier = async (place: Place): Promise<boolean> => {
    const { index } = place
    table.withhold(index)
    if (table.state(index) === STATES.running) {
      table.withholdNext(leadOf(place))
      const isWorthWaiting = async (): Promise<boolean> => {
        poll?.()
        await pause()
        return areAlive()
      }
      if (!table.resolvesSoon(index) && !(await table.resolved(index, isWorthWaiting))) return false
    }
    return table.state(index) === STATES.done
  }

  return {
    counts,
    offer: (entries) => {
      const first = offered.length
      if (state === 'closed' || !areAlive()) return false
      const isWorthwhile = (signed: SignedTransaction): boolean =>
        isForced || benefit.isWorthwhile(benefit.costsOf(signed))
      const chosen = worthwhile(entries.slice(0, MOST_ENTRIES - first), { ...input, hasCode, isWorthwhile })
      if (chosen.length < LEAST_OFFER || !open()) return false
      const before: number[] = []
      for (const entry of chosen) {
        const key = bytesKey(entry.sender)
        places.set(entry, { index: offered.length, costs: benefit.costsOf(entry) })
        before.push(lastOf.get(key) ?? -1)
        lastOf.set(key, offered.length)
        offered.push(entry)
      }
      send({
        session,
        // It may be a view of a message, which would be copied as a whole.
        seed: { ...seed, parentBeaconBlockRoot: seed.parentBeaconBlockRoot?.slice() },
        timeMs,
        rules,
        precompileGas,
        collectsParties,
        first,
        ...packEntries(chosen),
      })
      table.offer(before)
      return true
    },
    take: async (entry) => {
      const place = state === 'open' ? places.get(entry) : undefined
      if (place === undefined) return undefined
      sinceMs = now()
      if (await waitForEarlier(place)) return table.result(place.index)
      counts.alone++
      sinceMs = now()
      return undefined
    },
    guessed: (entry, { micros }, isRight) => {
      const beganMs = sinceMs
      sinceMs = now()
      benefit.guessed(places.get(entry)!.costs, isRight, micros / 1_000, sinceMs - beganMs)
      if (isRight) counts.adopted++
      else if (++counts.conflicts > counts.adopted + MOST_USELESS) close()
    },
    executed: (entry, world) => {
      const place = state === 'open' ? places.get(entry) : undefined
      if (place === undefined) return
      const endMs = now()
      publish(table, place.index, world)
      benefit.executed(place.costs, endMs - sinceMs, now() - endMs)
    },
    close,
  }
}

/** Of an offered entry. */
interface Place {
  readonly index: number
  readonly costs: CallCosts
}

/** Adds the writes of an entry that the executor has executed. */
function publish(table: VersionTable, index: number, world: Pick<Journal, 'visitWritten'>): void {
  table.beginResult(index)
  try {
    world.visitWritten({
      account: (address, _, account) => table.addAccount(FLAGS.written, address, undefined, account),
      slot: (address, slot, _, value) => table.addSlot(FLAGS.written, address, slot, EMPTY_BYTES, value),
    })
    table.publishExecuted()
  } catch (error) {
    if (!(error instanceof NoRoom)) throw error
    table.executed(index)
  }
}

interface Choice extends Pick<ParallelBlockInput, 'precompiles'> {
  readonly hasCode: (address: Address) => boolean
  readonly isWorthwhile: (signed: SignedTransaction) => boolean
}

/**
 * Returns the entries whose execution takes longer than the check of a guess about it: EVM
 * transactions that run code that is stored, where guesses pay, and those of the same senders
 * before them, without which their nonces would be wrong.
 */
function worthwhile(
  entries: readonly Entry[],
  { precompiles, hasCode, isWorthwhile }: Choice,
): readonly SignedTransaction[] {
  const senders = new Set<string>()
  const chosen: SignedTransaction[] = []
  for (let i = entries.length - 1; i >= 0; i--) {
    const entry = entries[i]!
    if (!('transaction' in entry)) continue
    const { gasLimit, to } = entry.transaction
    const runsCode = to === undefined || (gasLimit > PLAIN_GAS && hasCode(to) && !precompiles.has(bytesKey(to)))
    const isChosen = runsCode && isWorthwhile(entry)
    if (!isChosen && senders.size === 0) continue
    const key = bytesKey(entry.sender)
    if (isChosen) senders.add(key)
    else if (!senders.has(key)) continue
    chosen.push(entry)
  }
  return chosen.reverse()
}

/** Whether an account of the parent's state has code: many transactions of a block call the same. */
function createCodeLookup(state: Pick<StateReader, 'getAccount'>): (address: Address) => boolean {
  const known = new Map<string, boolean>()
  return (address) => {
    const key = bytesKey(address)
    let has = known.get(key)
    if (has === undefined) {
      const account = state.getAccount(address)
      has = account !== undefined && !equalBytes(account.codeHash, EMPTY_CODE_HASH)
      known.set(key, has)
    }
    return has
  }
}

function packEntries(entries: readonly SignedTransaction[]): Pick<Offer, 'raws' | 'lengths' | 'senders'> {
  const lengths = Uint32Array.from(entries, ({ transaction }) => transaction.raw.length)
  const raws = new Uint8Array(new SharedArrayBuffer(lengths.reduce((sum, length) => sum + length, 0)))
  const senders = new Uint8Array(entries.length * 20)
  let at = 0
  for (const [index, { transaction, sender }] of entries.entries()) {
    raws.set(transaction.raw, at)
    at += transaction.raw.length
    senders.set(sender, index * 20)
  }
  return { raws, lengths, senders }
}
