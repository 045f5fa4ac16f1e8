import { describe, expect, test } from 'vitest'
import { Bans } from '../../../src/p2p/misbehaviour.ts'

describe('Bans', () => {
  test('end', () => {
    let nowMs = 0
    const bans = new Bans(() => nowMs)
    bans.ban('a', '8.8.8.8', 1_000)
    expect([bans.isBanned('a'), bans.isBanned('b')]).toEqual([true, false])
    nowMs = 1_000
    expect(bans.isBanned('a')).toBe(false)
  })

  test('of many nodes behind one public address are a ban of the address', () => {
    let nowMs = 0
    const bans = new Bans(() => nowMs)
    for (const host of ['8.8.8.8', '10.0.0.1', '127.0.0.1']) {
      for (let i = 0; i < 3; i++) bans.ban(`${host}-${i}`, host, 1_000)
      expect(bans.isAddressBanned(host)).toBe(false)
      bans.ban(`${host}-3`, host, 1_000)
    }
    expect(['8.8.8.8', '10.0.0.1', '127.0.0.1'].map((host) => bans.isAddressBanned(host))).toEqual([true, false, false])
    nowMs = 600_000
    expect(bans.isAddressBanned('8.8.8.8')).toBe(false)
  })

  test('of nodes in one IPv6 /64 are a ban of that', () => {
    const bans = new Bans(() => 0)
    for (let i = 1; i <= 4; i++) bans.ban(`node-${i}`, `2a00:1:2:3::${i}`, 1_000)
    expect(['2a00:1:2:3:ffff::9', '2a00:1:2:4::1'].map((host) => bans.isAddressBanned(host))).toEqual([true, false])
  })
})
