import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { totalBurnt } from '../../../src/evm/coinMovements.ts'
import { bytesKey, compareKeys, EMPTY_BYTES } from '../../../src/primitives/bytes.ts'
import { EMPTY_CODE_HASH } from '../../../src/primitives/hash.ts'
import { type AdoptedChanges, Journal } from '../../../src/state/journal.ts'
import { createSlotWords, valueBytes, writeName } from '../../../src/state/slotWords.ts'
import { runs } from '../../propertyRuns.ts'
import { MemoryStateReader } from '../../support/state/memoryReader.ts'
import { ModelWorld, slotKey } from '../../support/state/modelWorld.ts'

const addresses = [1, 2, 9, 200, 201].map((last) => new Uint8Array(20).fill(last))
const slots = [0, 1, 7].map((last) => new Uint8Array(32).fill(last))
const values = [[], [0, 0], [1], [0, 0, 2], [255, 0]].map((bytes) => Uint8Array.from(bytes))
const nativeKeys = [[1], [1, 0], [1, 0, 255], [1, 1], [2], [255, 255]].map((bytes) => Uint8Array.from(bytes))
const amounts = [0n, 1n, 5n, 10n ** 30n]
const codes = [EMPTY_BYTES, Uint8Array.of(0), Uint8Array.of(0x60, 0)]

const operations = [
  'addBalance', 'subBalance', 'setBalance', 'setNonce', 'setCode', 'touch', 'setStorage', 'setStorage', 'setStorage',
  'getStorage', 'readSlot', 'readSlot', 'clearStorage', 'deleteAccount', 'setTransient', 'warmAddress', 'warmSlot', 'markCreated',
  'markSelfDestructed', 'setNative', 'setNative', 'deleteNative', 'emitLog', 'emitEvent', 'recordTransfer', 'checkpoint', 'checkpoint',
  'commit', 'revert', 'revert', 'nextTransaction',
] as const // biome-ignore format: a table

type Operation = (typeof operations)[number]
type Step = readonly [Operation, number, number, number]

const step: fc.Arbitrary<Step> = fc.tuple(fc.constantFrom(...operations), fc.nat(4), fc.nat(5), fc.nat(4))

function baseState(): MemoryStateReader {
  const base = new MemoryStateReader()
  base.setAccount(addresses[0]!, { balance: 7n })
  base.setAccount(addresses[1]!, { nonce: 1n, code: codes[2]! })
  base.setStorage(addresses[1]!, slots[0]!, Uint8Array.of(9))
  base.setStorage(addresses[1]!, slots[1]!, Uint8Array.of(8))
  base.setAccount(addresses[2]!, {})
  base.setStorage(addresses[2]!, slots[2]!, Uint8Array.of(7))
  for (const key of [nativeKeys[1]!, nativeKeys[3]!, nativeKeys[5]!]) base.setNative(key, Uint8Array.of(3))
  return base
}

