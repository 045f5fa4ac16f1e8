import type { SignedTransaction } from '../../chain/transaction.ts'
import type { BlockContext, Rules } from '../../evm/blockContext.ts'
import type { Engine } from '../../evm/engine.ts'
import type { PrecompileTable } from '../../evm/precompile.ts'
import { createPrecompileGas } from '../../evm/precompileGas.ts'
import { applyTransaction } from '../../evm/transition.ts'
import type { Address } from '../../primitives/address.ts'
import { bytesKey, EMPTY_BYTES, equalBytes } from '../../primitives/bytes.ts'
import { EMPTY_CODE_HASH, type Hash } from '../../primitives/hash.ts'
import type { StateChanges } from '../../state/changes.ts'
import { accountKey, codeKey, decodeAccount, encodeAccount, slotKey } from '../../state/flatState.ts'
import { Journal } from '../../state/journal.ts'
import type { Account, StateReader } from '../../state/reader.ts'
import { type Read, writeSpeculation } from './speculation.ts'
import type { Version, VersionTable } from './versionTable.ts'

/** What the entries of a block are executed in. */
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
}

/** Executes entries that this thread has taken of the table, and stores the results there. */
export type Speculator = (index: number, signed: SignedTransaction) => Promise<void>

/**
 * Executes EVM transactions before their turn, on the parent's state and on what others in the table have written. Whatever is not worth
 * the trouble is left for the executor: a transaction that cannot start, that calls a stateful precompile, destroys coins, wipes storage,
 * or comes upon the limit of precompile gas, and one that meets any error, which its execution in order will meet too if it is one.
 */
export function createSpeculator(table: VersionTable, context: SpeculationContext): Speculator {
  const reader = new VersionedReader(table, context.state)
  const barrier = { isHit: false }
  const precompiles = barriersFor(context.precompiles, barrier)

  const execute = async (index: number, { transaction, sender }: SignedTransaction): Promise<boolean> => {
    const reads = reader.begin(index)
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
    const changes = world.changes()
    if (changes.native.length > 0 || changes.accounts.some(({ wiped }) => wiped)) return false
    const used = context.precompileGas - precompileGas.left
    table.publish(index, versionsOf(changes), (bytes, at, end) =>
      writeSpeculation({ reads, outcome, precompileGas: used, parties }, bytes, at, end),
    )
    return true
  }

  return async (index, signed) => {
    let isStored = false
    try {
      isStored = await execute(index, signed)
    } catch {
      // Nothing follows from a failed guess. What this machine or the engine could not do here, the executor tries in its turn.
    }
    if (!isStored) table.leaveAlone(index)
  }
}

/** Codes come before the accounts that have them, so that no reader of an account misses its code. */
function versionsOf({ accounts, codes }: StateChanges): Version[] {
  const versions: Version[] = codes.map(({ hash, code }) => ({ key: codeKey(hash), value: code }))
  for (const { address, previous, current, slots } of accounts) {
    if (previous !== current) versions.push({ key: accountKey(address), value: encodeAccount(current) })
    for (const { slot, current: value } of slots) versions.push({ key: slotKey(address, slot), value })
  }
  return versions
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

/** The state before an entry, as far as it is known, for one entry after the other. It notes what is read of it. */
class VersionedReader implements StateReader {
  readonly #table: VersionTable
  readonly #parent: StateReader
  #index = 0
  #reads: Read[] = []
  /** of accounts that were found in the table, by `bytesKey` of their hashes */
  readonly #codes = new Map<string, Uint8Array>()

  constructor(table: VersionTable, parent: StateReader) {
    this.#table = table
    this.#parent = parent
  }

  /** Begins with an entry. @returns the list of what will be read */
  begin(index: number): readonly Read[] {
    this.#index = index
    this.#reads = []
    this.#codes.clear()
    return this.#reads
  }

  getAccount(given: Address): Account | undefined {
    const address = new Uint8Array(given)
    const value = this.#table.find(accountKey(address), this.#index)
    if (value === undefined) {
      this.#reads.push({ address })
      return this.#parent.getAccount(address)
    }
    this.#reads.push({ address, value })
    const account = decodeAccount(value)
    if (account !== undefined) this.#findCode(address, account.codeHash)
    return account
  }

  getStorage(address: Address, given: Uint8Array): Uint8Array {
    const slot = new Uint8Array(given)
    const value = this.#table.find(slotKey(address, slot), this.#index)
    this.#reads.push(value === undefined ? { address, slot } : { address, slot, value })
    return value ?? this.#parent.getStorage(address, slot)
  }

  storageCount(given: Address): number {
    const address = new Uint8Array(given)
    this.#reads.push({ address, isSlotCount: true })
    return this.#parent.storageCount(address)
  }

  getCode(hash: Hash): Uint8Array {
    const code = this.#codes.size === 0 ? undefined : this.#codes.get(bytesKey(hash))
    return code ?? this.#parent.getCode(hash)
  }

  getNative(): never {
    throw new Error('the native state is not in the table')
  }

  nativeRange(): never {
    return this.getNative()
  }

  /** Finds the code of an account of the table: one that is not in the parent's state either would look like damage of the database. */
  #findCode(address: Address, codeHash: Hash): void {
    if (equalBytes(codeHash, EMPTY_CODE_HASH)) return
    const parent = this.#parent.getAccount(address)
    if (parent !== undefined && equalBytes(parent.codeHash, codeHash)) return
    const code = this.#table.find(codeKey(codeHash), this.#index)
    if (code === undefined) throw new Error('the code is not in the table')
    this.#codes.set(bytesKey(codeHash), code)
  }
}
