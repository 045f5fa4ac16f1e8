import type { SignedTransaction } from '../../chain/transaction.ts'
import type { Rules } from '../../evm/blockContext.ts'
import type { PrecompileTable } from '../../evm/precompile.ts'
import type { Address } from '../../primitives/address.ts'
import { bytesKey, equalBytes, keyBytes } from '../../primitives/bytes.ts'
import { EMPTY_CODE_HASH } from '../../primitives/hash.ts'
import { accountKey, encodeAccount, slotKey } from '../../state/flatState.ts'
import type { Journal } from '../../state/journal.ts'
import type { StateReader } from '../../state/reader.ts'
import type { BlockSeed } from '../blockContext.ts'
import type { Entry } from '../entry.ts'
import { MOST_ENTRIES, STATES, type TableMemory, type TableResult, type Version, VersionTable } from './versionTable.ts'

/** What a speculator is told: entries of a block that can be executed beforehand. */
export interface Offer {
  /** of the block; 0 is none */
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
  /** Gives an offer to all other threads. */
  readonly send: (offer: Offer) => void
  /** false once one of the other threads has ended */
  readonly areAlive: () => boolean
  /** lets the thread's events happen that have happened */
  readonly pause: () => Promise<void>
  /** takes what became of the entries that a block has offered */
  readonly observe: (counts: ParallelCounts) => void
}

export interface ParallelCounts {
  /** their execution before their turn counted */
  adopted: number
  /** what they had read was no longer true: they were executed again */
  conflicts: number
  /** they were executed in their turn alone */
  alone: number
}

/** What the executor knows of a block before its entries. */
interface ParallelBlockInput extends Pick<Offer, 'seed' | 'timeMs' | 'rules' | 'precompileGas' | 'collectsParties'> {
  /** the parent's */
  readonly state: Pick<StateReader, 'getAccount'>
  readonly precompiles: PrecompileTable
}

/** Executes transactions of one block after the other in several threads. */
export interface ParallelExecution {
  /** Begins a block, and ends the one before. Undefined when other threads cannot help. */
  begin(input: ParallelBlockInput): ParallelBlock | undefined
}

/** What the execution of a block asks of the other threads. */
export interface ParallelBlock {
  readonly counts: ParallelCounts
  /** Tells which entries may follow in the block, in this order. */
  offer(entries: readonly Entry[]): void
  /** What the execution of an offered entry has found out; undefined: it is to be executed in its turn. */
  take(entry: Entry): Promise<TableResult | undefined>
  /** What was taken turned out to be wrong. */
  conflict(): void
  /** The entry was executed in its turn, and what it wrote may help others to guess. */
  executed(entry: Entry, written: () => ReturnType<Journal['written']>): void
  /** Nothing is taken any more. */
  close(): void
}

/** Fewer entries are not worth a message. */
const LEAST_OFFER = 4
/** All that a plain transfer uses. */
const PLAIN_GAS = 21_000n

/** So many entries the executor keeps for itself when it has come up with the others: meanwhile they get ahead of it again. */
const LEAD = 8
/** With so many more useless guesses than right ones the rest of a block is executed in order. */
const MOST_USELESS = 32

/**
 * Optimistic concurrency within a block, after Block-STM (Gelashvili et al., 2022):
 * 1. The executor offers the entries of a block, and speculators execute them beforehand, in about their order, on the parent's state and
 *    on what they find in the multi-version table.
 * 2. The executor goes through the block in order. It takes what was found out about an entry if all that was read for it is true when its
 *    turn comes; otherwise it executes the entry itself. So results are those of an execution in order, whatever the others do.
 * 3. What it executes itself it adds to the table. Where it comes up with the others, it leaves some entries to itself: to check a guess takes a part of the time of an execution.
 *
 * Fees are credited in order by the executor, and no thread reads the account that gets them unless a contract does. Native transactions
 * are executed in order only.
 */