function perform(journal: Journal, model: ModelWorld, [operation, a, b, c]: Step): void {
  const address = addresses[a]!
  const slot = slots[b % slots.length]!
  const value = values[c]!
  const amount = amounts[c % amounts.length]!
  const nativeKey = nativeKeys[b]!
  const account = model.state.accounts.get(bytesKey(address))
  switch (operation) {
    case 'addBalance':
      journal.addBalance(address, amount)
      model.setAccount(address, { balance: (account?.balance ?? 0n) + amount })
      return
    case 'subBalance': {
      const balance = account?.balance ?? 0n
      if (balance < amount) {
        expect(() => journal.subBalance(address, amount)).toThrow('cannot pay')
        return
      }
      journal.subBalance(address, amount)
      if (amount === 0n) model.state.touched.add(bytesKey(address))
      else model.setAccount(address, { balance: balance - amount })
      return
    }
    case 'setBalance':
      journal.setBalance(address, amount)
      model.setAccount(address, { balance: amount })
      return
    case 'setNonce':
      journal.setNonce(address, amount)
      model.setAccount(address, { nonce: amount })
      return
    case 'setCode':
      journal.setCode(address, codes[c % 3]!)
      model.setAccount(address, { code: codes[c % 3]! })
      return
    case 'touch':
      journal.touch(address)
      model.state.touched.add(bytesKey(address))
      return
    case 'setStorage':
      journal.setStorage(address, slot, value)
      model.setStorage(address, slot, value)
      return
    case 'getStorage':
      expect(bytesKey(journal.getStorage(address, slot))).toBe(model.state.storage.get(slotKey(address, slot)) ?? '')
      return
    case 'readSlot': {
      const found = createSlotWords()
      writeName(found.name, address, slot)
      const key = slotKey(address, slot)
      expect(journal.readSlot(address, found)).toBe(model.state.warm.has(key))
      expect(bytesKey(valueBytes(found.value))).toBe(model.state.storage.get(key) ?? '')
      expect(bytesKey(valueBytes(found.original))).toBe(model.state.original.get(key) ?? '')
      return
    }
    case 'clearStorage':
      journal.clearStorage(address)
      model.clearStorage(address)
      return
    case 'deleteAccount':
      journal.deleteAccount(address)
      model.deleteAccount(address)
      return
    case 'setTransient':
      journal.setTransient(address, slot, value)
      model.state.transient.set(slotKey(address, slot), bytesKey(value).replace(/^\0+/, ''))
      return
    case 'warmAddress':
      expect(journal.warmAddress(address)).toBe(model.state.warm.has(bytesKey(address)))
      model.state.warm.add(bytesKey(address))
      return
    case 'warmSlot':
      expect(journal.warmSlot(address, slot)).toBe(model.state.warm.has(slotKey(address, slot)))
      model.state.warm.add(slotKey(address, slot))
      return
    case 'markCreated':
      journal.markCreated(address)
      model.state.created.add(bytesKey(address))
      return
    case 'markSelfDestructed':
      journal.markSelfDestructed(address)
      model.state.destroyed.add(bytesKey(address))
      return
    case 'setNative':
      if (value.length === 0) {
        expect(() => journal.native.set(nativeKey, value)).toThrow('never empty')
        return
      }
      journal.native.set(nativeKey, value)
      model.state.native.set(bytesKey(nativeKey), bytesKey(value))
      return
    case 'deleteNative':
      journal.native.delete(nativeKey)
      model.state.native.delete(bytesKey(nativeKey))
      return
    case 'emitLog':
      journal.emitLog({ address, topics: [], data: value })
      model.state.logs.push(bytesKey(address))
      return
    case 'emitEvent':
      journal.emitEvent({ type: `${a}`, attributes: [] })
      model.state.events.push(`${a}`)
      return
    case 'recordTransfer':
      journal.recordTransfer({ from: address, to: address, amountAcoin: BigInt(a) })
      model.state.transfers.push(BigInt(a))
      return
    case 'checkpoint':
      journal.checkpoint()
      model.checkpoint()
      return
    case 'commit':
      if (model.depth === 0) {
        expect(() => journal.commit()).toThrow('no checkpoint')
        return
      }
      journal.commit()
      model.commit()
      return
    case 'revert':
      if (model.depth === 0) {
        expect(() => journal.revert()).toThrow('no checkpoint')
        return
      }
      journal.revert()
      model.revert()
      return
    case 'nextTransaction': {
      for (; model.depth > 0; model.commit()) journal.commit()
      const clearEmpty = c % 2 === 0
      expect(totalBurnt(journal.endTransaction({ clearEmpty }).burns)).toBe(model.endTransaction(clearEmpty))
      journal.beginTransaction()
      model.beginTransaction()
      return
    }
  }
}

function byKey(a: readonly [string, unknown], b: readonly [string, unknown]): number {
  return compareKeys(a[0], b[0])
}

