import { OP } from '../../../src/evm/opcodes.ts'
import { createCodeWriter } from '../codeWriter.ts'
import { edgeWord } from '../edgeWords.ts'
import type { FuzzCase } from '../fuzzCase.ts'
import { messageTo, pickFork } from '../messages.ts'
import { DEFINED, operandLength } from '../opcodes.ts'
import { anyAddress, bystanders, CONTRACTS, contractAccount } from '../population.ts'
import type { Random } from '../random.ts'

/** Contracts of bytes that mean nothing. */
export function randomBytecodeCase(random: Random): Omit<FuzzCase, 'isSliced'> {
  const accounts = bystanders(random)
  for (const address of CONTRACTS.slice(0, random.between(1, 3))) {
    accounts.push(contractAccount(address, randomCode(random), random))
  }
  const isCreation = random.oneIn(10)
  const message = messageTo(random, isCreation ? undefined : CONTRACTS[0]!)
  const messages = [isCreation ? { ...message, data: randomCode(random) } : message]
  return { kind: 'bytecode', fork: pickFork(random), accounts, messages }
}

function randomCode(random: Random): Uint8Array {
  if (random.oneIn(4)) return random.bytes(random.below(120))
  const { op, push, finish, length } = createCodeWriter()
  const most = random.between(5, 150)
  // enough words that most opcodes find some
  for (let i = random.below(12); i > 0; i--) push(smallOrEdge(random))
  while (length() < most) {
    random.weighted<() => void>([
      [30, () => push(smallOrEdge(random))],
      [4, () => push(BigInt(random.below(most)))],
      [5, () => op(OP.JUMPDEST)],
      [4, () => push(addressWord(random), 20)],
      [1, () => op(random.below(256))],
      [56, () => anyOpcode(random, op)],
    ])()
  }
  return finish()
}

function anyOpcode(random: Random, op: (...opcodes: number[]) => void): void {
  const opcode = random.pick(DEFINED)
  // few programs should end at once
  if (isEnd(opcode) && !random.oneIn(8)) return
  op(opcode)
  for (let i = operandLength(opcode); i > 0; i--) op(random.below(256))
}

function isEnd(opcode: number): boolean {
  return [OP.STOP, OP.RETURN, OP.REVERT, OP.INVALID, OP.SELFDESTRUCT, OP.JUMP].includes(opcode as 0)
}

function smallOrEdge(random: Random): bigint {
  return random.oneIn(4) ? edgeWord(random) : BigInt(random.below(random.oneIn(2) ? 4 : 130))
}

function addressWord(random: Random): bigint {
  return BigInt(`0x${Buffer.from(anyAddress(random)).toString('hex')}`)
}
