import type { SignedTransaction } from '../../chain/block/transaction.ts'
import type { BlockContext, Rules } from '../../evm/blockContext.ts'
import type { Engine } from '../../evm/engine.ts'
import type { PrecompileTable } from '../../evm/precompile.ts'
import { createPrecompileGas } from '../../evm/precompileGas.ts'
import { applyTransaction } from '../../evm/transition.ts'
import { FEE_COLLECTOR } from '../../modules/moduleAccounts.ts'
import type { Address } from '../../primitives/address.ts'
import { bytesKey, EMPTY_BYTES, equalBytes } from '../../primitives/bytes.ts'
import { EMPTY_CODE_HASH, type Hash } from '../../primitives/hash.ts'
import { Journal, type JournalVisitor } from '../../state/journal.ts'
import { type Account, equalAccounts, type StateReader } from '../../state/reader.ts'
import { isFilterKey, isScheduleKey } from '../../state/vesting.ts'
import { writeSpeculation } from './speculation.ts'
import { FLAGS, type VersionTable } from './versionTable.ts'

/** Environment in which a block's entries are executed. */
export interface SpeculationContext {
  /** the parent's state */
  readonly state: StateReader
  readonly block: BlockContext
  readonly rules: Rules
  readonly engine: Engine
  readonly precompiles: PrecompileTable
  /** precompile gas that the block has for all of its transactions */
  readonly precompileGas: bigint
  /** whether blocks are found by who called whom */
  readonly collectsParties: boolean
  /** milliseconds, monotonic; no result depends on it */
  readonly now: () => number
}

/** Executes entries that this thread has taken of the table, and stores the results there. */
export type Speculator = (index: number, signed: SignedTransaction) => Promise<void>

/**
 * Executes EVM transactions before their turn, on the parent's state and the writes of other
 * entries in the table. The executor is left with the rest: transactions that cannot start, call a
 * stateful precompile, destroy coins, wipe storage or hit the limit of precompile gas. It is also
 * left with a transaction that hits any error: a real error will recur there.
 */
export function createSpeculator(table: VersionTable, context: SpeculationContext): Speculator {
  const reader = new VersionedReader(table, context.state)
  const barrier = { isHit: false }
  const { now } = context
  const precompiles = barriersFor(context.precompiles, barrier)

  const execute = async (index: number, { transaction, sender }: SignedTransaction): Promise<boolean> => {
    const beganMs = now()
    reader.begin(index)
    const world = new Journal(reader)
    const precompileGas = createPrecompileGas(context.precompileGas)
    const parties: Address[] = []
    barrier.isHit = false
    const outcome = await applyTransaction({
      transaction,
      sender,
      world,
      engine: context.engine,
      block: context.block,
      rules: context.rules,
      precompiles,
      precompileGas,
      ...(context.collectsParties && { onParty: (address: Address) => void parties.push(new Uint8Array(address)) }),
    })
    if (outcome.kind === 'skipped' || barrier.isHit || precompileGas.hitLimit) return false
    if (outcome.burns.length > 0 || outcome.events.length > 0) return false
    if (world.native.changes().length > 0 || world.wipesStorage()) return false
    const used = context.precompileGas - precompileGas.left
    table.beginResult(index)
    // Before the accounts that have them, so that no reader of an account misses its code.
    world.visitCodes((hash, code) => table.addCode(hash, code))
    world.visit(reader)
    reader.addSlotCounts()
    table.publish(Math.round((now() - beganMs) * 1_000), (at, end) =>
      writeSpeculation({ outcome, precompileGas: used, parties }, table, at, end),
    )
    return true
  }

  return async (index, signed) => {
    let isStored = false
    try {
      isStored = await execute(index, signed)
    } catch {
      // A failed guess has no consequences: the executor tries the entry in its turn.
    }
    if (!isStored) table.leaveAlone(index)
  }
}

/**
 * The chain's own precompiles for an execution whose outcome will not count once it calls one: they read and write the native state, which
 * is not in the table.
 */
function barriersFor(precompiles: PrecompileTable, barrier: { isHit: boolean }): PrecompileTable {
  const entries = [...precompiles].map(([key, { address }]) => {
    const run = ({ gasLimit }: { readonly gasLimit: bigint }) => {
      barrier.isHit = true
      return { status: 'failure', output: EMPTY_BYTES, gasUsed: gasLimit, failure: 'not executed' } as const
    }
    return [key, { address, run }] as const
  })
  return new Map(entries)
}

/**
 * The state before an entry, as far as it is known, for one entry after another. It adds the reads
 * and writes of a journal on it to the table.
 */
