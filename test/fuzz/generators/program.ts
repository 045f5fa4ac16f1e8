import type { Hardfork } from '../../../src/chain/genesis/hardfork.ts'
import { OP } from '../../../src/evm/opcodes.ts'
import type { Address } from '../../../src/primitives/address.ts'
import { type CodeWriter, createCodeWriter, createLabel } from '../codeWriter.ts'
import { edgeWord } from '../edgeWords.ts'
import { BINARY, CONSTANTS, TERNARY } from '../opcodes.ts'
import { anyAddress } from '../population.ts'
import type { Random } from '../random.ts'

/** A program under construction: its code so far, and how many words it has on the stack there. */
export interface Program {
  readonly random: Random
  readonly fork: Hardfork
  readonly writer: CodeWriter
  /** the account that runs it, if that is known */
  readonly self: Address | undefined
  /** init code inside init code ends somewhere */
  readonly nesting: number
  /** where CREATE2s of the program create, as far as that is known */
  readonly createdAt: Address[]
  height: number
  /** words below this height belong to an enclosing loop or branch */
  floor: number
  /** statements that may still be written */
  budget: number
  /** no loop is inside three others */
  loops: number
}

export function createProgram(
  random: Random,
  fork: Hardfork,
  options: {
    readonly budget: number
    readonly self?: Address
    readonly nesting?: number
    readonly createdAt?: Address[]
  },
): Program {
  const { self, nesting = 0, budget, createdAt = [] } = options
  return {
    random,
    fork,
    writer: createCodeWriter(),
    self,
    nesting,
    createdAt,
    height: 0,
    floor: 0,
    budget,
    loops: 0,
  }
}

/** DUP and SWAP reach this far. */
const REACH = 16
const MOST_WORDS = 40

/** Pushes a constant. */
export function pushWord(program: Program, word: bigint): void {
  const { random, writer } = program
  if (random.oneIn(30)) writer.push(word, 32)
  else writer.push(word)
  program.height++
}

export function pushAddress(program: Program, address: Address = anyAddress(program.random)): void {
  const { random, writer } = program
  const word = BigInt(`0x${Buffer.from(address).toString('hex')}`)
  // The upper twelve bytes of an address word do not count.
  if (random.oneIn(20)) writer.push(word | (edgeWord(random) & ~((1n << 160n) - 1n)), 32)
  else writer.push(word, random.oneIn(8) ? undefined : 20)
  program.height++
}

/** A small offset or length; seldom one that no memory has. */
export function pushExtent(program: Program, most = 100): void {
  const { random } = program
  if (random.oneIn(400)) pushWord(program, random.pick(HUGE_EXTENTS))
  else if (random.oneIn(80)) pushWord(program, BigInt(random.below(20_000)))
  else pushWord(program, BigInt(random.oneIn(3) ? 32 * random.below(5) : random.below(most)))
}

const HUGE_EXTENTS: readonly bigint[] = [
  2n ** 31n - 1n,
  2n ** 32n - 32n,
  2n ** 32n - 1n,
  2n ** 32n,
  2n ** 37n,
  2n ** 53n,
  2n ** 63n,
  2n ** 64n - 32n,
  2n ** 64n - 1n,
  2n ** 64n,
  2n ** 128n,
  2n ** 256n - 32n,
  2n ** 256n - 1n,
]

export function pushSlot(program: Program): void {
  const { random } = program
  if (random.oneIn(12)) pushWord(program, edgeWord(random))
  else if (random.oneIn(10)) emit(program, OP.CALLER, 0, 1)
  else pushWord(program, BigInt(random.below(4)))
}

/** Writes an opcode that takes and gives words. */
export function emit(program: Program, opcode: number, takes: number, gives: number): void {
  program.writer.op(opcode)
  program.height += gives - takes
}

/** Pushes one word that may depend on anything. */
export function expression(program: Program, depth = 0): void {
  const { random } = program
  if (program.height > MOST_WORDS || depth > 3) {
    pushWord(program, edgeWord(random))
    return
  }
  random.weighted<() => void>([
    [24, () => pushWord(program, edgeWord(random))],
    [8, () => emit(program, random.pick(CONSTANTS), 0, 1)],
    [10, () => duplicate(program)],
    [22, () => binary(program, depth)],
    [8, () => ternary(program, depth)],
    [14, () => unary(program, depth)],
    [6, () => stateRead(program)],
  ])()
}