export function createParallelExecution(options: ParallelOptions): ParallelExecution {
  const table = new VersionTable(options.memory)
  let lastSession = 0
  let current: ParallelBlock | undefined
  return {
    begin: (input) => {
      current?.close()
      current = undefined
      if (!options.areAlive()) return undefined
      // Also where this fails, because a speculator is still busy: it ends then.
      if (!table.open(++lastSession)) return undefined
      current = beginBlock(table, lastSession, input, options)
      return current
    },
  }
}

function beginBlock(
  table: VersionTable,
  session: number,
  input: ParallelBlockInput,
  { send, areAlive, pause, observe }: ParallelOptions,
): ParallelBlock {
  const { seed, timeMs, rules, precompileGas, collectsParties } = input
  const counts: ParallelCounts = { adopted: 0, conflicts: 0, alone: 0 }
  const indexes = new Map<Entry, number>()
  const offered: SignedTransaction[] = []
  const lastOf = new Map<string, number>()
  let isOpen = true

  const close = (): void => {
    if (!isOpen) return
    isOpen = false
    table.close()
    observe(counts)
  }

  /** Returns when nobody is executing the entry any more. @returns whether its result is in the table */
  const settle = async (index: number): Promise<boolean> => {
    table.withhold(index)
    if (table.state(index) === STATES.running) {
      table.withholdNext(LEAD)
      if (!table.settledSoon(index) && !(await table.settled(index, () => pause().then(areAlive)))) return false
    }
    return table.state(index) === STATES.done
  }

  return {
    counts,
    offer: (entries) => {
      const first = offered.length
      if (!isOpen || !areAlive()) return
      const chosen = worthwhile(entries, input, MOST_ENTRIES - first)
      if (chosen.length < LEAST_OFFER) return
      const before: number[] = []
      for (const entry of chosen) {
        const key = bytesKey(entry.sender)
        indexes.set(entry, offered.length)
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
    },
    take: async (entry) => {
      const index = indexes.get(entry)
      if (index === undefined || !isOpen) return undefined
      if (await settle(index)) return table.result(index)
      counts.alone++
      return undefined
    },
    conflict: () => {
      counts.conflicts++
      if (counts.conflicts > counts.adopted + MOST_USELESS) close()
    },
    executed: (entry, written) => {
      const index = indexes.get(entry)
      if (index !== undefined && isOpen) table.publishExecuted(index, versionsOf(written()))
    },
    close,
  }
}

function versionsOf({ accounts, slots }: ReturnType<Journal['written']>): Version[] {
  return [
    ...accounts.map(({ key, account }) => ({ key: accountKey(keyBytes(key)), value: encodeAccount(account) })),
    ...slots.map(({ key, slot, value }) => ({ key: slotKey(keyBytes(key), keyBytes(slot)), value })),
  ]
}

/**
 * The entries whose execution takes longer than the check of a guess about it: EVM transactions that run code that is stored, and those of the same senders
 * before them, without which their nonces would be wrong.
 */
function worthwhile(
  entries: readonly Entry[],
  { precompiles, state }: Pick<ParallelBlockInput, 'precompiles' | 'state'>,
  most: number,
): readonly SignedTransaction[] {
  const senders = new Set<string>()
  const chosen: SignedTransaction[] = []
  for (const entry of entries.slice(0, most).reverse()) {
    if (!('transaction' in entry)) continue
    const { gasLimit, to } = entry.transaction
    const key = bytesKey(entry.sender)
    const runsCode = to === undefined || (gasLimit > PLAIN_GAS && !precompiles.has(bytesKey(to)) && hasCode(state, to))
    if (!runsCode && !senders.has(key)) continue
    senders.add(key)
    chosen.push(entry)
  }
  return chosen.reverse()
}

function hasCode(state: Pick<StateReader, 'getAccount'>, address: Address): boolean {
  const account = state.getAccount(address)
  return account !== undefined && !equalBytes(account.codeHash, EMPTY_CODE_HASH)
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