function compare(journal: Journal, model: ModelWorld): void {
  const { state } = model
  for (const address of addresses) {
    const key = bytesKey(address)
    const account = state.accounts.get(key)
    expect(journal.exists(address)).toBe(account !== undefined)
    expect(journal.getBalance(address)).toBe(account?.balance ?? 0n)
    expect(journal.getNonce(address)).toBe(account?.nonce ?? 0n)
    expect(bytesKey(journal.getCode(address))).toBe(account?.code ?? '')
    expect(journal.getCodeHash(address) === undefined).toBe(account === undefined)
    expect(journal.hasStorage(address)).toBe(model.hasStorage(address))
    expect(journal.isWarmAddress(address)).toBe(state.warm.has(key))
    expect(journal.isCreated(address)).toBe(state.created.has(key))
    expect(journal.isSelfDestructed(address)).toBe(state.destroyed.has(key))
    for (const slot of slots) {
      const name = slotKey(address, slot)
      expect(bytesKey(journal.getStorage(address, slot))).toBe(state.storage.get(name) ?? '')
      expect(bytesKey(journal.getOriginalStorage(address, slot))).toBe(state.original.get(name) ?? '')
      expect(bytesKey(journal.getTransient(address, slot))).toBe(state.transient.get(name) ?? '')
      expect(journal.isWarmSlot(address, slot)).toBe(state.warm.has(name))
    }
  }
  for (const prefix of [EMPTY_BYTES, nativeKeys[0]!, nativeKeys[1]!]) {
    const expected = [...state.native].filter(([key]) => key.startsWith(bytesKey(prefix))).sort(byKey)
    expect([...journal.native.range(prefix)].map(([key, value]) => [bytesKey(key), bytesKey(value)])).toEqual(expected)
    for (const start of [undefined, ...nativeKeys]) {
      for (const reverse of [false, true]) {
        const options = start === undefined ? { reverse } : { start, reverse }
        const found = [...journal.native.range(prefix, options)].map(([key, value]) => [bytesKey(key), bytesKey(value)])
        const inRange = expected.filter(
          ([key]) => start === undefined || (reverse ? key <= bytesKey(start) : key >= bytesKey(start)),
        )
        expect(found).toEqual(reverse ? inRange.toReversed() : inRange)
      }
    }
  }
  expect(journal.logs().map((log) => bytesKey(log.address))).toEqual(state.logs)
  expect(journal.events().map((event) => event.type)).toEqual(state.events)
  expect(journal.transfers().map(({ amountAcoin }) => amountAcoin)).toEqual(state.transfers)
}

/** A full comparison reads everything, which loads it into the journal; so it is made rarely and at the end. */
function run(steps: readonly Step[], compareEvery: number): void {
  const base = baseState()
  const journal = new Journal(base)
  const model = new ModelWorld(base)
  journal.beginTransaction()
  steps.forEach((each, index) => {
    perform(journal, model, each)
    if (index % compareEvery === compareEvery - 1) compare(journal, model)
  })
  for (; model.depth > 0; model.commit()) journal.commit()
  const changes = journal.changes()
  compare(journal, model)
  expect(journal.changes()).toEqual(changes)
  base.apply(changes)
  expect(snapshot(base)).toEqual(modelSnapshot(model))
}

function snapshot(reader: MemoryStateReader): unknown {
  const accounts = [...reader.accounts()].map(({ address, account, slots: set }) => [
    bytesKey(address),
    [account.nonce, account.balance, bytesKey(reader.getCode(account.codeHash))],
    set.map(([slot, value]) => [bytesKey(slot), bytesKey(value)]),
  ])
  return {
    accounts,
    native: [...reader.nativeRange(EMPTY_BYTES)].map((key) => [bytesKey(key), bytesKey(reader.getNative(key)!)]),
  }
}

function modelSnapshot(model: ModelWorld): unknown {
  const { accounts, storage, native } = model.state
  const owned = (key: string) => [...storage].filter(([name]) => name.startsWith(key)).sort(byKey)
  return {
    accounts: [...accounts]
      .sort(byKey)
      .map(([key, { nonce, balance, code }]) => [
        key,
        [nonce, balance, code],
        owned(key).map(([name, value]) => [name.slice(20), value]),
      ]),
    native: [...native].sort(byKey),
  }
}

