import { describe, expect, it } from 'vitest'
import { mcl } from '../../../../src/evm/standard/bls12381.ts'
import { PRECOMPILE_CALLS, precompileAnswers } from '../../../../src/evm/standard/knownAnswers.ts'
import { runStandardPrecompile } from '../../../../src/evm/standard/runStandardPrecompile.ts'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { sha256 } from '../../../../src/primitives/hash.ts'
import { checkKnownAnswers } from '../../../../src/primitives/selfTest.ts'
import { theirs } from '../../../support/evm/standard/secondOpinion.ts'

const check = (run = runStandardPrecompile) => checkKnownAnswers(precompileAnswers(run))

describe('the known answers of precompiles', () => {
  it('are those of the second opinion', async () => {
    for (const { name, number, input, answer } of PRECOMPILE_CALLS) {
      const { output } = await theirs(number, input)
      const found = output === undefined ? 'failure' : bytesToHex(sha256(hexToBytes(output))).slice(2, 18)
      expect([name, found]).toEqual([name, answer])
    }
    check()
  })

  it.each(PRECOMPILE_CALLS.map(({ name, number }) => [name, number] as const))(
    'refuse a start where %s gives another output, or fails',
    (name, number) => {
      const broken = (output: string | undefined): typeof runStandardPrecompile => {
        return (address, ...rest) => {
          const isIt = address[18]! * 256 + address[19]! === number
          if (isIt && output === undefined) throw new Error('unreachable')
          const result = runStandardPrecompile(address, ...rest)
          return isIt ? { ...result, output: hexToBytes(output!) } : result
        }
      }
      expect(() => check(broken('0x1234'))).toThrow(
        new RegExp(`^self-test: precompiles, ${name}, returned [0-9a-f]{16} instead of`),
      )
      expect(() => check(broken(undefined))).toThrow(
        new RegExp(`^self-test: precompiles, ${name}, fails \\(unreachable\\)`),
      )
    },
  )

  it.each(['mclBnG1_isValid', 'mclBnG2_isValid'] as const)('refuse a start where %s of mcl is another one', (name) => {
    const own = mcl.f[name]
    const functions = mcl.f as unknown as Record<string, unknown>
    functions[name] = () => 1
    try {
      expect(() => check()).toThrow(/^self-test: precompiles, /)
    } finally {
      functions[name] = own
    }
  })
})
