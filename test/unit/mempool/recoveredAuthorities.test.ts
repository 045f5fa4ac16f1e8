import { describe, expect, it } from 'vitest'
import { packAuthorities, RecoveredAuthorities } from '../../../src/mempool/recoveredAuthorities.ts'
import { senderOf } from '../../support/mempool/poolFixture.ts'

const hashOf = (n: number) => {
  const hash = new Uint8Array(32)
  new DataView(hash.buffer).setUint32(0, n)
  return hash
}

const authority = (n: number) => ({ address: senderOf(n), nonce: BigInt(n) * 2n ** 50n })

describe('authorities of pooled transactions', () => {
  it('are recovered by one thread, and known from then on', () => {
    let nowMs = 0
    const authorities = new RecoveredAuthorities(() => nowMs)
    expect(authorities.get(hashOf(1))).toBeUndefined()
    expect(authorities.ask(hashOf(1))).toBe(true)
    expect(authorities.ask(hashOf(1))).toBe(false)
    expect(authorities.ask(hashOf(2))).toBe(true)
    nowMs = 5_000
    expect(authorities.ask(hashOf(1))).toBe(true)
    authorities.put(hashOf(1), packAuthorities([authority(1), authority(2)]))
    authorities.put(hashOf(2), packAuthorities([]))
    expect(authorities.get(hashOf(1))).toEqual([authority(1), authority(2)])
    expect(authorities.get(hashOf(2))).toEqual([])
  })

  it('of the newest 4,096 transactions are remembered', () => {
    const authorities = new RecoveredAuthorities(() => 0)
    for (let n = 0; n < 4_097; n++) authorities.put(hashOf(n), packAuthorities([authority(n)]))
    expect(authorities.get(hashOf(0))).toBeUndefined()
    expect(authorities.get(hashOf(1))).toEqual([authority(1)])
    expect(authorities.get(hashOf(4_096))).toEqual([authority(4_096)])
  })
})
