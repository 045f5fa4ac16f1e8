import { existsSync } from 'node:fs'
import type { ExecResult, PrecompileFunc } from '@ethereumjs/evm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ChainEVM } from '../../../../src/evm/engines/reference/chainEVM.ts'
import { createReferenceEngine } from '../../../../src/evm/engines/reference/referenceEngine.ts'
import { runStandardPrecompile } from '../../../../src/evm/standard/runStandardPrecompile.ts'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { runStateTest } from '../../../conformance/runStateTest.ts'
import { readStateTestCases, stateTestFiles } from '../../../conformance/stateTestCases.ts'
import { PROPERTY_RUNS } from '../../../propertyRuns.ts'

const OWN_VECTORS = new URL('../../../conformance/vectors', import.meta.url).pathname
const PUBLIC_TESTS = new URL('../../../../../shared/fixtures/state-tests', import.meta.url).pathname

/** Every so many of the public cases; the precompiles are slow in the reference engine. */
const EVERY = Math.max(1, Math.floor(8 / PROPERTY_RUNS))
const OWN_FILES = ['eip2537Bls12381.json', 'eip7951P256Verify.json', 'modexp.json']
const PUBLIC_FILES =
  /stPreCompiledContracts2?\/|stZeroKnowledge\/|eip198_modexp|point_evaluation|stSpecialTest\/failed_tx_xcf416c53/

interface Hooked {
  _precompiles: Map<string, PrecompileFunc>
  runPrecompile(code: PrecompileFunc, data: Uint8Array, gasLimit: bigint): Promise<ExecResult>
}

/**
 * State tests whose roots are go-ethereum's, on the reference engine: all that its precompiles are called with in them is given
 * to ours, which must do the same.
 */
describe('the calls of state tests', () => {
  const hooked = ChainEVM.prototype as unknown as Hooked
  const original = hooked.runPrecompile
  const differences: string[] = []
  let calls = 0
  let fork: 'cancun' | 'prague' | 'osaka'

  beforeAll(() => {
    hooked.runPrecompile = async function (this: Hooked, code, data, gasLimit) {
      const input = data.slice()
      const result = await original.call(this, code, data, gasLimit)
      const address = [...this._precompiles].find(([, precompile]) => precompile === code)?.[0]
      if (address !== undefined) {
        calls++
        const ours = runStandardPrecompile(hexToBytes(address), input, gasLimit, fork)
        const failed = result.exceptionError !== undefined
        if (
          failed !== (ours.status === 'failure') ||
          ours.gasUsed !== result.executionGasUsed ||
          (!failed && bytesToHex(ours.output) !== bytesToHex(result.returnValue))
        ) {
          differences.push(`${address.slice(-3)} ${bytesToHex(input)} with ${gasLimit}: ${ours.failure ?? 'success'}`)
        }
      }
      return result
    }
  })
  afterAll(() => {
    hooked.runPrecompile = original
  })

  const engine = createReferenceEngine()

  async function run(directory: string, files: readonly string[], every: number): Promise<void> {
    calls = 0
    const cases = files.flatMap((file) => readStateTestCases(directory, file, ['Cancun', 'Prague', 'Osaka']))
    for (const [index, testCase] of cases.entries()) {
      if (index % every !== 0) continue
      fork = testCase.fork as typeof fork
      await runStateTest(testCase, engine)
    }
    expect(differences).toEqual([])
    expect(calls).toBeGreaterThan(50)
  }

  it.each(OWN_FILES)('%s', (file) => run(OWN_VECTORS, [file], 1), 120_000)

  it.skipIf(!existsSync(PUBLIC_TESTS))(
    'public tests of precompiles (skipped where ../shared/fixtures is absent)',
    () =>
      run(
        PUBLIC_TESTS,
        stateTestFiles(PUBLIC_TESTS).filter((file) => PUBLIC_FILES.test(file)),
        EVERY,
      ),
    240_000,
  )
})