class VersionedReader implements StateReader, JournalVisitor {
  readonly #table: VersionTable
  readonly #parent: StateReader
  readonly #parentAccounts = new Map<string, Account | undefined>()
  #index = 0
  /** accounts and slots found in the table: `bytesKey` of the address, with the slot behind */
  readonly #versions = new Set<string>()
  /** whose slots were counted */
  readonly #counted: Address[] = []
  /** of accounts that were found in the table, by `bytesKey` of their hashes */
  readonly #codeByHash = new Map<string, Uint8Array>()

  constructor(table: VersionTable, parent: StateReader) {
    this.#table = table
    this.#parent = parent
  }

  /** Begins with an entry. */
  begin(index: number): void {
    this.#index = index
    this.#counted.length = 0
    if (this.#versions.size > 0) this.#versions.clear()
    if (this.#codeByHash.size > 0) this.#codeByHash.clear()
  }

  getAccount(address: Address): Account | undefined {
    if (equalBytes(address, FEE_COLLECTOR)) throw new Error('the account that gets the fees is not in the table')
    const at = this.#table.findAccount(address, this.#index)
    if (at === 0) return this.#parentAccount(address)
    this.#versions.add(bytesKey(address))
    const { writtenAt, writtenEnd } = this.#table.record(at)
    const account = this.#table.accountAt(writtenAt, writtenEnd)
    if (account !== undefined) this.#findCode(address, account.codeHash)
    return account
  }

  #parentAccount(address: Address): Account | undefined {
    const key = bytesKey(address)
    let account = this.#parentAccounts.get(key)
    if (account === undefined) {
      account = this.#parent.getAccount(address)
      this.#parentAccounts.set(key, account)
    }
    return account
  }

  getStorage(address: Address, slot: Uint8Array): Uint8Array {
    const at = this.#table.findSlot(address, slot, this.#index)
    if (at === 0) return this.#parent.getStorage(address, slot)
    this.#versions.add(bytesKey(address) + bytesKey(slot))
    const { writtenAt, writtenEnd } = this.#table.record(at)
    return this.#table.bytes.slice(writtenAt, writtenEnd)
  }

  storageCount(address: Address): number {
    this.#counted.push(new Uint8Array(address))
    return this.#parent.storageCount(address)
  }

  getCode(hash: Hash): Uint8Array {
    const code = this.#codeByHash.size === 0 ? undefined : this.#codeByHash.get(bytesKey(hash))
    return code ?? this.#parent.getCode(hash)
  }

  /**
   * Reads two facts of the native state: whether there are vesting accounts, and that an account is
   * not one. `adoptSpeculation` notices new vesting accounts.
   */
  getNative(key: Uint8Array): Uint8Array | undefined {
    if (isFilterKey(key)) return this.#parent.getNative(key)
    if (isScheduleKey(key) && this.#parent.getNative(key) === undefined) return undefined
    throw new Error('the native state is not in the table')
  }

  nativeRange(): never {
    throw new Error('the native state is not in the table')
  }

  account(address: Address, read: Account | undefined, written: Account | undefined): void {
    const isVersion = this.#versions.size > 0 && this.#versions.has(bytesKey(address))
    this.#table.addAccount(flagsOf(isVersion, equalAccounts(read, written)), address, read, written)
  }

  slot(address: Address, slot: string, read: Uint8Array, written: Uint8Array): void {
    const isVersion = this.#versions.size > 0 && this.#versions.has(bytesKey(address) + slot)
    this.#table.addSlot(flagsOf(isVersion, equalBytes(read, written)), address, slot, read, written)
  }

  /** Adds whose slots were counted. */
  addSlotCounts(): void {
    for (const address of this.#counted) this.#table.addAccount(FLAGS.slotCount, address, undefined, undefined)
  }

  /** Finds the code of an account of the table: one that is not in the parent's state either would look like damage of the database. */
  #findCode(address: Address, codeHash: Hash): void {
    if (equalBytes(codeHash, EMPTY_CODE_HASH)) return
    const parent = this.#parentAccount(address)
    if (parent !== undefined && equalBytes(parent.codeHash, codeHash)) return
    const at = this.#table.findCode(codeHash, this.#index)
    if (at === 0) throw new Error('the code is not in the table')
    const { writtenAt, writtenEnd } = this.#table.record(at)
    this.#codeByHash.set(bytesKey(codeHash), this.#table.bytes.slice(writtenAt, writtenEnd))
  }
}

function flagsOf(isVersion: boolean, isUnchanged: boolean): number {
  return FLAGS.read | (isVersion ? FLAGS.isVersion : 0) | (isUnchanged ? 0 : FLAGS.written)
}
