import type { ValidatorUpdate } from '../../src/consensus/application.ts'
import { createRandom } from '../fuzz/random.ts'
import type { SimKey } from './signatureScheme.ts'

interface ValidatorScriptOptions {
  readonly seed: number
  /** of the first set, by index of the key; 0: not in it */
  readonly powers: readonly number[]
  /** indices that stay under a third of the power */
  readonly byzantine: ReadonlySet<number>
  /** one block in that many changes something */
  readonly oneIn: number
  /** validators rotate to their second keys, all but the byzantine ones, in one block of so many */
  readonly rotatesOneIn?: number
}

const MOST_POWER = 40

/** Validator changes as a function of the height alone: powers swing, validators come and go, and some change their keys once. */
export function validatorScript(options: ValidatorScriptOptions) {
  const random = createRandom(options.seed, 3)
  /** powers after the changes of block = index */
  const powers: number[][] = [[...options.powers]]
  const changes: number[][] = [[]]
  /** heights by index */
  const rotations = new Map<number, number>()
  const isSafe = (next: readonly number[]): boolean => {
    let total = 0
    let bad = 0
    for (const [index, power] of next.entries()) {
      total += power
      if (options.byzantine.has(index)) bad += power
    }
    return total > 0 && bad * 3 < total
  }
  const extend = (): void => {
    const next = [...powers.at(-1)!]
    const changed: number[] = []
    if (random.oneIn(options.oneIn)) {
      for (let i = random.between(1, 2); i > 0; i--) {
        const index = random.below(next.length)
        const before = next[index]!
        next[index] = random.oneIn(3) ? 0 : random.between(1, MOST_POWER)
        if (isSafe(next)) changed.push(index)
        else next[index] = before
      }
    }
    if (options.rotatesOneIn !== undefined && random.oneIn(options.rotatesOneIn)) {
      const index = random.below(next.length)
      if (!rotations.has(index) && !options.byzantine.has(index)) {
        rotations.set(index, powers.length)
        changed.push(index)
      }
    }
    powers.push(next)
    changes.push(changed)
  }
  return (height: number, keys: readonly SimKey[], nextKeys: readonly SimKey[] = []): readonly ValidatorUpdate[] => {
    while (powers.length <= height) extend()
    const before = powers[height - 1]!
    const after = powers[height]!
    const updates: ValidatorUpdate[] = []
    for (const index of new Set(changes[height]!)) {
      if (before[index] === 0 && after[index] === 0) continue
      const rotatesAt = rotations.get(index) ?? Number.POSITIVE_INFINITY
      const { publicKey } = (height < rotatesAt ? keys : nextKeys)[index]!
      if (height === rotatesAt && before[index]! > 0) updates.push({ publicKey: keys[index]!.publicKey, power: 0n })
      if (height !== rotatesAt || after[index]! > 0) updates.push({ publicKey, power: BigInt(after[index]!) })
    }
    return updates
  }
}
