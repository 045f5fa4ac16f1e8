import { beforeEach, describe, expect, it } from 'vitest'
import {
  burn,
  getSupply,
  mint,
  recordBurn,
  SUPPLY_KEY,
  setSupply,
  transfer,
} from '../../../../src/modules/bank/ledger.ts'
import { BONDED_POOL, FEE_COLLECTOR, NOT_BONDED_POOL } from '../../../../src/modules/moduleAccounts.ts'
import { toBech32 } from '../../../../src/primitives/address.ts'
import { hexToBytes } from '../../../../src/primitives/bytes.ts'
import { Journal } from '../../../../src/state/journal.ts'
import { MemoryStateReader } from '../../../support/state/memoryReader.ts'

const ALICE = hexToBytes('0xa11ce00000000000000000000000000000000001')
const BOB = hexToBytes('0xb0b0000000000000000000000000000000000002')

let world: Journal

beforeEach(() => {
  world = new Journal(new MemoryStateReader())
})

describe('supply', () => {
  it('is 0 without an entry, and an entry of 0 is no entry', () => {
    expect(getSupply(world)).toBe(0n)
    mint(world, ALICE, 5n)
    expect(burn(world, ALICE, 5n)).toEqual({ ok: true })
    expect(world.native.get(SUPPLY_KEY)).toBeUndefined()
  })

  it('is kept as decimal digits under the key of the SDK', () => {
    mint(world, ALICE, 10n ** 27n)
    expect(new TextDecoder().decode(SUPPLY_KEY)).toBe('bank/\0acoin')
    expect(new TextDecoder().decode(world.native.get(SUPPLY_KEY))).toBe(`1${'0'.repeat(27)}`)
  })

  it.each([-1n, 1n << 256n])('cannot be %s', (supply) => {
    expect(() => setSupply(world, supply)).toThrow(RangeError)
  })

  it('follows mint, burn and coins that an EVM rule destroyed', () => {
    mint(world, ALICE, 100n)
    mint(world, BOB, 11n)
    mint(world, BOB, 0n)
    expect([world.getBalance(ALICE), world.getBalance(BOB), getSupply(world)]).toEqual([100n, 11n, 111n])
    burn(world, ALICE, 40n)
    expect([world.getBalance(ALICE), getSupply(world)]).toEqual([60n, 71n])
    recordBurn(world, 1n)
    expect(getSupply(world)).toBe(70n)
  })

  it('goes back with a reverted checkpoint', () => {
    mint(world, ALICE, 100n)
    world.checkpoint()
    mint(world, BOB, 1n)
    burn(world, ALICE, 50n)
    world.revert()
    expect([world.getBalance(ALICE), world.getBalance(BOB), getSupply(world)]).toEqual([100n, 0n, 100n])
  })

  it('is untouched when there is not enough to burn', () => {
    mint(world, ALICE, 3n)
    expect(burn(world, ALICE, 4n)).toEqual({ ok: false, reason: 'insufficientFunds', balance: 3n })
    expect([world.getBalance(ALICE), getSupply(world)]).toEqual([3n, 3n])
  })
})

describe('transfer', () => {
  beforeEach(() => mint(world, ALICE, 10n))

  it.each([
    ['part', BOB, 4n, { ok: true }, 6n, 4n],
    ['all', BOB, 10n, { ok: true }, 0n, 10n],
    ['nothing', BOB, 0n, { ok: true }, 10n, 0n],
    ['too much', BOB, 11n, { ok: false, reason: 'insufficientFunds', balance: 10n }, 10n, 0n],
    ['to oneself', ALICE, 10n, { ok: true }, 10n, 0n],
    ['to oneself, too much', ALICE, 11n, { ok: false, reason: 'insufficientFunds', balance: 10n }, 10n, 0n],
  ] as const)('%s', (_, to, amount, result, ofAlice, ofBob) => {
    expect(transfer(world, ALICE, to, amount)).toEqual(result)
    expect([world.getBalance(ALICE), world.getBalance(BOB), getSupply(world)]).toEqual([ofAlice, ofBob, 10n])
  })

  it('does not overflow a balance that a call overrides', () => {
    world.setBalance(BOB, (1n << 256n) - 4n)
    expect(transfer(world, ALICE, BOB, 4n)).toEqual({ ok: false, reason: 'overflow' })
    expect(transfer(world, ALICE, BOB, 3n)).toEqual({ ok: true })
  })
})

/** The same bytes under the prefix of the Cosmos Hub, where explorers show these accounts. */
describe('module accounts', () => {
  it.each([
    ['fee collector', FEE_COLLECTOR, 'cosmos17xpfvakm2amg962yls6f84z3kell8c5lserqta'],
    ['bonded pool', BONDED_POOL, 'cosmos1fl48vsnmsdzcv85q5d2q4z5ajdha8yu34mf0eh'],
    ['not bonded pool', NOT_BONDED_POOL, 'cosmos1tygms3xhhs3yv487phx3dw4a95jn7t7lpm470r'],
  ])('%s', (_, address, expected) => {
    expect(toBech32(address, 'cosmos')).toBe(expected)
  })
})
