import { describe, expect, it } from 'vitest'
import { SortedKeys } from '../../../src/state/sortedKeys.ts'

function keysOf(count: number): SortedKeys {
  const keys = new SortedKeys()
  for (let i = 0; i < count; i++) keys.add(String(2 * i).padStart(4, '0'))
  return keys
}

describe('a walk over sorted keys', () => {
  it.each([
    ['that comes before', '0001'],
    ['that comes after', '0999'],
    ['of another prefix', '9'],
  ])('does not go on when a key is added %s', (_, key) => {
    for (const reverse of [false, true]) {
      const keys = keysOf(600)
      const walk = keys.walk('0', undefined, reverse)
      for (let i = 0; i < 5; i++) expect(walk.next().done).toBe(false)
      keys.add(key)
      expect(() => walk.next()).toThrow('the keys changed during a walk over them')
    }
  })

  it('goes on when a key is added that is there, and when another walk runs', () => {
    const keys = keysOf(600)
    const seen: string[] = []
    for (const key of keys.walk('0', undefined, false)) {
      keys.add('0002')
      if (key.endsWith('00')) seen.push(...keys.walk(key, undefined, true))
    }
    expect(seen).toEqual(['0000', '0100', '0200', '0300', '0400', '0500', '0600', '0700', '0800', '0900'])
  })

  it('may be left before its end, and keys added then', () => {
    const keys = keysOf(3)
    for (const key of keys.walk('0', undefined, false)) {
      keys.add(`${key}1`)
      break
    }
    expect([...keys.walk('0', undefined, false)]).toEqual(['0000', '00001', '0002', '0004'])
  })
})
