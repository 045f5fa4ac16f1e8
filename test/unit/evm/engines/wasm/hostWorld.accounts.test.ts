import { describe, expect, it } from 'vitest'
import {
  ACCOUNT_EMPTY,
  ACCOUNT_EXISTS,
  ACCOUNT_HAS_CODE,
  ACCOUNT_IDLE_PRECOMPILE,
  ACCOUNT_STANDARD_PRECOMPILE,
  ACCOUNT_STATEFUL_PRECOMPILE,
  ACCOUNT_WARM,
  RECORD_BALANCE,
  RECORD_CODE_HASH,
  RECORD_FLAGS,
  RECORD_LEAST_GAS,
} from '../../../../../assembly/evm/constants.ts'
import { worldImports } from '../../../../../src/evm/engines/wasm/hostWorld.ts'
import type { StatefulPrecompile } from '../../../../../src/evm/precompile.ts'
import { bigIntToBytes, bytesToBigInt, hexToBytes } from '../../../../../src/primitives/bytes.ts'
import { EMPTY_CODE_HASH, keccak256 } from '../../../../../src/primitives/hash.ts'
import { type HandMadeRun, handMadeRun } from '../../../../support/evm/engines/wasm/hostFixture.ts'
import { CONTRACT, OTHER, RICH, SENDER } from '../../../../support/evm/evmFixture.ts'
import { MemoryStateReader } from '../../../../support/state/memoryReader.ts'

const CODE = hexToBytes('0x602a')
const STATEFUL: StatefulPrecompile = {
  address: bigIntToBytes(0x900n, 20),
  run: () => {
    throw new Error('not called')
  },
}

function createState(): MemoryStateReader {
  const state = new MemoryStateReader()
  state.setAccount(SENDER, { balance: RICH })
  state.setAccount(CONTRACT, { nonce: 1n, code: CODE })
  state.setAccount(OTHER, {})
  return state
}

function load(run: HandMadeRun, address: Uint8Array) {
  const record = run.room(128)
  run.memory.bytes.fill(0xee, record, record + 96)
  run.memory.write(record, address)
  worldImports(run).loadAccount(record)
  return {
    leastGas: run.memory.view.getBigInt64(record + RECORD_LEAST_GAS, true),
    flags: run.memory.view.getUint32(record + RECORD_FLAGS, true),
    balance: run.memory.readWord(record + RECORD_BALANCE),
    codeHash: run.memory.readWord(record + RECORD_CODE_HASH),
  }
}

describe('loadAccount', () => {
  const noCode = bytesToBigInt(EMPTY_CODE_HASH)
  it.each([
    ['an absent account', bigIntToBytes(0xdeadn, 20), ACCOUNT_EMPTY, 0n, 0n],
    ['an empty account', OTHER, ACCOUNT_EXISTS | ACCOUNT_EMPTY, 0n, 0n],
    ['an account with coins', SENDER, ACCOUNT_EXISTS, RICH, noCode],
    ['a contract', CONTRACT, ACCOUNT_EXISTS | ACCOUNT_HAS_CODE, 0n, bytesToBigInt(keccak256(CODE))],
    ['a precompile', bigIntToBytes(0x11n, 20), ACCOUNT_EMPTY | ACCOUNT_STANDARD_PRECOMPILE | ACCOUNT_WARM, 0n, 0n],
    ['a stateful precompile', STATEFUL.address, ACCOUNT_EMPTY | ACCOUNT_STATEFUL_PRECOMPILE, 0n, 0n],
  ])('%s', (_name, address, flags, balance, codeHash) => {
    const run = handMadeRun(createState(), { precompiles: [STATEFUL] })
    expect(load(run, address)).toEqual({ flags, balance, codeHash, leastGas: 0n })
  })

  it('what a stateful precompile says of all calls', () => {
    const known = { ...STATEFUL, leastGas: 200n, isIdle: true } as const
    const { flags, leastGas } = load(handMadeRun(createState(), { precompiles: [known] }), known.address)
    expect([flags, leastGas]).toEqual([ACCOUNT_EMPTY | ACCOUNT_STATEFUL_PRECOMPILE | ACCOUNT_IDLE_PRECOMPILE, 200n])
  })

  it('says what was warmed, and which precompiles the fork has', () => {
    const run = handMadeRun(createState(), { fork: 'cancun' })
    run.world.warmAddress(SENDER)
    expect(load(run, SENDER).flags).toBe(ACCOUNT_EXISTS | ACCOUNT_WARM)
    expect(load(run, bigIntToBytes(0x0bn, 20)).flags).toBe(ACCOUNT_EMPTY)
  })

  it('prefers a stateful precompile at the address of a standard one, which stays warm', () => {
    const run = handMadeRun(createState(), { precompiles: [{ ...STATEFUL, address: bigIntToBytes(4n, 20) }] })
    expect(load(run, bigIntToBytes(4n, 20)).flags).toBe(ACCOUNT_EMPTY | ACCOUNT_STATEFUL_PRECOMPILE | ACCOUNT_WARM)
  })
})

describe('isWarmAddress', () => {
  it('answers without reading the state', () => {
    const state = createState()
    const run = handMadeRun(state)
    run.world.warmAddress(SENDER)
    state.getAccount = () => {
      throw new Error('read')
    }
    const isWarm = (address: Uint8Array) => worldImports(run).isWarmAddress(run.place(address))
    expect([SENDER, OTHER, CONTRACT, bigIntToBytes(1n, 20)].map(isWarm)).toEqual([1, 0, 0, 1])
  })
})

describe('transfer', () => {
  const transfer = (run: HandMadeRun, from: Uint8Array, to: Uint8Array, value: bigint) => {
    const at = run.room(32)
    run.memory.writeWord(at, value)
    worldImports(run).transfer(run.place(from), run.place(to), at)
    return [run.world.getBalance(from), run.world.getBalance(to)]
  }

  it('moves coins, also to an absent account and to oneself', () => {
    const run = handMadeRun(createState())
    expect(transfer(run, SENDER, bigIntToBytes(0xdeadn, 20), 1n << 70n)).toEqual([RICH - (1n << 70n), 1n << 70n])
    expect(transfer(run, SENDER, SENDER, 5n)).toEqual([RICH - (1n << 70n), RICH - (1n << 70n)])
  })

  it('of nothing touches the recipient, so that an empty one goes', () => {
    const run = handMadeRun(createState())
    transfer(run, SENDER, OTHER, 0n)
    run.world.endTransaction({ clearEmpty: true })
    expect(run.world.exists(OTHER)).toBe(false)
  })

  it('wraps where there are more coins than a word can count', () => {
    const run = handMadeRun(createState())
    run.world.setBalance(OTHER, (1n << 256n) - 1n)
    expect(transfer(run, SENDER, OTHER, 3n)).toEqual([RICH - 3n, 2n])
  })
})
