import type { Random } from './random.ts'

const TOP = 1n << 256n
/** Words at which arithmetic changes its path: limb, sign and width boundaries, and small numbers. */
const EDGES: readonly bigint[] = edges()

function edges(): bigint[] {
  const words = new Set<bigint>([0n, 1n, 2n, 3n, 31n, 32n, 33n, 255n, 256n, 257n, TOP / 3n, 0xffff_ffff_ffff_fffen])
  for (const bits of [7, 8, 15, 16, 31, 32, 63, 64, 65, 127, 128, 129, 191, 192, 193, 254, 255]) {
    const power = 1n << BigInt(bits)
    for (const word of [power - 1n, power, power + 1n, TOP - power, TOP - power - 1n]) words.add(word)
  }
  words.add(TOP - 1n)
  words.add(TOP - 2n)
  return [...words]
}

/** A word that is likely to be at an edge of some kind. */
export function edgeWord(random: Random): bigint {
  switch (random.below(8)) {
    case 0:
      return BigInt(random.below(300))
    case 1:
      return wordOf(random.bytes(random.between(1, 32)))
    case 2:
      return sparseWord(random)
    case 3:
      // of one limb's length each
      return wordOf(random.bytes(8 * random.between(1, 4)))
    default:
      return random.pick(EDGES)
  }
}

/** Limbs that are each zero, all ones or random: carries and borrows travel through these. */
function sparseWord(random: Random): bigint {
  let word = 0n
  for (let limb = 0; limb < 4; limb++) {
    const choice = random.below(4)
    const bits = choice === 0 ? 0n : choice === 1 ? 0xffff_ffff_ffff_ffffn : wordOf(random.bytes(8))
    word = (word << 64n) | bits
  }
  return word
}

function wordOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
}