describe('Journal', () => {
  it('agrees with a model that copies maps, compared after every few steps', () => {
    fc.assert(fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 7 }), run), {
      numRuns: runs(150),
    })
  })

  it('agrees with the model when nothing but the steps themselves reads', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => run(steps, 1000)),
      { numRuns: runs(400) },
    )
  })

  it('finds a slot again that was first read behind a wipe that is undone', () => {
    const base = new MemoryStateReader()
    const address = Uint8Array.of(...new Uint8Array(19), 7)
    const slot = new Uint8Array(32)
    base.setAccount(address, { nonce: 1n })
    base.setStorage(address, slot, Uint8Array.of(9))
    const journal = new Journal(base)
    journal.beginTransaction()
    journal.checkpoint()
    journal.clearStorage(address)
    expect(journal.getStorage(address, slot)).toEqual(new Uint8Array(0))
    journal.setStorage(address, slot, Uint8Array.of(5))
    journal.revert()
    expect(journal.getStorage(address, slot)).toEqual(Uint8Array.of(9))
    expect(journal.getOriginalStorage(address, slot)).toEqual(Uint8Array.of(9))
    expect(journal.hasStorage(address)).toBe(true)
    journal.endTransaction({ clearEmpty: true })
    expect(journal.changes().accounts).toEqual([])
  })

  it('keeps the reverted touch of address 3 (EIP-161 as mainnet executed it)', () => {
    const base = new MemoryStateReader()
    const ripemd = Uint8Array.of(...new Uint8Array(19), 3)
    const other = Uint8Array.of(...new Uint8Array(19), 4)
    base.setAccount(ripemd, {})
    base.setAccount(other, {})
    const journal = new Journal(base)
    journal.beginTransaction()
    journal.checkpoint()
    journal.touch(ripemd)
    journal.touch(other)
    journal.revert()
    journal.endTransaction({ clearEmpty: true })
    expect(journal.exists(ripemd)).toBe(false)
    expect(journal.exists(other)).toBe(true)
  })

  it('brings the scope hash of the transaction before back when a block is dropped', () => {
    const journal = new Journal(new MemoryStateReader())
    const [first, second] = [addresses[0]!, addresses[1]!]
    journal.beginTransaction()
    journal.warmAddress(first)
    journal.emitLog({ address: first, topics: [], data: EMPTY_BYTES })
    journal.setTransient(first, slots[0]!, Uint8Array.of(1))
    journal.endTransaction({ clearEmpty: true })
    journal.checkpoint()
    journal.beginTransaction()
    expect(journal.isWarmAddress(first)).toBe(false)
    expect(journal.logs()).toEqual([])
    journal.warmAddress(first)
    journal.warmAddress(second)
    journal.addBalance(second, 5n)
    journal.emitLog({ address: second, topics: [], data: EMPTY_BYTES })
    journal.endTransaction({ clearEmpty: true })
    journal.revert()
    expect(journal.isWarmAddress(first)).toBe(true)
    expect(journal.isWarmAddress(second)).toBe(false)
    expect(journal.exists(second)).toBe(false)
    expect(journal.logs().map((log) => log.address)).toEqual([first])
    expect(journal.getTransient(first, slots[0]!)).toEqual(Uint8Array.of(1))
  })

  it('keeps addresses warm in one transaction, whatever is reverted, and reads nothing of them', () => {
    const state = new MemoryStateReader()
    state.getAccount = () => {
      throw new Error('read')
    }
    const journal = new Journal(state)
    const warm = addresses[0]!
    journal.beginTransaction()
    journal.warmAlways(new Set([bytesKey(warm)]))
    journal.checkpoint()
    expect(journal.isWarmAddress(warm)).toBe(true)
    expect(journal.isWarmAddress(addresses[1]!)).toBe(false)
    journal.revert()
    expect(journal.isWarmAddress(warm)).toBe(true)
    journal.endTransaction({ clearEmpty: true })
    journal.beginTransaction()
    expect(journal.isWarmAddress(warm)).toBe(false)
  })

  it('refuses a transaction that begins or ends inside its own open checkpoint', () => {
    const journal = new Journal(new MemoryStateReader())
    journal.beginTransaction()
    journal.checkpoint()
    expect(() => journal.beginTransaction()).toThrow('open checkpoints')
    expect(() => journal.endTransaction({ clearEmpty: true })).toThrow('open checkpoints')
  })

  it('replaces a whole storage, as a state override of eth_call does', () => {
    const base = baseState()
    const journal = new Journal(base)
    journal.clearStorage(addresses[1]!)
    journal.setStorage(addresses[1]!, slots[2]!, Uint8Array.of(5))
    journal.beginTransaction()
    expect(slots.map((slot) => [...journal.getStorage(addresses[1]!, slot)])).toEqual([[], [], [5]])
    expect(slots.map((slot) => [...journal.getOriginalStorage(addresses[1]!, slot)])).toEqual([[], [], [5]])
  })

  it('knows the original value of a slot that a wipe is the first to touch in its transaction', () => {
    const journal = new Journal(baseState())
    const [address, known, unknown] = [addresses[1]!, slots[0]!, slots[1]!]
    journal.beginTransaction()
    journal.setStorage(address, known, Uint8Array.of(5))
    journal.endTransaction({ clearEmpty: true })
    journal.beginTransaction()
    journal.clearStorage(address)
    expect([known, unknown].map((slot) => [...journal.getStorage(address, slot)])).toEqual([[], []])
    expect([known, unknown].map((slot) => [...journal.getOriginalStorage(address, slot)])).toEqual([[5], [8]])
    journal.endTransaction({ clearEmpty: true })
    journal.beginTransaction()
    expect([known, unknown].map((slot) => [...journal.getOriginalStorage(address, slot)])).toEqual([[], []])
  })

  it('does not keep memory of the caller', () => {
    const journal = new Journal(new MemoryStateReader())
    const address = new Uint8Array(20).fill(1)
    const value = Uint8Array.of(1)
    const code = Uint8Array.of(2)
    journal.setStorage(address, slots[0]!, value)
    journal.native.set(Uint8Array.of(1), value)
    journal.setCode(address, code)
    value[0] = 9
    code[0] = 9
    const copy = address.slice()
    address.fill(2)
    expect(journal.exists(address)).toBe(false)
    expect([...journal.getStorage(copy, slots[0]!)]).toEqual([1])
    expect([...journal.native.get(Uint8Array.of(1))!]).toEqual([1])
    expect([...journal.getCode(copy)]).toEqual([2])
    expect(journal.getCode(copy)).toBe(journal.getCode(copy))
  })

  const writes: readonly (readonly [name: string, write: (journal: Journal) => void])[] = [
    ['a new key is set', ({ native }) => native.set(Uint8Array.of(200), Uint8Array.of(1))],
    ['a key of the walk is deleted', ({ native }) => native.delete(nativeKeys[2]!)],
    ['the value of a key changes', ({ native }) => native.set(nativeKeys[2]!, Uint8Array.of(7))],
    ['changes are undone', (journal) => journal.revert()],
  ]
  it.each(writes)('a walk over native entries does not go on when %s', (_, write) => {
    for (const reverse of [false, true]) {
      const journal = new Journal(baseState())
      journal.checkpoint()
      for (const key of nativeKeys) journal.native.set(key, Uint8Array.of(5))
      const walk = journal.native.range(EMPTY_BYTES, { reverse })
      expect(walk.next().done).toBe(false)
      expect(journal.native.get(nativeKeys[1]!)).toEqual(Uint8Array.of(5))
      expect(walk.next().done).toBe(false)
      write(journal)
      expect(() => walk.next()).toThrow('a native entry was written during a walk over entries')
      expect([...journal.native.range(EMPTY_BYTES, { reverse })].length).toBeGreaterThan(0)
    }
  })

  it('counts storage below and in the journal for hasStorage', () => {
    const journal = new Journal(baseState())
    const address = addresses[1]!
    journal.setStorage(address, slots[0]!, EMPTY_BYTES)
    expect(journal.hasStorage(address)).toBe(true)
    journal.checkpoint()
    journal.setStorage(address, slots[1]!, EMPTY_BYTES)
    expect(journal.hasStorage(address)).toBe(false)
    journal.revert()
    expect(journal.hasStorage(address)).toBe(true)
    journal.deleteAccount(address)
    expect(journal.hasStorage(address)).toBe(false)
    expect(journal.getCodeHash(address)).toBeUndefined()
    journal.addBalance(address, 1n)
    expect(journal.getCodeHash(address)).toEqual(EMPTY_CODE_HASH)
  })
})

