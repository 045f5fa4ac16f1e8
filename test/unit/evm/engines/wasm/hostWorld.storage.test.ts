import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { STORE_ENTRY } from '../../../../../assembly/evm/constants.ts'
import { worldImports } from '../../../../../src/evm/engines/wasm/hostWorld.ts'
import { bigIntToBytes, concatBytes, equalBytes, hexToBytes, stripZeros } from '../../../../../src/primitives/bytes.ts'
import { type HandMadeRun, handMadeRun } from '../../../../support/evm/engines/wasm/hostFixture.ts'
import { CONTRACT, OTHER, stateWith } from '../../../../support/evm/evmFixture.ts'

const KEY = bigIntToBytes(7n, 32)

function load(run: HandMadeRun, address: Uint8Array, key: Uint8Array) {
  const out = run.room(64)
  // A key is a word here: the least significant byte first.
  const warm = worldImports(run).loadSlot(run.place(address), run.place(key.toReversed()), out)
  return { warm, value: run.memory.readWord(out), original: run.memory.readWord(out + 32) }
}

function store(run: HandMadeRun, entries: readonly (readonly [Uint8Array, Uint8Array, bigint])[]): void {
  const list = entries.map(([address, key, value]) =>
    concatBytes(address, new Uint8Array(12).fill(0xee), key, bigIntToBytes(value, 32)),
  )
  worldImports(run).storeSlots(run.place(concatBytes(...list)), list.length)
}

describe('slots', () => {
  it('come with the value of the start and their warmth', () => {
    const state = stateWith('0x00')
    state.setStorage(CONTRACT, KEY, Uint8Array.of(1, 2))
    const run = handMadeRun(state)
    expect(load(run, CONTRACT, KEY)).toEqual({ warm: 0, value: 0x102n, original: 0x102n })
    run.world.setStorage(CONTRACT, KEY, Uint8Array.of(9))
    run.world.warmSlot(CONTRACT, KEY)
    expect(load(run, CONTRACT, KEY)).toEqual({ warm: 1, value: 9n, original: 0x102n })
    expect(load(run, OTHER, KEY)).toEqual({ warm: 0, value: 0n, original: 0n })
  })

  it('are stored in minimal form, whatever they hold', () => {
    const run = handMadeRun(stateWith('0x00'))
    const word = fc.oneof(fc.bigInt({ min: 0n, max: (1n << 256n) - 1n }), fc.bigInt({ min: 0n, max: 300n }))
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom(CONTRACT, OTHER), word, word), { maxLength: 5 }), (slots) => {
        const entries = slots.map(([address, key, value]) => [address, bigIntToBytes(key, 32), value] as const)
        store(run, entries)
        const expected = new Map(entries.map(([address, key, value]) => [`${address}/${key}`, value]))
        for (const [address, key] of entries) {
          const value = expected.get(`${address}/${key}`)!
          expect(run.world.getStorage(address, key)).toEqual(stripZeros(bigIntToBytes(value, 32)))
        }
      }),
    )
  })

  it('tell their warmth without reading the state', () => {
    const state = stateWith('0x00')
    const run = handMadeRun(state)
    run.world.warmSlot(CONTRACT, KEY)
    state.getStorage = () => {
      throw new Error('read')
    }
    const isWarm = (address: Uint8Array, key: Uint8Array) =>
      worldImports(run).isWarmSlot(run.place(address), run.place(key))
    expect(isWarm(CONTRACT, KEY)).toBe(1)
    expect(isWarm(CONTRACT, bigIntToBytes(8n, 32))).toBe(0)
    expect(isWarm(OTHER, KEY)).toBe(0)
  })

  it('fill entries of the size that the engine counts with', () => {
    expect(STORE_ENTRY).toBe(20 + 12 + 32 + 32)
  })
})

describe('code', () => {
  const code = hexToBytes('0x602a5f52')
  const record = (run: HandMadeRun, address: Uint8Array) => run.place(concatBytes(address, new Uint8Array(76)))
  const bytesOf = (run: HandMadeRun, entry: number) =>
    run.memory.copy(run.memory.view.getUint32(entry, true), run.memory.view.getUint32(entry + 4, true))

  it('is one entry for each code hash, until the engine frees it', () => {
    const state = stateWith('0x602a5f52')
    state.setAccount(OTHER, { nonce: 1n, code })
    const run = handMadeRun(state)
    const imports = worldImports(run)
    const entry = imports.loadCode(record(run, CONTRACT))
    expect(bytesOf(run, entry)).toEqual(code)
    expect(imports.loadCode(record(run, OTHER))).toBe(entry)
    imports.forgetCode(entry)
    expect(imports.loadCode(record(run, OTHER))).not.toBe(entry)
    // what the engine made itself, such as init code, the host has never heard of
    imports.forgetCode(12345)
  })

  it('finds its place in a memory that grows for it', () => {
    const long = new Uint8Array(200_000).fill(0x5b)
    const state = stateWith()
    state.setAccount(OTHER, { nonce: 1n, code: long })
    const run = handMadeRun(state)
    expect(equalBytes(bytesOf(run, worldImports(run).loadCode(record(run, OTHER))), long)).toBe(true)
  })

  it('is set from memory, and found again at once', () => {
    const run = handMadeRun(stateWith())
    const imports = worldImports(run)
    const at = run.place(code)
    imports.setCode(run.place(OTHER), at, code.length)
    run.memory.bytes.fill(0, at, at + code.length)
    expect(run.world.getCode(OTHER)).toEqual(code)
    expect(bytesOf(run, imports.loadCode(record(run, OTHER)))).toEqual(code)
  })
})
