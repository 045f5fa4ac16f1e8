import { bytesKey, EMPTY_BYTES } from '../../../src/primitives/bytes.ts'
import { Journal } from '../../../src/state/journal.ts'
import type { StateReader } from '../../../src/state/reader.ts'
import type { WorldState } from '../../../src/state/world.ts'

/** A small seeded generator (mulberry32), so that a failure can be run again. */
export function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) % below
  }
}

export const ACCOUNTS = Array.from({ length: 40 }, (_, i) => new Uint8Array(20).fill(i + 1))
export const SLOTS = Array.from({ length: 12 }, (_, i) => {
  const slot = new Uint8Array(32)
  slot[31] = i
  return slot
})
export const NATIVE_KEYS = Array.from({ length: 60 }, (_, i) =>
  Uint8Array.from([i % 3, ...new Uint8Array(60).fill(i % 5), i]),
)

/** Random transactions, some reverted, some accounts deleted: the changes of one block on `reader`. */
export function randomBlock(reader: StateReader, random: (below: number) => number): Journal {
  const journal = new Journal(reader)
  for (let transaction = random(4); transaction >= 0; transaction--) {
    journal.beginTransaction()
    journal.checkpoint()
    for (let step = random(10); step >= 0; step--) randomChange(journal, random)
    if (random(4) === 0) journal.revert()
    else journal.commit()
    journal.endTransaction({ clearEmpty: true })
  }
  return journal
}

/** One random change of an account, a slot or a native entry. */
export function randomChange(journal: WorldState, random: (below: number) => number): void {
  const address = ACCOUNTS[random(ACCOUNTS.length)]!
  const slot = SLOTS[random(SLOTS.length)]!
  const value = random(3) === 0 ? EMPTY_BYTES : Uint8Array.of(1 + random(255), random(256), random(256))
  const nativeKey = NATIVE_KEYS[random(NATIVE_KEYS.length)]!
  const actions = [
    () => journal.addBalance(address, BigInt(random(1000)) ** 9n),
    () => journal.setNonce(address, BigInt(1 + random(300))),
    () =>
      journal.setCode(
        address,
        Uint8Array.from({ length: random(50) }, () => random(3)),
      ),
    () => random(3) === 0 && journal.deleteAccount(address),
    () => random(3) === 0 && journal.clearStorage(address),
    () => random(8) === 0 && journal.markSelfDestructed(address),
    () => (value.length === 0 ? journal.native.delete(nativeKey) : journal.native.set(nativeKey, value)),
    () => {
      if (journal.getNonce(address) === 0n) journal.setNonce(address, 1n)
      journal.setStorage(address, slot, value)
    },
  ]
  actions[Math.min(random(12), actions.length - 1)]!()
}

/** Everything a reader can say of the accounts, slots and native entries that random blocks use. */
export function describeState(reader: StateReader): unknown {
  const accounts = ACCOUNTS.map((address) => {
    const account = reader.getAccount(address)
    if (account === undefined) return reader.storageCount(address)
    const slots = SLOTS.map((slot) => bytesKey(reader.getStorage(address, slot))).join(',')
    const code = bytesKey(reader.getCode(account.codeHash))
    return `${account.nonce} ${account.balance} ${code} ${reader.storageCount(address)} ${slots}`
  })
  const prefixes = [EMPTY_BYTES, Uint8Array.of(1), NATIVE_KEYS[7]!, Uint8Array.of(9)]
  const keys = prefixes.map((prefix) => [...reader.nativeRange(prefix)].map(bytesKey).join('|'))
  const native = NATIVE_KEYS.map((key) => bytesKey(reader.getNative(key) ?? EMPTY_BYTES))
  return { accounts, keys, native }
}
