import { expect, test, vi } from 'vitest'
import { bigIntToBytes } from '../../../src/primitives/bytes.ts'
import { rememberAccounts } from '../../../src/state/rememberAccounts.ts'
import { MemoryStateReader } from '../../support/state/memoryReader.ts'

const addressOf = (index: number): Uint8Array => bigIntToBytes(BigInt(index), 20)

test('reads each account and code once, also one that is not there', () => {
  const state = new MemoryStateReader()
  state.setAccount(addressOf(1), { balance: 5n, code: Uint8Array.of(1, 2) })
  const reads = vi.spyOn(state, 'getAccount')
  const codes = vi.spyOn(state, 'getCode')
  const remembered = rememberAccounts(state)
  for (let round = 0; round < 3; round++) {
    const account = remembered.getAccount(addressOf(1))
    expect(account?.balance).toBe(5n)
    expect(remembered.getCode(account!.codeHash)).toEqual(Uint8Array.of(1, 2))
    expect(remembered.getAccount(addressOf(2))).toBeUndefined()
  }
  expect(reads).toHaveBeenCalledTimes(2)
  expect(codes).toHaveBeenCalledTimes(1)
})

test('what could not be read is read again', () => {
  const state = new MemoryStateReader()
  state.setAccount(addressOf(1), { balance: 5n })
  const reads = vi.spyOn(state, 'getAccount').mockImplementationOnce(() => {
    throw new Error('too many reads')
  })
  const remembered = rememberAccounts(state)
  expect(() => remembered.getAccount(addressOf(1))).toThrow('too many reads')
  expect(remembered.getAccount(addressOf(1))?.balance).toBe(5n)
  expect(reads).toHaveBeenCalledTimes(2)
})

test('remembers some thousand accounts and some megabytes of code at most', () => {
  const state = new MemoryStateReader()
  const reads = vi.spyOn(state, 'getAccount')
  const remembered = rememberAccounts(state)
  for (let index = 0; index <= 1_024; index++) remembered.getAccount(addressOf(index))
  remembered.getAccount(addressOf(0))
  expect(reads).toHaveBeenCalledTimes(1_026)

  const code = new Uint8Array(24_576)
  const codes = vi.spyOn(state, 'getCode').mockImplementation(() => code)
  const hashes = Array.from({ length: 171 }, (_, index) => bigIntToBytes(BigInt(index), 32))
  for (const hash of hashes) remembered.getCode(hash)
  remembered.getCode(hashes[0]!)
  expect(codes).toHaveBeenCalledTimes(172)
})

test('storage and native entries come from the state itself', () => {
  const state = new MemoryStateReader()
  state.setStorage(addressOf(1), addressOf(2), Uint8Array.of(7))
  const remembered = rememberAccounts(state)
  expect(remembered.getStorage(addressOf(1), addressOf(2))).toEqual(state.getStorage(addressOf(1), addressOf(2)))
  expect(remembered.storageCount(addressOf(1))).toBe(state.storageCount(addressOf(1)))
  expect(remembered.getNative(Uint8Array.of(1))).toEqual(state.getNative(Uint8Array.of(1)))
  expect([...remembered.nativeRange(Uint8Array.of(1))]).toEqual([...state.nativeRange(Uint8Array.of(1))])
})