describe('Journal.attempt', () => {
  /** The steps that an attempt can make: what ends a transaction stands around them. */
  const inside = step.filter(([operation]) => operation !== 'nextTransaction')

  it('leaves nothing of a transaction that throws, whatever that left open', async () => {
    const steps = fc.array(step, { maxLength: 25 })
    const tried = fc.array(inside, { maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(steps, tried, steps, async (before, failing, after) => {
        const [journal, model] = [new Journal(baseState()), new ModelWorld(baseState())]
        const closeAll = (): void => {
          for (; model.depth > 0; model.commit()) journal.commit()
        }
        journal.beginTransaction()
        for (const each of before) perform(journal, model, each)
        closeAll()
        expect(totalBurnt(journal.endTransaction({ clearEmpty: true }).burns)).toBe(model.endTransaction(true))

        model.checkpoint()
        const attempt = journal.attempt(() => {
          journal.beginTransaction()
          model.beginTransaction()
          for (const each of failing) {
            const isClosing = each[0] === 'commit' || each[0] === 'revert'
            if (isClosing && model.depth === 1) expect(() => journal.revert()).toThrow('no checkpoint is open')
            else perform(journal, model, each)
          }
          throw new TypeError('a bug')
        })
        await expect(attempt).rejects.toThrow('a bug')
        while (model.depth > 0) model.revert()

        journal.beginTransaction()
        model.beginTransaction()
        for (const each of after) perform(journal, model, each)
        closeAll()
        compare(journal, model)
      }),
      { numRuns: runs(200) },
    )
  })

  it('keeps what work has done that ends well, and nothing when that left a checkpoint open', async () => {
    const journal = new Journal(baseState())
    await journal.attempt(() => journal.addBalance(addresses[3]!, 5n))
    expect(journal.getBalance(addresses[3]!)).toBe(5n)
    const open = journal.attempt(() => {
      journal.addBalance(addresses[3]!, 5n)
      journal.checkpoint()
    })
    await expect(open).rejects.toThrow('a checkpoint is still open')
    expect(journal.getBalance(addresses[3]!)).toBe(5n)
    expect(() => journal.revert()).toThrow('no checkpoint is open')
  })

  it('adopts what another journal has written in a transaction, which counts as one and can be undone', () => {
    const [holder, contract, created] = [addresses[0]!, addresses[1]!, addresses[3]!]
    const one = new Journal(baseState())
    one.noteWrites()
    one.beginTransaction()
    one.subBalance(holder, 5n)
    one.addBalance(created, 5n)
    one.setStorage(contract, slots[0]!, EMPTY_BYTES)
    one.setStorage(contract, slots[2]!, Uint8Array.of(6))
    one.endTransaction({ clearEmpty: true })

    const other = new Journal(baseState())
    const before = other.changes()
    other.beginTransaction()
    other.endTransaction({ clearEmpty: true })
    other.checkpoint()
    const accounts: AdoptedChanges['accounts'][number][] = []
    const written: AdoptedChanges['slots'][number][] = []
    one.visitWritten({
      account: (address, _, account) => void accounts.push({ key: bytesKey(address), account }),
      slot: (address, slot, stored, value) => void written.push({ key: bytesKey(address), slot, stored, value }),
    })
    other.adopt({ accounts, slots: written, codes: [] })
    expect(other.changes()).toEqual(one.changes())
    expect(other.isStoredAccount(bytesKey(contract))).toBe(true)
    expect(other.isStoredAccount(bytesKey(created))).toBe(false)
    expect(other.isStoredSlot(bytesKey(contract), bytesKey(slots[1]!))).toBe(true)
    expect(other.isStoredSlot(bytesKey(contract), bytesKey(slots[2]!))).toBe(false)
    expect(other.isStoredSlotCount(bytesKey(contract))).toBe(true)
    other.revert()
    expect(other.changes()).toEqual(before)
  })
})
