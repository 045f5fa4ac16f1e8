import { OP } from '../../../src/evm/opcodes.ts'
import { type CodeWriter, createCodeWriter, createLabel } from '../codeWriter.ts'
import { edgeWord } from '../edgeWords.ts'
import type { FuzzCase } from '../fuzzCase.ts'
import { messageTo, pickFork } from '../messages.ts'
import { bystanders, CONTRACTS, contractAccount } from '../population.ts'
import type { Random } from '../random.ts'

/** Words on the stack at the start: no DUP or SWAP finds too few until many are popped. */
const FIRST_WORDS = 20
/** Words of memory that are returned. */
const RETURNED = 12

/** A contract of the short sequences that compilers write, which an engine may run as one opcode. */
export function compiledCase(random: Random): Omit<FuzzCase, 'isSliced'> {
  const accounts = [...bystanders(random), contractAccount(CONTRACTS[0]!, compiledCode(random), random)]
  return { kind: 'compiled', fork: pickFork(random), accounts, messages: [messageTo(random, CONTRACTS[0]!)] }
}

function compiledCode(random: Random): Uint8Array {
  const writer = createCodeWriter()
  const { op, push, mark } = writer
  for (let i = 0; i < FIRST_WORDS; i++) push(anyWord(random))
  const label = createLabel()
  // a loop that only the gas ends, in some
  if (random.oneIn(4)) mark(label)
  for (let i = random.between(5, 60); i > 0; i--) phrase(random, writer)
  if (label.at > 0) {
    writer.pushLabel(label)
    op(OP.GAS, OP.ISZERO, OP.ISZERO, OP.SWAP1, OP.JUMPI)
  }
  for (let i = 0; i < RETURNED; i++) {
    push(BigInt(32 * i))
    op(OP.MSTORE)
  }
  push(BigInt(32 * RETURNED))
  op(OP.PUSH0, OP.RETURN)
  const code = writer.finish()
  return random.oneIn(20) ? code.slice(0, random.below(code.length)) : code
}

function anyWord(random: Random): bigint {
  return random.oneIn(3) ? edgeWord(random) : BigInt(random.below(300))
}

function phrase(random: Random, { op, push, pushLabel, mark, length }: CodeWriter): void {
  const dup = (): number => OP.DUP1 + random.below(random.oneIn(2) ? 3 : 16)
  const swap = (): number => OP.SWAP1 + random.below(random.oneIn(2) ? 3 : 16)
  const byte = (): void => push(BigInt(random.below(256)), 1)
  const mask = (): void => op(OP.PUSH1, 1, OP.PUSH1, 1, OP.PUSH1, random.oneIn(8) ? 0x60 : 0xa0, OP.SHL, OP.SUB)
  /** Jumps to behind the next opcodes, or where nothing may jump to. */
  const jump = (opcode: number): void => {
    const label = createLabel()
    const isShort = length() < 200 && random.oneIn(3)
    if (random.oneIn(40)) push(BigInt(random.below(300)), random.between(1, 5))
    else if (isShort) push(BigInt(length() + 4), 1)
    else pushLabel(label)
    op(opcode, dup())
    mark(label)
  }
  random.weighted<() => void>([
    [6, () => op(dup(), dup())],
    [4, () => op(dup(), OP.ADD)],
    [4, () => op(dup(), OP.AND)],
    [3, () => op(swap(), swap())],
    [3, () => op(swap(), OP.POP)],
    [2, () => op(OP.POP, OP.POP)],
    [6, () => byte()],
    [2, () => push(anyWord(random))],
    [3, () => op(dup())],
    [6, () => op(random.pick([OP.ADD, OP.SHL, OP.SHR, OP.MLOAD, OP.MSTORE, OP.EQ, OP.ISZERO, OP.SUB]))],
    [
      8,
      () => {
        byte()
        op(random.pick([OP.ADD, OP.SHL, OP.SHR, OP.MLOAD, OP.MSTORE, OP.PUSH0, dup()]))
      },
    ],
    [
      6,
      () => {
        mask()
        if (random.oneIn(3)) op(OP.AND)
        else if (random.oneIn(2)) op(dup(), OP.AND)
      },
    ],
    [2, () => jump(OP.JUMP)],
    [3, () => jump(OP.JUMPI)],
    [
      6,
      () => {
        op(random.pick([OP.EQ, OP.ISZERO, OP.LT]))
        jump(OP.JUMPI)
      },
    ],
    [
      5,
      () => {
        const selector = BigInt(random.below(4))
        if (random.oneIn(2)) push(random.oneIn(4) ? (1n << 64n) + selector : selector)
        op(random.oneIn(4) ? OP.DUP2 : OP.DUP1)
        push(selector, 4)
        op(OP.EQ)
        jump(OP.JUMPI)
      },
    ],
    [1, () => op(OP.GAS, OP.POP)],
    [1, () => op(random.oneIn(10) ? random.between(0xa5, 0xef) : OP.JUMPDEST)],
  ])()
}
