import { OP } from '../../../src/evm/opcodes.ts'
import { createLabel } from '../codeWriter.ts'
import { edgeWord } from '../edgeWords.ts'
import { callStatement } from './calls.ts'
import { creation } from './creations.ts'
import {
  balanced,
  branch,
  emit,
  expression,
  loop,
  type Program,
  pushAddress,
  pushExtent,
  pushSlot,
  pushWord,
} from './program.ts'

/** Writes statements until the program's budget is used up. */
export function statements(program: Program, most = Number.POSITIVE_INFINITY): void {
  for (let count = 0; count < most && program.budget > 0; count++) {
    program.budget--
    statement(program)
  }
}

function statement(program: Program): void {
  const { random } = program
  random.weighted<() => void>([
    [20, () => expression(program)],
    [14, () => memoryWrite(program)],
    [13, () => storageWrite(program)],
    [6, () => transientWrite(program)],
    [9, () => copy(program)],
    [6, () => log(program)],
    [20, () => callStatement(program)],
    [program.nesting < 2 ? 6 : 0, () => creation(program)],
    [7, () => branch(program, () => statements(program, random.between(1, 3)))],
    [program.loops < 2 ? 5 : 0, () => repeated(program)],
    [5, () => shuffle(program)],
    [2, () => earlyEnd(program)],
    [2, () => oddJump(program)],
    [1, () => subroutine(program)],
    [1, () => stackFill(program)],
  ])()
}

function memoryWrite(program: Program): void {
  expression(program)
  pushExtent(program, 200)
  emit(program, program.random.oneIn(4) ? OP.MSTORE8 : OP.MSTORE, 2, 0)
}

/** Values that make refunds: zero, one, what is there, what was there. */
export function storageWrite(program: Program): void {
  const { random } = program
  const writes = random.oneIn(3) ? 3 : 1
  for (let i = 0; i < writes; i++) {
    if (random.oneIn(3)) pushWord(program, 0n)
    else if (random.oneIn(2)) pushWord(program, 1n)
    else expression(program, 2)
    if (random.oneIn(6)) {
      pushSlot(program)
      emit(program, OP.SLOAD, 1, 1)
    } else {
      pushSlot(program)
    }
    emit(program, OP.SSTORE, 2, 0)
  }
}

export function transientWrite(program: Program): void {
  expression(program, 2)
  pushSlot(program)
  emit(program, OP.TSTORE, 2, 0)
}

function copy(program: Program): void {
  const { random } = program
  const opcode = random.pick([OP.CALLDATACOPY, OP.CODECOPY, OP.RETURNDATACOPY, OP.MCOPY, OP.MCOPY, OP.EXTCODECOPY])
  if (opcode === OP.RETURNDATACOPY) {
    returnDataCopy(program)
    return
  }
  pushExtent(program)
  pushExtent(program)
  pushExtent(program)
  if (opcode === OP.EXTCODECOPY) pushAddress(program)
  emit(program, opcode, opcode === OP.EXTCODECOPY ? 4 : 3, 0)
}

/** All, nothing at the end, a part, or a byte too many of the return data. */
function returnDataCopy(program: Program): void {
  const { random } = program
  const size = (): void => emit(program, OP.RETURNDATASIZE, 0, 1)
  const word = (value: bigint): void => pushWord(program, value)
  const [length, offset] = random.weighted<[() => void, () => void]>([
    [14, [size, () => word(0n)]],
    [5, [() => word(0n), size]],
    [1, [size, () => word(1n)]],
    [1, [() => word(BigInt(random.below(33))), () => word(random.oneIn(3) ? edgeWord(random) : 0n)]],
  ])
  length()
  offset()
  pushExtent(program)
  emit(program, OP.RETURNDATACOPY, 3, 0)
}

export function log(program: Program): void {
  const topics = program.random.below(5)
  for (let i = 0; i < topics; i++) expression(program, 2)
  pushExtent(program)
  pushExtent(program)
  emit(program, OP.LOG0 + topics, 2 + topics, 0)
}

function repeated(program: Program): void {
  const { random } = program
  const times = random.oneIn(12) ? random.between(10, 60) : random.between(1, 4)
  loop(program, times, () => statements(program, random.between(1, times > 8 ? 2 : 4)))
}

function shuffle(program: Program): void {
  const { random, height, floor } = program
  const own = height - floor
  if (own < 2) expression(program)
  else if (random.oneIn(3)) emit(program, OP.POP, 1, 0)
  else emit(program, OP.SWAP1 + random.below(Math.min(own - 1, 16)), 0, 0)
}

function earlyEnd(program: Program): void {
  branch(program, () => ending(program))
}

