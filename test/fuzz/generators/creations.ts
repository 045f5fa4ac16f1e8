import { create2Address } from '../../../src/evm/contractAddress.ts'
import { OP } from '../../../src/evm/opcodes.ts'
import { bigIntToBytes } from '../../../src/primitives/bytes.ts'
import { pushValue } from './calls.ts'
import { createProgram, emit, type Program, pushAddress, pushWord } from './program.ts'
import { ending, statements } from './statements.ts'

/** Longest deployed code (EIP-170) and init code (EIP-3860). */
const MAX_CODE = 24_576n
const MAX_INIT_CODE = 49_152n

/** CREATE or CREATE2 with generated init code; then perhaps a call of the new contract, or the same creation again. */
export function creation(program: Program): void {
  const { random, writer } = program
  const code = initCode(program)
  const label = writer.data(code)
  const offset = BigInt(random.oneIn(3) ? random.below(64) : 0)
  const salt = random.oneIn(2) ? BigInt(random.below(2)) : undefined
  writer.push(BigInt(code.length))
  writer.pushLabel(label)
  writer.push(offset)
  writer.op(OP.CODECOPY)
  const times = random.oneIn(5) ? 2 : 1
  for (let i = 0; i < times; i++) {
    if (salt !== undefined) pushWord(program, salt)
    pushWord(program, random.oneIn(60) ? MAX_INIT_CODE + BigInt(random.below(2)) : BigInt(code.length))
    pushWord(program, offset)
    pushValue(program)
    emit(program, salt === undefined ? OP.CREATE : OP.CREATE2, salt === undefined ? 3 : 4, 1)
  }
  if (salt !== undefined && program.self !== undefined && random.oneIn(4)) {
    program.createdAt.push(create2Address(program.self, bigIntToBytes(salt, 32), code))
  }
  if (random.oneIn(3)) emit(program, OP.RETURNDATASIZE, 0, 1)
  else if (random.oneIn(2)) callCreated(program)
}

/** Calls the address on top of the stack, which stays there. */
function callCreated(program: Program): void {
  const { random, writer } = program
  const kind = random.pick([OP.CALL, OP.STATICCALL, OP.DELEGATECALL])
  writer.op(OP.PUSH0, OP.PUSH0, OP.PUSH0, OP.PUSH0)
  if (kind === OP.CALL) writer.op(OP.PUSH0, OP.DUP1 + 5)
  else writer.op(OP.DUP1 + 4)
  writer.op(OP.GAS, kind)
  program.height++
  if (random.oneIn(3)) {
    writer.op(OP.DUP1 + 1, random.pick([OP.EXTCODESIZE, OP.EXTCODEHASH, OP.BALANCE]))
    program.height++
  }
}

/** Init code with many kinds of ends: small code, none, too much, forbidden, a failure, a self-destruct. */
export function initCode(outer: Program): Uint8Array {
  const { random, fork, nesting } = outer
  const program = createProgram(random, fork, { nesting: nesting + 1, budget: random.below(5) })
  const { writer } = program
  if (random.oneIn(15)) return random.bytes(random.below(40))
  statements(program)
  const give = (length: bigint, offset = 0n): void => {
    writer.push(length)
    writer.push(offset)
    writer.op(OP.RETURN)
  }
  random.weighted<() => void>([
    [
      12,
      () => {
        const runtime = createProgram(random, fork, { nesting: nesting + 1, budget: random.below(6) })
        statements(runtime)
        ending(runtime)
        const code = runtime.writer.finish()
        writer.push(BigInt(code.length))
        writer.pushLabel(writer.data(code))
        writer.push(0n)
        writer.op(OP.CODECOPY)
        give(BigInt(code.length))
      },
    ],
    [3, () => give(BigInt(random.below(40)))],
    [
      1,
      () => {
        writer.push(0xefn)
        writer.push(0n)
        writer.op(OP.MSTORE8)
        give(BigInt(random.below(3)))
      },
    ],
    [1, () => give(MAX_CODE + BigInt(random.below(2)))],
    [
      2,
      () => {
        pushAddress(program)
        writer.op(OP.SELFDESTRUCT)
      },
    ],
    [3, () => ending(program)],
  ])()
  return writer.finish()
}
