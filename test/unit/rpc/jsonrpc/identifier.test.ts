import { describe, expect, test } from 'vitest'
import { newIdentifier, readIdentifier } from '../../../../src/rpc/jsonrpc/identifier.ts'

describe('identifiers of filters and subscriptions', () => {
  test('have no leading zeros, so that a client may store them as numbers', () => {
    const bytes = new Uint8Array(16)
    bytes.set([0x0a, 0xbc], 3)
    expect(newIdentifier(bytes)).toBe(`0xabc${'0'.repeat(22)}`)
    for (let round = 0; round < 1_000; round++) {
      const id = newIdentifier()
      expect(id).toBe(`0x${BigInt(id).toString(16)}`)
    }
  })

  test('are read with leading zeros or without', () => {
    expect(readIdentifier('0x00abc')).toBe('0xabc')
    expect(readIdentifier('0xabc')).toBe('0xabc')
    expect(readIdentifier('0x00')).toBe('0x0')
    expect(readIdentifier('anything')).toBe('anything')
    expect(() => readIdentifier(5)).toThrow('number')
  })
})
