import { OP } from '../../../src/evm/opcodes.ts'
import { createLabel } from '../codeWriter.ts'
import type { FuzzCase } from '../fuzzCase.ts'
import { messageTo, pickFork } from '../messages.ts'
import { bystanders, CONTRACTS, contractAccount } from '../population.ts'
import { PROBE_ADDRESS } from '../probePrecompile.ts'
import type { Random } from '../random.ts'
import { creation } from './creations.ts'
import { balanced, createProgram, emit, type Program, pushAddress, pushWord, stateRead } from './program.ts'
import { inspection, log, storageWrite, transientWrite } from './statements.ts'

/**
 * A contract that changes state, calls itself or another for more changes that succeed, revert or fail, and then reads all of the state,
 * so that a change that a revert has missed shows.
 */
export function revertsCase(random: Random): Omit<FuzzCase, 'isSliced'> {
  const fork = pickFork(random)
  const accounts = bystanders(random)
  const [first, second] = CONTRACTS as [Uint8Array, Uint8Array]
  for (const self of [first, second]) {
    const program = createProgram(random, fork, { self, budget: 0 })
    writeContract(program)
    accounts.push(contractAccount(self, program.writer.finish(), random))
  }
  const message = { ...messageTo(random, first), data: new Uint8Array(0) }
  const gasLimit = random.oneIn(4) ? message.gasLimit : BigInt(random.between(200_000, 500_000))
  const messages = Array.from({ length: random.between(1, 2) }, () => ({ ...message, gasLimit }))
  return { kind: 'reverts', fork, accounts, messages }
}

/** Without calldata the outer part runs, with some the inner one. */
function writeContract(program: Program): void {
  const { random, writer } = program
  const inner = createLabel()
  writer.op(OP.CALLDATASIZE)
  writer.pushLabel(inner)
  writer.op(OP.JUMPI)
  changes(program)
  for (let calls = random.between(1, 3); calls > 0; calls--) {
    enter(program, 1n)
    if (random.oneIn(2)) changes(program)
  }
  inspection(program)

  writer.mark(inner)
  program.height = 0
  changes(program)
  if (random.oneIn(3)) {
    // one byte more of calldata each time, up to three: the depth
    const end = createLabel()
    writer.push(2n)
    writer.op(OP.CALLDATASIZE, OP.GT)
    writer.pushLabel(end)
    writer.op(OP.JUMPI)
    balanced(program, () => {
      enter(program, undefined)
      changes(program)
    })
    writer.mark(end)
  }
  random.weighted<() => void>([
    [4, () => writer.op(OP.PUSH0, OP.PUSH0, OP.REVERT)],
    [2, () => writer.op(OP.MSIZE, OP.PUSH0, OP.REVERT)],
    [1, () => writer.op(OP.INVALID)],
    [1, () => writer.op(OP.POP, OP.POP, OP.POP, OP.POP, OP.POP, OP.POP, OP.POP, OP.POP)],
    [1, () => writer.op(OP.CALLER, OP.SELFDESTRUCT)],
    [3, () => inspection(program)],
  ])()
}

function changes(program: Program): void {
  const { random } = program
  for (let count = random.below(4); count > 0; count--) {
    random.weighted<() => void>([
      [4, () => storageWrite(program)],
      [4, () => transientWrite(program)],
      [2, () => log(program)],
      [4, () => stateRead(program)],
      [2, () => pay(program)],
      [2, () => probe(program)],
      [1, () => creation(program)],
    ])()
  }
}

/** A call of a contract of this case, with so many bytes of calldata, or one more than there are. */
function enter(program: Program, calldata: bigint | undefined): void {
  const { random, writer } = program
  const kind = random.pick([OP.CALL, OP.CALL, OP.DELEGATECALL, OP.DELEGATECALL, OP.STATICCALL, OP.CALLCODE])
  const takesValue = kind === OP.CALL || kind === OP.CALLCODE
  writer.op(OP.PUSH0, OP.PUSH0)
  if (calldata === undefined) writer.op(OP.CALLDATASIZE, OP.PUSH1, 1, OP.ADD)
  else writer.push(calldata)
  writer.op(OP.PUSH0)
  if (takesValue) writer.push(random.oneIn(3) ? 1n : 0n)
  program.height += takesValue ? 5 : 4
  if (random.oneIn(3)) emit(program, OP.ADDRESS, 0, 1)
  else pushAddress(program, random.pick(CONTRACTS.slice(0, 2)))
  if (random.oneIn(4)) pushWord(program, BigInt(random.between(100, 60_000)))
  else emit(program, OP.GAS, 0, 1)
  emit(program, kind, takesValue ? 7 : 6, 1)
}

/** Asks the probe, mostly for what the world has in a slot of this contract, and keeps the answer. */
function probe(program: Program): void {
  const { random, writer } = program
  for (const [offset, byte] of [random.oneIn(3) ? random.below(8) : 0, random.below(4)].entries()) {
    writer.push(BigInt(byte))
    writer.push(BigInt(offset))
    writer.op(OP.MSTORE8)
  }
  const kind = random.pick([OP.CALL, OP.STATICCALL])
  for (const word of [32n, 32n, 34n, 0n]) writer.push(word)
  if (kind === OP.CALL) writer.push(BigInt(random.below(2)))
  writer.push(BigInt(`0x${Buffer.from(PROBE_ADDRESS).toString('hex')}`))
  writer.op(OP.GAS, kind)
  writer.push(32n)
  writer.op(OP.MLOAD)
  program.height += 2
}

function pay(program: Program): void {
  const { random, writer } = program
  writer.op(OP.PUSH0, OP.PUSH0, OP.PUSH0, OP.PUSH0)
  writer.push(BigInt(random.below(3)))
  program.height += 5
  pushAddress(program)
  pushWord(program, BigInt(random.pick([0, 3_000, 30_000])))
  emit(program, OP.CALL, 7, 1)
}
