import { describe, expect, it } from 'vitest'
import { cacheSignatures } from '../../../src/consensus/roundState.ts'
import { publicKeyOf, signMessage, verifyMessage } from '../../support/consensus/reducerHarness.ts'

const key = publicKeyOf(1)
const message = (tag: number) => Uint8Array.of(tag)

function counting(capacity: number) {
  const calls: number[] = []
  const verify = cacheSignatures((publicKey, signed, signature) => {
    calls.push(signed[0]!)
    return verifyMessage(publicKey, signed, signature)
  }, capacity)
  return { calls, verify }
}

describe('remembered signatures', () => {
  it('are checked once', () => {
    const { calls, verify } = counting(10)
    for (let i = 0; i < 3; i++) expect(verify(key, message(1), signMessage(key, message(1)))).toBe(true)
    expect(calls).toEqual([1])
  })

  it.each([
    { what: 'another message', publicKey: key, tag: 2 },
    { what: 'another key', publicKey: publicKeyOf(2), tag: 1 },
  ])('say nothing of $what', ({ publicKey, tag }) => {
    const { verify } = counting(10)
    const signature = signMessage(key, message(1))
    expect(verify(key, message(1), signature)).toBe(true)
    expect(verify(publicKey, message(tag), signature)).toBe(false)
  })

  it('are only the good ones', () => {
    const { calls, verify } = counting(10)
    for (let i = 0; i < 3; i++) expect(verify(key, message(1), new Uint8Array(64))).toBe(false)
    expect(calls).toHaveLength(3)
  })

  it('are the newest: at least as many as asked for, at most twice', () => {
    const { calls, verify } = counting(10)
    const check = (tag: number) => verify(key, message(tag), signMessage(key, message(tag)))
    for (let tag = 0; tag < 100; tag++) check(tag)
    calls.length = 0
    for (let tag = 99; tag >= 90; tag--) check(tag)
    expect(calls).toEqual([])
    for (let tag = 0; tag < 80; tag++) check(tag)
    expect(calls).toHaveLength(80)
  })
})
