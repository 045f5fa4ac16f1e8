import { describe, expect, it } from 'vitest'
import { assemble } from '../../../../../bench/code/assemble.ts'
import { EMPTY_BYTES } from '../../../../../src/primitives/bytes.ts'
import { findDifference } from '../../../../fuzz/findDifference.ts'
import type { FuzzCase } from '../../../../fuzz/fuzzCase.ts'
import { compiledCase } from '../../../../fuzz/generators/compiled.ts'
import { withIntrinsicGas } from '../../../../fuzz/messages.ts'
import { bystanders, CONTRACTS, contractAccount } from '../../../../fuzz/population.ts'
import { createRandom } from '../../../../fuzz/random.ts'
import { createTestEngine } from '../../../../testEngines.ts'

const blocks = await createTestEngine('wasm-blocks')
const plain = await createTestEngine('wasm-plain')
const reference = await createTestEngine('reference')

const MASK = '1 1 160 SHL SUB'
const WIDE = `0x${'ff'.repeat(32)}`

/** Sequences that the block loop runs as one (assembly/evm/fusion.ts), and their neighbours that it does not. */
const SEQUENCES = [
  '@end JUMP 1 :end',
  '@end JUMPI 1 :end',
  'PUSH0 @end JUMPI 1 :end',
  'ISZERO @end JUMPI 1 :end',
  'PUSH0 ISZERO @end JUMPI 1 :end',
  'EQ @end JUMPI 1 :end',
  'DUP1 EQ @end JUMPI 1 :end',
  '0x12345678 DUP1 0x12345678 EQ @end JUMPI 1 :end',
  '0x12345679 DUP1 0x12345678 EQ @end JUMPI 1 :end',
  '0x010000000012345678 DUP1 0x12345678 EQ @end JUMPI 1 :end',
  '5 ADD',
  `${WIDE} 5 ADD`,
  '0xffffffffffffffffffffffffffffffff 1 ADD',
  '0 SHL 9 SHL 64 SHL 255 SHL',
  '0 SHR 9 SHR 64 SHR 255 SHR',
  '0x40 MLOAD 0x40 MLOAD',
  '0x40 MSTORE 0x40 MSTORE 0x41 MSTORE',
  MASK,
  `${WIDE} ${MASK} AND`,
  `${WIDE} DUP1 ${MASK} DUP3 AND`,
  `${WIDE} ${MASK} DUP1 AND`,
  `${MASK} DUP16 AND`,
  '1 1 96 SHL SUB',
  'SWAP1 POP SWAP16 POP',
  'POP POP POP',
  'DUP1 ADD DUP16 ADD',
  'DUP1 AND DUP16 AND',
  '1 2 3 4',
  '1 DUP1 2 DUP16 3',
  'DUP16 7 DUP1 8',
  'DUP1 DUP1 DUP16 DUP16 DUP2 DUP3',
  'SWAP1 SWAP2 SWAP16 SWAP1 SWAP3 SWAP3',
  // the destinations of these are none
  '3 JUMP',
  '3 JUMPI',
  'PUSH0 3 JUMPI',
  '0x010000000000 JUMP',
] as const

const WORDS = Array.from({ length: 18 }, (_, index) => `0x${(index + 1).toString(16).padStart(2, '0').repeat(32)}`)
const RESULT = Array.from({ length: 8 }, (_, index) => `${32 * index} MSTORE`).join(' ')

function caseOf(code: Uint8Array, gasLimit: bigint): FuzzCase {
  const random = createRandom(1, 1)
  const message = { to: CONTRACTS[0]!, value: 0n, data: EMPTY_BYTES, accessList: [], blobHashes: [], gasLimit }
  return {
    kind: 'compiled',
    fork: 'osaka',
    isSliced: false,
    accounts: [...bystanders(random), contractAccount(CONTRACTS[0]!, code, random)],
    messages: [withIntrinsicGas(message)],
  }
}

describe('sequences of opcodes that run as one', () => {
  it.each(SEQUENCES)('%s', async (sequence) => {
    const code = assemble(`${WORDS.join(' ')} ${sequence} ${RESULT} 256 PUSH0 RETURN`)
    // Frames that cannot pay for a block enter it first.
    for (let gas = 50n; gas < 180n; gas += 3n) {
      expect(await findDifference(caseOf(code, gas), [blocks, plain])).toEqual([])
    }
    expect(await findDifference(caseOf(code, 100_000n), [blocks, reference])).toEqual([])
  })

  it('have the bytes of what is no opcode for nothing else', async () => {
    for (let byte = 0xa5; byte < 0xf0; byte++) {
      const code = Uint8Array.of(...assemble(WORDS.join(' ')), byte, 0, 0)
      for (const engine of [blocks, plain]) {
        expect(await findDifference(caseOf(code, 100_000n), [engine, reference])).toEqual([])
      }
    }
  })

  it('do in generated code what the plain loop does', async () => {
    for (let index = 0; index < 400; index++) {
      const generated = compiledCase(createRandom(7, index))
      const fuzzCase = {
        ...generated,
        isSliced: index % 8 === 0,
        messages: generated.messages.map(withIntrinsicGas),
      }
      expect(await findDifference(fuzzCase, [blocks, plain])).toEqual([])
    }
  })
})
