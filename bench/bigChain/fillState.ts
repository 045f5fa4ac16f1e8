import { hash } from 'node:crypto'
import { mint } from '../../src/modules/bank/ledger.ts'
import { isSdkError } from '../../src/modules/sdkError.ts'
import { addDelegation } from '../../src/modules/staking/changeDelegation.ts'
import type { Address } from '../../src/primitives/address.ts'
import { bigIntToMinimalBytes } from '../../src/primitives/bytes.ts'
import { keccak256 } from '../../src/primitives/hash.ts'
import { Journal } from '../../src/state/journal.ts'
import { StateStore } from '../../src/state/stateStore.ts'
import type { WorldState } from '../../src/state/world.ts'
import { WriteBatch } from '../../src/storage/batch.ts'
import { Column } from '../../src/storage/columns.ts'
import type { Database, DatabaseView, WritableDatabase } from '../../src/storage/database.ts'

export interface StateSize {
  /** with a balance and nothing else but a nonce */
  readonly accounts: number
  /** in contracts of different sizes */
  readonly slots: number
  /** of 1 COIN, each by another of the accounts */
  readonly delegations: number
}

/** Entries that one step writes. */
const STEP = 20_000
const COIN = 10n ** 18n

/** The part of all slots in one contract; what is left goes to contracts of these sizes, in turn. */
const LARGEST_SHARE = 0.4
const CONTRACT_SLOTS = [1, 7, 50, 400, 3_000, 20_000]
/** Code sizes, in turn. The last one is the largest that EIP-170 allows. */
const CODE_BYTES = [45, 700, 5_000, 24_576]
/** Contracts that share a code, as those of a factory do. */
const SAME_CODE = 3

/** Returns bytes that no key belongs to, the same in every run. */
function bytesOf(name: string, length: number): Uint8Array {
  const parts: Uint8Array[] = []
  for (let part = 0; part * 32 < length; part++) parts.push(hash('sha256', `${name} ${part}`, 'buffer'))
  return new Uint8Array(Buffer.concat(parts, length))
}

export function accountAddress(index: number): Address {
  return bytesOf(`account ${index}`, 20)
}

export function contractAddress(index: number): Address {
  return bytesOf(`contract ${index}`, 20)
}

/**
 * Writes a state in big steps on top of what the database has, as that of block `height`, without a history.
 * @returns its root
 */
export async function writeStep(
  database: Database,
  height: number,
  change: (world: Journal) => void,
): Promise<Uint8Array> {
  const state = new StateStore(withoutHead(database))
  const journal = new Journal(state.reader())
  change(journal)
  const pending = await state.apply(journal.changes(), height)
  const batch = new WriteBatch()
  pending.write(batch)
  await database.write(batch, { sync: false })
  await state.close()
  return pending.root
}

/**
 * Returns the database as if it had no state yet: the first state that is then written may have any
 * height, and has no history.
 */
function withoutHead(database: Database): WritableDatabase {
  const hide = <T>(key: Uint8Array, value: T): T | undefined => (key[0] === Column.stateMeta ? undefined : value)
  return {
    location: database.location,
    get: (key) => hide(key, database.get(key)),
    entries: (range) => database.entries(range),
    write: (batch, options) => database.write(batch, options),
    snapshot: (): DatabaseView => {
      const snapshot = database.snapshot()
      return {
        location: snapshot.location,
        get: (key) => hide(key, snapshot.get(key)),
        getMany: async (keys) => (await snapshot.getMany(keys)).map((value, index) => hide(keys[index]!, value)),
        entries: (range) => snapshot.entries(range),
        close: () => snapshot.close(),
      }
    },
  }
}

/** Yields the steps that make accounts, contracts and delegations: call each on a new journal, in this order. */
export function* fillSteps(
  { accounts, slots, delegations }: StateSize,
  operators: readonly Address[],
  block: { readonly height: number; readonly timeMs: number },
): Generator<{ readonly name: string; readonly entries: number; readonly change: (world: WorldState) => void }> {
  if (delegations > accounts) throw new RangeError(`${delegations} delegations need as many accounts, not ${accounts}`)
  const inTrieOrder = accountsByHash(accounts)
  for (const [from, to] of partsOf(0, accounts)) {
    const indices = inTrieOrder.subarray(from, to)
    yield { name: 'accounts', entries: indices.length, change: (world) => addAccounts(world, indices) }
  }
  for (const [index, size] of contractSizes(slots).entries()) {
    for (const [from, to] of partsOf(0, size)) {
      yield { name: 'slots', entries: to - from, change: (world) => addSlots(world, index, from, to) }
    }
  }
  for (const [from, to] of partsOf(0, delegations)) {
    yield {
      name: 'delegations',
      entries: to - from,
      change: (world) => {
        for (let index = from; index < to; index++) {
          const operator = operators[index % operators.length]!
          const stake = { delegator: accountAddress(index), operator, amount: COIN, from: 'delegator' } as const
          const issued = addDelegation({ world, block }, stake)
          if (isSdkError(issued)) throw new Error(issued.message)
        }
      },
    }
  }
}

function* partsOf(from: number, end: number): Generator<readonly [from: number, to: number]> {
  for (let at = from; at < end; at += STEP) yield [at, Math.min(at + STEP, end)]
}

/**
 * Returns accounts in the order of their paths in the trie: so each step adds to a part of the trie
 * that no other step changes.
 */
function accountsByHash(count: number): Uint32Array {
  const prefixes = Float64Array.from({ length: count }, (_, index) =>
    Buffer.from(keccak256(accountAddress(index))).readUIntBE(0, 6),
  )
  return Uint32Array.from({ length: count }, (_, index) => index).sort((a, b) => prefixes[a]! - prefixes[b]!)
}

/** Balances of 1 to 1,000 COIN and a part that is different in each account; two of three have sent transactions. */
function addAccounts(world: WorldState, indices: Iterable<number>): void {
  for (const index of indices) {
    const address = accountAddress(index)
    mint(world, address, BigInt(1 + (index % 1_000)) * COIN + BigInt(index))
    if (index % 3 > 0) world.setNonce(address, BigInt(index % 500))
  }
}

/** Returns how many slots each contract has, the largest first. */
function contractSizes(slots: number): readonly number[] {
  if (slots === 0) return []
  const sizes = [Math.ceil(slots * LARGEST_SHARE)]
  for (let left = slots - sizes[0]!; left > 0; left -= sizes.at(-1)!) {
    sizes.push(Math.min(left, CONTRACT_SLOTS[(sizes.length - 1) % CONTRACT_SLOTS.length]!))
  }
  return sizes
}

/** Slots from 0 on, as those of an array, and values of 1 to 32 bytes. */
function addSlots(world: WorldState, contract: number, from: number, to: number): void {
  const address = contractAddress(contract)
  if (from === 0) {
    const code = Math.floor(contract / SAME_CODE)
    world.setNonce(address, 1n)
    // Begins with STOP.
    world.setCode(address, Uint8Array.of(0, ...bytesOf(`code ${code}`, CODE_BYTES[code % CODE_BYTES.length]! - 1)))
  }
  const slot = new Uint8Array(32)
  for (let index = from; index < to; index++) {
    const number = bigIntToMinimalBytes(BigInt(index))
    slot.fill(0)
    slot.set(number, 32 - number.length)
    const value = bytesOf(`slot ${contract} ${index}`, 1 + (index % 32))
    // A value is never 0.
    value[0]! |= 1
    world.setStorage(address, slot, value)
  }
}
