/** Seeded pseudo-random numbers: the same seed gives the same sequence for ever, on every machine. */
export interface Random {
  /** 32 random bits */
  uint32(): number
  /** an integer from 0 to `count` - 1 */
  below(count: number): number
  /** an integer from `least` to `most`, both included */
  between(least: number, most: number): number
  /** true in one of `count` cases */
  oneIn(count: number): boolean
  pick<T>(items: readonly T[]): T
  /** an item with a probability proportional to its weight */
  weighted<T>(items: readonly (readonly [weight: number, item: T])[]): T
  bytes(length: number): Uint8Array
}

/** xoshiro128** (Blackman, Vigna), seeded by splitmix32 from two integers. */
export function createRandom(seed: number, index: number): Random {
  let mix = (Math.imul(seed | 0, 0x9e3779b1) ^ Math.imul(Math.floor(seed / 2 ** 32) | 0, 0x85ebca77)) | 0
  const split = (): number => {
    mix = (mix + 0x9e3779b9) | 0
    let z = mix
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad)
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97)
    return (z ^ (z >>> 15)) >>> 0
  }
  split()
  mix ^= Math.imul(index | 0, 0xc2b2ae3d) ^ Math.floor(index / 2 ** 32)
  let [a, b, c, d] = [split(), split(), split(), split() | 1]

  const uint32 = (): number => {
    const scrambled = Math.imul(b, 5)
    const result = Math.imul((scrambled << 7) | (scrambled >>> 25), 9) >>> 0
    const shifted = b << 9
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    d = (d << 11) | (d >>> 21)
    return result
  }
  const below = (count: number): number => Math.floor((uint32() / 2 ** 32) * count)
  return {
    uint32,
    below,
    between: (least, most) => least + below(most - least + 1),
    oneIn: (count) => below(count) === 0,
    pick: (items) => {
      if (items.length === 0) throw new Error('there is nothing to pick from')
      return items[below(items.length)]!
    },
    weighted: (items) => {
      let left = below(items.reduce((sum, [weight]) => sum + weight, 0))
      for (const [weight, item] of items) {
        if (left < weight) return item
        left -= weight
      }
      throw new Error('there is nothing to pick from')
    },
    bytes: (length) => Uint8Array.from({ length }, () => below(256)),
  }
}
