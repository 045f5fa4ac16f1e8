import { describe, expect, it } from 'vitest'
import { FlatReader } from '../../../src/state/flatState.ts'
import { StateReadError } from '../../../src/state/reader.ts'

const ADDRESS = new Uint8Array(20).fill(1)
const WORD = new Uint8Array(32)

describe('FlatReader', () => {
  const fail = (): never => {
    throw new Error('the disk is gone')
  }
  const reader = new FlatReader({ value: fail, code: fail })

  it.each<[string, () => unknown]>([
    ['an account', () => reader.getAccount(ADDRESS)],
    ['a slot', () => reader.getStorage(ADDRESS, WORD)],
    ['a count of slots', () => reader.storageCount(ADDRESS)],
    ['a code', () => reader.getCode(WORD)],
    ['a native entry', () => reader.getNative(WORD)],
    ['native keys', () => [...reader.nativeRange(WORD)]],
  ])('tells that %s cannot be read, and why', (_name, read) => {
    expect(read).toThrow(StateReadError)
    expect(read).toThrow('the state cannot be read: the disk is gone')
  })
})
