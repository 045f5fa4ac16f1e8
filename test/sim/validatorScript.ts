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
}

const MOST_POWER = 40

/** Validator changes as a function of the height alone: powers swing, validators come and go. */
export function validatorScript(options: ValidatorScriptOptions) {
  const random = createRandom(options.seed, 3)
  /** powers after the changes of block = index */
  const powers: number[][] = [[...options.powers]]
  const changes: number[][] = [[]]
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
    powers.push(next)
    changes.push(changed)
  }
  return (height: number, keys: readonly SimKey[]): readonly ValidatorUpdate[] => {
    while (powers.length <= height) extend()
    const before = powers[height - 1]!
    const after = powers[height]!
    const updates: ValidatorUpdate[] = []
    for (const index of new Set(changes[height]!)) {
      if (before[index] === 0 && after[index] === 0) continue
      updates.push({ publicKey: keys[index]!.publicKey, power: BigInt(after[index]!) })
    }
    return updates
  }
}