function duplicate(program: Program): void {
  const { random, height } = program
  if (height === 0) pushWord(program, edgeWord(random))
  else emit(program, OP.DUP1 + random.below(Math.min(height, REACH)), 0, 1)
}

function binary(program: Program, depth: number): void {
  const { random } = program
  const opcode = random.pick(BINARY)
  expression(program, depth + 1)
  // shifts, widths and powers matter for small operands
  const hasSmallOperand = opcode === OP.EXP || opcode === OP.BYTE || (opcode >= OP.SHL && opcode <= OP.SAR)
  if (opcode === OP.EXP && random.oneIn(2)) pushWord(program, BigInt(random.below(5)))
  else if ((hasSmallOperand || opcode === OP.SIGNEXTEND) && random.oneIn(2))
    pushWord(program, BigInt(random.below(260)))
  else expression(program, depth + 1)
  emit(program, opcode, 2, 1)
}

function ternary(program: Program, depth: number): void {
  for (let i = 0; i < 3; i++) expression(program, depth + 1)
  emit(program, program.random.pick(TERNARY), 3, 1)
}

function unary(program: Program, depth: number): void {
  const { random, fork } = program
  const hasClz = fork === 'osaka' || random.oneIn(100)
  random.weighted<() => void>([
    [4, () => operate(program, depth, OP.ISZERO)],
    [4, () => operate(program, depth, OP.NOT)],
    [3, () => operate(program, depth, hasClz ? OP.CLZ : OP.NOT)],
    [3, () => readAt(program, OP.CALLDATALOAD)],
    [3, () => readAt(program, OP.MLOAD)],
    [3, () => hash(program)],
  ])()
}

function operate(program: Program, depth: number, opcode: number): void {
  expression(program, depth + 1)
  emit(program, opcode, 1, 1)
}

function readAt(program: Program, opcode: number): void {
  pushExtent(program)
  emit(program, opcode, 1, 1)
}

function hash(program: Program): void {
  pushExtent(program)
  pushExtent(program)
  emit(program, OP.KECCAK256, 2, 1)
}

/** Pushes what is in storage, of an account, or of the block. */
export function stateRead(program: Program): void {
  const { random } = program
  random.weighted<() => void>([
    [5, () => slotRead(program, OP.SLOAD)],
    [3, () => slotRead(program, OP.TLOAD)],
    [5, () => accountRead(program, random.pick([OP.BALANCE, OP.EXTCODESIZE, OP.EXTCODEHASH]))],
    [1, () => numbered(program, OP.BLOCKHASH, BigInt(random.between(-3, 3) + random.pick([300, 43, 44, 200])))],
    [1, () => numbered(program, OP.BLOBHASH, BigInt(random.below(4)))],
  ])()
}

function slotRead(program: Program, opcode: number): void {
  pushSlot(program)
  emit(program, opcode, 1, 1)
}

function accountRead(program: Program, opcode: number): void {
  pushAddress(program)
  emit(program, opcode, 1, 1)
}

function numbered(program: Program, opcode: number, near: bigint): void {
  pushWord(program, program.random.oneIn(8) ? edgeWord(program.random) : near)
  emit(program, opcode, 1, 1)
}

/** Writes what `body` writes, and pops what that leaves above the present height. */
export function balanced(program: Program, body: () => void): void {
  const { height, floor } = program
  program.floor = height
  body()
  while (program.height > height) emit(program, OP.POP, 1, 0)
  // A body that ends the run may have taken words from below.
  program.height = height
  program.floor = floor
}

/** `if (expression) { body }` */
export function branch(program: Program, body: () => void): void {
  const end = createLabel()
  expression(program, 2)
  if (program.random.oneIn(2)) emit(program, OP.ISZERO, 1, 1)
  program.writer.pushLabel(end)
  program.writer.op(OP.JUMPI)
  program.height--
  balanced(program, body)
  program.writer.mark(end)
}

/** Repeats `body`, whose number is the top of the stack. */
export function loop(program: Program, times: number, body: () => void): void {
  const { writer } = program
  const begin = createLabel()
  pushWord(program, BigInt(times))
  writer.mark(begin)
  program.loops++
  balanced(program, body)
  program.loops--
  writer.push(1n)
  writer.op(OP.SWAP1, OP.SUB, OP.DUP1)
  writer.pushLabel(begin)
  writer.op(OP.JUMPI)
}
