import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesKey, keyBytes } from '../../../src/primitives/bytes.ts'
import { EMPTY_CODE_HASH, keccak256 } from '../../../src/primitives/hash.ts'
import { decodeAccount, encodeAccount, FlatReader } from '../../../src/state/flatState.ts'
import { StateReadError } from '../../../src/state/reader.ts'
import { decodeAccountLeaf, encodeAccountLeaf } from '../../../src/state/trie.ts'

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

const account = fc.record({
  nonce: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  balance: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  codeHash: fc.oneof(fc.constant(EMPTY_CODE_HASH), fc.uint8Array({ minLength: 32, maxLength: 32 })),
})

it('reads accounts as they were written', () => {
  fc.assert(
    fc.property(account, (value) => {
      expect(decodeAccount(encodeAccount(value))).toEqual(value)
      const root = keccak256(value.codeHash)
      const leaf = encodeAccountLeaf(value, bytesKey(root))
      expect(decodeAccountLeaf(keyBytes(leaf))).toEqual({ account: value, storageRoot: root })
    }),
  )
  expect(decodeAccount(encodeAccount(undefined))).toBeUndefined()
  expect(encodeAccount({ nonce: 0n, balance: 0n, codeHash: EMPTY_CODE_HASH }).length).toBe(1)
})
