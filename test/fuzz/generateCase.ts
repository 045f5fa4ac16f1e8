import type { FuzzCase } from './fuzzCase.ts'
import { arithmeticCase } from './generators/arithmetic.ts'
import { compiledCase } from './generators/compiled.ts'
import { deepCallsCase } from './generators/deepCalls.ts'
import { largeMemoryCase } from './generators/largeMemory.ts'
import { manyKeysCase } from './generators/manyKeys.ts'
import { mutatedContractsCase } from './generators/mutatedContracts.ts'
import { precompileCallsCase } from './generators/precompileCalls.ts'
import { randomBytecodeCase } from './generators/randomBytecode.ts'
import { revertsCase } from './generators/reverts.ts'
import { structuredCase } from './generators/structured.ts'
import { withIntrinsicGas } from './messages.ts'
import { createRandom, type Random } from './random.ts'

type Generator = (random: Random) => Omit<FuzzCase, 'isSliced'>

const GENERATORS: readonly (readonly [number, Generator])[] = [
  [800, structuredCase],
  [350, randomBytecodeCase],
  [300, mutatedContractsCase],
  [400, revertsCase],
  [120, arithmeticCase],
  [120, precompileCallsCase],
  [120, compiledCase],
  [10, manyKeysCase],
  [12, largeMemoryCase],
  [3, deepCallsCase],
]

/** The case of a seed and a number: the same for ever, as long as the generators stay as they are. */
export function generateCase(seed: number, index: number): FuzzCase {
  const random = createRandom(seed, index)
  const generated = random.weighted(GENERATORS)(random)
  return {
    ...generated,
    isSliced: random.oneIn(8),
    messages: generated.messages.map(withIntrinsicGas),
  }
}
