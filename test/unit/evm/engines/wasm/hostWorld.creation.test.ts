import { describe, expect, it } from 'vitest'
import { CREATE_COLLISION, CREATE_FINE, CREATE_NONCE_OVERFLOW } from '../../../../../assembly/evm/constants.ts'
import { totalBurnt } from '../../../../../src/evm/coinMovements.ts'
import { create2Address, createAddress } from '../../../../../src/evm/contractAddress.ts'
import { worldImports } from '../../../../../src/evm/engines/wasm/hostWorld.ts'
import { bytesToHex, hexToBytes } from '../../../../../src/primitives/bytes.ts'
import { type HandMadeRun, handMadeRun } from '../../../../support/evm/engines/wasm/hostFixture.ts'
import { CONTRACT, OTHER, RICH, SENDER, stateWith } from '../../../../support/evm/evmFixture.ts'

const WORD = new Uint8Array(32).fill(3)
const INIT_CODE = hexToBytes('0x600160025500')

function prepare(run: HandMadeRun, creator: Uint8Array, salt?: Uint8Array, initCode = INIT_CODE) {
  const out = run.room(20)
  const saltAt = salt === undefined ? 0 : run.place(salt)
  const answer = worldImports(run).prepareCreate(run.place(creator), saltAt, run.place(initCode), initCode.length, out)
  return { answer, address: run.memory.copy(out, 20) }
}

describe('prepareCreate', () => {
  it('takes the address from the nonce, or from salt and code, and raises the nonce', () => {
    const run = handMadeRun(stateWith('0x00'))
    expect(prepare(run, CONTRACT)).toEqual({ answer: CREATE_FINE, address: createAddress(CONTRACT, 1n) })
    expect(prepare(run, CONTRACT, WORD)).toEqual({
      answer: CREATE_FINE,
      address: create2Address(CONTRACT, WORD, INIT_CODE),
    })
    expect(run.world.getNonce(CONTRACT)).toBe(3n)
  })

  it('gives the address of the example in EIP-1014', () => {
    const { address } = prepare(
      handMadeRun(stateWith()),
      hexToBytes('0x00000000000000000000000000000000deadbeef'),
      hexToBytes('0x00000000000000000000000000000000000000000000000000000000cafebabe'),
      hexToBytes('0xdeadbeef'),
    )
    expect(bytesToHex(address)).toBe('0x60f3f640a8508fc6a86d45df051962668e1e8ac7')
  })

  it('changes nothing when the nonce cannot grow (EIP-2681)', () => {
    const run = handMadeRun(stateWith('0x00'))
    run.world.setNonce(CONTRACT, (1n << 64n) - 1n)
    expect(prepare(run, CONTRACT).answer).toBe(CREATE_NONCE_OVERFLOW)
    expect(run.world.getNonce(CONTRACT)).toBe((1n << 64n) - 1n)
    run.world.setNonce(CONTRACT, (1n << 64n) - 2n)
    expect(prepare(run, CONTRACT).answer).toBe(CREATE_FINE)
  })

  it.each([
    ['a nonce', (state: ReturnType<typeof stateWith>, at: Uint8Array) => state.setAccount(at, { nonce: 1n })],
    ['code', (state, at) => state.setAccount(at, { code: INIT_CODE })],
    ['storage', (state, at) => state.setStorage(at, WORD, WORD)],
  ] satisfies [string, (state: ReturnType<typeof stateWith>, at: Uint8Array) => void][])(
    'finds an address taken that has %s (EIP-684, EIP-7610), and keeps the nonce raised',
    (_name, occupy) => {
      const state = stateWith('0x00')
      occupy(state, createAddress(CONTRACT, 1n))
      const run = handMadeRun(state)
      expect(prepare(run, CONTRACT).answer).toBe(CREATE_COLLISION)
      expect(run.world.getNonce(CONTRACT)).toBe(2n)
    },
  )

  it('does not mind coins at the address', () => {
    const state = stateWith('0x00')
    state.setAccount(createAddress(CONTRACT, 1n), { balance: 5n })
    expect(prepare(handMadeRun(state), CONTRACT).answer).toBe(CREATE_FINE)
  })

  it('is told in advance without any effect', () => {
    const run = handMadeRun(stateWith('0x00'))
    const out = run.room(20)
    worldImports(run).creationAddress(run.place(CONTRACT), 0, 0, 0, out)
    expect(run.memory.copy(out, 20)).toEqual(createAddress(CONTRACT, 1n))
    worldImports(run).creationAddress(run.place(CONTRACT), run.place(WORD), run.place(INIT_CODE), 6, out)
    expect(run.memory.copy(out, 20)).toEqual(create2Address(CONTRACT, WORD, INIT_CODE))
    expect(run.world.getNonce(CONTRACT)).toBe(1n)
  })
})

describe('createAccount', () => {
  it('makes a contract with nonce 1 that keeps the coins at its address', () => {
    const state = stateWith()
    state.setAccount(OTHER, { balance: 5n })
    const run = handMadeRun(state)
    const value = run.room(32)
    run.memory.writeWord(value, 7n)
    worldImports(run).createAccount(run.place(OTHER), run.place(SENDER), value)
    const { world } = run
    expect([world.getNonce(OTHER), world.getBalance(OTHER), world.isCreated(OTHER)]).toEqual([1n, 12n, true])
    expect(world.getBalance(SENDER)).toBe(RICH - 7n)
  })
})

describe('selfDestruct', () => {
  const destroy = (isNew: boolean, beneficiary: Uint8Array, balance = 9n) => {
    const run = handMadeRun(stateWith('0x00'))
    run.world.setBalance(CONTRACT, balance)
    if (isNew) run.world.markCreated(CONTRACT)
    worldImports(run).selfDestruct(run.place(CONTRACT), run.place(beneficiary))
    const { world } = run
    return {
      kept: world.getBalance(CONTRACT),
      burnt: totalBurnt(world.burns()),
      deleted: world.isSelfDestructed(CONTRACT),
      given: world.getBalance(OTHER),
    }
  }

  it.each([
    ['an old contract gives its coins', false, OTHER, { kept: 0n, burnt: 0n, deleted: false, given: 9n }],
    [
      'an old contract keeps what it gives to itself',
      false,
      CONTRACT,
      { kept: 9n, burnt: 0n, deleted: false, given: 0n },
    ],
    ['a new contract gives its coins and goes', true, OTHER, { kept: 0n, burnt: 0n, deleted: true, given: 9n }],
    ['a new contract burns what it gives to itself', true, CONTRACT, { kept: 0n, burnt: 9n, deleted: true, given: 0n }],
  ])('%s', (_name, isNew, beneficiary, expected) => {
    expect(destroy(isNew, beneficiary)).toEqual(expected)
  })

  it('touches a beneficiary that gets nothing (EIP-161)', () => {
    const state = stateWith('0x00')
    state.setAccount(OTHER, {})
    const run = handMadeRun(state)
    worldImports(run).selfDestruct(run.place(CONTRACT), run.place(OTHER))
    run.world.endTransaction({ clearEmpty: true })
    expect(run.world.exists(OTHER)).toBe(false)
  })
})
