import { OP } from '../../../src/evm/opcodes.ts'
import { createCodeWriter } from '../codeWriter.ts'
import { edgeWord } from '../edgeWords.ts'
import type { FuzzCase } from '../fuzzCase.ts'
import { messageTo, pickFork } from '../messages.ts'
import { BINARY, TERNARY } from '../opcodes.ts'
import { bystanders, CONTRACTS, contractAccount } from '../population.ts'
import type { Random } from '../random.ts'

/** Straight code that gives the results of many operations on edge operands. */
export function arithmeticCase(random: Random): Omit<FuzzCase, 'isSliced'> {
  const fork = pickFork(random)
  const accounts = bystanders(random)
  const unary = fork === 'osaka' ? [OP.ISZERO, OP.NOT, OP.CLZ] : [OP.ISZERO, OP.NOT]
  accounts.push(contractAccount(CONTRACTS[0]!, codeOf(random, unary), random))
  const gasLimit = BigInt(random.oneIn(4) ? random.between(500, 3_000) : 100_000)
  return { kind: 'arithmetic', fork, accounts, messages: [{ ...messageTo(random, CONTRACTS[0]!), gasLimit }] }
}

function codeOf(random: Random, unary: readonly number[]): Uint8Array {
  const writer = createCodeWriter()
  const count = random.between(5, 40)
  let last: bigint | undefined
  for (let index = 0; index < count; index++) {
    const [opcode, operands] = random.weighted<readonly [number, number]>([
      [8, [random.pick(BINARY), 2]],
      [4, [random.pick(TERNARY), 3]],
      [1, [random.pick(unary), 1]],
    ])
    for (let i = 0; i < operands; i++) {
      // equal operands, and results as operands, reach other edge cases
      if (index > 0 && random.oneIn(5)) {
        writer.push(BigInt(32 * random.below(index)))
        writer.op(OP.MLOAD)
      } else if (last !== undefined && random.oneIn(8)) {
        writer.push(last)
      } else {
        last = operandOf(random, opcode, i === operands - 1)
        writer.push(last)
      }
    }
    writer.op(opcode)
    writer.push(BigInt(32 * index))
    writer.op(OP.MSTORE)
  }
  writer.push(BigInt(32 * count))
  writer.op(OP.PUSH0, OP.RETURN)
  return writer.finish()
}

/** Shift counts, byte numbers and exponents are mostly small; a modulus is often as long as what it divides. */
function operandOf(random: Random, opcode: number, isTop: boolean): bigint {
  const takesCount = opcode === OP.BYTE || opcode === OP.SIGNEXTEND || (opcode >= OP.SHL && opcode <= OP.SAR)
  if (takesCount && isTop && !random.oneIn(4)) return BigInt(random.below(opcode >= OP.SHL ? 260 : 34))
  if (opcode === OP.EXP && !isTop && !random.oneIn(3)) return BigInt(random.below(300))
  return edgeWord(random)
}