/** An end of the program: of every kind, mostly with output. */
export function ending(program: Program): void {
  const { random } = program
  random.weighted<() => void>([
    [6, () => output(program, OP.RETURN)],
    [6, () => inspection(program)],
    [5, () => output(program, OP.REVERT)],
    [3, () => emit(program, OP.STOP, 0, 0)],
    [
      2,
      () => {
        if (random.oneIn(3)) emit(program, OP.ADDRESS, 0, 1)
        else pushAddress(program)
        emit(program, OP.SELFDESTRUCT, 1, 0)
      },
    ],
    [1, () => emit(program, random.pick([OP.INVALID, 0x0c, 0xef, 0x21, 0x4b]), 0, 0)],
  ])()
}

/** Puts what is on the stack into memory, and gives it with what is there already. */
function output(program: Program, opcode: number): void {
  const { random } = program
  const words = Math.min(program.height, random.between(1, 6))
  for (let i = 0; i < words; i++) {
    pushWord(program, BigInt(32 * i))
    emit(program, OP.MSTORE, 2, 0)
  }
  if (random.oneIn(6)) pushExtent(program)
  else pushWord(program, BigInt(32 * words + random.below(3) * 32))
  if (random.oneIn(8)) pushExtent(program)
  else pushWord(program, 0n)
  emit(program, opcode, 2, 0)
}

/** Returns what is in storage, and the gas that reading it took, which depends on warmth. */
export function inspection(program: Program): void {
  const { random, writer } = program
  let words = 0
  const keep = (): void => {
    writer.push(BigInt(32 * words++))
    writer.op(OP.MSTORE)
  }
  for (let left = Math.min(program.height, 4); left > 0; left--) keep()
  writer.op(OP.RETURNDATASIZE)
  keep()
  for (let slot = 0n; slot < 4n; slot++) {
    if (random.oneIn(3)) continue
    writer.push(slot)
    writer.op(random.pick([OP.SLOAD, OP.TLOAD]))
    keep()
  }
  for (let accounts = random.below(3); accounts > 0; accounts--) {
    pushAddress(program)
    writer.op(random.pick([OP.BALANCE, OP.EXTCODESIZE, OP.EXTCODEHASH]))
    keep()
  }
  writer.op(OP.GAS)
  keep()
  writer.push(BigInt(32 * words))
  writer.op(OP.PUSH0, OP.RETURN)
}

/** Jumps whose target is computed, or that are not allowed. */
function oddJump(program: Program): void {
  const { random, writer } = program
  if (random.oneIn(2)) {
    const target = createLabel()
    const addend = BigInt(random.below(50))
    writer.pushLabel(target)
    pushWord(program, addend)
    writer.op(OP.ADD)
    pushWord(program, addend)
    writer.op(OP.SWAP1, OP.SUB, OP.JUMP)
    program.height -= 2
    if (random.oneIn(2)) writer.op(OP.INVALID)
    writer.mark(target)
    return
  }
  branch(program, () => {
    const inOperand = createLabel()
    random.weighted<() => void>([
      [2, () => pushWord(program, edgeWord(random))],
      [1, () => pushWord(program, BigInt(writer.length()))],
      [
        2,
        () => {
          // the operand of this PUSH1 looks like a JUMPDEST
          inOperand.at = writer.length() + 1
          writer.push(BigInt(OP.JUMPDEST))
          program.height++
          writer.pushLabel(inOperand)
          program.height++
        },
      ],
    ])()
    emit(program, OP.JUMP, 1, 0)
  })
}

/** Calls code further on, which jumps back to an address on the stack. */
function subroutine(program: Program): void {
  const { writer, random } = program
  const [back, entry, after] = [createLabel(), createLabel(), createLabel()]
  writer.pushLabel(back)
  program.height++
  expression(program)
  writer.pushLabel(entry)
  writer.op(OP.JUMP)
  writer.mark(entry)
  writer.op(random.pick([OP.ISZERO, OP.NOT]), OP.SWAP1, OP.JUMP)
  writer.mark(back)
  program.height--
  writer.pushLabel(after)
  writer.op(OP.JUMP, OP.INVALID)
  writer.mark(after)
}

/** Pushes until the stack is nearly full, full or too full. */
function stackFill(program: Program): void {
  const { random } = program
  if (!random.oneIn(6)) return
  branch(program, () => {
    const { writer } = program
    const [begin, end] = [createLabel(), createLabel()]
    const items = random.pick([1000, 1015, 1020, 1021, 1022, 1023, 1024])
    // counts up: each turn leaves one item
    writer.push(0n)
    writer.mark(begin)
    writer.op(OP.DUP1, OP.PUSH1, 1, OP.ADD, OP.DUP1)
    writer.push(BigInt(items - program.height))
    writer.op(OP.EQ)
    writer.pushLabel(end)
    writer.op(OP.JUMPI)
    writer.pushLabel(begin)
    writer.op(OP.JUMP)
    writer.mark(end)
    for (let i = random.below(6); i > 0; i--) writer.op(random.pick([OP.DUP1, OP.PUSH0, OP.GAS, OP.ADD, OP.MSIZE]))
    balanced(program, () => ending(program))
  })
}
