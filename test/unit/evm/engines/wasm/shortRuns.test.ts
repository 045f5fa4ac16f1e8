import { describe, expect, test } from 'vitest'
import { assemble, repeat } from '../../../../../bench/code/assemble.ts'
import { WorkLimitReached } from '../../../../../src/evm/engine.ts'
import { loadEvmModule } from '../../../../../src/evm/engines/wasm/evmModule.ts'
import { createWasmEngine } from '../../../../../src/evm/engines/wasm/wasmEngine.ts'
import { applyCall, type CallMessage } from '../../../../../src/evm/transition.ts'
import { bytesToHex } from '../../../../../src/primitives/bytes.ts'
import { Journal } from '../../../../../src/state/journal.ts'
import type { StateReader } from '../../../../../src/state/reader.ts'
import { stateOf } from '../../../../fuzz/fuzzCase.ts'
import { generateCase } from '../../../../fuzz/generateCase.ts'
import { SENDER } from '../../../../fuzz/population.ts'
import { createRandom } from '../../../../fuzz/random.ts'
import { BLOCK, PRECOMPILES } from '../../../../fuzz/runCase.ts'
import { firstSeed, runs } from '../../../../propertyRuns.ts'
import { CONTRACT, stateWith } from '../../../../support/evm/evmFixture.ts'

const module = await loadEvmModule()
const CASES = runs(400)
const SEED = firstSeed(16)

/** Short runs are dropped where they have read so much of the state. */
class TooManyReads extends Error {}

function limited(state: StateReader, reads: number): StateReader {
  let left = reads
  const counted =
    <A extends unknown[], R>(read: (...args: A) => R) =>
    (...args: A): R => {
      if (left-- === 0) throw new TooManyReads()
      return read.apply(state, args)
    }
  return {
    getAccount: counted(state.getAccount),
    getStorage: counted(state.getStorage),
    storageCount: counted(state.storageCount),
    getCode: counted(state.getCode),
    getNative: counted(state.getNative),
    nativeRange: counted(state.nativeRange),
  }
}

test('a short run that ends has the result of any other run, and one that was dropped leaves nothing behind', async () => {
  const engine = createWasmEngine(module, { hashSeed: 1n })
  // The same instance for all.
  const short = createWasmEngine(module, { hashSeed: 2n, retained: { count: 1, memoryBytes: 64 * 1024 * 1024 } })
  const counts = { ended: 0, paused: 0, thrown: 0 }
  for (let index = 0; index < CASES; index++) {
    const fuzzCase = generateCase(SEED, index)
    const random = createRandom(SEED + 1, index)
    const state = stateOf(fuzzCase)
    for (const { to, value, data, gasLimit, accessList } of fuzzCase.messages) {
      const call: CallMessage = { sender: SENDER, to, value, data, gasLimit, accessList }
      const context = {
        block: BLOCK,
        rules: { fork: fuzzCase.fork, chainId: 7628n },
        precompiles: PRECOMPILES,
        acceptsBlobs: true,
      }
      const reads = random.oneIn(3) ? random.below(12) : Number.POSITIVE_INFINITY
      const work = BigInt(random.pick([100, 1_000, 50_000, 10_000_000]))
      const world = new Journal(limited(state, reads))
      try {
        const isDiscarded = random.oneIn(2)
        const outcome = applyCall({ ...context, call, world, engine: short, workLimit: work, isDiscarded })
        counts.ended++
        const usual = new Journal(state)
        const expected = await applyCall({ ...context, world: usual, engine, call })
        // Of what is discarded only the answer counts.
        if (isDiscarded) {
          expect({ ...outcome, logs: [] }, `case ${index} of ${SEED}`).toEqual({ ...expected, logs: [] })
          continue
        }
        expect(outcome, `case ${index} of ${SEED}`).toEqual(expected)
        expect(world.changes()).toEqual(usual.changes())
      } catch (error) {
        if (error instanceof WorkLimitReached) counts.paused++
        else if (error instanceof TooManyReads) counts.thrown++
        else throw error
      }
    }
  }
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(CASES / 20)
})

describe('code without a jump or a call, whose work is more than a short run may use, is dropped', () => {
  const LOT = 50_000_000n

  /** Whether the code ends within 50,000 gas. */
  function isShort(program: string): boolean {
    const state = stateWith(bytesToHex(assemble(program)))
    try {
      applyCall({
        call: { sender: SENDER, to: CONTRACT, gasLimit: LOT },
        world: new Journal(state),
        block: BLOCK,
        rules: { fork: 'osaka', chainId: 1n },
        engine: createWasmEngine(module, { hashSeed: 1n }),
        precompiles: new Map(),
        workLimit: 50_000n,
      })
      return true
    } catch (error) {
      if (error instanceof WorkLimitReached) return false
      throw error
    }
  }

  const hash = '60000 0 KECCAK256 POP'
  test.each([
    ['hashes', repeat(hash, 8)],
    ['cold slots', Array.from({ length: 40 }, (_, key) => `${key} SLOAD POP`).join(' ')],
    ['written slots', Array.from({ length: 10 }, (_, key) => `1 ${key} SSTORE`).join(' ')],
    ['copies', repeat('60000 0 0 CALLDATACOPY', 16)],
    ['copies in memory', repeat('60000 0 1 MCOPY', 16)],
    ['logs', repeat('6000 0 LOG0', 2)],
    ['memory at once', '1 4000000 MSTORE'],
    ['a hash of more memory than there is gas', '4000000 0 KECCAK256 POP'],
    ['output', '4000000 0 RETURN'],
    ['powers', repeat(`0x${'ff'.repeat(32)} 3 EXP POP`, 60)],
    ['a callee', '0 0 0 0 0 ADDRESS GAS CALL'],
  ])('%s', (_name, program) => {
    expect(isShort(program)).toBe(false)
  })

  test.each([
    ['a hash', hash],
    ['a few cold slots', Array.from({ length: 20 }, (_, key) => `${key} SLOAD POP`).join(' ')],
    ['a written slot', '1 1 SSTORE'],
  ])('while %s is not', (_name, program) => {
    expect(isShort(program)).toBe(true)
  })
})
